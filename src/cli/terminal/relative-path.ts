import { isAbsolute, relative, resolve } from 'node:path';
import type { CommandIo } from '../io.ts';

/** A path for people: relative to the working directory if it is inside; else as it is. */
export function relativePath(path: string, { cwd = '' }: Pick<CommandIo, 'cwd'>): string {
  const short = relative(resolve(cwd), resolve(cwd, path));
  return short === '' ? '.' : short.startsWith('..') || isAbsolute(short) ? path : short;
}
