import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { catalogSchema } from '../../../src/contract/catalog.ts';
import type { ReportRow } from '../../../src/contract/report.ts';
import { generateHistory } from '../../../src/sandbox/generator/history.ts';
import { ORGANIZATIONS } from '../../../src/sandbox/generator/organizations.ts';
import { buckets, toDate, toDay, zoneDays } from '../../../src/sandbox/reports/calendar.ts';
import { inProcessSandbox } from '../../support/in-process-sandbox.ts';
import { manualClock } from '../../support/manual-clock.ts';

/** A Wednesday, 10:30 in Zurich; summer time there began ten days before. */
const NOW = Date.parse('2026-04-08T08:30:00Z');
const sandbox = inProcessSandbox({ now: NOW });
const { answered } = sandbox;

const counts = (rows: readonly ReportRow[], id: string) => rows.map((row) => Number(row[id]));
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const march = { from: '2026-03-01', to: '2026-03-31' };

describe('a report by time (§2.7, §2.8)', () => {
  it('has one row a day, each named by its date, without gaps', async () => {
    const { rows } = await answered({ metrics: ['profiles.created'], time: { ...march, granularity: 'day' } });
    expect(rows.map((row) => row.bucket)).toEqual(
      Array.from({ length: 31 }, (_, day) => toDate(toDay('2026-03-01') + day)),
    );
  });

  it('begins weeks on Monday and months on the 1st', async () => {
    const weeks = await answered({ metrics: ['profiles.created'], time: { ...march, granularity: 'week' } });
    for (const { bucket } of weeks.rows) expect(new Date(`${bucket}T00:00:00Z`).getUTCDay()).toBe(1);
    const months = await answered({
      metrics: ['profiles.created'],
      time: { from: '2025-12-15', to: '2026-03-10', granularity: 'month' },
    });
    expect(months.rows.map(({ bucket }) => bucket)).toEqual(['2025-12-01', '2026-01-01', '2026-02-01', '2026-03-01']);
  });

  it('counts only the days inside the range in the first and the last bucket (§2.8, rule 4)', async () => {
    const time = { from: '2026-03-04', to: '2026-03-17' };
    const days = await answered({ metrics: ['profiles.created'], time: { ...time, granularity: 'day' } });
    const weeks = await answered({ metrics: ['profiles.created'], time: { ...time, granularity: 'week' } });
    const created = counts(days.rows, 'profiles.created');
    expect(weeks.rows.map(({ bucket }) => bucket)).toEqual(['2026-03-02', '2026-03-09', '2026-03-16']);
    expect(counts(weeks.rows, 'profiles.created')).toEqual([
      sum(created.slice(0, 5)),
      sum(created.slice(5, 12)),
      sum(created.slice(12)),
    ]);
  });

  it('counts the days of the requested time zone', async () => {
    const days = async (timezone: string) => {
      const { rows, meta } = await answered({
        metrics: ['screening.address_runs'],
        time: { ...march, granularity: 'day', timezone },
      });
      expect(meta.timezone).toBe(timezone);
      return counts(rows, 'screening.address_runs');
    };
    expect(await days('Asia/Tokyo')).not.toEqual(await days('UTC'));
  });

  it('counts all hours of a day that has 23 or 25 hours', async () => {
    const { facts } = sandbox.world.tenants.get(101)!.snapshot().history;
    const between = (from: string, to: string) =>
      facts.runs.at.filter((at) => at >= Date.parse(from) && at < Date.parse(to)).length;
    const day = async (date: string) => {
      const { rows } = await answered({
        metrics: ['screening.address_runs'],
        time: { from: date, to: date, granularity: 'day', timezone: 'Europe/Zurich' },
      });
      return rows[0]?.['screening.address_runs'];
    };
    expect(await day('2026-03-29')).toBe(between('2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'));
    expect(await day('2025-10-26')).toBe(between('2025-10-25T22:00:00Z', '2025-10-26T23:00:00Z'));
  });

  it('fills empty buckets: 0 for a count, null for a rate or a median over nothing (§2.8, rules 1 and 2)', async () => {
    const { rows } = await answered({
      metrics: ['profiles.created', 'cohort.completion_rate', 'cohort.turnaround_p50'],
      time: { from: '2020-01-01', to: '2020-01-03', granularity: 'day' },
    });
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      expect(row).toMatchObject({
        'profiles.created': 0,
        'cohort.completion_rate': null,
        'cohort.turnaround_p50': null,
      });
    }
  });

  it('fills the buckets of every group that occurs in the range, and no others', async () => {
    const { rows } = await answered({
      metrics: ['screening.hits'],
      dimensions: ['profile.risk'],
      filters: [{ dimension: 'profile.risk', op: 'in', values: ['severe', 'low'] }],
      time: { ...march, granularity: 'day' },
    });
    expect(rows).toHaveLength(2 * 31);
    expect(new Set(rows.map((row) => row['profile.risk']))).toEqual(new Set(['low', 'severe']));
    expect(counts(rows, 'screening.hits')).toContain(0);
  });

  it('has one row per group for the whole range without a granularity', async () => {
    const folded = await answered({ metrics: ['profiles.created'], dimensions: ['profile.type'], time: march });
    const daily = await answered({ metrics: ['profiles.created'], time: { ...march, granularity: 'day' } });
    expect(folded.meta.granularity).toBeNull();
    expect(folded.rows).toHaveLength(2);
    for (const row of folded.rows) expect(row).not.toHaveProperty('bucket');
    expect(sum(counts(folded.rows, 'profiles.created'))).toBe(sum(counts(daily.rows, 'profiles.created')));
  });

  it('marks the bucket that is still running, but only while requested days are to come', async () => {
    const partial = async (time: object) =>
      (await answered({ metrics: ['profiles.created'], time })).rows.map((row) => row.partial);
    expect(await partial({ from: '2026-03-23', to: '2026-04-08', granularity: 'week' })).toEqual([false, false, true]);
    // The week goes on, but the requested days are over.
    expect(await partial({ from: '2026-03-23', to: '2026-04-07', granularity: 'week' })).toEqual([false, false, false]);
    // 08:30 UTC is already the 9th in Kiritimati, where the 8th is over.
    expect(await partial({ from: '2026-04-08', to: '2026-04-08', timezone: 'Pacific/Kiritimati' })).toEqual([true]);
    expect(await partial({ from: '2026-04-07', to: '2026-04-07', timezone: 'Pacific/Kiritimati' })).toEqual([false]);
  });
});

