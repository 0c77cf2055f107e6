import { describe, expect, test } from 'vitest';
import { relativePath } from '../../../src/cli/io.ts';
import { deliveryLines } from '../../../src/cli/terminal/delivery-groups.ts';
import { formatFileGroup, groupFiles } from '../../../src/cli/terminal/output-groups.ts';
import type { ProgressBars } from '../../../src/cli/terminal/progress-bar.ts';
import { showRunProgress } from '../../../src/cli/terminal/run-progress.ts';
import type { RunEvent } from '../../../src/run/run-events.ts';

const csv = Array.from({ length: 14 }, (_, index) => [
  { name: `section-${index}.csv`, bytes: 1024 },
  { name: `section-${index}.csv.schema.json`, bytes: 512 },
]).flat();
const FILES = [{ name: 'KPIs 2026-W47.xlsx', bytes: 35_840 }, ...csv, { name: 'KPIs.pdf', bytes: 2048 }];

describe('the files of a run', () => {
  test('are listed in one line per output', () => {
    const groups = groupFiles(FILES);
    expect(groups.map(({ kind, files, companions }) => [kind, files.length, companions.length])).toEqual([
      ['XLSX', 1, 0],
      ['CSV', 14, 14],
      ['PDF', 1, 0],
    ]);
    const [xlsx, tables] = groups.map(formatFileGroup);
    expect(xlsx).toContain('KPIs 2026-W47.xlsx');
    expect(tables).toContain('14 CSV files');
    expect(tables).toContain('21 KB');
  });

  test('have paths relative to the working directory if they are inside', () => {
    expect(relativePath('/srv/reports/out/acme', { cwd: '/srv/reports' })).toBe('out/acme');
    expect(relativePath('out/acme', { cwd: '/srv/reports' })).toBe('out/acme');
    expect(relativePath('/tmp/pack', { cwd: '/srv/reports' })).toBe('/tmp/pack');
    expect(relativePath('/srv/reports', { cwd: '/srv/reports' })).toBe('.');
  });
});

describe('the deliveries of a run', () => {
  const of = (count: number, state: string, detail: string | null) =>
    Array.from({ length: count }, (_, index) => ({
      target: '0-email',
      recipient: `${state}-${index}@acme.example`,
      state,
      detail,
    }));

  test('are one line per result, which names every recipient of a failed delivery', () => {
    const lines = deliveryLines([
      ...of(40, 'sent', '250 Ok 1'),
      ...of(6, 'refused', '550 No'),
      ...of(1, 'unknown', 'Lost.'),
    ]);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^sent .*sent-2@acme\.example and 37 more$/);
    expect(lines[0]).not.toContain('250 Ok');
    for (const { recipient } of of(6, 'refused', null)) expect(lines[1]).toContain(recipient);
    expect(lines[1]).toContain('550 No');
    expect(lines[2]).toMatch(/^unknown .*unknown-0@acme\.example: Lost\.$/);
  });

  test('are one line for all packs of a report with split, and name the pack of a single one', () => {
    const packs = of(40, 'sent', '250 Ok').map((one, index) => ({ ...one, target: `0-email:desk-${index}` }));
    expect(deliveryLines(packs)).toEqual([expect.stringMatching(/^sent +0-email → .* and 37 more$/)]);
    expect(deliveryLines(packs.slice(1, 2))).toEqual(['sent     0-email:desk-1 → sent-1@acme.example']);
  });
});

describe('the progress of a run', () => {
  const EVENTS: readonly RunEvent[] = [
    { type: 'planned', calls: 3, sections: 2 },
    { type: 'timed', stage: 'plan', ms: 5 },
    { type: 'waiting', call: 'a', until: 60_000, ahead: 2, tokens: 0 },
    { type: 'waiting', call: 'b', until: 61_000, ahead: 1, tokens: 0 },
    ...[1, 2, 3].map(
      (done): RunEvent => ({ type: 'fetched', call: 'a', done, of: 3, saved: done === 3, tokens: 9, finish: 0 }),
    ),
    { type: 'timed', stage: 'fetch', ms: 61_000 },
    { type: 'timed', stage: 'render', ms: 340 },
    { type: 'timed', stage: 'seal', ms: 3 },
    ...FILES.map((file): RunEvent => ({ type: 'rendered', ...file })),
    { type: 'delivered', target: '0-email', recipient: 'a@acme.example', state: 'pending', detail: '451 Later' },
    { type: 'delivered', target: '0-email', recipient: 'a@acme.example', state: 'sent', detail: '250 Ok' },
    { type: 'timed', stage: 'deliver', ms: 1_900 },
    { type: 'finished', state: 'done' },
  ];
  const linesOf = async (isVisible: boolean, ending: boolean): Promise<readonly string[]> => {
    const lines: string[] = [];
    const bars: ProgressBars = {
      isVisible,
      add: () => ({ set: () => {} }),
      printLine: (line) => void lines.push(line),
      close: () => {},
    };
    const observe = showRunProgress('acme/weekly', bars, () => 1_000, { ending });
    for (const [index, event] of EVENTS.entries()) {
      observe(event);
      // All file events arrive before the next turn.
      if (EVENTS[index + 1]?.type !== 'rendered') await Promise.resolve();
    }
    return lines.map((line) => line.replace(/^acme\/weekly +/, '').replace(/ +/g, ' '));
  };

  test('is one line per stage, and one for a long wait', async () => {
    expect((await linesOf(false, true)).map((line) => line.split(' ')[0])).toEqual([
      'plan',
      'wait',
      'fetch',
      'render',
      'deliver',
      'finished',
    ]);
    const [plan, , fetch, render, deliver] = await linesOf(false, false);
    expect(plan).toBe('plan 3 calls for 2 sections');
    expect(fetch).toBe('fetch 3 calls, 1 cached, 1 min 1 s');
    expect(render).toMatch(/^render 1 XLSX file, 14 CSV files, 1 PDF file \(.*\), 340 ms$/);
    // The last state of a recipient counts.
    expect(deliver).toBe('deliver 1 sent, 1.9 s');
  });

  test('leaves waits to the progress bar on a terminal, and the end to the printed result', async () => {
    expect((await linesOf(true, false)).map((line) => line.split(' ')[0])).toEqual([
      'plan',
      'fetch',
      'render',
      'deliver',
    ]);
  });
});
