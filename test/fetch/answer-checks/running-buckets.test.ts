import { describe, expect, test } from 'vitest';
import type { Period } from '../../../src/definitions/periods/period.ts';
import type { Table } from '../../../src/fetch/dataset.ts';
import type { CallLimits } from '../../../src/plan/requests/call.ts';
import type { SectionInput } from '../../support/reports.ts';
import { rowsOf } from '../../support/rows.ts';
import { falsifiedSandbox, type ReportBody, tableIn } from '../../support/tampering-service.ts';

const service = falsifiedSandbox();

/** The clock of the sandbox stands at Friday, 20 November. */
const NOVEMBER: Period = { from: '2026-11-01', to: '2026-11-30', timezone: 'Europe/Zurich', label: 'x' };
const ENDED: Period = { ...NOVEMBER, to: '2026-11-18' };
const METRICS = ['profiles.created', 'profiles.approval_rate'];
const WEEKS: SectionInput = { id: 'a', metrics: METRICS, granularity: 'week', totals: true };
const GROUPS: SectionInput = { ...WEEKS, dimensions: ['profile.risk'] };
const FOLDED: SectionInput = { id: 'a', metrics: METRICS };
const SCORECARD: SectionInput = { ...FOLDED, layout: 'scorecard', trend: 6, totals: true };

const WAYS = {
  single: {},
  'joined by metrics': { max_metrics: 1 },
  'joined by range': { max_range_days: 15 },
} as const satisfies Record<string, Partial<CallLimits>>;
type Way = keyof typeof WAYS;
const EACH: readonly Way[] = ['single', 'joined by metrics', 'joined by range'];

const tableOf = async (section: SectionInput, way: Way, period: Period = NOVEMBER): Promise<Table> =>
  tableIn(await service.fetch([section], period, { limits: WAYS[way] }));

const partialBuckets = (table: Table) =>
  rowsOf(table)
    .filter(({ partial }) => partial)
    .map(({ values }) => values.bucket);
const incomplete = ({ notes }: Table) => notes.filter((note) => note.incomplete).map(({ message }) => message.id);

const says =
  (partial: boolean | null | undefined) =>
  ({ rows }: ReportBody): void => {
    for (const row of rows) {
      if (partial === undefined) delete row.partial;
      else row.partial = partial;
    }
  };
const SILENT = [undefined, null, false] as const;

describe('a bucket is partial according to its dates, whatever the service sends', () => {
  test.each(SILENT.flatMap((said) => EACH.map((way) => [said, way] as const)))('partial: %s, %s', async (said, way) => {
    service.tell({ report: says(said) });
    const table = await tableOf(WEEKS, way);
    expect(partialBuckets(table)).toEqual(['2026-11-16', '2026-11-23', '2026-11-30']);
    expect(incomplete(table)).toEqual(['partial_mismatch']);
  });

  test.each(SILENT)('in a table by group, partial: %s', async (said) => {
    service.tell({ report: says(said) });
    const table = await tableOf(GROUPS, 'single');
    expect(new Set(partialBuckets(table))).toEqual(new Set(['2026-11-16', '2026-11-23', '2026-11-30']));
    expect(incomplete(table)).toEqual(['partial_mismatch']);
  });

  test.each(SILENT)('in a table without buckets, partial: %s', async (said) => {
    service.tell({ report: says(said) });
    for (const section of [FOLDED, SCORECARD]) {
      const table = await tableOf(section, 'single');
      expect(rowsOf(table).map(({ partial }) => partial)).toEqual([true]);
      expect(table.running).toBe(true);
      expect(incomplete(table)).toContain('partial_mismatch');
    }
  });

  test.each(EACH)('a bucket that has ended is not partial, %s', async (way) => {
    service.tell({ report: says(true) });
    const period = { ...NOVEMBER, to: '2026-11-15' };
    const table = await tableOf(WEEKS, way, period);
    expect(partialBuckets(table)).toEqual([]);
    expect(table.running).toBe(false);
    expect(incomplete(table)).toEqual(['partial_mismatch']);
  });

  test('a day ends at midnight in the time zone of the report', async () => {
    // Midnight in Zurich is 23:00 UTC.
    for (const [at, running] of [
      ['2026-11-15T22:59:59Z', true],
      ['2026-11-15T23:00:00Z', false],
    ] as const) {
      service.tell({
        report: (body) => {
          Object.assign(body.meta, { as_of: at, cached: true });
          says(running)(body);
        },
      });
      const table = await tableOf({ ...WEEKS, granularity: 'day' }, 'single', { ...NOVEMBER, to: '2026-11-15' });
      expect(partialBuckets(table).includes('2026-11-15')).toBe(running);
    }
  });
});

test.each([true, false])('the last week of a range that ended within that week may have partial: %s', async (said) => {
  service.tell({
    report: ({ rows }) => {
      for (const row of rows) row.partial = row.bucket === '2026-11-16' && said;
    },
  });
  const table = await tableOf(WEEKS, 'single', ENDED);
  expect(incomplete(table)).toEqual([]);
  expect(partialBuckets(table)).toEqual([]);
});

test('the notes name future buckets separately from the running one', async () => {
  for (const way of EACH) {
    const { notes } = await tableOf(WEEKS, way);
    expect(notes.filter(({ code }) => code === 'partial').map(({ message }) => message)).toEqual([
      { id: 'buckets_running', of: { granularity: 'week', days: ['2026-11-16'] } },
      { id: 'buckets_to_come', of: { granularity: 'week', days: ['2026-11-23', '2026-11-30'] } },
    ]);
  }
});

test('a correct response gets no mark', async () => {
  for (const [sections, way] of [
    [[WEEKS, GROUPS, FOLDED, SCORECARD], 'single'],
    [[WEEKS, GROUPS], 'joined by range'],
  ] as const) {
    for (const section of sections) {
      expect(incomplete(await tableOf(section, way))).toEqual([]);
      expect(incomplete(await tableOf(section, way, ENDED))).toEqual([]);
    }
  }
});
