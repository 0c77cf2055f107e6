import { execFile } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { promisify, stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { formatColumns } from '../../src/cli/columns.ts';
import { docket } from '../support/docket.ts';
import { onTerminal } from '../support/terminal.ts';

const ESCAPE = '\u001B';
const terminal = (columns: number) => Object.assign(new PassThrough(), { isTTY: true, columns });
const COLUMNS = ['REPORT', { name: 'NOTE', narrow: 'spare' }, { name: 'RUN', narrow: 'whole' }] as const;
const ROWS = [
  ['acme/a-report-of-a-long-name', 'a note that goes on and on', '2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e'],
  ['acme/b', 'short', '00000000000000000000000000000000'],
];
const linesOn = (columns: number) =>
  stripVTControlCharacters(formatColumns(COLUMNS, ROWS, terminal(columns))).split('\n');

describe('columns', () => {
  test('stand in full where nobody looks', () => {
    const [header, first] = formatColumns(COLUMNS, ROWS, new PassThrough()).split('\n');
    expect(header).toBe('REPORT                        NOTE                        RUN');
    expect(first).toBe('acme/a-report-of-a-long-name  a note that goes on and on  2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e');
  });

  test('are cut where the terminal is narrow, but never what somebody copies', () => {
    for (const width of [89, 70, 60, 50, 44]) {
      const lines = linesOn(width);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
      expect(lines[1]).toContain('2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e');
      expect(lines[1]).toContain('…');
    }
    expect(linesOn(44)[0]).not.toContain('NOTE');
  });

  test('hold what anybody wrote in one line, and turn nothing around that stands behind it', () => {
    const rows = [['acme/a\r\nacme/b  done', 'x\u202ey\u2028z \u001b[2Jw', 'run']];
    const [, ...shown] = formatColumns(COLUMNS, rows, new PassThrough()).split('\n');
    expect(shown.map((line) => line.split(/ {2,}/))).toEqual([['acme/a acme/b', 'done', 'xy z', '[2Jw', 'run']]);
  });

  test('keep whole what is needed on a terminal that is too narrow for anything', () => {
    expect(linesOn(10)[2]).toContain('00000000000000000000000000000000');
  });
});

describe('colours', () => {
  test('are for a terminal, unless NO_COLOR is set', async () => {
    expect((await onTerminal(['schedule'])).screen).toContain(`${ESCAPE}[1m`);
    expect((await onTerminal(['schedule'], { env: { NO_COLOR: '1' } })).screen).not.toContain(ESCAPE);
    expect((await onTerminal(['--help'])).screen).toContain(`${ESCAPE}[1m`);
    expect((await onTerminal(['--help'], { env: { NO_COLOR: '1' } })).screen).not.toContain(ESCAPE);
  });

  test('are in no pipe, unless FORCE_COLOR is set', async () => {
    for (const args of [['schedule'], ['--help'], ['chek']]) {
      const plain = await docket(args);
      expect(plain.stdout + plain.stderr).not.toContain(ESCAPE);
      const forced = await docket(args, { env: { FORCE_COLOR: '1' } });
      expect(forced.stdout + forced.stderr).toContain(ESCAPE);
    }
  });

  test('a listing fits its terminal', async () => {
    const { screen } = await onTerminal(['schedule'], { columns: 60 });
    const lines = stripVTControlCharacters(screen).split(/\r?\n/);
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(60);
  });
});

test('a reader that has had enough is no error', async () => {
  const line = `set -o pipefail; '${process.execPath}' dist/main.js schema | head -1`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line]);
  expect({ stdout, stderr }).toEqual({ stdout: '{\n', stderr: '' });
});
