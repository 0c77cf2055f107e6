import { expect, test } from 'vitest';
import { MAX_RETRY_AFTER_MS, parseRetryAfter } from '../../../src/base/net/retry-after.ts';

const NOW = Date.parse('2026-11-19T08:00:00Z');

test.each([
  ['seconds', '17', undefined, 17_000],
  ['0 seconds', '0', undefined, 0],
  ['a fraction', '1.5', undefined, 1_500],
  ['an absurd number', '99999999', undefined, MAX_RETRY_AFTER_MS],
  ['a missing header', undefined, undefined, undefined],
  ['a blank header', '  ', undefined, undefined],
  ['a word', 'soon', undefined, undefined],
  ['a negative number', '-5', undefined, undefined],
  ['an exponent', '1e9', undefined, undefined],
  ['a date', 'Thu, 19 Nov 2026 08:00:30 GMT', undefined, 30_000],
  ['a date of a clock that is an hour off', 'Thu, 19 Nov 2026 09:00:30 GMT', 'Thu, 19 Nov 2026 09:00:00 GMT', 30_000],
  ['a date that has passed', 'Thu, 19 Nov 2026 07:00:00 GMT', undefined, 0],
  ['an absurd date', 'Thu, 19 Nov 2099 08:00:00 GMT', undefined, MAX_RETRY_AFTER_MS],
])('Retry-After is parsed or ignored: %s', (_name, header, date, expected) => {
  expect(parseRetryAfter(header, date, NOW)).toBe(expected);
});