describe('range (§2.7, §8)', () => {
  it('covers the last 30 days in the requested time zone when none is sent', async () => {
    const range = async (timezone: string) =>
      (await answered({ metrics: ['profiles.created'], time: { timezone } })).meta.range;
    expect(await range('UTC')).toEqual({ from: '2026-03-10', to: '2026-04-08' });
    const late = inProcessSandbox({ now: Date.parse('2026-04-08T22:30:00Z') });
    const { meta } = await late.answered({ metrics: ['profiles.created'], time: { timezone: 'Europe/Zurich' } });
    expect(meta.range).toEqual({ from: '2026-03-11', to: '2026-04-09' });
  });

  it('can have 366 days, and is in UTC by default', async () => {
    const { meta, rows } = await answered({
      metrics: ['profiles.created'],
      time: { from: '2024-02-29', to: '2025-02-28', granularity: 'day' },
    });
    expect(rows).toHaveLength(366);
    expect(meta.timezone).toBe('UTC');
  });

  it('has no data before the first day that the catalog names, and has some from there on', async () => {
    const catalog = sandbox.world.tenants.get(101)!.catalog();
    for (const metric of catalog.metrics) expect(metric.data_available?.from).toBe('2023-10-01');
    const { rows } = await answered({
      metrics: ['profiles.created'],
      time: { from: '2023-09-01', to: '2023-10-31', granularity: 'month' },
    });
    expect(rows[0]?.['profiles.created']).toBe(0);
    expect(rows[1]?.['profiles.created']).toBeGreaterThan(100);
  });
});

