import fc from 'fast-check';
import { type Catalog, isCurrentCount } from '../../../src/contract/catalog.ts';
import type { SectionInput } from '../reports.ts';
import type { Days } from './days.ts';
import type { AskedSection } from './expected.ts';

// Random reports with sections that the catalog allows. Their targets are in random-targets.ts.

export const FISCAL = { month: 4, day: 6, named_by: 'end' as const };

const days = (from: string, to: string): Days => ({ from, to });
export const SHORT = [
  days('2026-10-01', '2026-10-31'),
  days('2026-09-01', '2026-09-30'),
  days('2027-01-04', '2027-01-10'),
  // The weeks of both clock changes, and week 53.
  days('2026-03-23', '2026-03-29'),
  days('2026-10-19', '2026-10-25'),
  days('2026-12-28', '2027-01-03'),
  days('2026-12-14', '2027-01-03'),
  days('2024-02-01', '2024-02-29'),
  days('2025-02-01', '2025-02-28'),
  days('2026-10-28', '2026-11-03'),
  days('2026-10-29', '2026-11-01'),
  days('2026-11-10', '2026-11-10'),
  // These days have not ended.
  days('2027-01-01', '2027-01-15'),
  days('2027-01-11', '2027-01-17'),
  // Before the first data, and at its beginning.
  days('2023-08-01', '2023-08-31'),
  days('2023-09-20', '2023-10-10'),
  days('2024-01-01', '2024-01-31'),
  // A fiscal month.
  days('2026-10-06', '2026-11-05'),
];
export const LONG = [
  days('2026-07-01', '2026-09-30'),
  days('2025-12-01', '2026-12-31'),
  days('2026-01-01', '2026-12-31'),
  days('2023-07-01', '2023-12-31'),
  days('2024-01-15', '2024-04-20'),
  // 52 ISO weeks, and a fiscal year.
  days('2025-12-29', '2026-12-27'),
  days('2025-04-06', '2026-04-05'),
];

/** Metrics of every kind, but few, so that sections often share one. */
const METRICS = [
  'profiles.created',
  'profiles.decided',
  'profiles.approval_rate',
  'profiles.time_to_decision_p50',
  'profiles.time_to_decision_p90',
  'cohort.completion_rate',
  'screening.hits',
  'screening.profiles_hit',
  'alerts.created',
  'alerts.time_to_close_p50',
  'rfis.response_rate',
];
export const CURRENT = ['alerts.open', 'profiles.pending_review', 'rfis.open'];

const sectionDraft = fc.record({
  current: fc.constantFrom(false, false, false, false, true),
  picks: fc.array(fc.nat(100), { minLength: 1, maxLength: 3 }),
  dimensions: fc.constantFrom<string[][]>([], [], ['profile.type'], ['profile.risk'], ['profile.type', 'profile.risk']),
  granularity: fc.constantFrom(
    undefined,
    undefined,
    'day' as const,
    'week' as const,
    'month' as const,
    'month' as const,
  ),
  filter: fc.constantFrom<(readonly [string, 'eq' | 'in' | 'not_in', readonly string[]] | undefined)[]>(
    ...[undefined, undefined, undefined, undefined, undefined, undefined],
    ['profile.risk', 'in', ['high', 'severe']],
    ['profile.risk', 'eq', ['high']],
    ['profile.type', 'not_in', ['entity']],
  ),
  order: fc.constantFrom(undefined, undefined, 'bucket' as const, 'metric' as const),
  dir: fc.constantFrom('asc' as const, 'desc' as const),
  limit: fc.constantFrom(undefined, undefined, undefined, 3),
  totals: fc.constantFrom(true, true, false),
  compare: fc.constantFrom<(('previous_period' | 'previous_year')[] | undefined)[]>(
    undefined,
    undefined,
    ['previous_period'],
    ['previous_year'],
    ['previous_year', 'previous_period'],
  ),
  toDate: fc.constantFrom(undefined, undefined, 'year' as const, 'fiscal_year' as const, 'quarter' as const),
  /** The section's own period. */
  period: fc.option(fc.nat(100), { nil: undefined, freq: 3 }),
});
/** A section of readings. */
const readDraft = fc.record({
  picks: fc.array(fc.nat(100), { minLength: 1, maxLength: 2 }),
  byRisk: fc.boolean(),
  granularity: fc.constantFrom(undefined, undefined, 'day' as const, 'week' as const, 'month' as const),
  period: fc.nat(100),
  backwards: fc.boolean(),
  totals: fc.boolean(),
  compare: fc.constantFrom<('previous_period' | 'previous_year')[]>(
    [],
    ['previous_period'],
    ['previous_year'],
    ['previous_period', 'previous_year'],
  ),
});
const targetDraft = fc.record({
  metric: fc.nat(100),
  better: fc.constantFrom('higher' as const, 'lower' as const),
  /** The target as a share of the judged figure; 1 is exactly on the boundary. */
  share: fc.constantFrom(0, 0.5, 0.9, 1, 1, 1.1, 2),
  watch: fc.constantFrom(undefined, 0.05, 0.5, 0.0001),
  per: fc.constantFrom(
    ...[undefined, undefined, undefined, undefined, undefined],
    ...(['day', 'week', 'month', 'quarter', 'year'] as const),
  ),
  where: fc.constantFrom(undefined, undefined, undefined, undefined, { dimension: 'profile.risk', value: 'high' }),
  from: fc.constantFrom(
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    '2023-01-01',
    '2026-01-01',
    '2026-10-15',
    '2027-06-01',
  ),
  report: fc.boolean(),
});
export const packDraft = fc.record({
  period: fc.nat(100),
  long: fc.constantFrom(false, false, true),
  timezone: fc.constantFrom('Europe/Zurich', 'UTC', 'America/New_York'),
  fiscal: fc.constantFrom(undefined, undefined, FISCAL),
  compare: fc.constantFrom<('previous_period' | 'previous_year')[][]>(
    [],
    ['previous_period'],
    ['previous_year'],
    ['previous_period', 'previous_year'],
  ),
  sections: fc.array(sectionDraft, { minLength: 1, maxLength: 3 }),
  read: fc.array(readDraft, { maxLength: 2 }),
  targets: fc.array(targetDraft, { minLength: 3, maxLength: 9 }),
  headline: fc.option(fc.array(fc.nat(100), { minLength: 1, maxLength: 3 }), { nil: undefined, freq: 3 }),
  formatted: fc.boolean(),
  /** Whether the numbers of cases behind ratios and durations are requested. */
  based: fc.constantFrom(true, true, false),
});
export type PackDraft = typeof packDraft extends fc.Arbitrary<infer Value> ? Value : never;

