import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/base/time.ts';
import { catalogSchema } from '../../../src/contract/catalog.ts';
import type { ReportRequest } from '../../../src/contract/report.ts';
import { schedulesSchema } from '../../../src/definitions/schedules/schedule.ts';
import { readingArchive } from '../../../src/deliver/archive/readings/reading-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { memoryCatalogCache } from '../../../src/fetch/cache/catalog-cache.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import { DEFAULT_ASSUMPTIONS } from '../../../src/services/forecast/forecast-run.ts';
import { planSlots } from '../../../src/services/forecast/plan-slots.ts';
import { planTasks, type WatchedEdition } from '../../../src/services/forecast/plan-tasks.ts';
import { simulateRuns } from '../../../src/services/forecast/simulate-runs.ts';
import type { RequestPorts } from '../../../src/services/readings/ask-service.ts';
import { createReadingRounds } from '../../../src/services/readings/reading-rounds.ts';
import { correctionsHarness } from '../../support/corrections-harness.ts';
import { folderFor } from '../../support/delivery-case.ts';
import { inProcessSandbox } from '../../support/in-process-sandbox.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { preparationHarness } from '../../support/preparation-harness.ts';
import { definitionOf, type SectionInput, settingsOf } from '../../support/reports.ts';

const KEY = 'k';
const LIMITS = new Map([[KEY, { calls: 30, windowMs: MINUTE_MS }]]);
const sandboxCatalog = async () => {
  const { body } = await inProcessSandbox().get('/api/orgs/103/analytics/metrics/');
  return catalogSchema.parse(body);
};

/** Tokens in the forecast, by the number of units after `from`. */
async function forecastTokens(
  from: number,
  to: number,
  of: { readonly settings: ReturnType<typeof settingsOf>; readonly editions?: readonly WatchedEdition[] },
  unitMs: number,
): Promise<Record<number, number>> {
  const { settings, editions = [] } = of;
  const sources = new Map([[settings.id, { key: KEY, catalog: await sandboxCatalog(), settings }]]);
  const tasks = planTasks({ from, to }, sources, editions);
  const { keys } = await simulateRuns([], LIMITS, DEFAULT_ASSUMPTIONS, { tasks, to });
  return count(keys.flatMap(({ minutes }) => minutes.flatMap(({ at, tokens }) => Array<number>(tokens).fill(at))));

  function count(instants: readonly number[]) {
    const counts: Record<number, number> = {};
    for (const at of instants)
      counts[Math.floor((at - from) / unitMs)] = (counts[Math.floor((at - from) / unitMs)] ?? 0) + 1;
    return counts;
  }
}

test('readings make exactly the calls of the forecast, in its minutes, across a clock change', async () => {
  const from = Date.parse('2026-10-24T00:00:00Z');
  const to = from + 3 * DAY_MS;
  const settings = settingsOf({
    timezone: 'Europe/Zurich',
    readings: { at: '21:00', metrics: ['alerts.open', 'profiles.open'], by: ['profile.type', 'profile.risk'] },
  });
  const clock = manualClock(from);
  const sandbox = inProcessSandbox({ clock });
  const actual: Record<number, number> = {};
  const record = () => {
    const minute = Math.floor((clock.now() - from) / MINUTE_MS);
    actual[minute] = (actual[minute] ?? 0) + 1;
  };
  const ports = {
    client: {
      requestTimeoutMs: 30_000,
      catalog: async () => {
        record();
        return sandboxCatalog();
      },
      report: async (_: unknown, request: ReportRequest) => {
        record();
        return { correlationId: null, body: await sandbox.answered(request, { org: 103 }) };
      },
    },
    ...{ key: KEY, clock, budget: memoryBudget({ calls: 30, windowMs: MINUTE_MS, clock }) },
    catalogs: memoryCatalogCache(clock),
  } as unknown as RequestPorts;
  const round = createReadingRounds({
    ...{ archive: readingArchive(directoryStorage(await folderFor(onTestFinished))), clock, log: silentLog },
    ...{ orgs: () => new Map([[settings.id, settings]]), buildRequestPorts: async () => ports },
    signal: new AbortController().signal,
  });
  for (; clock.now() < to; clock.advance(MINUTE_MS)) await round();

  const expected = await forecastTokens(from, to, { settings }, MINUTE_MS);
  // The catalog, one call for the total and one for each dimension. An hour later after the clock change.
  expect(Object.values(expected)).toEqual([4, 4, 4]);
  expect(Object.keys(expected).map(Number)).toEqual([19 * 60, 43 * 60 + 60, 67 * 60 + 60]);
  expect(actual).toEqual(expected);
});