describe('comparison with the previous period (§2.7)', () => {
  const compared = async (from: string, to: string, timezone = 'UTC') =>
    (await answered({ metrics: ['profiles.created'], time: { from, to, timezone, compare: 'previous_period' } })).meta
      .compare_range;

  it.each([
    ['whole calendar months, with as many months', '2026-03-01', '2026-03-31', '2026-02-01', '2026-02-28'],
    ['the month of 31 after the month of 30', '2025-12-01', '2025-12-31', '2025-11-01', '2025-11-30'],
    ['a leap February', '2024-02-01', '2024-02-29', '2024-01-01', '2024-01-31'],
    ['March after a leap February', '2024-03-01', '2024-03-31', '2024-02-01', '2024-02-29'],
    ['a quarter', '2026-01-01', '2026-03-31', '2025-10-01', '2025-12-31'],
    ['a whole year', '2025-01-01', '2025-12-31', '2024-01-01', '2024-12-31'],
    ['February cut short of its 29th: not a month', '2024-02-01', '2024-02-28', '2024-01-04', '2024-01-31'],
    ['another range, with as many days', '2026-03-03', '2026-03-12', '2026-02-21', '2026-03-02'],
    ['a month plus a day: not months', '2026-03-01', '2026-04-01', '2026-01-28', '2026-02-28'],
    ['one day', '2026-03-01', '2026-03-01', '2026-02-28', '2026-02-28'],
    ['days over a change of the clock', '2026-03-28', '2026-03-30', '2026-03-25', '2026-03-27'],
  ])('compares %s', async (_, from, to, previousFrom, previousTo) => {
    expect(await compared(from, to)).toEqual({ from: previousFrom, to: previousTo });
    expect(await compared(from, to, 'Europe/Zurich')).toEqual({ from: previousFrom, to: previousTo });
  });

  it('gives each bucket the values of the matching earlier bucket, or nulls without a match', async () => {
    const metrics = ['profiles.created', 'profiles.approval_rate'];
    const time = { from: '2026-03-01', to: '2026-03-31', granularity: 'day', timezone: 'Europe/Zurich' };
    const now = await answered({ metrics, time: { ...time, compare: 'previous_period' } });
    const before = await answered({ metrics, time: { ...time, from: '2026-02-01', to: '2026-02-28' } });
    for (const [index, row] of now.rows.entries()) {
      const match = before.rows[index];
      const expected = Object.fromEntries(metrics.map((id) => [id, match === undefined ? null : match[id]]));
      expect(row.compare).toEqual(expected);
    }
  });

  it('compares groups, including those that occurred only before', async () => {
    const filters = [{ dimension: 'profile.risk', op: 'eq', values: ['severe'] }];
    const request = { metrics: ['screening.hits'], dimensions: ['hit.kind'], filters };
    const day = { from: '2026-03-12', to: '2026-03-12' };
    const { rows } = await answered({ ...request, time: { ...day, compare: 'previous_period' } });
    const before = await answered({ ...request, time: { from: '2026-03-11', to: '2026-03-11' } });
    for (const row of before.rows) {
      const match = rows.find((candidate) => candidate['hit.kind'] === row['hit.kind']);
      expect(match?.compare).toEqual({ 'screening.hits': row['screening.hits'] });
    }
  });

  it('is absent when it was not requested', async () => {
    const { meta, rows, totals } = await answered({ metrics: ['profiles.created'], include: ['totals'] });
    expect(meta).not.toHaveProperty('compare_range');
    expect(rows[0]).not.toHaveProperty('compare');
    expect(totals).not.toHaveProperty('compare');
  });
});

describe('totals (§2.8)', () => {
  it('are recomputed over the whole range, never summed', async () => {
    const time = { ...march, granularity: 'day' };
    const metrics = ['screening.profiles_hit', 'profiles.approval_rate', 'profiles.time_to_decision_p50'];
    const { rows, totals } = await answered({ metrics, time, include: ['totals'] });
    const folded = await answered({ metrics, time: march });
    expect(totals).toEqual(Object.fromEntries(metrics.map((id) => [id, folded.rows[0]?.[id]])));
    expect(totals?.['screening.profiles_hit']).toBeLessThan(sum(counts(rows, 'screening.profiles_hit')));
  });

  it('cover the rows that the limit cut off, and all groups together', async () => {
    const request = { metrics: ['profiles.created'], dimensions: ['profile.group'], time: march, include: ['totals'] };
    const all = await answered(request);
    const cut = await answered({ ...request, limit: 1 });
    expect(cut.rows).toHaveLength(1);
    expect(cut.totals).toEqual(all.totals);
    expect(cut.totals?.['profiles.created']).toBe(sum(counts(all.rows, 'profiles.created')));
  });

  it('include the previous period when a comparison was requested', async () => {
    const { totals } = await answered({
      metrics: ['profiles.created', 'alerts.open'],
      time: { ...march, compare: 'previous_period' },
      include: ['totals'],
    });
    const february = await answered({
      metrics: ['profiles.created'],
      time: { from: '2026-02-01', to: '2026-02-28' },
    });
    expect(totals?.compare).toEqual({
      'profiles.created': february.rows[0]?.['profiles.created'],
      // A current count has no previous period.
      'alerts.open': null,
    });
  });

  it('are absent unless they were requested', async () => {
    expect(await answered({ metrics: ['profiles.created'] })).not.toHaveProperty('totals');
  });
});

