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

/** Rows as aligned columns, header first. Widths are of the text itself: no colours inside the cells. */
export function formatColumns(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
