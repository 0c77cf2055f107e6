import { describe, expect, test } from 'vitest';
import { parseSearch } from '../../../src/features/search/find-matches.ts';

/** A Saturday. */
const NOW = Date.parse('2026-11-21T13:12:00Z');

describe('a typed search', () => {
  test.each([
    ['board@ october', ['board@'], '2026-10-01', '2026-10-31'],
    ['October board@', ['board@'], '2026-10-01', '2026-10-31'],
    ['board@ oct 2025', ['board@'], '2025-10-01', '2025-10-31'],
    ['board@ Dezember', ['board@'], '2025-12-01', '2025-12-31'],
    ['\u212Aim@acme.example M\u00c4RZ', ['\u212Aim@acme.example'], '2026-03-01', '2026-03-31'],
    ['board@ 2026-10', ['board@'], '2026-10-01', '2026-10-31'],
    ['weekly w46', ['weekly'], '2026-11-09', '2026-11-15'],
    ['weekly 2026-w46', ['weekly'], '2026-11-09', '2026-11-15'],
    ['w52', [], '2025-12-22', '2025-12-28'],
    ['w53', [], '2020-12-28', '2021-01-03'],
    ['q3 2025 pack', ['pack'], '2025-07-01', '2025-09-30'],
    ['2026-11-01..2026-11-15', [], '2026-11-01', '2026-11-15'],
    ['previous_month', [], '2026-10-01', '2026-10-31'],
  ])('%s has a period, and the rest are words', (text, words, from, to) => {
    expect(parseSearch(text, text === 'w53' ? Date.parse('2021-01-02T00:00:00Z') : NOW)).toMatchObject({
      words,
      period: { from, to },
      idPrefix: null,
    });
  });

  test.each(['board', 'octopus', 'w54', '2026-13', 'q5', 'maybe', 'w53'])('%s is a word, not a period', (text) => {
    expect(parseSearch(text, NOW)).toMatchObject({ words: [text], period: null });
  });

  test('may be the start of an id from four hex digits on, and a year at the same time', () => {
    expect(parseSearch('2F6c', NOW).idPrefix).toBe('2f6c');
    expect(parseSearch('2026', NOW)).toMatchObject({ idPrefix: '2026', period: { from: '2026-01-01' } });
    for (const text of ['2f6', '2f6g', '2f6c board', 'a'.repeat(33), ''])
      expect(parseSearch(text, NOW).idPrefix).toBeNull();
  });
});
