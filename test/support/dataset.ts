import type {
  Column,
  Comparisons,
  Dataset,
  MetricValues,
  Row,
  Table,
  TableComparison,
} from '../../src/fetch/dataset.ts';
import type { TableNote } from '../../src/fetch/notes.ts';

/** When the fixtures' files are made. */
export const MADE_AT = Date.parse('2026-11-16T07:00:00Z');
export const PERIOD = { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' };
const RANGE = { from: PERIOD.from, to: PERIOD.to };
/** A comparison of the period with the week before. */
export const WEEK_BEFORE: TableComparison = {
  kind: 'previous_period',
  range: { from: '2026-11-02', to: '2026-11-08' },
};
const AS_OF = '2026-11-16T06:59:30Z';

export const bucketColumn: Column = { name: 'bucket', label: 'Bucket', kind: 'time', type: 'date', unit: null };
export const typeColumn: Column = {
  name: 'profile.type',
  label: 'Profile type',
  kind: 'dimension',
  type: 'enum',
  unit: null,
  description: 'Whether the counterparty is a person or a company.',
  values: [
    { value: 'individual', label: 'Individual (KYC)' },
    { value: 'entity', label: 'Entity (KYB)' },
  ],
};
export const groupColumn: Column = {
  name: 'profile.group',
  label: 'Group',
  kind: 'dimension',
  type: 'enum',
  unit: null,
  values: [],
};

export const countColumn: Column = {
  name: 'profiles.created',
  label: 'Profiles created',
  kind: 'metric',
  type: 'integer',
  unit: 'count',
  aggregation: 'count',
  description: 'Profiles by the time of their creation. Related parties are not counted.',
  counts: 'created',
  availableFrom: '2024-03-01',
};
export const ratioColumn: Column = {
  name: 'profiles.approval_rate',
  label: 'Approval rate',
  kind: 'metric',
  type: 'ratio',
  unit: 'ratio',
  aggregation: 'ratio',
  description: 'Share of decided profiles whose first decision was Approved.',
  counts: 'first decision',
};
export const durationColumn: Column = {
  name: 'profiles.time_to_decision_p50',
  label: 'Time to decision (median)',
  kind: 'metric',
  type: 'duration',
  unit: 'seconds',
  aggregation: 'p50',
  description: 'From creation to the first decision.',
  counts: 'first decision',
};
export const strangeColumn: Column = {
  name: 'risk.exposure',
  label: 'Exposure',
  kind: 'metric',
  type: 'number',
  unit: 'chf',
  aggregation: 'sum',
};

export function table(change: Partial<Table> & Pick<Table, 'id' | 'columns' | 'rows'>): Table {
  return {
    title: change.id,
    granularity: null,
    current: false,
    period: PERIOD,
    range: RANGE,
    comparisons: [],
    asOf: AS_OF,
    running: 'path' in change.rows ? false : change.rows.some(({ partial }) => partial),
    filters: [],
    notes: [],
    ...change,
  };
}

/** Comparable figures of the previous period. */
export const previous = (values: MetricValues): Comparisons => ({ previous_period: { values } });

export const row = (values: Row['values'], more: Partial<Row> = {}): Row => ({ values, partial: false, ...more });

export function dataset(tables: readonly Table[], change: Partial<Dataset> = {}): Dataset {
  return {
    org: 'acme',
    organization: 'Acme Compliance AG',
    report: 'weekly-kpi',
    title: 'Weekly compliance KPIs',
    owner: 'ops@acme.example',
    period: PERIOD,
    tables,
    calls: [
      {
        id: '0123456789abcdef',
        method: 'POST',
        path: '/api/orgs/current/analytics/report/',
        sections: tables.map(({ id }) => id),
        asOf: AS_OF,
        cached: false,
        correlationId: 'c0ffee00-1234-4abc-8def-000000000001',
        rows: tables.reduce((sum, { rows }) => sum + rows.length, 0),
        saved: false,
      },
    ],
    registryVersion: 7,
    ...change,
  };
}

const truncated: TableNote = {
  code: 'truncated',
  message: { id: 'cut', of: { rows: 5000 } },
  incomplete: true,
};
const stale: TableNote = {
  code: 'stale',
  message: { id: 'computed_long_ago', of: { at: AS_OF, timezone: PERIOD.timezone } },
  incomplete: true,
};

const days = ['2026-11-09', '2026-11-10', '2026-11-11', '2026-11-12', '2026-11-13', '2026-11-14', '2026-11-15'];

/** Seven days of ordinary figures: counts, a rate with an undefined day, a median, a comparison and totals. */
export const onboarding: Table = table({
  id: 'onboarding',
  title: 'Onboarding',
  description: 'How many counterparties came, how many were approved, and how long a decision took.',
  granularity: 'day',
  comparisons: [WEEK_BEFORE],
  columns: [bucketColumn, countColumn, ratioColumn, durationColumn],
  rows: days.map((bucket, index) => {
    const weekend = index > 4;
    return row(
      {
        bucket,
        'profiles.created': weekend ? 0 : 1204 + index * 37,
        'profiles.approval_rate': weekend ? null : 0.81 + index * 0.013,
        'profiles.time_to_decision_p50': weekend ? null : 12_345 + index * 4000,
      },
      {
        compare: previous({
          'profiles.created': weekend ? 0 : 1300 - index * 21,
          'profiles.approval_rate': weekend ? null : 0.83,
          'profiles.time_to_decision_p50': weekend ? null : 15_000,
        }),
        partial: index === 6,
      },
    );
  }),
  totals: {
    values: { 'profiles.created': 6390, 'profiles.approval_rate': 0.836, 'profiles.time_to_decision_p50': 19_011.5 },
    compare: previous({
      'profiles.created': 6290,
      'profiles.approval_rate': 0.83,
      'profiles.time_to_decision_p50': 15_000,
    }),
  },
  filters: [{ label: 'Risk', is: ['High', 'Severe'] }],
  chart: 'line',
});

/** Current counts: no period and no rows by day. */
export const workload: Table = table({
  id: 'workload',
  title: 'Open workload',
  current: true,
  range: null,
  columns: [
    { ...countColumn, name: 'alerts.open', label: 'Open alerts', counts: 'now', description: 'Alerts not closed yet.' },
    {
      ...countColumn,
      name: 'rfis.overdue',
      label: 'Overdue RFIs',
      counts: 'now',
      description: 'RFIs past their date.',
    },
  ],
  rows: [row({ 'alerts.open': 37, 'rfis.overdue': 0 })],
});

/** A dataset with everything that breaks a careless renderer. */
export function nastyDataset(): Dataset {
  const groups = table({
    id: 'groups',
    title: 'Profiles by group and type, with a title that no sheet name can hold',
    comparisons: [WEEK_BEFORE],
    chart: 'bar',
    columns: [groupColumn, typeColumn, countColumn, strangeColumn],
    rows: [
      ['=HYPERLINK("https://evil.example","click")', 'individual', 10, 1_234_567.891],
      ['+41 44 000 00 00', 'entity', 0, 0],
      ['-1+1', 'individual', 3, -12.5],
      ['@SUM(A1:A9)', 'martian', 4, null],
      ['\tTab first', 'entity', 5, 1],
      ['🚀 Growth "team", Zürich', 'entity', 6, 2],
      ['مجموعة العملاء', 'individual', 7, 3],
      ['line one\r\nline two\u0000\u0007', 'individual', 8, 4],
      ['<script>alert(1)</script> & _x0041_', 'entity', 9, 5],
      ['', 'entity', 1, 6],
    ].map(([group, type, count, exposure], index) =>
      row(
        {
          'profile.group': group ?? null,
          'profile.type': type ?? null,
          'profiles.created': count ?? null,
          'risk.exposure': exposure ?? null,
        },
        {
          compare: previous({
            'profiles.created': index === 1 ? 0 : index === 2 ? null : 4,
            'risk.exposure': index % 2 === 0 ? 1 : null,
          }),
        },
      ),
    ),
    notes: [
      truncated,
      {
        code: 'unknown_unit',
        message: { id: 'unknown_unit', of: { label: 'Exposure', unit: 'chf' } },
        incomplete: false,
      },
    ],
  });
  const durations = (id: string, values: readonly (number | null)[]) =>
    table({
      id,
      title: 'Durations',
      columns: [groupColumn, durationColumn],
      rows: values.map((value, index) =>
        row({ 'profile.group': `Group ${index}`, 'profiles.time_to_decision_p50': value }),
      ),
    });
  const weekly = table({
    id: 'weekly',
    title: 'durations',
    granularity: 'week',
    chart: 'column',
    range: { from: '2026-10-28', to: '2026-11-15' },
    columns: [bucketColumn, countColumn, ratioColumn],
    rows: [
      row({ bucket: '2026-10-26', 'profiles.created': 3, 'profiles.approval_rate': 0 }),
      row({ bucket: '2026-11-02', 'profiles.created': 0, 'profiles.approval_rate': null }),
      row({ bucket: '2026-11-09', 'profiles.created': 5, 'profiles.approval_rate': 1 }, { partial: true }),
    ],
    notes: [stale],
  });
  const empty = table({
    id: 'empty',
    title: "[Nothing]: a/b\\c*? '",
    granularity: 'month',
    chart: 'stacked_column',
    columns: [bucketColumn, countColumn],
    rows: [],
  });
  const byGroup = table({
    id: 'by_group',
    title: 'Created by group & day',
    granularity: 'day',
    chart: 'stacked_column',
    columns: [bucketColumn, groupColumn, countColumn],
    rows: days.flatMap((bucket, day) =>
      Array.from({ length: 10 }, (_, group) =>
        row({ bucket, 'profile.group': `Group <${group}>`, 'profiles.created': (day * 7 + group * 3) % 11 }),
      ),
    ),
  });
  const roster = table({
    id: 'roster',
    title: 'Run',
    range: null,
    asOf: null,
    columns: [
      { name: 'id', label: 'id', kind: 'field', type: 'integer', unit: null },
      { name: 'name', label: 'name', kind: 'field', type: 'string', unit: null },
      { name: 'created_at', label: 'created_at', kind: 'field', type: 'string', unit: null },
      { name: 'active', label: 'active', kind: 'field', type: 'boolean', unit: null },
    ],
    rows: [
      row({ id: 1_000_001, name: 'Ada & Söhne', created_at: '2026-03-01T10:20:30Z', active: true }),
      row({ id: 1_000_002, name: null, created_at: '2026-03-02T10:20:30+01:00', active: false }),
    ],
  });
  return dataset(
    [
      onboarding,
      workload,
      groups,
      durations('tiny', [0.004, 0, 12.3456, null]),
      durations('huge', [31_536_000, 86_400, 1, null]),
      weekly,
      empty,
      roster,
      byGroup,
    ],
    { title: 'KPIs: “weekly” / all', description: 'For the board.' },
  );
}