describe('order and limit (§2.7)', () => {
  const request = {
    metrics: ['profiles.created', 'profiles.approval_rate'],
    dimensions: ['profile.group', 'profile.type'],
    time: { ...march, granularity: 'week' },
  };

  it('sorts by bucket and then by each dimension in turn, in the order of the catalog, by default', async () => {
    const { rows } = await answered(request);
    const catalog = sandbox.world.tenants.get(101)!.catalog();
    const place = (id: string, value: unknown) =>
      catalog.dimensions.find((dimension) => dimension.id === id)!.values.findIndex((known) => known.value === value);
    const keys = rows.map((row) => [
      row.bucket,
      place('profile.group', row['profile.group']),
      place('profile.type', row['profile.type']),
    ]);
    const sorted = [...keys].sort((a, b) => {
      for (const nth of [0, 1, 2]) if (a[nth] !== b[nth]) return a[nth]! < b[nth]! ? -1 : 1;
      return 0;
    });
    expect(keys).toEqual(sorted);
  });

  it('sorts by a metric in either direction, with undefined values last', async () => {
    for (const dir of ['asc', 'desc'] as const) {
      const { rows } = await answered({
        metrics: ['profiles.approval_rate'],
        time: { from: '2026-03-28', to: '2026-04-20', granularity: 'day' },
        order: [{ by: 'profiles.approval_rate', dir }],
      });
      const rates = rows.map((row) => row['profiles.approval_rate'] as number | null);
      const defined = rates.filter((rate) => rate !== null);
      expect(rates.slice(defined.length).every((rate) => rate === null)).toBe(true);
      expect(rates.length).toBeGreaterThan(defined.length);
      expect(defined).toEqual([...defined].sort((a, b) => (dir === 'asc' ? a - b : b - a)));
    }
  });

  it('sorts ascending when no direction is given, and by several columns', async () => {
    const { rows } = await answered({ ...request, order: [{ by: 'profile.type' }, { by: 'bucket', dir: 'desc' }] });
    const keys = rows.map((row) => `${row['profile.type'] === 'individual' ? 0 : 1}`);
    expect(keys).toEqual([...keys].sort());
    const buckets = rows.filter((row) => row['profile.type'] === 'entity').map((row) => String(row.bucket));
    expect(buckets).toEqual([...buckets].sort().reverse());
  });

  it('cuts off rows after sorting, and says so', async () => {
    const order = [{ by: 'profiles.created', dir: 'desc' }];
    const all = await answered({ ...request, order });
    const top = await answered({ ...request, order, limit: 3 });
    expect(top.rows).toEqual(all.rows.slice(0, 3));
    expect(top.meta).toMatchObject({ row_count: 3, truncated: true });
    expect(all.meta).toMatchObject({ row_count: all.rows.length, truncated: false });
  });

  it('cuts off rows after 5000 without a limit', async () => {
    const { rows, meta } = await answered({
      metrics: ['profiles.created'],
      dimensions: ['profile.group', 'profile.review_status'],
      time: { from: '2025-04-01', to: '2026-03-31', granularity: 'day' },
    });
    expect(rows).toHaveLength(5000);
    expect(meta).toMatchObject({ row_count: 5000, truncated: true });
  });
});

