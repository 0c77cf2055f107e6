import { DocketError } from '../../base/error.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import { INSTANT_FORMS, type InstantContext, parseInstantText } from '../../definitions/periods/instant.ts';
import { RUN_STATES, type RunState } from '../../run/run-record.ts';

/** @param expected describes the values that the option accepts */
export const invalidOption = (option: string, text: string, expected: string): DocketError =>
  new DocketError('usage.invalid', 'Invalid value.', {
    where: option,
    expected,
    got: JSON.stringify(text.slice(0, 80)),
    next: 'See --help.',
  });

/** Throws `usage.invalid`, as all parsers in this file do. */
export function parseNumber(
  option: string,
  text: string,
  { min, max, fraction = false }: { readonly min: number; readonly max: number; readonly fraction?: boolean },
): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (value >= min && value <= max && (fraction || Number.isInteger(value))) return value;
  throw invalidOption(option, text, `a ${fraction ? 'number' : 'whole number'} from ${min} to ${max}`);
}

const UNIT_MS: Readonly<Record<string, number>> = { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS };

/** Parses a duration such as `0s`, `90s`, `5m`, `1h`; returns ms. */
export function parseDurationOption(option: string, text: string, { maxMs }: { readonly maxMs: number }): number {
  const match = /^(\d{1,6})([smh])$/.exec(text.trim());
  const value = Number(match?.[1]) * (UNIT_MS[match?.[2] ?? ''] ?? Number.NaN);
  if (value <= maxMs) return value;
  throw invalidOption(option, text, `a number with its unit such as 45s or 5m, at most ${maxMs / MINUTE_MS}m`);
}

/**
 * Parses an instant to epoch ms: ISO 8601 with its zone, a day, or a time before now (`parseInstantText`). Days start
 * in the zone in which the command prints times.
 */
export function parseInstant(option: string, text: string, at: InstantContext): number {
  const value = parseInstantText(text, at);
  if (value !== undefined) return value;
  throw invalidOption(option, text, INSTANT_FORMS);
}

/** Throws `usage.invalid` for a report without an organization: report ids are only unique within one. */
export function assertOrgWithReport({ org, report }: { readonly org?: string; readonly report?: string }): void {
  if (report === undefined || org !== undefined) return;
  throw new DocketError('usage.invalid', 'The option requires --org.', {
    where: '--report',
    expected: '--org as well',
    next: `Add --org, e.g. --org acme --report ${report}.`,
  });
}

/** Parses states. Each text is one state, or several separated by commas. */
export function parseRunStates(option: string, texts: readonly string[]): readonly RunState[] {
  return texts
    .flatMap((text) => text.split(','))
    .map((text) => {
      const state = RUN_STATES.find((known) => known === text.trim());
      if (state !== undefined) return state;
      throw invalidOption(option, text, `one or more of ${RUN_STATES.join(', ')}`);
    });
}
