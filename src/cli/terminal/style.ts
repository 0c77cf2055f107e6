import { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import type { Environment, OutputStream } from '../io.ts';

/** Whether the stream is a terminal that can move its cursor. False for a pipe, a file and `TERM=dumb`. */
export const isTerminal = (stream: OutputStream, env: Environment): boolean =>
  stream.isTTY === true && env.TERM !== 'dumb';

/** Cells per line; undefined if the output is not a terminal. */
export const terminalWidth = (stream: OutputStream, env: Environment): number | undefined =>
  isTerminal(stream, env) ? stream.columns || undefined : undefined;

/**
 * The rule of Node (`util.styleText`) for terminals, `NO_COLOR` and `FORCE_COLOR`, applied to this environment instead
 * of the process's.
 */
export function hasColors(stream: OutputStream, env: Environment): boolean {
  if (env.FORCE_COLOR !== undefined) return WriteStream.prototype.getColorDepth({ ...env }) > 2;
  return stream.isTTY === true && (stream.getColorDepth === undefined || stream.getColorDepth({ ...env }) > 2);
}

export type Style = Parameters<typeof styleText>[0];

export const applyStyle = (style: Style, text: string, stream: OutputStream, env: Environment): string =>
  hasColors(stream, env) ? styleText(style, text, { validateStream: false }) : text;
