import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { loadDefinitions, requireReport } from '../../src/compose/built-in-kinds.ts';
import { composeInline } from '../../src/compose/run-ports.ts';
import type { Definition } from '../../src/definitions/schema/report-definition.ts';
import { directoryArchive } from '../../src/deliver/archive/inline-archive.ts';
import type { CurrentCountsWindow } from '../../src/fetch/current-counts.ts';
import { messagesFor } from '../../src/i18n/messages.ts';
import { run } from '../../src/run/run.ts';
import type { RunPorts } from '../../src/run/run-context.ts';
import { createRunOrder, currentCountsWindow, type RunOrderRequest } from '../../src/run/run-order.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { memoryLedger } from '../support/memory-ledger.ts';
import { cellsOf, readCsv, readWorkbook } from '../support/read-files.ts';
import { definitionOf, settingsOf } from '../support/reports.ts';

const WINDOW_MS = 300;
const DAY_MS = 86_400_000;

describe('the window for current counts', () => {
  const SLOT = '2026-11-16T07:00:00.000Z';
  const ASKED = Date.parse('2026-11-20T10:00:00Z');
  const order = (change: Partial<RunOrderRequest>) =>
    createRunOrder({
      definition: definitionOf([{ id: 'a', metrics: ['alerts.open'] }]),
      settings: settingsOf(),
      trigger: 'schedule',
      priority: 'scheduled',
      slot: SLOT,
      at: ASKED,
      deliver: true,
      now: ASKED,
      ...change,
    });
  const until = (from: string): CurrentCountsWindow => ({ until: Date.parse(from) + DAY_MS, why: 'late', due: from });

  test.each<[string, Partial<RunOrderRequest>, CurrentCountsWindow]>([
    ['a slot, whenever its run is opened', {}, until(SLOT)],
    [
      'the request of a run on demand',
      { trigger: 'on_demand', slot: 'trigger:2020-01-01' },
      until('2026-11-20T10:00:00.000Z'),
    ],
    ['the request of an inline run', { trigger: 'cli', slot: 'trigger:1' }, until('2026-11-20T10:00:00.000Z')],
  ])('lasts 24 hours from %s', (_, change, expected) => {
    expect(currentCountsWindow(order(change))).toEqual(expected);
  });

  test.each<Partial<RunOrderRequest>>([
    { trigger: 'backfill', priority: 'backfill', slot: 'trigger:backfill' },
    { trigger: 'on_demand', priority: 'backfill', slot: 'trigger:api' },
  ])('never opens for a backfill, however it was requested: %j', (change) => {
    expect(currentCountsWindow(order(change))).toMatchObject({ until: Number.NEGATIVE_INFINITY, why: 'backfill' });
  });
});

