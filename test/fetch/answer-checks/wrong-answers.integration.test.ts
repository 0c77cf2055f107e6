import { describe, expect, test } from 'vitest';
import type { ReportRequest } from '../../../src/contract/report.ts';
import type { Period } from '../../../src/definitions/periods/period.ts';
import type { Table } from '../../../src/fetch/dataset.ts';
import type { NoteCode } from '../../../src/fetch/notes.ts';
import type { CallLimits } from '../../../src/plan/requests/call.ts';
import { NOW } from '../../support/fetch-harness.ts';
import { notesIn } from '../../support/notes.ts';
import { type SectionInput, settingsOf } from '../../support/reports.ts';
import { rowsOf } from '../../support/rows.ts';
import { falsifiedSandbox, type ReportBody, type Tampering, tableIn } from '../../support/tampering-service.ts';

const service = falsifiedSandbox();

/** Two whole months. The first and the last week extend beyond them. */
const PERIOD: Period = { from: '2026-08-01', to: '2026-09-30', timezone: 'Europe/Zurich', label: 'x' };
const CREATED = 'profiles.created';
const RATE = 'profiles.approval_rate';
const MEDIAN = 'profiles.time_to_decision_p50';

const WEEKS: SectionInput = { id: 'a', metrics: [CREATED, RATE, MEDIAN], granularity: 'week', totals: true };
const FOLDED: SectionInput = { id: 'a', metrics: [CREATED, RATE, MEDIAN], totals: true };
const GROUPS: SectionInput = {
  ...WEEKS,
  dimensions: ['profile.risk'],
  filters: [{ dimension: 'profile.risk', op: 'in', values: ['low', 'medium', 'high'] }],
};

/** Whether the table comes from one call, or how the responses of several are joined. */
const WAYS = {
  single: {},
  'joined by metrics': { max_metrics: 1 },
  'joined by range': { max_range_days: 31 },
  'joined by groups': { max_rows: 12 },
} as const satisfies Record<string, Partial<CallLimits>>;
type Way = keyof typeof WAYS;
const EACH: readonly Way[] = ['single', 'joined by metrics', 'joined by range'];
/** Each part of a split range is requested without a comparison of its own. */
const COMPARED: readonly Way[] = ['single', 'joined by metrics'];

async function tableOf(section: SectionInput, way: Way): Promise<Table> {
  const fetched = await service.fetch([section], PERIOD, { compare: 'previous_period', limits: WAYS[way] });
  expect(fetched.plan.sections[0]?.join !== undefined).toBe(way !== 'single');
  return tableIn(fetched);
}
const incompleteOf = async (section: SectionInput, way: Way) =>
  notesIn(await tableOf(section, way)).filter(({ incomplete }) => incomplete);

/** Falsifies every response that has the metric. */
const where =
  (metric: string, lie: (body: ReportBody, request: ReportRequest) => void): Tampering['report'] =>
  (body, request) => {
    if (request.metrics.includes(metric) && body.rows.length > 0) lie(body, request);
  };
/** Writes another figure into the first row. */
const figure = (metric: string, value: number | null): Tampering['report'] =>
  where(metric, ({ rows }) => {
    const [row] = rows;
    if (row !== undefined) row[metric] = value;
  });
const unit = (metric: string, value: string): Tampering['report'] =>
  where(metric, ({ columns }) => {
    for (const column of columns) if (column.name === metric) column.unit = value;
  });
const meta =
  (change: Record<string, unknown>): Tampering['report'] =>
  (body) =>
    void Object.assign(body.meta, change);
const instant = (shiftMs: number): string => new Date(NOW + shiftMs).toISOString();
const counted = (body: ReportBody): void => void Object.assign(body.meta, { row_count: body.rows.length });
const MINUTE = 60_000;

interface Lie {
  readonly name: string;
  readonly code: NoteCode;
  readonly section?: SectionInput;
  readonly ways?: readonly Way[];
  readonly lies: Tampering;
}
const lie = (name: string, code: NoteCode, report: Tampering['report'], more: Partial<Lie> = {}): Lie => ({
  name,
  code,
  lies: { report },
  ...more,
});

