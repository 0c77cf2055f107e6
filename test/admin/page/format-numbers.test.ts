import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  formatByteCount,
  formatCounted,
  formatElapsed,
  formatFigures,
  formatInteger,
  formatRelativeTime,
} from '../../../src/admin/page/components/format-numbers.ts';
import { collectZones } from '../../../src/admin/page/components/time.tsx';

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [3_400, '3.4 s'],
  [59_999, '59 s'],
  [125_000, '2 min 5 s'],
  [3_840_000, '1 h 4 min'],
  [7_200_500, '2 h'],
  [266_400_000, '3 d 2 h'],
])('writes %d ms as %s', (ms, text) => {
  expect(formatElapsed(ms)).toBe(text);
});

it.each([
  [30_000, 'in less than a minute'],
  [-30_000, 'just now'],
  [180_000, 'in 3 min'],
  [-7_860_000, '2 h 11 min ago'],
  [147_600_000, 'in 1 d 17 h'],
])('writes an instant %d ms away as %s', (ms, text) => {
  expect(formatRelativeTime(1_000_000 + ms, 1_000_000)).toBe(text);
});

it.each([
  [812, '812 B'],
  [1_024, '1 KB'],
  [48_211, '47 KB'],
  [1_363_148, '1.3 MB'],
  [52_428_800, '50 MB'],
])('writes %d bytes as %s', (size, text) => {
  expect(formatByteCount(size)).toBe(text);
});

it('separates thousands and distinguishes singular and plural', () => {
  expect([
    formatInteger(1_234_567),
    formatCounted(1, 'call'),
    formatCounted(1_200, 'call'),
    formatCounted(2, 'delivery', 'deliveries'),
  ]).toEqual(['1,234,567', '1 call', '1,200 calls', '2 deliveries']);
});

it('formats every duration', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000_000 }), (ms) => {
      expect(formatElapsed(ms)).toMatch(/^[\d,.]+ (ms|s|min|h|d)( \d+ (s|min|h))?$/);
      expect(formatRelativeTime(ms, 0)).toMatch(/^(just now|in (less than a minute|[\d,]+ (min|h|d)( \d+ (min|h))?))$/);
    }),
  );
});

it('uses the shared zone of all organizations, or UTC when their zones differ', () => {
  const zurich = { org: 'acme', timezone: 'Europe/Zurich' };
  expect(collectZones([zurich, { ...zurich, org: 'globex' }]).shared).toBe('Europe/Zurich');
  const mixed = collectZones([zurich, { org: 'tokyo', timezone: 'Asia/Tokyo' }, { org: 'faulty', timezone: null }]);
  expect([mixed.shared, mixed.of('acme'), mixed.of('faulty'), mixed.of('gone')]).toEqual([
    'UTC',
    'Europe/Zurich',
    'UTC',
    'UTC',
  ]);
});

it.each([
  [1_204.5, 'count', '1,204.5'],
  [0.0625, 'ratio', '6.25%'],
  [90, 'seconds', '1 min 30 s'],
  [7, null, '7'],
  [null, 'ratio', 'no figure'],
])('writes %s of %s as %s', (value, unit, text) => {
  expect(formatFigures(value, 1, unit)[0]).toBe(text);
});

it.each([
  [0.899_996, 0.9, 'ratio', ['89.9996%', '90%']],
  [86_401, 86_400, 'seconds', ['1 d 1 s', '1 d']],
  [90_059, 90_000, 'seconds', ['1 d 1 h 59 s', '1 d 1 h']],
  [90_000.5, 90_000, 'seconds', ['90,000.5 s', '90,000 s']],
  [3.451, 3.45, 'seconds', ['3.451 s', '3.45 s']],
  [1.001, 1.002, 'CHF', ['1.001 CHF', '1.002 CHF']],
  [5, 5, 'count', ['5', '5']],
])('writes %s and %s of %s so that they can be told apart', (before, after, unit, texts) => {
  expect(formatFigures(before, after, unit)).toEqual(texts);
});
