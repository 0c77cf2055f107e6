import { z } from 'zod';
import { DocketError } from '../base/error.ts';
import { RUN_STATES, type RunState } from '../run/record.ts';

/** A flag's number, or `usage.invalid` that says what the flag takes. */
export function readNumber(
  flag: string,
  text: string,
  { min, max, fraction = false }: { readonly min: number; readonly max: number; readonly fraction?: boolean },
): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (value >= min && value <= max && (fraction || Number.isInteger(value))) return value;
  throw new DocketError('usage.invalid', 'The value is not usable.', {
    where: flag,
    expected: `a ${fraction ? 'number' : 'whole number'} from ${min} to ${max}`,
    got: JSON.stringify(text),
    next: 'See --help.',
  });
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** A flag's length of time as ms, or `usage.invalid`: `0s`, `90s`, `5m`, `1h`. */
export function readDuration(flag: string, text: string, { maxMs }: { readonly maxMs: number }): number {
  const match = /^(\d{1,6})([smh])$/.exec(text.trim());
  const value = Number(match?.[1]) * (UNIT_MS[match?.[2] ?? ''] ?? Number.NaN);
  if (value <= maxMs) return value;
  throw new DocketError('usage.invalid', 'The value is not usable.', {
    where: flag,
    expected: `a number with its unit such as 45s or 5m, at most ${maxMs / 60_000}m`,
    got: JSON.stringify(text.slice(0, 80)),
    next: 'See --help.',
  });
}

const INSTANT = /^[\d-]{10}T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)$/;

/** A flag's ISO 8601 instant as epoch ms, or `usage.invalid`. Without a zone it would mean another instant on each machine. */
export function readInstant(flag: string, text: string): number {
  // `Date.parse` alone would read "5 Z" as some day of 2001, and the 30th of February as one of March.
  const written = text.trim();
  const isDay = z.iso.date().safeParse(written.slice(0, 10)).success;
  const value = isDay && INSTANT.test(written) ? Date.parse(written) : Number.NaN;
  if (Number.isFinite(value)) return value;
  throw new DocketError('usage.invalid', 'The value is not usable.', {
    where: flag,
    expected: 'an ISO 8601 instant with its zone, e.g. 2026-11-21T08:00:00Z',
    got: JSON.stringify(text.slice(0, 80)),
    next: 'See --help.',
  });
}

/** A report's id means something within its organization only: `usage.invalid` when it is named alone. */
export function requireOrgWithReport({ org, report }: { readonly org?: string; readonly report?: string }): void {
  if (report === undefined || org !== undefined) return;
  throw new DocketError('usage.invalid', 'A report is named without its organization.', {
    where: '--report',
    expected: '--org as well',
    next: `Add --org, e.g. --org acme --report ${report}.`,
  });
}

/** A flag's states of runs, each as an argument or several with commas, or `usage.invalid`. */
export function readStates(flag: string, texts: readonly string[]): readonly RunState[] {
  return texts
    .flatMap((text) => text.split(','))
    .map((text) => {
      const state = RUN_STATES.find((one) => one === text.trim());
      if (state !== undefined) return state;
      throw new DocketError('usage.invalid', 'The value is not usable.', {
        where: flag,
        expected: `one or more of ${RUN_STATES.join(', ')}`,
        got: JSON.stringify(text.slice(0, 80)),
        next: 'See --help.',
      });
    });
}