const LIES: readonly Lie[] = [
  lie('a count in seconds', 'unit_mismatch', unit(CREATED, 'seconds')),
  lie('a rate as a count', 'unit_mismatch', unit(RATE, 'count')),
  lie('a median in minutes', 'unit_mismatch', unit(MEDIAN, 'minutes')),

  lie('a rate over 1', 'invalid_value', figure(RATE, 1.01)),
  lie('a rate under 0', 'invalid_value', figure(RATE, -0.01)),
  lie('a negative count', 'invalid_value', figure(CREATED, -1)),
  lie('a fractional count', 'invalid_value', figure(CREATED, 1.5)),
  lie('a count above the largest safe integer', 'invalid_value', figure(CREATED, 2 ** 60)),
  lie('a negative duration', 'invalid_value', figure(MEDIAN, -1)),
  lie('a negative count by group', 'invalid_value', figure(CREATED, -1), { section: GROUPS }),
  lie('a negative count of the whole range', 'invalid_value', figure(CREATED, -1), { section: FOLDED, ways: COMPARED }),
  lie(
    'a rate over 1 of the previous period',
    'invalid_value',
    where(RATE, ({ rows }) => void Object.assign(rows[0]?.compare ?? {}, { [RATE]: 90 })),
    { ways: COMPARED },
  ),
  lie(
    'a rate over 1 in the totals',
    'invalid_value',
    where(RATE, ({ totals }) => void Object.assign(totals ?? {}, { [RATE]: 90 })),
    { ways: COMPARED },
  ),
  lie(
    'a negative count in the totals of the previous period',
    'invalid_value',
    where(CREATED, ({ totals }) => void Object.assign(totals?.compare ?? {}, { [CREATED]: -5 })),
    { ways: COMPARED },
  ),

  lie('a null count', 'null_count', figure(CREATED, null)),
  lie('a null count by group', 'null_count', figure(CREATED, null), { section: GROUPS }),
  lie(
    'a null count of the previous period',
    'null_count',
    where(CREATED, ({ rows }) => void Object.assign(rows[0]?.compare ?? {}, { [CREATED]: null })),
    { ways: COMPARED },
  ),
  lie(
    'a null count in the totals',
    'null_count',
    where(CREATED, ({ totals }) => void Object.assign(totals ?? {}, { [CREATED]: null })),
  ),

  lie('a missing bucket', 'missing_rows', (body) => {
    body.rows.splice(1, 1);
    counted(body);
  }),
  lie(
    'a missing bucket of a group',
    'missing_rows',
    (body) => {
      body.rows.splice(1, 1);
      counted(body);
    },
    { section: GROUPS },
  ),
  lie('no rows at all', 'missing_rows', (body) => {
    body.rows = [];
    counted(body);
  }),
  lie(
    'no row for a folded range',
    'missing_rows',
    (body) => {
      body.rows = [];
      counted(body);
    },
    { section: FOLDED, ways: COMPARED },
  ),
  lie('a duplicate bucket', 'duplicate_rows', (body) => {
    body.rows.splice(1, 0, { ...body.rows[0] });
    counted(body);
  }),
  lie(
    'a duplicate bucket of a group',
    'duplicate_rows',
    (body) => {
      body.rows.splice(1, 0, { ...body.rows[0] });
      counted(body);
    },
    { section: GROUPS },
  ),
  lie(
    'a second row of a folded range',
    'duplicate_rows',
    (body) => {
      body.rows.push({ ...body.rows[0] });
      counted(body);
    },
    { section: FOLDED, ways: COMPARED },
  ),
  lie('a bucket outside the range', 'unexpected_buckets', (body) => {
    body.rows.push({ ...body.rows[0], bucket: '2026-11-02' });
    counted(body);
  }),
  lie('a bucket that begins on another day', 'unexpected_buckets', ({ rows }) => {
    for (const row of rows) row.bucket = new Date(Date.parse(`${row.bucket}`) + 86_400_000).toISOString().slice(0, 10);
  }),
  lie(
    'a row without a bucket',
    'unexpected_buckets',
    ({ rows }) => void Object.assign(rows[0] ?? {}, { bucket: null }),
  ),

  lie('another granularity', 'granularity_mismatch', meta({ granularity: 'month' })),
  lie('a missing granularity', 'granularity_mismatch', meta({ granularity: null })),
  lie('a granularity that was not requested', 'granularity_mismatch', meta({ granularity: 'day' }), {
    section: FOLDED,
    ways: COMPARED,
  }),
  lie(
    'another previous period',
    'compare_range_mismatch',
    meta({ compare_range: { from: '2025-08-01', to: '2025-09-30' } }),
    { ways: COMPARED },
  ),
  lie('another range', 'missing', meta({ range: { from: '2026-08-01', to: '2026-08-02' } })),
  lie('another zone', 'missing', meta({ timezone: 'UTC' })),

  lie(
    'a group that an `in` filter excludes',
    'filter_mismatch',
    ({ rows }) => {
      for (const row of rows) if (row['profile.risk'] === 'high') row['profile.risk'] = 'severe';
    },
    { section: GROUPS },
  ),
  lie(
    'a group that a `not_in` filter excludes',
    'filter_mismatch',
    ({ rows }) => {
      for (const row of rows) if (row['profile.risk'] === 'high') row['profile.risk'] = 'severe';
    },
    { section: { ...GROUPS, filters: [{ dimension: 'profile.risk', op: 'not_in', values: ['severe'] }] } },
  ),

  lie(
    'more rows than the limit',
    'limit_exceeded',
    (body) => {
      body.rows.push({ ...body.rows[0] });
      counted(body);
    },
    { section: { ...WEEKS, limit: 9 }, ways: ['single'] },
  ),
  lie('more rows than any report has', 'limit_exceeded', (body) => {
    body.rows = Array.from({ length: 5001 }, () => ({ ...body.rows[0] }));
    counted(body);
  }),

  lie('buckets in another order', 'order_mismatch', ({ rows }) => void rows.reverse()),
  lie(
    'interleaved groups with complete buckets',
    'order_mismatch',
    ({ rows }) => {
      const [row] = rows.splice(0, 1);
      if (row !== undefined) rows.splice(4, 0, row);
    },
    { section: GROUPS },
  ),
  lie('the smallest first where the largest was requested', 'order_mismatch', ({ rows }) => void rows.reverse(), {
    section: { ...WEEKS, order: [{ by: CREATED, dir: 'desc' }] },
    ways: ['single'],
  }),
  lie('the latest first where the earliest was requested', 'order_mismatch', ({ rows }) => void rows.reverse(), {
    section: {
      ...GROUPS,
      order: [
        { by: 'profile.risk', dir: 'desc' },
        { by: 'bucket', dir: 'asc' },
      ],
    },
    ways: ['single'],
  }),

  lie(
    'a total that is not the sum of its rows',
    'total_mismatch',
    where(CREATED, ({ totals }) => void Object.assign(totals ?? {}, { [CREATED]: Number(totals?.[CREATED]) + 1 })),
  ),
  lie(
    'a total that is not the sum of its groups',
    'total_mismatch',
    where(CREATED, ({ totals }) => void Object.assign(totals ?? {}, { [CREATED]: Number(totals?.[CREATED]) + 1 })),
    { section: GROUPS },
  ),
  lie(
    'a total of the previous period that is not the sum of its rows',
    'total_mismatch',
    where(CREATED, ({ totals }) => void Object.assign(totals?.compare ?? {}, { [CREATED]: 0 })),
    { section: FOLDED, ways: COMPARED },
  ),
  lie(
    'missing groups',
    'total_mismatch',
    where(CREATED, (body) => {
      body.rows = [];
      counted(body);
    }),
    { section: GROUPS },
  ),
  lie(
    'a part that lacks a group in its rows and in its totals',
    'total_mismatch',
    where(CREATED, (body, { filters = [] }) => {
      if (!filters.some(({ op, values }) => op !== 'not_in' && values.includes('high'))) return;
      body.rows = [];
      counted(body);
      Object.assign(body.totals ?? {}, { [CREATED]: 0 });
    }),
    { section: { ...WEEKS, dimensions: ['profile.risk'] }, ways: ['joined by groups'] },
  ),

  lie('a row count above the number of rows', 'missing', (body) => {
    body.meta.row_count = body.rows.length + 1;
  }),

  lie('figures of tomorrow', 'computed_in_future', meta({ as_of: instant(24 * 60 * MINUTE) })),
  lie('week-old figures declared as fresh', 'stale', meta({ as_of: instant(-7 * 24 * 60 * MINUTE), cached: false })),
  lie('ten-minute-old figures declared as fresh', 'stale', meta({ as_of: instant(-10 * MINUTE), cached: false })),
  lie('cached figures of yesterday', 'stale', meta({ as_of: instant(-24 * 60 * MINUTE), cached: true })),

  {
    name: 'a rate declared as additive',
    code: 'not_additive',
    ways: COMPARED,
    lies: {
      catalog: ({ metrics }) => {
        for (const metric of metrics) if (metric.id === RATE) metric.additive_over_time = true;
      },
    },
  },
];