describe('filters (§2.7)', () => {
  const created = async (filters: unknown[], metric = 'profiles.created') =>
    Number((await answered({ metrics: [metric], filters, time: march })).rows[0]?.[metric]);

  it('pass rows that have one value, any of the values, or none of the values', async () => {
    const all = await created([]);
    const one = await created([{ dimension: 'profile.risk', op: 'eq', values: ['high'] }]);
    const two = await created([{ dimension: 'profile.risk', op: 'in', values: ['high', 'severe'] }]);
    const rest = await created([{ dimension: 'profile.risk', op: 'not_in', values: ['high', 'severe'] }]);
    expect(one).toBeGreaterThan(0);
    expect(two).toBeGreaterThan(one);
    expect(two + rest).toBe(all);
  });

  it('pass a row only when every filter does', async () => {
    const risk = { dimension: 'profile.risk', op: 'in', values: ['low', 'high'] };
    expect(await created([risk, { dimension: 'profile.risk', op: 'eq', values: ['severe'] }])).toBe(0);
    const both = await created([risk, { dimension: 'profile.type', op: 'eq', values: ['entity'] }]);
    expect(both).toBeGreaterThan(0);
    expect(both).toBeLessThan(await created([risk]));
  });

  it('narrow every profile, alert, hit and RFI metric by profile.type', async () => {
    const { metrics } = sandbox.world.tenants.get(101)!.catalog();
    const narrowed = metrics.filter(({ id }) =>
      /^(profiles|cohort|alerts|rfis|reviews)\.|^screening\.(hit|prof)/.test(id),
    );
    expect(narrowed).toHaveLength(24);
    for (const { id, unit } of narrowed) {
      expect(metrics.find((metric) => metric.id === id)?.dimensions).toContain('profile.type');
      if (unit !== 'count') continue;
      const parts = await Promise.all(
        ['individual', 'entity'].map((type) => created([{ dimension: 'profile.type', op: 'eq', values: [type] }], id)),
      );
      expect(parts[0], id).toBeGreaterThan(0);
      const all = await created([], id);
      // Each profile has one type, so the parts add up.
      expect(sum(parts), id).toBe(all);
    }
  });
});

describe('profiles without a group (§2.5)', () => {
  const { answered: asked, world } = inProcessSandbox({ now: NOW, ungrouped: 0.25 });
  const groups = async (more: object = {}) =>
    (await asked({ metrics: ['profiles.created'], dimensions: ['profile.group'], time: march, ...more })).rows.map(
      (row) => row['profile.group'],
    );

  it('are a separate group, which the catalog does not list and which sorts last', async () => {
    const { metrics, dimensions, time } = { metrics: ['profiles.created'], dimensions: ['profile.group'], time: march };
    const listed = world.tenants
      .get(101)!
      .catalog()
      .dimensions.find(({ id }) => id === 'profile.group')!
      .values.map(({ value }) => value);
    const { rows, totals } = await asked({ metrics, dimensions, time, include: ['totals'] });
    expect(rows.map((row) => row['profile.group'])).toEqual([...listed, null]);
    expect(sum(counts(rows, 'profiles.created'))).toBe(totals?.['profiles.created']);
    const share = Number(rows.at(-1)?.['profiles.created']) / Number(totals?.['profiles.created']);
    expect(share).toBeGreaterThan(0.1);
    expect(share).toBeLessThan(0.4);
    expect(await groups({ order: [{ by: 'profile.group', dir: 'desc' }] })).toEqual([null, ...listed.toReversed()]);
  });

  it('pass a `not_in` filter, and no filter that selects values', async () => {
    const filtered = (op: string, ...values: string[]) =>
      groups({ filters: [{ dimension: 'profile.group', op, values }] });
    expect(await filtered('in', 'Merchants', 'Retail')).toEqual(['Retail', 'Merchants']);
    expect(await filtered('eq', 'Retail')).toEqual(['Retail']);
    expect(await filtered('not_in', 'Retail', 'Merchants', 'Marketplace', 'Partners')).toEqual([null]);
    const twice = [['Retail'], ['Merchants', 'Partners']].map((values) => ({
      dimension: 'profile.group',
      op: 'not_in',
      values,
    }));
    expect(await groups({ filters: twice })).toEqual(['Marketplace', null]);
  });

  it('appear in the second dimension as well, and in the metrics of their records', async () => {
    const { rows } = await asked({
      metrics: ['screening.hits'],
      dimensions: ['hit.kind', 'profile.group'],
      time: march,
    });
    expect(rows.filter((row) => row['profile.group'] === null).map((row) => row['hit.kind'])).toEqual([
      'sanctions',
      'pep',
      'adverse_media',
    ]);
  });

  it('exist only when the sandbox is configured to have them', async () => {
    const { rows } = await answered({ metrics: ['profiles.created'], dimensions: ['profile.group'], time: march });
    expect(rows.map((row) => row['profile.group'])).not.toContain(null);
  });
});

