import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalog } from '../../../src/contract/catalog.ts';
import { inProcessSandbox } from '../../support/in-process-sandbox.ts';
import { METRIC_IDS } from '../../support/metric-ids.ts';
import { RECOMPUTED, recomputer, type SqlQuestion } from './recompute-sql.ts';

/** The day after summer time began in Europe, in the middle of a week and of a morning. */
const NOW = Date.parse('2026-03-31T09:17:23Z');
const SEED = 7;

/** Zones with an hour's change, half an hour's change, none, a change at midnight, and a half-hour offset. */
const ZONES = ['UTC', 'Europe/Zurich', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo', 'Asia/Kolkata'];
const day = (date: string, shift: number) =>
  new Date(Date.parse(`${date}T00:00:00Z`) + shift * 86_400_000).toISOString().slice(0, 10);

/** Requests for one metric: any range, zone, granularity, dimensions and filters that it accepts. */
function questions(catalog: Catalog, id: string): fc.Arbitrary<SqlQuestion & { compare: boolean }> {
  const metric = catalog.metrics.find((candidate) => candidate.id === id)!;
  const filter = fc.constantFrom(...metric.dimensions).chain((dimension) => {
    const values = catalog.dimensions.find((candidate) => candidate.id === dimension)!.values.map(({ value }) => value);
    return fc.record({
      dimension: fc.constant(dimension),
      op: fc.constantFrom('in', 'not_in'),
      values: fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 }),
    });
  });
  const range = fc
    .oneof(
      // Around the changes of the clock in 2025 and 2026, over the start of the data, and into the future.
      fc.tuple(fc.constantFrom('2025-03-27', '2025-10-24', '2025-11-01', '2026-03-06', '2026-03-26'), fc.nat(12)),
      fc.tuple(
        fc.integer({ min: 0, max: 800 }).map((back) => day('2026-04-03', -back)),
        fc.nat(365),
      ),
      fc.constantFrom<[string, number]>(['2024-01-01', 365], ['2025-02-01', 27], ['2025-10-01', 30]),
    )
    .map(([from, days]) => ({ from, to: day(from, days) }));
  return fc
    .record({
      range,
      timezone: fc.constantFrom(...ZONES),
      granularity: fc.constantFrom('day', 'week', 'month', undefined),
      dimensions: fc.uniqueArray(fc.constantFrom(...metric.dimensions), { maxLength: 2 }),
      filters: fc.array(filter, { maxLength: 2 }),
      compare: fc.boolean(),
    })
    .map(({ range: { from, to }, granularity, ...rest }) => ({
      metric: id,
      from,
      to,
      ...rest,
      granularity: metric.granularities.length === 0 ? undefined : granularity,
    }));
}

const close = (got: number | null | undefined, expected: number | null, what: unknown) => {
  if (expected === null) expect(got, JSON.stringify(what)).toBeNull();
  // Durations are rounded to milliseconds.
  else expect(Math.abs((got ?? Number.NaN) - expected), JSON.stringify({ what, got, expected })).toBeLessThan(0.00051);
};

const name = (bucket: unknown, group: readonly unknown[]) => JSON.stringify([bucket ?? null, ...group]);

it('every metric has a rule in SQL', () => {
  expect(new Set(RECOMPUTED)).toEqual(new Set([...Object.values(METRIC_IDS).flat(), 'screening.matches']));
});

// 102 has all features but adverse media, the replaced metric, and profiles without a group. 103 has adverse media.
describe.each([
  [102, 0.2],
  [103, 0],
])('organization %i, with a share of %f of its profiles without a group,', (organization, ungrouped) => {
  const sandbox = inProcessSandbox({ seed: SEED, now: NOW, ungrouped });
  const catalog = sandbox.world.tenants.get(organization)!.catalog();
  let sql: Awaited<ReturnType<typeof recomputer>>;
  beforeAll(async () => {
    sql = await recomputer({ seed: SEED, now: NOW, organization, ungrouped });
  });
  afterAll(() => sql.close());

  it.each(catalog.metrics.map((metric) => [metric.id, metric] as const))(
    'has the same %s in a report as in SQL on its dump',
    async (id, metric) => {
      const nothing = metric.unit === 'count' ? 0 : null;
      for (const question of fc.sample(questions(catalog, id), { numRuns: 8, seed: 20260331 })) {
        const { from, to, timezone, granularity, dimensions, filters, compare } = question;
        const answer = await sandbox.answered(
          {
            metrics: [id],
            dimensions,
            filters,
            time: {
              from,
              to,
              timezone,
              ...(granularity === undefined ? {} : { granularity }),
              ...(compare ? { compare: 'previous_period' } : {}),
            },
            include: ['totals'],
          },
          { org: organization },
        );
        const expected = new Map((await sql.ask(question)).map((row) => [name(row.bucket, row.group), row.value]));
        for (const row of answer.rows) {
          const key = name(
            row.bucket,
            dimensions.map((dimension) => row[dimension]),
          );
          close(row[id] as number | null, expected.get(key) ?? nothing, { question, key });
          expected.delete(key);
        }
        if (!answer.meta.truncated) expect([...expected], JSON.stringify(question)).toEqual([]);

        const [total] = await sql.ask({ ...question, granularity: undefined, dimensions: [] });
        close(answer.totals?.[id] as number | null, total?.value ?? nothing, { question, totals: true });
        const before = answer.meta.compare_range;
        if (before && metric.time_field !== 'now') {
          const [previous] = await sql.ask({ ...question, ...before, granularity: undefined, dimensions: [] });
          close(answer.totals?.compare?.[id] as number | null, previous?.value ?? nothing, { question, before });
        }
      }
    },
  );
});
