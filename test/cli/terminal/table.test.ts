import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { formatColumns } from '../../../src/cli/terminal/print.ts';
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
  test('are not truncated without a terminal', () => {
    const [header, first] = formatColumns(COLUMNS, ROWS, new PassThrough(), {}).split('\n');
    expect(header).toBe('REPORT                        NOTE                        RUN');
    expect(first).toBe('acme/a-report-of-a-long-name  a note that goes on and on  2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e');
  });

  test('are truncated or dropped on a narrow terminal, but never those to keep', () => {
    for (const width of [89, 70, 60, 50, 44]) {
      const lines = linesOn(width);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
      expect(lines[1]).toContain('2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e');
      expect(lines[1]).toContain('…');
    }
    expect(linesOn(44)[0]).not.toContain('NOTE');
  });

  test('keep foreign text on one line, and without control characters', () => {
    const rows = [['acme/a\r\nacme/b  done', 'x\u202ey\u2028z \u001b[2Jw', 'run']];
    const [, ...shown] = formatColumns(COLUMNS, rows, new PassThrough(), {}).split('\n');
    expect(shown.map((line) => line.split(/ {2,}/))).toEqual([['acme/a acme/b', 'done', 'xy z', '[2Jw', 'run']]);
  });

  test('keep what must be kept on a terminal that is too narrow', () => {
    expect(linesOn(10)[2]).toContain('00000000000000000000000000000000');
  });
});

describe('colours', () => {
  test('are used on a terminal, unless NO_COLOR is set', async () => {
    expect((await runCommand(['schedule'], { terminal: {} })).screen).toContain(`${ESCAPE}[1m`);
    expect((await runCommand(['schedule'], { terminal: {}, env: { NO_COLOR: '1' } })).screen).not.toContain(ESCAPE);
    expect((await runCommand(['--help'], { terminal: {} })).screen).toContain(`${ESCAPE}[1m`);
    expect((await runCommand(['--help'], { terminal: {}, env: { NO_COLOR: '1' } })).screen).not.toContain(ESCAPE);
  });

  test('are not used in a pipe, unless FORCE_COLOR is set', async () => {
    for (const args of [['schedule'], ['--help'], ['chek']]) {
      const plain = await runCommand(args);
      expect(plain.stdout + plain.stderr).not.toContain(ESCAPE);
      const forced = await runCommand(args, { env: { FORCE_COLOR: '1' } });
      expect(forced.stdout + forced.stderr).toContain(ESCAPE);
    }
  });

  test('a table fits its terminal', async () => {
    const { screen } = await runCommand(['schedule'], { terminal: { columns: 60 } });
    const lines = stripVTControlCharacters(screen).split(/\r?\n/);
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(60);
  });
});