describe('current counts (§2.4, §2.7)', () => {
  it('are the current state, whatever the range is, and are never partial', async () => {
    const metrics = ['alerts.open', 'alerts.unassigned', 'rfis.open', 'rfis.overdue', 'profiles.pending_review'];
    const now = await answered({ metrics });
    const past = await answered({ metrics, time: { from: '2020-01-01', to: '2020-01-01' } });
    expect(past.rows).toEqual(now.rows);
    expect(now.rows[0]?.partial).toBe(false);
    for (const id of metrics) expect(now.rows[0]?.[id]).toBeGreaterThan(0);
  });

  it('count an RFI as overdue from the day after it was due, in the requested time zone', async () => {
    const lakeside = ORGANIZATIONS.find(({ id }) => id === 101)!;
    const { rfis } = generateHistory(lakeside, 1, NOW, NOW).facts;
    const isOpen = (row: number, at: number) =>
      rfis.sent[row]! <= at && rfis.answered[row]! > at && rfis.withdrawn[row]! > at;
    const zone = 'Europe/Zurich';
    const days = zoneDays(zone);
    const lastOf = (row: number) => days.start(days.of(rfis.due[row]!) + 1) - 1000;
    // This RFI was still open after the day on which it was due.
    const late = [...rfis.due.keys()].findLast((row) => lastOf(row) < NOW - 1000 && isOpen(row, lastOf(row) + 1000))!;
    const dueBefore = (instant: number, at: number) =>
      [...rfis.due.keys()].filter((row) => isOpen(row, at) && rfis.due[row]! < instant).length;
    for (const at of [lastOf(late), lastOf(late) + 1000]) {
      const { answered: ask } = inProcessSandbox({ now: at });
      for (const timezone of [zone, 'UTC', 'Asia/Tokyo']) {
        const requested = zoneDays(timezone);
        const { rows } = await ask({
          metrics: ['rfis.overdue'],
          time: { from: '2026-01-01', to: '2026-01-01', timezone },
        });
        expect(rows[0]?.['rfis.overdue'], `${timezone} ${new Date(at).toISOString()}`).toBe(
          dueBefore(requested.start(requested.of(at)), at),
        );
      }
    }
    expect(dueBefore(lastOf(late), lastOf(late))).toBeGreaterThan(
      dueBefore(days.start(days.of(lastOf(late))), lastOf(late)),
    );
  });

  it('can be beside counts of the range when there is no granularity', async () => {
    const { rows } = await answered({ metrics: ['alerts.open', 'alerts.created'], dimensions: ['alert.type'] });
    expect(rows.map((row) => row['alert.type'])).toEqual([
      'watchlist',
      'adverse_media',
      'blockchain_address',
      'duplicate',
    ]);
  });

  it('count profiles as awaiting a decision in the five statuses only (§3)', async () => {
    const { rows } = await answered({
      metrics: ['profiles.pending_review'],
      dimensions: ['profile.review_status', 'review.age'],
    });
    const statuses = new Set(rows.map((row) => row['profile.review_status']));
    for (const status of statuses) expect(['PR', 'UR', 'RS', 'RR', 'ES']).toContain(status);
    expect(new Set(rows.map((row) => row['review.age'])).size).toBeGreaterThan(1);
  });

  it('follow the clock: open alerts change by those created minus those closed', async () => {
    const later = inProcessSandbox({ now: NOW + 3 * 86_400_000 });
    const open = async (of: typeof sandbox) =>
      Number((await of.answered({ metrics: ['alerts.open'] })).rows[0]?.['alerts.open']);
    const time = { from: '2026-04-08', to: '2026-04-11', granularity: 'day' };
    const flow = await later.answered({ metrics: ['alerts.created', 'alerts.closed'], time, include: ['totals'] });
    const early = await answered({ metrics: ['alerts.created', 'alerts.closed'], time, include: ['totals'] });
    const change = (id: string) => Number(flow.totals?.[id]) - Number(early.totals?.[id]);
    expect((await open(later)) - (await open(sandbox))).toBe(change('alerts.created') - change('alerts.closed'));
  });
});

