import { z } from 'zod';

/** A line as the log makes it. */
const lineSchema = z.looseObject({
  level: z.string(),
  time: z.string(),
  msg: z.string().default(''),
  error: z.record(z.string(), z.unknown()).optional(),
});

const CODES: Readonly<Record<string, number>> = { debug: 90, info: 32, warn: 33, error: 31, fatal: 31 };
const DIM = 2;

/**
 * A JSON line of the log as a person reads it on a terminal: time, level, sentence, fields; an error's parts below it, a
 * line each. It stays one line for one thing: whatever could break it was escaped before.
 */
export function prettyLine(json: string, color: boolean): string {
  const { level, time, msg, error, ...fields } = lineSchema.parse(JSON.parse(json));
  const paint = (code: number, text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text);
  const rest = Object.entries(fields).map(([name, value]) => `${paint(DIM, `${name}=`)}${plain(value)}`);
  const head = [
    paint(DIM, time.slice(11)),
    paint(CODES[level] ?? 0, level.toUpperCase().padEnd(5)),
    msg,
    ...(rest.length === 0 ? [] : [` ${rest.join(' ')}`]),
  ];
  const { code, message, ...more } = error ?? {};
  const below = [
    ...(error === undefined ? [] : [`${paint(CODES.error ?? 0, plain(code))} ${String(message)}`]),
    ...Object.entries(more).map(([name, value]) => `${paint(DIM, `${name}:`)} ${String(value)}`),
  ];
  return [head.join(' '), ...below.map((line) => `    ${line}`), ''].join('\n');
}

const plain = (value: unknown): string => {
  const text = String(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
};

/** Whether a stream is to be coloured: `NO_COLOR` forbids it, `FORCE_COLOR` asks for it, else a terminal decides. */
export function wantsColor(env: Readonly<Record<string, string | undefined>>, terminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return terminal && env.TERM !== 'dumb';
}