describe('a wrong response makes the table incomplete, and a note says why', () => {
  const cases = LIES.flatMap((reported) => (reported.ways ?? EACH).map((way) => ({ ...reported, way })));
  test.each(cases)('$name, $way', async ({ code, section = WEEKS, lies, way }) => {
    service.tell(lies);
    expect((await incompleteOf(section, way)).map((note) => note.code)).toContain(code);
  });
});

test('a group in the responses to two calls is not added up: the figures of the call that requested it are shown', async () => {
  const created = async () => {
    const table = await tableOf(GROUPS, 'joined by groups');
    const low = rowsOf(table).filter(({ values }) => values['profile.risk'] === 'low');
    return { low: low.map(({ values }) => values[CREATED]), codes: table.notes.map(({ code }) => code) };
  };
  const truth = await created();
  expect(truth.low).toHaveLength(10);
  // The period and the previous one begin on different weekdays.
  expect(truth.codes).toEqual(['unlike']);
  service.tell({
    report: ({ rows }, { filters }) => {
      if (filters?.[0]?.values.includes('low')) return;
      for (const row of rows) row['profile.risk'] = 'low';
    },
  });
  const reported = await created();
  expect(reported.low).toEqual(truth.low);
  expect(reported.codes).toContain('filter_mismatch');
});

