import { toDocketError } from '../../base/error.ts';

export interface CheckResult {
  readonly state: 'ok' | 'warn' | 'fail';
  /** Never a secret. */
  readonly detail: string;
  /** What to do; absent for `ok`. */
  readonly remedy?: string;
}

/** The result of one check. */
export interface Finding extends CheckResult {
  readonly what: string;
}

export const ok = (detail: string): CheckResult => ({ state: 'ok', detail });
export const warn = (detail: string, remedy: string): CheckResult => ({ state: 'warn', detail, remedy });
export const fail = (detail: string, remedy: string): CheckResult => ({ state: 'fail', detail, remedy });

/** A failed check. */
export function resultOfError(thrown: unknown): CheckResult {
  const { message, got, next } = toDocketError(thrown);
  const detail = got === undefined ? message : `${message} (${got})`;
  return { state: 'fail', detail, ...(next === undefined ? {} : { remedy: next }) };
}

/** Turns a thrown error into a finding, so that the other checks continue. */
export async function runCheck(what: string, look: () => CheckResult | Promise<CheckResult>): Promise<Finding> {
  try {
    return { what, ...(await look()) };
  } catch (thrown) {
    return { what, ...resultOfError(thrown) };
  }
}

/** One finding as text, its remedy on a second line. */
export const formatFinding = ({ what, state, detail, remedy }: Finding): string =>
  `${state.padEnd(4)}  ${what}: ${detail}${remedy === undefined ? '' : `\n      ${remedy}`}`;

/** At most five names. */
export const formatSome = (names: readonly string[]): string =>
  `${names.slice(0, 5).join(', ')}${names.length <= 5 ? '' : ` and ${names.length - 5} more`}`;

/** Bytes for people: `1.5 GB`. */
export function formatByteSize(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const;
  let value = bytes;
  let index = 0;
  while (value >= 1024 && index < units.length - 1) {
    value /= 1024;
    index += 1;
  }
  return `${index === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${units[index]}`;
}
