import type { TableNote } from '../../src/fetch/notes.ts';
import type { NoteMessage, NoteParams } from '../../src/i18n/note.ts';

const AT = '2026-11-15T22:00:00Z';
const timezone = 'Europe/Zurich';
const METRIC = { label: 'Profiles created', id: 'profiles.created' };
const CONFLICT = { label: METRIC.label, from: '2026-11-01', to: '2026-11-30', one: 1_240, other: 999, timezone };

/** At least one sample of every note. The compiler reports a missing one. */
const SAMPLES: { readonly [Id in keyof NoteParams]: readonly NoteParams[Id][] } = {
  cut_piece: [undefined],
  cut: [{ rows: 1 }, { rows: 5000 }],
  limited: [{ rows: 1 }, { rows: 10 }],
  lacking: [
    {
      what: [
        { of: 'column', label: 'Exposure' },
        { of: 'previous', metrics: [] },
        { of: 'previous_totals', metrics: [METRIC.id] },
        { of: 'year_before', metrics: [] },
        { of: 'year_before_totals', metrics: [METRIC.id] },
        { of: 'to_date', metrics: [] },
        { of: 'trend', metrics: [] },
        { of: 'totals' },
        { of: 'total', metric: METRIC.id },
      ],
    },
  ],
  lacking_cells: [{ cells: 1 }, { cells: 12 }],
  other_count: [
    { said: 1, sent: 2 },
    { said: 12_345, sent: 1 },
  ],
  other_range: [
    { from: '2026-11-09', to: '2026-11-15', got: null },
    { from: '2026-11-09', to: '2026-11-15', got: { from: '2026-11-09', to: '2026-11-14' } },
  ],
  other_zone: [{ asked: timezone, got: 'UTC' }],
  compared_days_unknown: [undefined],
  granularity_mismatch: [
    { asked: 'day', got: 'month' },
    { asked: null, got: 'day' },
    { asked: 'week', got: null },
  ],
  compare_range_mismatch: [
    { expected: { from: '2026-11-02', to: '2026-11-08' }, got: { from: '2026-11-01', to: '2026-11-07' } },
  ],
  unit_mismatch: [{ columns: [{ label: METRIC.label, expected: 'count', got: 'seconds' }] }],
  column_mismatch: [
    { columns: [{ label: METRIC.label, of: 'label', got: 'Screening hits' }] },
    {
      columns: [
        { label: METRIC.label, of: 'label', got: ' ' },
        { label: 'Risk', of: 'kind', got: 'metric' },
        { label: METRIC.label, of: 'type', got: 'date' },
        { label: 'Risk', of: 'unit', got: 'count' },
      ],
    },
  ],
  median_above_p90: [
    { figures: 1, label: 'Median time', other: '90th percentile', bucket: null },
    { figures: 2, label: 'Median time', other: '90th percentile', bucket: '2026-11-09' },
  ],
  total_outside: [
    { totals: [{ label: 'Approval rate', total: 0.95, low: 0.4, high: 0.6, previous: false }] },
    {
      totals: [
        { label: 'Approval rate', total: null, low: 0.4, high: 0.4, previous: true },
        { label: 'Median time', total: 86_400, low: null, high: null, previous: false },
      ],
    },
  ],
  answers_differ: [
    { ...CONFLICT, figures: 1, at: null },
    { ...CONFLICT, figures: 2, other: null, at: [AT, '2026-11-15T23:00:00Z'] },
    { ...CONFLICT, figures: 1200, at: null },
  ],
  to_date_below: [
    { ...CONFLICT, figures: 1, at: null },
    { ...CONFLICT, figures: 1, at: [AT, '2026-11-15T23:00:00Z'] },
  ],
  figures_repeated: [
    { labels: [METRIC.label], kind: 'previous_year', at: null, timezone },
    { labels: [METRIC.label, 'RFIs sent'], kind: 'previous_period', at: [AT, '2026-11-15T23:00:00Z'], timezone },
  ],
  invalid_value: [
    { figures: 1, label: METRIC.label, value: -1.25, bucket: '2026-11-09' },
    { figures: 1200, label: METRIC.label, value: -1, bucket: null },
  ],
  null_count: [
    { figures: 1, label: METRIC.label, bucket: '2026-11-09' },
    { figures: 2, label: METRIC.label, bucket: null },
  ],
  missing_rows: [
    { rows: 1, first: { bucket: null, group: [] } },
    { rows: 1200, first: { bucket: '2026-11-09', group: ['Entity'] } },
  ],
  duplicate_rows: [
    { rows: 1, first: { bucket: null, group: [] } },
    { rows: 2, first: { bucket: '2026-11-09', group: ['Entity'] } },
  ],
  unexpected_buckets: [
    { rows: 1, first: null },
    { rows: 2, first: '2026-11-01' },
  ],
  filter_mismatch: [
    { rows: 1, dimension: 'Risk', value: 'Low' },
    { rows: 2, dimension: 'Risk', value: 'Low' },
  ],
  limit_exceeded: [{ limit: 1, rows: 2 }],
  order_mismatch: [undefined],
  total_mismatch: [
    {
      totals: [
        { label: METRIC.label, total: 12, sum: 1234, previous: false },
        { label: METRIC.label, total: 12, sum: 11, previous: true },
      ],
    },
  ],
  not_additive: [{ labels: [METRIC.label, 'Exposure'] }],
  computed_in_future: [{ at: AT, timezone }],
  computed_before_call: [{ at: AT, timezone }],
  computed_unknown: [{ cached: true }, { cached: false }],
  computed_early: [{ at: AT, to: '2026-11-15', timezone }],
  computed_long_ago: [{ at: AT, timezone }],
  period_running: [undefined],
  buckets_running: [
    { granularity: 'week', days: ['2026-11-09'] },
    { granularity: null, days: ['2026-11-09', '2026-11-10'] },
  ],
  buckets_to_come: [
    { granularity: 'week', days: ['2026-11-16'] },
    { granularity: null, days: ['2026-11-16', '2026-11-17'] },
  ],
  partial_mismatch: [
    { rows: 1, bucket: '2026-11-09', running: true },
    { rows: 2, bucket: null, running: false },
  ],
  buckets_clipped: [
    { granularity: 'week', first: true, last: false },
    { granularity: 'month', first: true, last: true },
  ],
  undefined_cells: [{ labels: [METRIC.label] }],
  counts_undefined: [
    { why: 'backfill', due: AT, timezone },
    { why: 'late', due: AT, timezone },
  ],
  read_at: [
    { at: AT, timezone, granularity: 'day' },
    { at: AT, timezone, granularity: 'month' },
  ],
  readings_missing: [{ days: ['2026-10-25'] }, { days: ['2026-10-25', '2026-10-26'] }],
  readings_to_come: [{ days: ['2026-11-15'] }, { days: ['2026-11-14', '2026-11-15'] }],
  undefined_totals: [
    { labels: [METRIC.label], why: 'range' },
    { labels: [METRIC.label], why: 'filter' },
  ],
  deprecated: [
    { ...METRIC, since: '2026-01-01', successor: null },
    { ...METRIC, since: '2026-01-01', successor: 'risk.exposure' },
  ],
  replaced: [{ from: METRIC, to: { label: 'Exposure', id: 'risk.exposure' } }],
  no_figures_before: [{ first: '2027-01-01' }],
  no_data_before: [{ label: METRIC.label, first: '2027-01-01' }],
  data_from: [{ label: METRIC.label, first: '2026-11-12' }],
  not_compared_before: [{ label: METRIC.label, first: '2026-11-05' }],
  target_mismatch: [{ label: METRIC.label, target: '24h', unit: 'count' }],
  to_date_from: [{ label: METRIC.label, first: '2026-11-05' }],
  unlike_rows: [
    {
      granularity: 'week',
      reasons: [
        { reason: 'unfinished', kinds: [], first: false, last: true, others: false },
        { reason: 'no_partner', kinds: ['previous_year'], first: true, last: false, others: false },
        { reason: 'partial', kinds: ['previous_period'], first: true, last: true, others: false },
      ],
    },
    {
      granularity: 'day',
      reasons: [
        { reason: 'weekdays', kinds: [], first: true, last: true, others: true },
        { reason: 'length', kinds: [], first: false, last: false, others: true },
      ],
    },
    {
      granularity: 'month',
      reasons: [{ reason: 'partial', kinds: [], first: true, last: false, others: false }],
    },
  ],
  unlike_totals: [
    { totals: [{ kind: 'previous_period', compared: true, reason: 'length', days: [31, 30] }], several: false },
    {
      totals: [
        { kind: 'previous_period', compared: true, reason: 'weekdays', days: null },
        { kind: 'previous_year', compared: false, reason: 'no_partner', days: null },
      ],
      several: true,
    },
    { totals: [{ kind: 'previous_period', compared: false, reason: 'unfinished', days: null }], several: false },
    { totals: [{ kind: 'previous_year', compared: false, reason: 'weekdays', days: null }], several: false },
    { totals: [{ kind: 'previous_year', compared: false, reason: 'length', days: [3, 4] }], several: false },
  ],
  provisional: [{ labels: [METRIC.label] }],
  unknown_unit: [{ label: 'Exposure', unit: 'chf' }],
  list_changed: [{ counts: [3, 4], seen: 3 }],
  list_count: [{ said: 1200, seen: 1 }],
  list_order: [{ by: '-created_at' }],
  list_fields: [{ fields: ['tags', 'owner'] }],
};

const says = <Id extends keyof NoteParams>(id: Id): { readonly id: Id; readonly of: NoteParams[Id] }[] =>
  SAMPLES[id].map((of) => ({ id, of }));

/** Notes for one table. Half of them make the table incomplete. */
export const allNotes = (): TableNote[] =>
  Object.keys(SAMPLES)
    .flatMap((id): readonly NoteMessage[] => (isNote(id) ? says(id) : []) as readonly NoteMessage[])
    .map((said, index) => ({ code: 'missing', message: said, incomplete: index % 2 === 0 }));

const isNote = (id: string): id is keyof NoteParams => Object.hasOwn(SAMPLES, id);
