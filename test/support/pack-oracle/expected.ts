import {
  areLike,
  type Bucketing,
  bucketDays,
  bucketYearBefore,
  type Compared,
  type Days,
  daysBefore,
  type FiscalStart,
  isOver,
  lengthOf,
  toDateDays,
  totalsYearBefore,
} from './days.ts';

// The figures that a pack has to show, computed from raw responses. It uses nothing of src/.

export type Numbers = Readonly<Record<string, number | null>>;
export interface RawFilter {
  readonly dimension: string;
  readonly op: string;
  readonly values: readonly string[];
}
export interface RawMetric {
  readonly id: string;
  readonly label: string;
  readonly unit: string | null;
  readonly additive: boolean;
  /** The first day with data. */
  readonly first: string;
  /** The metric with the number of cases behind a ratio or a duration; absent if there is none. */
  readonly base?: string;
}
export interface AskedSection {
  readonly id: string;
  readonly metrics: readonly RawMetric[];
  readonly dimensions: readonly string[];
  readonly granularity: Bucketing | undefined;
  readonly filters: readonly RawFilter[];
  readonly order: readonly { readonly by: string; readonly dir: 'asc' | 'desc' }[];
  readonly limit: number | undefined;
  readonly totals: boolean;
  /** Undefined for current counts. */
  readonly range: Days | undefined;
  readonly kinds: readonly Compared[];
  readonly toDate: 'year' | 'fiscal_year' | 'quarter' | undefined;
  /** Its values are readings of current counts. */
  readonly read?: true;
}
export interface Other {
  readonly value: number | null;
  /** Whether a change may be shown. False if the figures are not comparable. */
  readonly comparable: boolean;
  /** True for ranges of the same length or whole months, which need no note. */
  readonly like: boolean;
  /** The number of cases behind the compared figure. */
  readonly cases?: number | null;
}
export interface Figure {
  readonly now: number | null;
  /** The number of cases behind a ratio or a duration; absent if it is not known. */
  readonly cases?: number | null;
  readonly toDateCases?: number | null;
  /** True for a 90th percentile, which needs twice as many cases. */
  readonly isTail?: boolean;
  readonly others: { readonly [Kind in Compared]?: Other };
  readonly toDate: number | null;
  readonly provisional: boolean;
  readonly unit: string | null;
}
/** The reading behind a figure (null) or behind a comparison. A gap has no instant. */
export interface ReadFigure {
  readonly kind: Compared | null;
  readonly question: string;
  readonly day: string;
  readonly at: string | null;
  readonly id: string | null;
}
export interface ExpectedRow {
  readonly bucket: string | null;
  readonly days: Days | undefined;
  readonly groups: readonly (string | null)[];
  readonly over: boolean;
  readonly figures: Readonly<Record<string, Figure>>;
  /** The readings of the section, if its values are readings. */
  readonly read?: readonly ReadFigure[];
}
export interface ExpectedSection extends AskedSection {
  readonly rows: readonly ExpectedRow[];
  readonly total: Readonly<Record<string, Figure>> | undefined;
  readonly totalRead?: readonly ReadFigure[] | undefined;
  /** Whether the whole range of the service is over. */
  readonly over: boolean;
}

type RawRow = Readonly<Record<string, unknown>>;
/** Fetches the raw rows from the service. */
export type AskRaw = (body: unknown) => Promise<readonly RawRow[]>;
export interface Frame {
  readonly timezone: string;
  readonly asOf: number;
  readonly fiscal: FiscalStart | undefined;
  readonly ask: AskRaw;
}

const MOST_DAYS = 366;
/** Metrics whose figures of past days still change: they count by arrival and measure what has happened since. */
export const isProvisional = (metric: string): boolean =>
  metric.startsWith('cohort.') ||
  [
    'rfis.response_rate',
    'intake.completion_rate',
    'blockchain_addresses.by_risk',
    'blockchain_addresses.time_to_first_screening_p50',
  ].includes(metric);

export const DAYS_OF_UNLIKE = 7;

const keyOf = (groups: readonly unknown[]): string => JSON.stringify(groups);