export const pick = <T>(from: readonly T[], at: number): T => {
  const found = from[at % from.length];
  if (found === undefined) throw new Error('nothing to pick');
  return found;
};

/** The sections of a draft that the catalog allows. */
export function askedSections(one: PackDraft, catalog: Catalog): AskedSection[] {
  const own = one.sections.flatMap((section, index): AskedSection[] => {
    // Readings would answer this section.
    if (section.current && one.read.length > 0 && section.filter === undefined) return [];
    const range = pick(one.long ? LONG : SHORT, one.period);
    const own = section.period === undefined || section.current ? range : pick([...SHORT, ...LONG], section.period);
    const isLong = LONG.some(({ from, to }) => from === own.from && to === own.to);
    const granularity = section.current ? undefined : isLong ? 'month' : section.granularity;
    const dimensions = isLong ? section.dimensions.slice(0, own.from === '2025-12-01' ? 0 : 1) : section.dimensions;
    const filters =
      section.filter === undefined
        ? []
        : [{ dimension: section.filter[0], op: section.filter[1], values: section.filter[2] }];
    const needed = [...dimensions, ...filters.map(({ dimension }) => dimension)];
    const fitting = catalog.metrics.filter(
      (metric) =>
        (section.current ? CURRENT : METRICS).includes(metric.id) &&
        isCurrentCount(metric) === section.current &&
        needed.every((id) => metric.dimensions.includes(id)) &&
        (granularity === undefined || metric.granularities.includes(granularity)),
    );
    if (fitting.length === 0) return [];
    const metrics = [...new Set(section.picks.map((at) => pick(fitting, at)))];
    const isWhole = own.from === '2025-12-01';
    const by =
      isWhole || section.current
        ? undefined
        : section.order === 'metric'
          ? metrics[0]?.id
          : section.order === 'bucket' && granularity !== undefined
            ? 'bucket'
            : undefined;
    const kinds = section.current ? [] : (section.compare ?? one.compare);
    return [
      {
        id: `s${index}`,
        metrics: metrics.map(({ id, label, unit, additive_over_time: additive, data_available: data }) => ({
          id,
          label,
          unit,
          additive,
          first: data?.from ?? '',
        })),
        dimensions,
        granularity,
        filters,
        order: by === undefined ? [] : [{ by, dir: section.dir }],
        limit: isWhole ? undefined : section.limit,
        totals: section.totals,
        range: section.current ? undefined : own,
        kinds,
        toDate:
          section.current ||
          (granularity !== undefined && !section.totals) ||
          (section.toDate === 'fiscal_year' && one.fiscal === undefined)
            ? undefined
            : section.toDate,
      },
    ];
  });
  return [...own, ...one.read.flatMap((section, index) => readSection(section, index, catalog))];
}

