import { expect, test } from 'vitest';
import { calendarSchema } from '../../../src/definitions/schedules/calendar.ts';
import { schedulesSchema } from '../../../src/definitions/schedules/schedule.ts';
import type { Definition } from '../../../src/definitions/schema/report-definition.ts';
import { memoryCatalogCache } from '../../../src/fetch/cache/catalog-cache.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { preparationHarness } from '../../support/preparation-harness.ts';

/** Mondays at 9:00 in Zurich, in winter 8:00 UTC. */
const MONDAYS = { schedule: schedulesSchema.parse({ cron: '0 9 * * MON', prepare: '2h' }) } as const;
const FROM = '2026-11-30T06:00:00Z';
const SLOT = '2026-11-30T08:00:00.000Z';
const later = (iso: string, ms: number): number => Date.parse(iso) + ms;

async function unprepared(change: Partial<Definition> = MONDAYS) {
  const harness = await preparationHarness(SLOT, change);
  return harness.run(SLOT);
}

test('the calls of a slot are made before it, and none at the slot', async () => {
  const harness = await preparationHarness('2026-11-30T05:59:59Z', MONDAYS);
  await harness.rounds.round();
  expect(harness.sandbox.requests()).toEqual([]);
  harness.clock.set(Date.parse(FROM));
  await harness.rounds.round();
  const made = harness.calls();
  expect(made).toBeGreaterThan(1);
  const [status] = [...(await harness.index.statuses()).values()];
  expect(status).toMatchObject({ calls: made, prepared: made, complete: false, since: Date.parse(FROM) });
  // The last step: a catalog that stays cached until after the slot.
  harness.clock.set(later(SLOT, -10 * 60_000));
  await harness.rounds.round();
  expect([...(await harness.index.statuses()).values()]).toMatchObject([{ complete: true }]);
  const before = harness.sandbox.requests().length;
  harness.clock.set(Date.parse(SLOT));
  const { fetched, files } = await harness.run(SLOT);
  expect(harness.sandbox.requests().length).toBe(before);
  expect(harness.calls()).toBe(made);
  expect(fetched.map(({ preparedAt, saved }) => [preparedAt, saved])).toEqual(
    fetched.map(() => [Date.parse(FROM), true]),
  );
  expect(files).toEqual((await unprepared()).files);
});

test('a process that takes over makes only the missing calls', async () => {
  const harness = await preparationHarness(FROM, MONDAYS);
  harness.configure({ budget: { calls: 3 } });
  await harness.rounds.round();
  // Two of three tokens. One of them is for the catalog.
  expect(harness.calls()).toBe(1);
  const next = harness.process({ index: { ...harness.index, claim: async () => true } });
  for (let minute = 0; minute < 4; minute += 1) {
    harness.clock.advance(61_000);
    await next.round();
  }
  const calls = harness.calls();
  harness.clock.set(Date.parse(SLOT));
  const { fetched } = await harness.run(SLOT);
  expect(fetched.every(({ preparedAt }) => preparedAt !== undefined)).toBe(true);
  expect(calls).toBe(fetched.length);
});

test('a slot that another process prepares is left to it', async () => {
  const harness = await preparationHarness(FROM, MONDAYS);
  await harness.process({ index: { ...harness.index, claim: async () => false } }).round();
  expect(harness.sandbox.requests()).toEqual([]);
});

test.each([
  ['paused', (harness: Awaited<ReturnType<typeof preparationHarness>>) => void harness.paused.set('acme', {})],
  ['of a version that is not active', () => {}],
])('a slot of a report that is %s is not prepared', async (name, change) => {
  const harness = await preparationHarness(FROM, MONDAYS);
  change(harness);
  const ports = name === 'paused' ? {} : { activeDigests: async () => new Map([['acme/weekly', 'other']]) };
  await harness.process(ports).round();
  expect(harness.sandbox.requests()).toEqual([]);
});

test('no token is used in the last two windows before a slot on the same key', async () => {
  const harness = await preparationHarness('2026-11-30T07:58:00Z', MONDAYS);
  await harness.rounds.round();
  expect(harness.sandbox.requests()).toEqual([]);
});

test('calls for incomplete days are not prepared', async () => {
  // Sunday ends at 23:00 UTC and is complete at 0:10 UTC. The slot is at 2:00 in Zurich, 1:00 UTC.
  const schedule = schedulesSchema.parse({ cron: '0 2 * * MON', prepare: '3h' });
  const harness = await preparationHarness('2026-11-30T00:05:00Z', { schedule });
  await harness.rounds.round();
  expect(harness.calls()).toBe(0);
  expect([...(await harness.index.statuses()).values()]).toMatchObject([{ complete: false, prepared: 0 }]);
  harness.clock.set(Date.parse('2026-11-30T00:10:00Z'));
  await harness.rounds.round();
  expect(harness.calls()).toBeGreaterThan(0);
});

test('nothing is prepared if data_ready ends after the slot', async () => {
  const harness = await preparationHarness('2026-11-30T07:00:00Z', MONDAYS);
  harness.configure({ data_ready: 10 * 3600 });
  await harness.rounds.round();
  expect(harness.calls()).toBe(0);
});

