import { expect, test } from 'vitest';
import { parseDays } from '../../../src/services/listings/period-words.ts';

/** A Saturday. */
const NOW = Date.parse('2026-11-21T13:12:00Z');

test('the period of a filter accepts a period and nothing else', () => {
  expect(parseDays('october', NOW)).toMatchObject({ from: '2026-10-01', to: '2026-10-31' });
  for (const text of ['board@ october', 'nonsense', '']) {
    expect(() => parseDays(text, NOW)).toThrow(expect.objectContaining({ code: 'usage.invalid' }));
  }
});
