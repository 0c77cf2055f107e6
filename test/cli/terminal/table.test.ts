import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deliveryIdCells, idCells } from '../../../src/cli/terminal/table/cell.ts';
import { cellWidth, cutMiddle, cutReport } from '../../../src/cli/terminal/table/cell-width.ts';
import { formatColumns, shortenNames } from '../../../src/cli/terminal/table/columns.ts';
import { runCommand } from '../../support/run-command.ts';

const ESCAPE = '\u001B';
const terminal = (columns: number) => Object.assign(new PassThrough(), { isTTY: true, columns });
const COLUMNS = ['REPORT', { name: 'NOTE', whenNarrow: 'drop' }, { name: 'RUN', whenNarrow: 'keep' }] as const;
const ROWS = [
  ['acme/a-report-of-a-long-name', 'a note that goes on and on', '2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e'],
  ['acme/b', 'short', '00000000000000000000000000000000'],
];
const linesOn = (columns: number) =>
  stripVTControlCharacters(formatColumns(COLUMNS, ROWS, terminal(columns), {})).split('\n');

describe('columns', () => {
  test('are not shortened without a terminal, or with --wide', () => {
    const [header, first] = formatColumns(COLUMNS, ROWS, new PassThrough(), {}).split('\n');
    expect(header).toBe('REPORT                        NOTE                        RUN');
    expect(first).toBe('acme/a-report-of-a-long-name  a note that goes on and on  2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e');
    const wide = formatColumns(COLUMNS, ROWS, terminal(40), { NO_COLOR: '1' }, { wide: true });
    expect(stripVTControlCharacters(wide).split('\n')).toEqual([header, first, expect.any(String)]);
  });

  test('are dropped or shortened on a narrow terminal, except those to keep', () => {
    for (const width of [89, 70, 60, 50, 44]) {
      const lines = linesOn(width);
      for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(width);
      expect(lines[1]).toContain('2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e');
    }
    // A column is dropped before the name of a report is shortened.
    expect(linesOn(89)[0]).toContain('NOTE');
    expect(linesOn(64)[0]).not.toContain('NOTE');
    expect(linesOn(64)[1]).toContain('acme/a-report-of-a-long-name');
    expect(linesOn(60)[1]).toContain('…');
  });

  test('keep foreign text on one line, without control characters', () => {
    const rows = [['acme/a\r\nacme/b  done', 'x\u202ey\u2028z \u001b[2Jw', 'run']];
    const [, ...shown] = formatColumns(COLUMNS, rows, new PassThrough(), {}).split('\n');
    expect(shown.map((line) => line.split(/ {2,}/))).toEqual([['acme/a acme/b', 'done', 'xy z', '[2Jw', 'run']]);
  });

  test('show what must be kept even if the terminal is too narrow', () => {
    expect(linesOn(10)[2]).toContain('00000000000000000000000000000000');
  });

  test('show the brief form of a cell on a terminal, and the exact form elsewhere', () => {
    const cell = { exact: 'partly_delivered', brief: 'partly delivered' };
    const columns = [{ name: 'UTC', briefName: 'WHEN' }];
    expect(stripVTControlCharacters(formatColumns(columns, [[cell]], terminal(80), {}))).toBe('WHEN\npartly delivered');
    expect(formatColumns(columns, [[cell]], new PassThrough(), {})).toBe('UTC\npartly_delivered');
  });

  test('are dropped by rank, the highest first', () => {
    const columns = [
      { name: 'A', whenNarrow: 'keep' },
      { name: 'B', whenNarrow: 'drop', rank: 2 },
      { name: 'C', whenNarrow: 'drop', rank: 1 },
    ] as const;
    const header = (width: number) =>
      stripVTControlCharacters(formatColumns(columns, [['aaaa', 'bbbb', 'cccc']], terminal(width), {})).split('\n')[0];
    expect(header(16)?.split(/ +/)).toEqual(['A', 'B', 'C']);
    expect(header(15)?.split(/ +/)).toEqual(['A', 'C']);
    expect(header(9)?.split(/ +/)).toEqual(['A']);
  });

  test('align wide and combining characters, and isolate right-to-left text', () => {
    const names = ['株式会社コンプライアンス', 'Zoë', 'Zoe\u0308', 'بنك الاتحاد', 'plain'];
    const lines = stripVTControlCharacters(
      formatColumns(
        ['NAME', 'N'],
        names.map((name) => [name, '1']),
        terminal(80),
        {},
      ),
    ).split('\n');
    const starts = lines.slice(1).map((line) => cellWidth(line.slice(0, line.lastIndexOf('1'))));
    expect(new Set(starts)).toEqual(new Set([cellWidth('株式会社コンプライアンス') + 2]));
    expect(lines[4]).toContain('\u2068بنك الاتحاد\u2069');
    // A pipe gets the text unchanged.
    expect(formatColumns(['NAME'], [['بنك الاتحاد']], new PassThrough(), {})).toBe('NAME\nبنك الاتحاد');
  });
});