test('calls for a running period are made at the slot', async () => {
  const harness = await preparationHarness('2026-11-30T07:00:00Z', { ...MONDAYS, period: 'current_month' });
  await harness.rounds.round();
  expect(harness.calls()).toBe(0);
  harness.clock.set(Date.parse(SLOT));
  const { fetched } = await harness.run(SLOT);
  expect(fetched.some(({ preparedAt }) => preparedAt !== undefined)).toBe(false);
});

test('a flushed Redis costs only the prepared calls', async () => {
  const harness = await preparationHarness('2026-11-30T07:50:00Z', MONDAYS);
  await harness.rounds.round();
  harness.flush();
  harness.clock.set(Date.parse(SLOT));
  const { files, fetched } = await harness.run(SLOT);
  expect(fetched.some(({ preparedAt }) => preparedAt !== undefined)).toBe(false);
  expect(files).toEqual((await unprepared()).files);
});

test('after a key was rotated, the run makes the prepared calls again', async () => {
  const harness = await preparationHarness('2026-11-30T07:50:00Z', MONDAYS);
  await harness.rounds.round();
  const other = harness.sandbox.keys.find(({ key }) => key !== harness.env.ACME_KEY);
  if (other === undefined) throw new Error('the sandbox has no second key of the organization');
  harness.env.ACME_KEY = other.key;
  harness.clock.set(Date.parse(SLOT));
  const { fetched } = await harness.run(SLOT);
  expect(fetched.some(({ preparedAt }) => preparedAt !== undefined)).toBe(false);
});

test('after a definition was edited, the run makes the calls that have changed', async () => {
  const harness = await preparationHarness('2026-11-30T07:50:00Z', MONDAYS);
  await harness.rounds.round();
  harness.clock.set(Date.parse(SLOT));
  harness.edit({ compare: ['previous_year'], digest: 'e'.repeat(64) });
  const { fetched } = await harness.run(SLOT);
  expect(fetched.some(({ preparedAt }) => preparedAt === undefined)).toBe(true);
});

test('responses of another catalog version are not used', async () => {
  const harness = await preparationHarness('2026-11-30T07:50:00Z', MONDAYS);
  const { client, ...ports } = await harness.buildRunPorts();
  const older: typeof client = {
    ...client,
    catalog: async (...args) => ({ ...(await client.catalog(...args)), registry_version: 1 }),
  };
  const catalogs = memoryCatalogCache(harness.clock);
  await harness.process({ buildPreparePorts: async () => ({ ...ports, client: older, catalogs }) }).round();
  expect([...(await harness.index.statuses()).values()][0]?.prepared).toBeGreaterThan(0);
  harness.clock.set(Date.parse(SLOT));
  const { files, fetched } = await harness.run(SLOT);
  expect(fetched.some(({ preparedAt }) => preparedAt !== undefined)).toBe(false);
  expect(files).toEqual((await unprepared()).files);
});

test('a slot that the calendar moves after its preparation is fetched at its new time', async () => {
  const schedule = schedulesSchema.parse({ cron: '0 9 * * MON', shift: 'next_business_day', prepare: '2h' });
  const moved = '2026-04-07T07:00:00.000Z';
  const harness = await preparationHarness('2026-04-06T06:50:00Z', { schedule });
  harness.configure({ calendar: calendarSchema.parse({ country: 'US' }) });
  await harness.rounds.round();
  const made = harness.calls();
  expect(made).toBeGreaterThan(0);
  // Easter Monday.
  harness.configure({ calendar: calendarSchema.parse({ country: 'CH', region: 'ZH' }) });
  harness.clock.set(Date.parse('2026-04-06T06:55:00Z'));
  await harness.process().round();
  expect(harness.calls()).toBe(made);
  harness.clock.set(Date.parse(moved));
  const { files, fetched } = await harness.run(moved);
  expect(fetched.some(({ preparedAt }) => preparedAt !== undefined)).toBe(false);
  expect(files).toEqual((await (await preparationHarness(moved, { schedule })).run(moved)).files);
});