describe('current counts in a pack', () => {
  let sandbox: Sandbox;
  let folder: string;
  let close: () => Promise<void>;
  let ports: RunPorts;
  let report: ReturnType<typeof requireReport>;

  beforeAll(async () => {
    sandbox = await startSandbox({ windowMs: WINDOW_MS });
  });
  afterAll(() => sandbox.close());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-counts-'));
    const { definition, settings } = requireReport(await loadDefinitions('jobs'), 'demo/weekly-kpi');
    const one = definition.sections.filter(({ id }) => id === 'queue');
    // Without its trend, which needs calls of its own.
    const { trend: _, ...scorecard } = { ...definition.sections[0] };
    const sections: Definition['sections'] = [
      { ...scorecard, id: 'first' } as Definition['sections'][number],
      ...one,
      ...one.map(({ dimensions: _, ...section }) => ({ ...section, id: 'whole', title: 'Whole' })),
    ];
    report = {
      definition: { ...definition, sections },
      // Without targets: statuses would add columns.
      settings: { ...settings, targets: [], budget: { window: WINDOW_MS / 1000 } },
    };
    const config = readConfig({
      COMPLIANCE_API_URL: sandbox.url,
      SMTP_URL: 'smtp://127.0.0.1:1',
      MAIL_FROM: 'r@acme.example',
    });
    const key = sandbox.keys.find(({ label }) => label === 'acme')?.key;
    const inline = await composeInline(
      { config, env: { DEMO_API_KEY: key }, clock: systemClock, log: silentLog, workingDirectory: folder },
      directoryArchive(join(folder, 'archive')),
    );
    ports = { ...(await inline.buildRunPorts(report.settings)), ledger: memoryLedger() };
    close = () => inline.scope.close();
  });
  afterEach(async () => {
    await close();
    await rm(folder, { recursive: true, force: true });
  });

  /** What a run shows of the section without groups in its workbook, CSV and mail. */
  async function shownBy(change: Partial<RunOrderRequest>) {
    const now = systemClock.now();
    const order = createRunOrder({
      ...report,
      trigger: 'schedule',
      priority: 'scheduled',
      slot: new Date(now).toISOString(),
      at: now,
      deliver: false,
      now,
      ...change,
    });
    const context = { ...report, signal: new AbortController().signal, observe: () => {}, lastAttempt: true };
    const outcome = await run(order, context, ports);
    if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
    const { folder: made, calls, incomplete } = outcome.value;
    const files = await readdir(made, { recursive: true });
    const named = (ending: string) => join(made, files.find((name) => name.endsWith(ending)) ?? '');
    const book = readWorkbook(named('.xlsx'));
    const textsOf = (sheet: string) =>
      cellsOf(book, sheet).flatMap((line) => line.flatMap((cell) => (cell?.t === 's' ? [String(cell.v)] : [])));
    const cells = cellsOf(book, 'Whole');
    const header = cells.findIndex((line) => line[0]?.v === 'Metric');
    const sealed = await ports.archive.find(order);
    return {
      calls: calls.flatMap(({ sections }) => sections),
      incomplete,
      values: cells.slice(header + 1, header + 7).map((line) => line[1]?.v),
      texts: { cover: textsOf('Summary'), whole: textsOf('Whole'), queue: textsOf('Queue now'), run: textsOf('Run') },
      csv: readCsv(named('whole.csv')),
      grouped: readCsv(named('queue.csv')),
      schema: JSON.parse(await readFile(named('whole.schema.json'), 'utf8')),
      mail: sealed?.mail.text ?? '',
    };
  }

  const { notes, table, workbook } = messagesFor();

  test('are shown at the run’s slot and on demand, also for a past period', async () => {
    const now = systemClock.now();
    for (const change of [
      { slot: new Date(now - DAY_MS + 60 * 60_000).toISOString() },
      {
        trigger: 'on_demand',
        priority: 'on_demand',
        slot: 'trigger:1',
        period: { from: '2026-01-01', to: '2026-01-31' },
      },
    ] satisfies Partial<RunOrderRequest>[]) {
      const { calls, values, texts, grouped } = await shownBy(change);
      expect(calls).toEqual(['first', 'queue', 'whole']);
      expect(values).toEqual(values.map(() => expect.any(Number)));
      expect(texts.cover).toContain(workbook.complete);
      expect(grouped.length).toBeGreaterThan(2);
    }
  });

  test.each<[CurrentCountsWindow['why'], Partial<RunOrderRequest>, string[]]>([
    [
      'backfill',
      {
        trigger: 'backfill',
        priority: 'backfill',
        slot: 'trigger:x',
        period: { from: '2026-01-01', to: '2026-01-31' },
      },
      ['first'],
    ],
    ['late', { slot: new Date(systemClock.now() - DAY_MS - 60_000).toISOString() }, ['first', 'queue', 'whole']],
  ])('are not shown in a %s run, which says why', async (why, change, requested) => {
    const { calls, incomplete, values, texts, csv, grouped, schema, mail } = await shownBy(change);
    expect([calls, incomplete]).toEqual([requested, []]);
    expect(values).toEqual(values.map(() => '–'));
    const reason = new RegExp(
      `^${notes.counts_undefined({ why, due: '', timezone: '' }).split(why === 'late' ? ' (,' : '\n')[0]}`,
    );
    for (const shown of [texts.whole, texts.queue, mail.split('\n').map((line) => line.trim())]) {
      expect(shown).toContainEqual(expect.stringMatching(reason));
    }
    expect(texts.cover).not.toContain(workbook.complete);
    expect(texts.run).not.toContain(workbook.run.nothing);
    expect(texts.queue).toContain(table.noCounts);
    expect(texts.queue).not.toContain(workbook.section.noRows);
    expect(mail).not.toContain(workbook.section.noRows);
    expect(csv[1]).toEqual(values.map(() => ''));
    expect(grouped).toHaveLength(1);
    expect(schema.description).toMatch(new RegExp(reason.source.slice(1)));
    // They are not among the headline figures.
    const [headline = ''] = mail.split('WHOLE');
    expect(headline.split('HEADLINE')[1] ?? '').not.toMatch(/overdue/i);
  });
});
