import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { localTimes, timesFor } from '../../../src/cli/terminal/local-times.ts';
import { createPrinter } from '../../../src/cli/terminal/print.ts';
import { cellWidth } from '../../../src/cli/terminal/table/cell-width.ts';
import { wrapText } from '../../../src/cli/terminal/wrap.ts';

describe('wrapped text', () => {
  test('is aligned with the value after a label, or indented', () => {
    expect(wrapText('ok    Redis: a b c d', 12)).toBe('ok    Redis:\n      a b c\n      d');
    expect(wrapText('  2. one two', 10)).toBe('  2. one\n     two');
    expect(wrapText('  one two three', 9)).toBe('  one two\n    three');
    expect(wrapText('short\n\nalso short', 12)).toBe('short\n\nalso short');
  });

  test('keeps words whole, counts cells, and is unchanged without a width', () => {
    const path = '/srv/archive/acme/board-pack';
    expect(wrapText(`see ${path} now`, 10)).toBe(`see\n  ${path}\n  now`);
    for (const line of wrapText('株式 会社 コン プラ イア ンス', 10).split('\n'))
      expect(cellWidth(line)).toBeLessThanOrEqual(10);
    expect(wrapText('a b c', undefined)).toBe('a b c');
  });
});

describe('times', () => {
  const NOW = Date.parse('2026-11-23T09:00:00Z');
  const { relative, exact, zone } = localTimes(NOW, { TZ: 'Europe/Zurich' });
  const before = (text: string) => relative(NOW - Number(text));

  test('are relative for some hours, then local dates', () => {
    expect([relative(NOW - 40_000), relative(NOW - 200_000), relative(NOW - 5 * 3_600_000)]).toEqual([
      '40 s ago',
      '3 min ago',
      '5 h ago',
    ]);
    expect([relative(NOW + 40_000), relative(NOW + 7_200_000)]).toEqual(['in 40 s', 'in 2 h']);
    expect(relative(Date.parse('2026-11-20T07:00:00Z'))).toBe('Fri 08:00');
    expect(relative(Date.parse('2026-09-01T06:00:00Z'))).toBe('1 Sep 08:00');
    expect(relative(Date.parse('2025-11-20T07:00:00Z'))).toBe('20 Nov 2025');
    expect(before('0')).toBe('0 s ago');
    expect(exact(Date.parse('2026-11-23T07:00:12Z'))).toBe('Mon 23 Nov 08:00:12');
    expect(zone).toBe('Europe/Zurich (UTC+01:00)');
  });

  test('are ISO instants in UTC for programs', () => {
    const pipe = timesFor({ stdout: new PassThrough(), env: {} }, NOW);
    expect([pipe.relative(NOW), pipe.exact(NOW)]).toEqual(['2026-11-23T09:00:00.000Z', '2026-11-23T09:00:00.000Z']);
    const terminal = { stdout: Object.assign(new PassThrough(), { isTTY: true, columns: 80 }), env: { TZ: 'UTC' } };
    expect(timesFor(terminal, NOW).relative(NOW - 60_000)).toBe('1 min ago');
    expect(timesFor(terminal, NOW, { wide: true }).relative(NOW)).toBe('2026-11-23T09:00:00.000Z');
  });
});

describe('the next commands', () => {
  const nextOn = (columns: number | undefined): string => {
    const stderr = new PassThrough();
    const stdout = Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns });
    createPrinter({ stdout, stderr, env: {} }).printNext([
      { command: 'docket runs show 7cbbba3b', why: 'why it failed' },
    ]);
    return String(stderr.read() ?? '');
  };

  test('are printed on a terminal only, with a comment after or above them', () => {
    expect(nextOn(undefined)).toBe('');
    expect(nextOn(80)).toBe('\nNext:\n  docket runs show 7cbbba3b  # why it failed\n');
    expect(nextOn(40)).toBe('\nNext:\n  # why it failed\n  docket runs show 7cbbba3b\n');
  });
});