const minutesBefore = (iso: string, minutes: number): string => new Date(later(iso, -minutes * 60_000)).toISOString();
test.each([
  ['on the day of 23 hours', '0 5 * * SUN', 'previous_day', '2027-03-28T00:10:00.000Z', '2027-03-28T03:00:00.000Z'],
  [
    'in the hour that is left out',
    '30 2 * * SUN',
    'previous_day',
    '2027-03-28T00:10:00.000Z',
    '2027-03-28T01:00:00.000Z',
  ],
  [
    'after a week with such a day',
    '0 9 * * MON',
    'previous_week',
    '2027-03-28T23:10:00.000Z',
    '2027-03-29T07:00:00.000Z',
  ],
  ['on the day of 25 hours', '0 5 * * SUN', 'previous_day', '2026-10-24T23:10:00.000Z', '2026-10-25T04:00:00.000Z'],
  [
    'in the hour that comes twice',
    '30 2 * * SUN',
    'previous_day',
    '2026-10-24T23:10:00.000Z',
    '2026-10-25T00:30:00.000Z',
  ],
  [
    'after a week with that day',
    '0 9 * * MON',
    'previous_week',
    '2026-10-26T00:10:00.000Z',
    '2026-10-26T08:00:00.000Z',
  ],
] as const)(
  'a slot %s is prepared once its days are complete, with the same figures',
  async (_, cron, period, from, slot) => {
    const change = { schedule: schedulesSchema.parse({ cron, prepare: '12h' }), period };
    const harness = await preparationHarness(minutesBefore(from, 1), change);
    await harness.rounds.round();
    expect(harness.calls()).toBe(0);
    harness.clock.set(Date.parse(from));
    await harness.rounds.round();
    expect([...(await harness.index.statuses()).values()]).toMatchObject([
      { slot: Date.parse(slot), since: Date.parse(from) },
    ]);
    harness.clock.set(Date.parse(slot));
    const { fetched, files } = await harness.run(slot);
    expect(fetched.map(({ preparedAt }) => preparedAt)).toEqual(fetched.map(() => Date.parse(from)));
    expect(files).toEqual((await (await preparationHarness(slot, { period })).run(slot)).files);
  },
);

test('responses are not kept if the clock was ahead', async () => {
  // By the clock of the process it is Monday, but the service responds on Sunday.
  const harness = await preparationHarness('2026-11-30T07:50:00Z', MONDAYS, {
    clock: manualClock(Date.parse('2026-11-29T07:50:00Z')),
    now: Date.parse('2026-11-29T07:50:00Z'),
  });
  await harness.rounds.round();
  expect(harness.calls()).toBeGreaterThan(0);
  expect([...(await harness.index.statuses()).values()]).toMatchObject([{ prepared: 0 }]);
});

test('a refused key is logged once and pauses nothing', async () => {
  const harness = await preparationHarness('2026-11-30T07:00:00Z', MONDAYS);
  harness.env.ACME_KEY = 'nobody';
  for (let round = 0; round < 3; round += 1) {
    await harness.rounds.round();
    harness.clock.advance(6 * 60_000);
  }
  expect(harness.logged.filter(({ event }) => event === 'preparation.failed')).toHaveLength(1);
});

test('checks of corrections wait while calls for a slot are due', async () => {
  const harness = await preparationHarness(FROM, MONDAYS);
  expect(harness.rounds.isDue('acme')).toBe(false);
  await harness.rounds.round();
  expect(harness.rounds.isDue('acme')).toBe(true);
  await harness.rounds.round();
  expect(harness.rounds.isDue('acme')).toBe(false);
});

const SPLIT: Partial<Definition> = {
  ...MONDAYS,
  split: { by: 'profile.group', to: { Foundations: ['f@acme.example'] }, others: 'hold' },
};

test('the calls of all packs of a split report are made before its slot', async () => {
  const harness = await preparationHarness(FROM, SPLIT);
  await harness.rounds.round();
  const made = harness.calls();
  const before = harness.sandbox.requests().length;
  harness.clock.set(later(SLOT, -10 * 60_000));
  await harness.rounds.round();
  expect([...(await harness.index.statuses()).values()]).toMatchObject([{ prepared: made, complete: true }]);
  harness.clock.set(Date.parse(SLOT));
  const { fetched, files } = await harness.run(SLOT);
  expect(
    harness.sandbox
      .requests()
      .slice(before)
      .filter(({ method }) => method === 'POST'),
  ).toEqual([]);
  expect(fetched.map(({ preparedAt }) => preparedAt)).toEqual(fetched.map(() => Date.parse(FROM)));
  expect(new Set(files.map(([name]) => name?.split('/')[0])).size).toBe(2);
  expect(files).toEqual((await unprepared(SPLIT)).files);
});

test.each([
  ['of a whole report', MONDAYS],
  ['of one pack of a split report', SPLIT],
])('a response that fails the checks of the table %s is not used by any run', async (_, change) => {
  const harness = await preparationHarness('2026-11-30T07:50:00Z', { ...change, max_age: 3600 });
  const client = (await harness.buildRunPorts()).client;
  const lying: typeof client = {
    ...client,
    report: async (org, request, signal) => {
      const answer = await client.report(org, request, signal);
      if (!request.dimensions?.includes('profile.risk')) return answer;
      // A count cannot be negative.
      const rows = answer.body.rows.map((row) =>
        (row['profile.group'] ?? 'Foundations') === 'Foundations' ? { ...row, 'profiles.created': -1 } : row,
      );
      return { ...answer, body: { ...answer.body, rows } };
    },
  };
  await harness
    .process({ buildPreparePorts: async () => ({ ...(await harness.buildRunPorts()), client: lying }) })
    .round();
  const calls = harness.calls();
  harness.clock.set(Date.parse(SLOT));
  const { fetched, incomplete, files } = await harness.run(SLOT);
  expect(fetched.filter(({ preparedAt }) => preparedAt === undefined)).toHaveLength(1);
  expect(harness.calls()).toBe(calls + 1);
  expect(incomplete).toEqual([]);
  expect(files).toEqual((await unprepared(change)).files);
});