describe('a correct response gets no mark', () => {
  const sections: [string, SectionInput][] = [
    ['weeks', WEEKS],
    ['groups', GROUPS],
    [
      'the largest first',
      {
        ...GROUPS,
        order: [
          { by: CREATED, dir: 'desc' },
          { by: RATE, dir: 'asc' },
        ],
      },
    ],
    ['the first ten', { ...GROUPS, limit: 10 }],
  ];
  test.each(sections.flatMap(([name, section]) => EACH.map((way) => [name, way, section] as const)))(
    '%s, %s',
    async (_name, way, section) => {
      expect(await incompleteOf(section, way)).toEqual([]);
    },
  );

  test.each(COMPARED)('a range without buckets, %s', async (way) => {
    expect(await incompleteOf(FOLDED, way)).toEqual([]);
  });

  test('with clocks that differ by less than a minute', async () => {
    for (const shift of [-50_000, 50_000]) {
      service.tell({ report: meta({ as_of: instant(shift) }) });
      expect(await incompleteOf(WEEKS, 'single')).toEqual([]);
    }
  });
});

describe('a list', () => {
  const read = async () => {
    const roster = { id: 'roster', list: 'profiles', search: 'holding', ordering: '-created_at' } as const;
    const table = tableIn(
      await service.fetch([roster], PERIOD, { settings: settingsOf({ org: 102 }), key: 'all' }),
      'roster',
    );
    return { rows: rowsOf(table), notes: table.notes };
  };

  test('whose links to next pages drop the query is read with our query', async () => {
    const truth = await read();
    expect(truth.rows.length).toBeGreaterThan(50);
    expect(truth.notes).toEqual([]);
    service.tell({
      list: (body) => {
        if (body.next === null) return;
        const next = new URL(body.next);
        for (const name of ['search', 'ordering']) next.searchParams.delete(name);
        body.next = next.href;
      },
    });
    expect(await read()).toEqual(truth);
  });

  test('in another order is incomplete', async () => {
    service.tell({ list: ({ results }) => void results.reverse() });
    expect((await read()).notes).toMatchObject([{ code: 'order_mismatch', incomplete: true }]);
  });

  test('with a missing or duplicate record is incomplete', async () => {
    service.tell({ list: ({ results }) => void results.splice(3, 1) });
    expect((await read()).notes).toMatchObject([{ code: 'missing', incomplete: true }]);
    service.tell({ list: ({ results }) => void results.splice(3, 1, { ...results[2] }) });
    expect((await read()).notes).toMatchObject([{ code: 'missing', incomplete: true }]);
  });
});
