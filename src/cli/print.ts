export { formatColumns } from './columns.ts';

/** The one JSON document that a `--json` command puts on stdout. */
export const printJson = (document: unknown): void => {
  process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
};

export const printLine = (line = ''): void => {
  process.stdout.write(`${line}\n`);
};

/** Progress and remarks: stderr, so that stdout stays what was asked for. */
export const sayLine = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** An instant of a listing, in UTC to the second. */
export const formatInstant = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;
