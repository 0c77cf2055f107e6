import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BUILT_IN_KINDS, loadDefinitions, requireReport } from '../../src/compose/built-in-kinds.ts';
import { type Catalog, catalogSchema } from '../../src/contract/catalog.ts';
import { LIMITS, RATE_LIMITS } from '../../src/contract/limits.ts';
import { PATHS, pageSchema } from '../../src/contract/organization.ts';
import { reportResponseSchema } from '../../src/contract/report.ts';
import { formatDiagnostic } from '../../src/definitions/diagnostics/diagnostic.ts';
import type { Definitions } from '../../src/definitions/load/load-definitions.ts';
import { resolveRunPeriods } from '../../src/definitions/periods/period.ts';
import { buildTimetable, nextReportSlots } from '../../src/definitions/schedules/slots.ts';
import { findCatalogDiagnostics } from '../../src/plan/checks/catalog-check.ts';
import { checkPlan } from '../../src/plan/checks/check-plan.ts';
import { checkTargets } from '../../src/plan/checks/check-targets.ts';
import { checkReadings } from '../../src/plan/checks/reading-check.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import { readingGap } from '../../src/plan/reading.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { createTemplateViewer } from '../../src/services/definitions/view-template.ts';

const NOW = Date.parse('2026-11-23T07:00:00Z');
let jobs: Definitions;
let sandbox: Sandbox;
let key: string;
let catalog: Catalog;

const ask = (path: string, body?: unknown) =>
  fetch(new URL(path, sandbox.url), {
    headers: { Authorization: `Api-Key ${key}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });

beforeAll(async () => {
  jobs = await loadDefinitions('jobs');
  sandbox = await startSandbox({ now: NOW });
  key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
  catalog = catalogSchema.parse(await (await ask(PATHS.catalog('current'))).json());
});
afterAll(() => sandbox.close());

test('every file in jobs/ loads without errors', () => {
  expect(jobs.diagnostics.map(formatDiagnostic)).toEqual([]);
  expect([...jobs.reports.keys()]).toEqual(['demo/board-book', 'demo/board-pack', 'demo/desks', 'demo/weekly-kpi']);
});

test('every file in jobs/ names its schema for editors', () => {
  for (const [name, { file, text }] of jobs.sources) {
    const schema = name.includes('/') ? 'report' : 'org';
    expect(text.split('\n')[0], file).toBe(`# yaml-language-server: $schema=../${schema}.schema.json`);
    expect(() => readFileSync(`jobs/${schema}.schema.json`)).not.toThrow();
  }
  expect([...jobs.targetSources.keys()]).toEqual(['demo']);
  for (const { file, text } of jobs.targetSources.values()) {
    expect(text.split('\n')[0], file).toBe('# yaml-language-server: $schema=../targets.schema.json');
  }
});

describe('the demo', () => {
  const plans = () =>
    [...jobs.reports.keys()].map((name) => {
      const { definition, settings } = requireReport(jobs, name);
      const periods = resolveRunPeriods(definition, settings, NOW);
      return { definition, settings, periods, plan: compilePlan({ definition, settings, ...periods, catalog }) };
    });

  test('fits the catalog of its organization', () => {
    for (const { definition, settings, periods } of plans()) {
      expect([...findCatalogDiagnostics(definition, catalog, settings.readings)]).toEqual([]);
      expect(checkPlan({ definition, settings, ...periods, catalog })).toEqual([]);
    }
    const settings = jobs.orgs.get('demo');
    expect(checkTargets(settings?.targets ?? [], catalog)).toEqual([]);
    expect(settings?.readings && checkReadings(settings.readings, catalog)).toEqual([]);
  });

  test('has readings for the sections of current counts that show past days', () => {
    const ids = (report: string) => jobs.reports.get(report)?.sections.map((section) => [section.id, section] as const);
    const readings = jobs.orgs.get('demo')?.readings;
    for (const [report, id] of [
      ['demo/weekly-kpi', 'backlog'],
      ['demo/board-pack', 'workload'],
    ] as const) {
      const section = new Map(ids(report)).get(id);
      expect(section && readingGap(section, readings), `${report} ${id}`).toBeUndefined();
      expect(section, `${report} ${id}`).toBeDefined();
    }
  });

  /** The different requests of the reports. */
  const requests = (...reports: readonly string[]) =>
    new Map(
      plans().flatMap(({ definition, plan }) =>
        plan.calls.flatMap((call) =>
          call.kind === 'report' && (reports.length === 0 || reports.includes(definition.report))
            ? [[JSON.stringify([call.org, call.request]), call] as const]
            : [],
        ),
      ),
    );

  test('fits all reports into one minute of the budget, with four calls to spare', () => {
    expect(requests().size).toBeLessThan(26);
    expect(requests().size + 4).toBeLessThan(RATE_LIMITS.metrics.calls);
  });

  test('needs no requests for the board workbook beyond those for the board pack', () => {
    expect([...requests('board-book').keys()].filter((key) => !requests('board-pack').has(key))).toEqual([]);
  });

  test('gets figures for every section without truncated responses', async () => {
    for (const call of requests().values()) {
      const response = await ask(PATHS.report(call.org), call.request);
      expect([call.id, response.status]).toEqual([call.id, 200]);
      const answer = reportResponseSchema.parse(await response.json());
      expect(answer.meta.truncated).toBe(false);
      expect(answer.rows.length).toBeGreaterThan(0);
      expect(answer.rows.length).toBeLessThan(LIMITS.max_rows);
    }
  });

  test('fills every table and cell of its workbook template, except for four columns of the template itself', async () => {
    const version = requireReport(jobs, 'demo/board-book');
    const view = await createTemplateViewer(
      () => 'jobs',
      async () => catalog,
      BUILT_IN_KINDS.formats,
    )(version);
    expect(view?.problems).toEqual([]);
    expect(view?.names).toHaveLength(39);
    const own = view?.tables.flatMap(({ columns }) => columns.filter(({ bound }) => bound === null));
    expect(own?.map(({ header }) => header)).toEqual([
      'Decided of created',
      'Share',
      'More open',
      'Since the beginning',
    ]);
  });

  test('has a roster of several pages but fewer than 1,000 records', async () => {
    const roster = jobs.reports.get('demo/board-pack')?.sections.find(({ list }) => list !== undefined);
    const query = new URLSearchParams({ search: roster?.search ?? '', ordering: roster?.ordering ?? '' });
    const page = pageSchema.parse(await (await ask(`${PATHS.list(101, 'profiles')}?${query}`)).json());
    expect(page.count).toBeGreaterThan(page.results.length);
    expect(page.count).toBeLessThan(1000);
  });

  test('is due on Mondays at 8 and on the first of the month at 7, in Zurich', () => {
    const next = plans().map(({ definition, settings }) => {
      const [slot] = nextReportSlots(buildTimetable(definition, settings), NOW, 1);
      return new Date(slot?.at ?? 0).toISOString();
    });
    expect(next).toEqual([
      '2026-12-01T06:00:00.000Z',
      '2026-12-01T06:00:00.000Z',
      '2026-11-30T07:00:00.000Z',
      '2026-11-30T07:00:00.000Z',
    ]);
  });
});