test('checks of a delivered edition make exactly the calls of the forecast, each day until the watch ends', async () => {
  const harness = await correctionsHarness();
  const definition = definitionOf(
    [
      { id: 'daily', metrics: ['profiles.created'], granularity: 'day', totals: true, compare: 'previous_period' },
      { id: 'rate', metrics: ['profiles.approval_rate'], compare: 'previous_year' },
      // Current counts are never corrected.
      { id: 'queue', metrics: ['alerts.open'] },
    ],
    {
      period: 'previous_month',
      deliveries: [{ email: { to: ['mlro@acme.example'], attach: [] } }],
      corrections: { watch: 3 * 86_400, materiality: 0.02, on_correction: 'notify_owner' },
    },
  );
  const run = await harness.deliver(definition);
  const { manifest } = (await harness.archive.peek(run)) ?? {};
  const from = harness.clock.now();
  const calls = () => harness.sandbox.requests().filter(({ path }) => path.includes('/analytics/')).length;
  const actual: number[] = [];
  for (let day = 1; day <= 5; day += 1) {
    const before = calls();
    await harness.nextDay();
    actual.push(calls() - before);
  }

  const editions = [
    {
      report: { definition, settings: harness.settings },
      periods: { period: manifest?.period ?? { from: '', to: '', timezone: '', label: '' } },
      ...{ deliveredAt: from, checkedAt: undefined },
    },
  ];
  const to = from + 6 * DAY_MS;
  const expected = await forecastTokens(from - MINUTE_MS, to, { settings: harness.settings, editions }, DAY_MS);
  expect(actual.map((count) => count > 0)).toEqual([true, true, true, false, false]);
  expect([1, 2, 3, 4, 5].map((day) => expected[day] ?? 0)).toEqual(actual);
});

const LISTS: readonly SectionInput[] = [
  { id: 'created', metrics: ['profiles.created'], granularity: 'day' },
  { id: 'people', list: 'profiles' },
  { id: 'people_by_name', list: 'profiles', ordering: 'name' },
];
test.each([
  ['one list, whose organization is "current",', LISTS.slice(0, 2), 'current'],
  ['two lists, whose organization is "current",', LISTS, 'current'],
  ['two lists, whose organization is a number,', LISTS, 103],
] as const)('a report with %s makes exactly the calls of the forecast', async (_, sections, org) => {
  const slot = Date.parse('2026-11-30T08:00:00Z');
  const schedule = schedulesSchema.parse({ cron: '0 9 * * MON' });
  const harness = await preparationHarness(new Date(slot).toISOString(), { schedule }, { sections });
  harness.configure({ org });
  const { fetched } = await harness.run(new Date(slot).toISOString());
  const requests = harness.sandbox.requests();
  const reads = requests.filter(({ path }) => !path.includes('/analytics/'));

  const settings = settingsOf({ org });
  const report = { definition: definitionOf(sections, { schedule }), settings };
  const sources = new Map([[settings.id, { key: KEY, catalog: await sandboxCatalog(), settings }]]);
  const { runs } = planSlots([report], { from: slot, to: slot + DAY_MS }, sources);
  const pages = fetched.reduce((sum, event) => sum + (event.pages ?? 0), 0);
  const reports = new Map([['acme/weekly', { ...DEFAULT_ASSUMPTIONS, pages }]]);
  const [forecast] = (await simulateRuns(runs, LIMITS, { ...DEFAULT_ASSUMPTIONS, reports })).runs;
  expect(pages).toBeGreaterThan(sections.length);
  expect(forecast).toMatchObject({ reads: reads.length, tokens: requests.length - reads.length });
});