/** The metrics with the numbers of cases. */
const BASES: Readonly<Record<string, string>> = {
  'profiles.approval_rate': 'profiles.decided',
  'profiles.time_to_decision_p50': 'profiles.decided',
  'profiles.time_to_decision_p90': 'profiles.decided',
  'cohort.completion_rate': 'profiles.created',
  'alerts.time_to_close_p50': 'alerts.closed',
  'rfis.response_rate': 'rfis.sent',
};

/** The sections with the numbers of cases that their calls request or have anyway, however the planner shares calls. */
export function withBases(sections: readonly AskedSection[], { metrics: known }: Catalog): AskedSection[] {
  const lists = ({ metrics }: AskedSection, metric: string): boolean => metrics.some(({ id }) => id === metric);
  const isRequested = (metric: string, base: string): boolean => {
    const [own, count] = [metric, base].map((name) => known.find(({ id }) => id === name));
    if (count === undefined || count.time_field !== own?.time_field) return false;
    const asking = sections.filter((section) => lists(section, metric) || lists(section, base));
    if (asking.every((section) => lists(section, metric) && lists(section, base))) return true;
    return asking.every((section) => {
      const { dimensions, filters, granularity, order, limit } = section;
      if (lists(section, base) || (dimensions.length > 0 && (order.length > 0 || limit !== undefined))) return false;
      const needed = [...dimensions, ...filters.map(({ dimension }) => dimension)];
      const takes = granularity === undefined || count.granularities.includes(granularity);
      return takes && needed.every((id) => count.dimensions.includes(id));
    });
  };
  return sections.map((section) => ({
    ...section,
    metrics: section.metrics.map((metric) => {
      const base = BASES[metric.id];
      return base !== undefined && isRequested(metric.id, base) ? { ...metric, base } : metric;
    }),
  }));
}

const RISK = 'profile.risk';
/** The last day whose reading is over. */
export const LAST_READ = '2027-01-14';

function readSection(section: PackDraft['read'][number], index: number, catalog: Catalog): AskedSection[] {
  const range = pick([...SHORT, ...LONG], section.period);
  const isLong = LONG.some(({ from, to }) => from === range.from && to === range.to);
  const granularity = isLong ? 'month' : range.to > LAST_READ ? (section.granularity ?? 'day') : section.granularity;
  const dimensions = section.byRisk && !isLong ? [RISK] : [];
  const fitting = catalog.metrics.filter(
    ({ id, dimensions: accepted }) => CURRENT.includes(id) && dimensions.every((each) => accepted.includes(each)),
  );
  if (fitting.length === 0) return [];
  const metrics = [...new Set(section.picks.map((at) => pick(fitting, at)))];
  return [
    {
      id: `r${index}`,
      metrics: metrics.map(({ id, label, unit }) => ({ id, label, unit, additive: false, first: '' })),
      dimensions,
      granularity,
      filters: [],
      order: section.backwards && granularity !== undefined ? [{ by: 'bucket', dir: 'desc' }] : [],
      limit: undefined,
      totals: section.totals,
      range,
      kinds: section.compare,
      toDate: undefined,
      read: true,
    },
  ];
}

/** The section as a definition writes it. */
export const inputOf = (section: AskedSection, period: Days): SectionInput => ({
  id: section.id,
  title: section.id.toUpperCase(),
  metrics: section.metrics.map(({ id }) => id),
  ...(section.dimensions.length === 0 ? {} : { dimensions: [...section.dimensions] }),
  ...(section.granularity === undefined ? {} : { granularity: section.granularity }),
  ...(section.filters.length === 0
    ? {}
    : {
        filters: section.filters.map((filter) => ({
          ...filter,
          op: filter.op === 'eq' ? 'eq' : filter.op === 'in' ? 'in' : 'not_in',
          values: [...filter.values],
        })),
      }),
  ...(section.order.length === 0 ? {} : { order: section.order.map((entry) => ({ ...entry })) }),
  ...(section.limit === undefined ? {} : { limit: section.limit }),
  ...(section.kinds.length === 0 ? {} : { compare: [...section.kinds] }),
  ...(section.toDate === undefined ? {} : { to_date: section.toDate }),
  ...(section.range === undefined || (section.range.from === period.from && section.range.to === period.to)
    ? {}
    : { period: { from: section.range.from, to: section.range.to } }),
  totals: section.totals,
});
