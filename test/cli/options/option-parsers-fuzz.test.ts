import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  parseDurationOption,
  parseInstant,
  parseNumber,
  parseRunStates,
} from '../../../src/cli/options/option-parsers.ts';
import { RUN_STATES } from '../../../src/run/run-record.ts';
import { cases, hostileText, mutatedText, readOrUndefined, within } from '../../support/fuzz.ts';

const AT = { now: Date.parse('2026-11-21T08:30:00Z'), zone: 'Europe/Zurich' };
const instantOf = (text: string) => parseInstant('--since', text, AT);

describe('an instant in an option', () => {
  it.each([
    ['2026-11-21T08:00:00Z', '2026-11-21T08:00:00.000Z'],
    ['2026-11-21T08:00Z', '2026-11-21T08:00:00.000Z'],
    [' 2026-11-21T08:00:00.5+01:00 ', '2026-11-21T07:00:00.500Z'],
    ['2026-11-21T08:00:00-0330', '2026-11-21T11:30:00.000Z'],
    ['90m', '2026-11-21T07:00:00.000Z'],
    ['1h', '2026-11-21T07:30:00.000Z'],
    ['2d', '2026-11-19T08:30:00.000Z'],
    ['today', '2026-11-20T23:00:00.000Z'],
    ['Yesterday', '2026-11-19T23:00:00.000Z'],
    ['2026-11-01', '2026-10-31T23:00:00.000Z'],
    // In summer time.
    ['2026-07-01', '2026-06-30T22:00:00.000Z'],
  ])('is read from %s as %s', (text, expected) => expect(new Date(instantOf(text)).toISOString()).toBe(expected));

  // JavaScript reads the first two as days of 2001, and the third as the second of March.
  it.each(['5 Z', 'Nov 5 Z', '2026-02-30T00:00:00Z', '2026-11-21T08:00:00', '1h30', 'x-1000', ''])(
    'is rejected instead of guessed: %s',
    (text) => expect(() => instantOf(text)).toThrow(expect.objectContaining({ code: 'usage.invalid' })),
  );
});

it(
  'the value of an option is read exactly or rejected with an error, whatever was typed',
  () => {
    const text = fc.oneof(
      mutatedText([
        '2026-11-21T08:00:00Z',
        '1970-01-01T00:00:00+14:00',
        '45s',
        '5m',
        '100',
        '0.5',
        'failed,held',
        ...RUN_STATES,
      ]),
      hostileText(4),
    );
    fc.assert(
      fc.property(text, (given) => {
        const instant = readOrUndefined(() => instantOf(given), given);
        if (instant !== undefined && /^\d+ *[mhdw]$/.test(given.trim())) expect(instant).toBeLessThanOrEqual(AT.now);
        else if (instant !== undefined) {
          // The instant is on the typed day, give or take a time zone.
          const day = Date.parse(`${given.trim().slice(0, 10)}T00:00:00Z`);
          expect(Math.abs(instant - day - 43_200_000), given).toBeLessThanOrEqual(2.5 * 86_400_000);
        }
        const length = readOrUndefined(() => parseDurationOption('--wait', given, { maxMs: 600_000 }), given);
        if (length !== undefined) expect(Number.isInteger(length) && length >= 0 && length <= 600_000).toBe(true);
        const number = readOrUndefined(() => parseNumber('--limit', given, { min: 1, max: 1_000 }), given);
        if (number !== undefined) expect(Number.isInteger(number) && number >= 1 && number <= 1_000).toBe(true);
        for (const state of readOrUndefined(() => parseRunStates('--state', [given]), given) ?? [])
          expect(RUN_STATES).toContain(state);
      }),
      cases(800),
    );
  },
  within(2),
);
