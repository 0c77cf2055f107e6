import { toDocketError } from '../../base/error.ts';

/** What was found of one thing. */
export interface Verdict {
  readonly state: 'ok' | 'warn' | 'fail';
  /** Never a secret. */
  readonly detail: string;
  /** What to do about it; absent when it is well. */
  readonly remedy?: string;
}

/** One thing that was looked at. */
export interface Finding extends Verdict {
  readonly what: string;
}

export const ok = (detail: string): Verdict => ({ state: 'ok', detail });
export const warn = (detail: string, remedy: string): Verdict => ({ state: 'warn', detail, remedy });
export const fail = (detail: string, remedy: string): Verdict => ({ state: 'fail', detail, remedy });

/** What went wrong, as a verdict. */
export function failed(thrown: unknown): Verdict {
  const { message, got, next } = toDocketError(thrown);
  const detail = got === undefined ? message : `${message} (${got})`;
  return { state: 'fail', detail, ...(next === undefined ? {} : { remedy: next }) };
}

/** A finding for what the look throws, too: one broken part must not hide the others. */
export async function examine(what: string, look: () => Verdict | Promise<Verdict>): Promise<Finding> {
  try {
    return { what, ...(await look()) };
  } catch (thrown) {
    return { what, ...failed(thrown) };
  }
}

/** Bytes for people: `1.5 GB`. */
export function sizeWords(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const;
  let value = bytes;
  let index = 0;
  while (value >= 1024 && index < units.length - 1) {
    value /= 1024;
    index += 1;
  }
  return `${index === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${units[index]}`;
}
