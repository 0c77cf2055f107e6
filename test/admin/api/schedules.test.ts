import { expect, it } from 'vitest';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { Pause } from '../../../src/queue/schedules/pauses.ts';
import { createTestAdmin } from '../../support/admin.ts';
import { NO_PAUSES } from '../../support/decision-harness.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { reportDefinition } from '../../support/queue-harness.ts';

const NOW = Date.parse('2026-11-16T06:30:00Z');
const tokens = { acme: newToken(), all: newToken() };
const entries: TokenEntry[] = [
  { name: 'eyes', sha256: tokens.acme.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'ops', sha256: tokens.all.sha256, role: 'viewer', orgs: '*' },
];
const jobs = loadedJobs(
  reportDefinition('daily', { cron: '0 8 * * *', jitter: '10m' }),
  reportDefinition('hourly', { cron: '0 * * * *' }),
  reportDefinition('asked'),
  reportDefinition('daily', { cron: '0 8 * * *' }, 'rival'),
);
const paused: Pause = { org: 'acme', report: 'hourly', who: 'ada', why: 'w', since: NOW, key: null, run: null };
const app = createTestAdmin(
  entries,
  { jobs: () => jobs, pauses: { ...NO_PAUSES, list: async () => [paused] } },
  { clock: manualClock(NOW) },
);
const get = async (query: string, as: keyof typeof tokens = 'acme') => {
  const response = await app.request(`/api/schedules${query}`, {
    headers: { authorization: `Bearer ${tokens[as].token}` },
  });
  const body: unknown = await response.json();
  return { status: response.status, body };
};

it('lists the next slots, soonest first, with local time, start of the run and pause', async () => {
  const { status, body } = await get('?limit=3');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    slots: [
      { org: 'acme', report: 'daily', title: 'Weekly', at: '2026-11-16T07:00:00.000Z', paused: false },
      { report: 'hourly', at: '2026-11-16T07:00:00.000Z', paused: true, begins: '2026-11-16T07:00:00.000Z' },
      { report: 'hourly', at: '2026-11-16T08:00:00.000Z', local: 'Mon 2026-11-16 09:00 UTC+01:00' },
    ],
  });
  const jittered = (body as { slots: { begins: string }[] }).slots[0]?.begins ?? '';
  expect(jittered >= '2026-11-16T07:00:00.000Z' && jittered <= '2026-11-16T07:10:00.000Z').toBe(true);
});

it('filters slots by time span, organization and report', async () => {
  const from = encodeURIComponent('2026-11-20T00:00:00+01:00');
  const until = '2026-11-21T00:00:00Z';
  expect(await get(`?org=acme&report=daily&from=${from}&until=${until}`)).toMatchObject({
    body: { slots: [{ at: '2026-11-20T07:00:00.000Z' }] },
  });
  expect(await get('?org=acme&report=asked')).toEqual({ status: 200, body: { slots: [] } });
  const { body } = await get('?limit=4', 'all');
  expect((body as { slots: { org: string }[] }).slots.map(({ org }) => org)).toContain('rival');
});

it('hides other organizations, and names the invalid parameter of a query', async () => {
  const { body } = await get('?limit=500');
  expect((body as { slots: { org: string }[] }).slots.every(({ org }) => org === 'acme')).toBe(true);
  expect((await get('?org=rival')).status).toBe(404);
  expect((await get('?org=nobody', 'all')).status).toBe(404);
  for (const [query, pointer] of [
    ['?report=daily', '/report'],
    ['?from=soon', '/from'],
    ['?until=2026-11-31', '/until'],
    ['?limit=0', '/limit'],
  ] as const) {
    expect(await get(query)).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
  }
});
