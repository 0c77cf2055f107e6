import { z } from 'zod';

const lineSchema = z.looseObject({
  level: z.string(),
  time: z.string(),
  msg: z.string().default(''),
  error: z.record(z.string(), z.unknown()).optional(),
});

const LEVEL_COLORS: Readonly<Record<string, number>> = { debug: 90, info: 32, warn: 33, error: 31, fatal: 31 };
const DIM = 2;

/**
 * Formats a JSON log line for a terminal: time, level, message and fields, followed by the parts of an error, one line
 * each. Values were escaped before (log.ts).
 */
export function formatPretty(json: string, color: boolean): string {
  const { level, time, msg, error, ...fields } = lineSchema.parse(JSON.parse(json));
  const paint = (code: number, text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text);
  const formatted = Object.entries(fields).map(([name, value]) => `${paint(DIM, `${name}=`)}${formatValue(value)}`);
  const firstLine = [
    paint(DIM, time.slice(11)),
    paint(LEVEL_COLORS[level] ?? 0, level.toUpperCase().padEnd(5)),
    msg,
    ...(formatted.length === 0 ? [] : [` ${formatted.join(' ')}`]),
  ];
  const { code, message, ...more } = error ?? {};
  const errorLines = [
    ...(error === undefined ? [] : [`${paint(LEVEL_COLORS.error ?? 0, formatValue(code))} ${String(message)}`]),
    ...Object.entries(more).map(([name, value]) => `${paint(DIM, `${name}:`)} ${String(value)}`),
  ];
  return [firstLine.join(' '), ...errorLines.map((line) => `    ${line}`), ''].join('\n');
}

const formatValue = (value: unknown): string => {
  const text = String(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
};

/** `NO_COLOR` disables colour and `FORCE_COLOR` enables it; otherwise, only terminals get colour. */
export function supportsColor(env: Readonly<Record<string, string | undefined>>, terminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return terminal && env.TERM !== 'dumb';
}