/** The figures of some days by group. Ranges longer than one call are added up if that is allowed. */
async function groupsOf(section: AskedSection, dimensions: readonly string[], days: Days, { ask, timezone }: Frame) {
  const pieces: Days[] = [];
  for (let from = days.from; from <= days.to; ) {
    const last = new Date(Date.parse(from) + (MOST_DAYS - 1) * 86_400_000).toISOString().slice(0, 10);
    const to = last < days.to ? last : days.to;
    pieces.push({ from, to });
    from = new Date(Date.parse(to) + 86_400_000).toISOString().slice(0, 10);
  }
  const found = new Map<string, Record<string, number | null>>();
  for (const piece of pieces) {
    const body = {
      metrics: section.metrics.map(({ id }) => id),
      ...(dimensions.length === 0 ? {} : { dimensions }),
      ...(section.filters.length === 0 ? {} : { filters: section.filters }),
      time: { ...piece, timezone },
    };
    for (const row of await ask(body)) {
      const key = keyOf(dimensions.map((id) => row[id] ?? null));
      const before = found.get(key);
      found.set(
        key,
        Object.fromEntries(
          section.metrics.map(({ id, unit, additive }) => {
            const value = typeof row[id] === 'number' ? row[id] : null;
            if (pieces.length === 1) return [id, value];
            return [id, additive && unit === 'count' ? (before?.[id] ?? 0) + (value ?? 0) : null];
          }),
        ),
      );
    }
  }
  return found;
}

const countNamed = (id: string): RawMetric => ({ id, label: '', unit: 'count', additive: true, first: '' });

/** A group that is missing in complete days had no events: its counts are 0, everything else is undefined. */
const groupValue = (groups: ReadonlyMap<string, Numbers>, key: string, { id, unit }: RawMetric): number | null => {
  const found = groups.get(key);
  return found === undefined ? (unit === 'count' ? 0 : null) : (found[id] ?? null);
};

/** All figures of some days, for one group or for everything. */
async function figuresOf(
  section: AskedSection,
  groups: readonly (string | null)[],
  days: Days,
  partners: { readonly [Kind in Compared]?: Days | undefined },
  bucketed: boolean,
  toDate: Days | undefined,
  frame: Frame,
): Promise<Record<string, Figure>> {
  const dimensions = groups.length === 0 ? [] : section.dimensions;
  const key = keyOf(groups);
  const over = isOver(days.to, frame.timezone, frame.asOf);
  const now = await groupsOf(section, dimensions, days, frame);
  const counts = [...new Set(section.metrics.flatMap(({ base }) => base ?? []))].map(countNamed);
  /** The number of cases in some days, by metric. */
  const casesIn = async (of: Days | undefined): Promise<Numbers> => {
    if (of === undefined || counts.length === 0) return {};
    const found = await groupsOf({ ...section, metrics: counts }, dimensions, of, frame);
    return Object.fromEntries(
      section.metrics.flatMap(({ id, base }) =>
        base === undefined ? [] : [[id, groupValue(found, key, countNamed(base))]],
      ),
    );
  };
  const cases = await casesIn(days);
  const toDateCases = await casesIn(toDate);
  const casesBefore = new Map<Compared, Numbers>();
  for (const kind of section.kinds) casesBefore.set(kind, await casesIn(partners[kind]));
  const before = new Map<Compared, ReadonlyMap<string, Numbers>>();
  for (const kind of section.kinds) {
    const other = partners[kind];
    if (other !== undefined) before.set(kind, await groupsOf(section, dimensions, other, frame));
  }
  const since = toDate === undefined ? undefined : await groupsOf(section, dimensions, toDate, frame);
  return Object.fromEntries(
    section.metrics.map((metric): [string, Figure] => {
      const others = section.kinds.map((kind): [Compared, Other] => {
        const other = partners[kind];
        const found = before.get(kind);
        if (other === undefined || found === undefined) {
          return [kind, { value: null, comparable: false, like: false }];
        }
        const like = areLike(days, other, frame.fiscal);
        const long = Math.min(lengthOf(days), lengthOf(other)) >= DAYS_OF_UNLIKE;
        const value = other.from < metric.first ? null : groupValue(found, key, metric);
        const comparable = over && (like || (!bucketed && long));
        return [kind, { value, comparable, like, cases: casesBefore.get(kind)?.[metric.id] ?? null }];
      });
      return [
        metric.id,
        {
          cases: cases[metric.id] ?? null,
          toDateCases: toDateCases[metric.id] ?? null,
          isTail: metric.id.endsWith('_p90'),
          now: days.to < metric.first ? null : groupValue(now, key, metric),
          others: Object.fromEntries(others),
          toDate:
            since === undefined || toDate === undefined || toDate.to < metric.first
              ? null
              : groupValue(since, key, metric),
          provisional: isProvisional(metric.id),
          unit: metric.unit,
        },
      ];
    }),
  );
}