describe('a running clock', () => {
  it('adds records as time passes, and does not change the past', async () => {
    const clock = manualClock(NOW);
    const running = inProcessSandbox({ clock, cacheSeconds: 0 });
    const days = async () => {
      const time = { from: '2026-03-01', to: '2026-06-30', granularity: 'month' };
      return counts((await running.answered({ metrics: ['profiles.created'], time })).rows, 'profiles.created');
    };
    const [marchBefore = 0, aprilBefore = 0, ...future] = await days();
    expect(future).toEqual([0, 0]);
    clock.advance(70 * 86_400_000);
    const [marchAfter, aprilAfter = 0, may = 0, june = 0] = await days();
    expect(marchAfter).toBe(marchBefore);
    expect(aprilAfter).toBeGreaterThan(2 * aprilBefore);
    expect(Math.min(may, june)).toBeGreaterThan(100);
  });
});

describe('columns and meta (§2.8)', () => {
  it('describe each key of a row in order', async () => {
    const { body } = await sandbox.report({
      metrics: ['profiles.created', 'profiles.approval_rate', 'profiles.time_to_decision_p50'],
      dimensions: ['profile.type'],
      time: { ...march, granularity: 'month' },
    });
    // The contract's schema would reorder the keys of a row.
    const { columns, rows } = z
      .object({
        columns: z.array(z.looseObject({ name: z.string() })),
        rows: z.array(z.record(z.string(), z.unknown())),
      })
      .parse(body);
    expect(columns).toEqual([
      { name: 'bucket', label: 'Month', kind: 'time', type: 'date', unit: null },
      { name: 'profile.type', label: 'Profile type', kind: 'dimension', type: 'enum', unit: null },
      { name: 'profiles.created', label: 'Profiles created', kind: 'metric', type: 'integer', unit: 'count' },
      { name: 'profiles.approval_rate', label: 'Approval rate', kind: 'metric', type: 'ratio', unit: 'ratio' },
      {
        name: 'profiles.time_to_decision_p50',
        label: 'Median time to decision',
        kind: 'metric',
        type: 'duration',
        unit: 'seconds',
      },
    ]);
    expect(Object.keys(rows[0] ?? {})).toEqual([...columns.map(({ name }) => name), 'partial']);
    expect(rows[0]?.['profiles.approval_rate']).toBeGreaterThan(0);
    expect(rows[0]?.['profiles.approval_rate']).toBeLessThanOrEqual(1);
  });

  it('say what was computed and when', async () => {
    const { meta } = await answered({ metrics: ['rfis.sent'], time: { ...march, granularity: 'week' }, limit: 2 });
    expect(meta).toEqual({
      as_of: '2026-04-08T08:30:00.000Z',
      cached: false,
      refresh_retry_after: null,
      timezone: 'UTC',
      range: march,
      granularity: 'week',
      row_count: 2,
      truncated: true,
      registry_version: sandbox.world.tenants.get(101)!.catalog().registry_version,
    });
  });

  it('are the same for the literal `current` and for the id of the key (§4)', async () => {
    const body = { metrics: ['profiles.created'], time: march };
    const current = await answered(body, { org: 'current', key: 'northwind' });
    const named = await answered(body, { org: 102 });
    expect(current.rows).toEqual(named.rows);
  });
});

describe('an organization without records', () => {
  it('answers every metric with zero or null, and with no groups', async () => {
    const { body } = await sandbox.get('/api/orgs/104/analytics/metrics/');
    for (const metric of catalogSchema.parse(body).metrics) {
      const one = await answered({ metrics: [metric.id] }, { org: 104 });
      expect(one.rows).toHaveLength(1);
      expect(one.rows[0]?.[metric.id]).toBe(metric.unit === 'count' ? 0 : null);
      const grouped = await answered({ metrics: [metric.id], dimensions: ['profile.group'] }, { org: 104 });
      expect(grouped.rows).toEqual([]);
    }
  });
});

describe('buckets()', () => {
  it('covers the range once, whatever the granularity', () => {
    for (const granularity of ['day', 'week', 'month'] as const) {
      const range = { from: toDay('2023-12-27'), to: toDay('2024-03-02') };
      const cut = buckets(range, granularity);
      expect(cut[0]?.from).toBe(range.from);
      expect(cut.at(-1)?.to).toBe(range.to);
      for (const [index, bucket] of cut.entries()) expect(bucket.from).toBe((cut[index - 1]?.to ?? range.from - 1) + 1);
    }
  });
});