describe('shortened names', () => {
  const reports = (names: readonly string[], width: number) => [...shortenNames(names, width, cutReport).values()];

  test('lose characters of the organization first, then from the middle of the report', () => {
    expect(reports(['northwind-industries/board-pack'], 20)).toEqual(['northwin…/board-pack']);
    expect(reports(['acme/onboarding-of-profiles-weekly'], 20)).toEqual(['…/onboardin…s-weekly']);
    expect(reports(['acme/weekly'], 20)).toEqual(['acme/weekly']);
  });

  test('stay different', () => {
    for (const names of [
      ['northwind-east/board-pack-monthly', 'northwind-west/board-pack-monthly'],
      ['a/quarterly-kpis-of-2025-for-the-board', 'a/quarterly-kpis-of-2026-for-the-board'],
      ['a/one-two-three-four-five-six', 'a/one-two-three-FOUR-five-six', 'a/one-two-three-four-five-Six'],
      Array.from({ length: 40 }, (_, index) => `organization-${index}/the-same-name-of-a-report`),
      Array.from(
        { length: 40 },
        (_, index) => `acme/${'x'.repeat(30)}${String(index).padStart(3, '0')}${'y'.repeat(30)}`,
      ),
    ]) {
      for (const width of [12, 18, 24, 30]) {
        const short = reports(names, width);
        expect(new Set(short).size).toBe(names.length);
        for (const name of short) expect(cellWidth(name)).toBeLessThanOrEqual(width);
      }
    }
  });

  test('stay different and within their width, for any names', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.stringMatching(/^[ab株]{1,6}\/[ab]{0,20}-[ab]{0,20}$/), { maxLength: 8 }),
        fc.integer({ min: 8, max: 24 }),
        (names, width) => {
          for (const cut of [cutReport, cutMiddle]) {
            const short = [...shortenNames(names, width, cut).values()];
            expect(new Set(short).size).toBe(names.length);
            for (const name of short) expect(cellWidth(name)).toBeLessThanOrEqual(width);
          }
        },
      ),
    );
  });
});

describe('short ids', () => {
  test('have eight digits, or more if a listing needs them to differ', () => {
    const [one, two, three] = ['7cbbba3b767cc2da', '7cbbba3b767cc2db', 'ab56c0d85b5b2c31'];
    expect(idCells([one, three])(one)).toEqual({ exact: one, brief: '7cbbba3b' });
    expect(idCells([one, two, three])(two).brief).toBe(two);
    expect(idCells([one, one])(one).brief).toBe('7cbbba3b');
    // Its run may have other deliveries, which share the first 16 digits.
    expect(deliveryIdCells([one])(one).brief).toBe(one.slice(0, 20));
  });
});

describe('the output of docket', () => {
  test('is coloured on a terminal, unless NO_COLOR is set', async () => {
    expect((await runCommand(['schedule'], { terminal: {} })).screen).toContain(`${ESCAPE}[1m`);
    expect((await runCommand(['schedule'], { terminal: {}, env: { NO_COLOR: '1' } })).screen).not.toContain(ESCAPE);
    expect((await runCommand(['--help'], { terminal: {} })).screen).toContain(`${ESCAPE}[1m`);
    expect((await runCommand(['--help'], { terminal: {}, env: { NO_COLOR: '1' } })).screen).not.toContain(ESCAPE);
  });

  test('is not coloured in a pipe, unless FORCE_COLOR is set', async () => {
    for (const args of [['schedule'], ['--help'], ['chek']]) {
      const plain = await runCommand(args);
      expect(plain.stdout + plain.stderr).not.toContain(ESCAPE);
      const forced = await runCommand(args, { env: { FORCE_COLOR: '1' } });
      expect(forced.stdout + forced.stderr).toContain(ESCAPE);
    }
  });

  test('fits the width of the terminal', async () => {
    const { screen } = await runCommand(['schedule'], { terminal: { columns: 60 } });
    const lines = stripVTControlCharacters(screen).split(/\r?\n/);
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(60);
  });
});