export async function expectedSection(section: AskedSection, frame: Frame): Promise<ExpectedSection> {
  const { metrics, dimensions, granularity, filters, order, limit, range, kinds } = section;
  const { ask, timezone, fiscal, asOf } = frame;
  const base = {
    metrics: metrics.map(({ id }) => id),
    ...(dimensions.length === 0 ? {} : { dimensions }),
    ...(filters.length === 0 ? {} : { filters }),
    ...(order.length === 0 ? {} : { order }),
    ...(limit === undefined ? {} : { limit }),
  };
  if (range === undefined) {
    const still = (row: RawRow): Record<string, Figure> =>
      Object.fromEntries(
        metrics.map(({ id, unit }) => [
          id,
          { now: typeof row[id] === 'number' ? row[id] : null, others: {}, toDate: null, provisional: false, unit },
        ]),
      );
    const rows = await ask({ ...base, time: { timezone } });
    const { order: _, limit: __, dimensions: ___, ...whole } = base;
    const [total] = await ask({ ...whole, time: { timezone } });
    return {
      ...section,
      over: true,
      total: section.totals && total !== undefined ? still(total) : undefined,
      rows: rows.map((row) => ({
        bucket: null,
        days: undefined,
        groups: dimensions.map((id) => (typeof row[id] === 'string' ? row[id] : null)),
        over: true,
        figures: still(row),
      })),
    };
  }
  const compare = kinds.includes('previous_period') ? { compare: 'previous_period' } : {};
  const buckets = granularity === undefined ? undefined : bucketDays(range, granularity);
  const ofRange = daysBefore(range);
  const wholePartners = { previous_period: ofRange, previous_year: totalsYearBefore(range, fiscal) };
  const toDate = section.toDate === undefined ? undefined : toDateDays(range, section.toDate, fiscal);
  const single = buckets === undefined && dimensions.length === 0;
  // The service decides which rows there are, and their order.
  const heads: readonly RawRow[] = single
    ? [{}]
    : lengthOf(range) > MOST_DAYS
      ? [...(buckets?.keys() ?? [])].map((bucket) => ({ bucket }))
      : await ask({
          ...base,
          time: { ...range, timezone, ...(granularity === undefined ? {} : { granularity }), ...compare },
        });
  const before = granularity === undefined ? [] : [...bucketDays(ofRange, granularity).values()];
  const rows: ExpectedRow[] = [];
  for (const head of heads) {
    const groups = dimensions.map((id) => (typeof head[id] === 'string' ? head[id] : null));
    const bucket = typeof head.bucket === 'string' ? head.bucket : null;
    if (buckets === undefined || granularity === undefined || bucket === null) {
      const figures = await figuresOf(section, groups, range, wholePartners, false, toDate, frame);
      rows.push({ bucket: null, days: range, groups, over: isOver(range.to, timezone, asOf), figures });
      continue;
    }
    const days = buckets.get(bucket);
    if (days === undefined) throw new Error(`no bucket ${bucket}`);
    const partners = {
      previous_period: before[[...buckets.keys()].indexOf(bucket)],
      previous_year: bucketYearBefore(bucket, days, granularity),
    };
    const figures = await figuresOf(section, groups, days, partners, true, undefined, frame);
    rows.push({ bucket, days, groups, over: isOver(days.to, timezone, asOf), figures });
  }
  return {
    ...section,
    rows,
    over: isOver(range.to, timezone, asOf),
    total: section.totals ? await figuresOf(section, [], range, wholePartners, false, toDate, frame) : undefined,
  };
}

/** Figures below this number of cases are few. For counts, the smaller figure is the number of cases. */
const SMALL = 10;
/** Whether the change of two counts is shown as a difference instead of a percentage. */
export const isFew = (now: number, before: number): boolean => Math.min(now, before) < SMALL;

/** Whether a change has too few cases for a percentage, a colour and a headline. */
export function isFewChange({ now, cases, isTail, unit, others }: Figure, kind: Compared): boolean {
  const other = others[kind];
  const numbers = unit === 'count' ? [now, other?.value] : [cases, other?.cases];
  return numbers.some((number) => typeof number === 'number' && number < (isTail ? 2 * SMALL : SMALL));
}

/** The number shown after a ratio or a duration with few cases; undefined for any other figure. */
export const fewCases = (unit: string | null, value: number | null, cases: number | null | undefined) =>
  value !== null && unit !== 'count' && typeof cases === 'number' && cases < SMALL ? cases : undefined;

/** A change as a cell shows it: in points, as a share, or with few cases as a difference in raw units. Null is `–`. */
export function changeIn(figure: Figure, kind: Compared): number | null {
  const { now, others, provisional, unit } = figure;
  const other = others[kind];
  if (now === null || other === undefined || other.value === null || !other.comparable || provisional) return null;
  if (now === other.value) return 0;
  if (unit === 'ratio') return (now - other.value) * 100;
  if (isFewChange(figure, kind)) return now - other.value;
  return other.value === 0 ? null : (now - other.value) / Math.abs(other.value);
}
