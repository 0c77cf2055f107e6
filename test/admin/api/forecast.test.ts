import { expect, test } from 'vitest';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import { forecastSchema } from '../../../src/services/forecast/forecast-document.ts';
import type { ForecastWindow } from '../../../src/services/forecast/forecast-run.ts';
import { DEFAULT_ASSUMPTIONS, type ForecastRun } from '../../../src/services/forecast/forecast-run.ts';
import { findLateSlots } from '../../../src/services/forecast/late-slots.ts';
import { simulateRuns } from '../../../src/services/forecast/simulate-runs.ts';
import { createTestAdmin } from '../../support/admin.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { reportDefinition } from '../../support/queue-harness.ts';

const tokens = { acme: newToken(), all: newToken() };
const entries: TokenEntry[] = [
  { name: 'eyes', sha256: tokens.acme.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'ops', sha256: tokens.all.sha256, role: 'viewer', orgs: '*' },
];
const NOW = Date.parse('2026-11-30T08:59:30Z');
const NINE = Date.parse('2026-11-30T09:00:00Z');
const LIMITS = new Map([['k', { calls: 30, windowMs: 60_000 }]]);
const jobs = loadedJobs(reportDefinition(), reportDefinition('weekly', undefined, 'rival'));

/** Runs of acme and rival share one key; together they are late. */
const runOf = (org: string): ForecastRun => ({
  ...{ org, name: `${org}/weekly`, key: 'k', slot: NINE, begins: NINE, before: NINE - 86_400_000, maxAgeMs: 0 },
  ...{ lateAt: NINE + 30_000, expected: NINE + 30_000, offsetMs: 0 },
  calls: Array.from({ length: 20 }, (_, index) => ({
    ...{ request: `${org} ${index}`, kind: 'report', preparedFrom: undefined, completeFrom: NINE - 3_600_000 },
  })),
});

async function forecast(window: ForecastWindow) {
  const simulation = await simulateRuns([runOf('acme'), runOf('rival')], LIMITS, DEFAULT_ASSUMPTIONS);
  const keys = simulation.keys.map((key) => ({ ...key, organizations: ['acme', 'rival'] }));
  const lateSlots = await findLateSlots(simulation.runs, LIMITS, DEFAULT_ASSUMPTIONS, { tasks: [], to: NOW });
  return {
    forecast: { ...simulation, keys, lateSlots, unplanned: [], paused: ['rival/secret', 'acme/old'] },
    ...{ window, assumptions: DEFAULT_ASSUMPTIONS, actual: new Map() },
  };
}

const get = (as: keyof typeof tokens, query = '') =>
  createTestAdmin(entries, { jobs: () => jobs, forecast }, { clock: manualClock(NOW) }).request(
    `/api/forecast${query}`,
    { headers: { authorization: `Bearer ${tokens[as].token}` } },
  );

test('shows all organizations of a key, for the next 24 hours by default', async () => {
  const document = forecastSchema.parse(await (await get('all')).json());
  expect(document).toMatchObject({ from: '2026-11-30T08:59:00.000Z', to: '2026-12-01T08:59:00.000Z' });
  expect(document.runs.map(({ report }) => report)).toEqual(['acme/weekly', 'rival/weekly']);
  expect(document.keys).toMatchObject([
    { organizations: ['acme', 'rival'], tokens: 42, other_organizations: { calls: 0 } },
  ]);
  expect(document.late_slots).toMatchObject([{ reports: 2, calls: 40, advice: { prepare_minutes: 15 } }]);
});

test('shows a viewer one organization, and only the number of calls that others make with its key', async () => {
  const text = await (await get('acme')).text();
  expect(text).not.toContain('rival');
  const document = forecastSchema.parse(JSON.parse(text));
  expect(document.runs.map(({ report }) => report)).toEqual(['acme/weekly']);
  expect(document.keys).toMatchObject([{ organizations: ['acme'], tokens: 21, other_organizations: { calls: 21 } }]);
  expect(document.paused).toEqual(['acme/old']);
  const hidden = await get('acme', '?org=rival');
  expect(hidden.status).toBe(404);
});

test.each(['?hours=0', '?hours=169', '?hours=1e9', '?from=soonish', '?window=week'])('refuses %s', async (query) => {
  expect((await get('all', query)).status).toBe(422);
});
