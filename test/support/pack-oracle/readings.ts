import { Temporal } from '@js-temporal/polyfill';
import {
  areLike,
  bucketDays,
  bucketYearBefore,
  type Compared,
  type Days,
  daysBefore,
  lengthOf,
  totalsYearBefore,
} from './days.ts';
import {
  type AskedSection,
  DAYS_OF_UNLIKE,
  type ExpectedRow,
  type ExpectedSection,
  type Figure,
  type Frame,
  type Numbers,
  type Other,
  type ReadFigure,
} from './expected.ts';

// Sections whose values are readings, computed from stored readings only. It uses nothing of src/.

export interface StoredReading {
  readonly at: string;
  readonly id: string;
  readonly metrics: readonly string[];
  readonly groups: ReadonlyMap<string | null, Numbers>;
}
export interface StoredReadings {
  readonly of: (dimension: string | null, day: string) => StoredReading | undefined;
  /** Whether the time of a day's reading is over. */
  readonly isOver: (day: string) => boolean;
  /** The values of a dimension in their order. */
  readonly known: (dimension: string) => readonly string[];
}

/** A number derived from a text, always the same. */
function hash(text: string): number {
  let value = 2_166_136_261;
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 16_777_619);
  return (value ^ (value >>> 13)) >>> 0;
}

/** Random readings up to a day, with gaps, missing groups, and metrics that are read on some days only. */
export function randomReadings(
  metrics: readonly string[],
  zone: string,
  last: string,
  known: StoredReadings['known'],
): StoredReadings {
  const of: StoredReadings['of'] = (dimension, day) => {
    const seed = `${dimension} ${day}`;
    if (day > last || day < '2025-11-20' || hash(seed) % 9 === 0) return undefined;
    const read = metrics.filter((id) => hash(`${day} ${id}`) % 23 !== 0);
    const groups = dimension === null ? [null] : [...known(dimension), null];
    const present = groups.filter((group) => dimension === null || hash(`${seed} ${group}`) % 4 !== 0);
    const at = Temporal.PlainDate.from(day).toZonedDateTime({ timeZone: zone, plainTime: '22:30:05' });
    return {
      at: at.toInstant().toString(),
      id: `c-${dimension}-${day}`,
      metrics: read,
      groups: new Map(
        present.map((group) => [
          group,
          Object.fromEntries(read.map((id) => [id, hash(`${seed} ${group} ${id}`) % 40])),
        ]),
      ),
    };
  };
  return { of, isOver: (day) => day <= last, known };
}

type Partners = { readonly [Kind in Compared]?: Days | undefined };

export function expectedReadings(
  section: AskedSection & { readonly range: Days },
  { fiscal }: Pick<Frame, 'fiscal'>,
  readings: StoredReadings,
): ExpectedSection {
  const { metrics, dimensions, granularity, range, kinds } = section;
  const [dimension = null] = dimensions;
  const stored = (of: string | null, day: string): StoredReading | undefined => {
    const found = readings.of(of, day);
    return found !== undefined && metrics.every(({ id }) => found.metrics.includes(id)) ? found : undefined;
  };
  const countOf = (of: string | null, group: string | null, day: string, id: string): number | null => {
    const found = stored(of, day);
    return found === undefined ? null : (found.groups.get(group)?.[id] ?? 0);
  };
  const figures = (of: string | null, group: string | null, days: Days, partners: Partners, bucketed: boolean) =>
    Object.fromEntries(
      metrics.map(({ id, unit }): [string, Figure] => {
        const others = kinds.map((kind): [Compared, Other] => {
          const other = partners[kind];
          if (other === undefined) return [kind, { value: null, comparable: false, like: false }];
          const like = areLike(days, other, fiscal);
          const long = Math.min(lengthOf(days), lengthOf(other)) >= DAYS_OF_UNLIKE;
          const comparable = readings.isOver(days.to) && (like || (!bucketed && long));
          return [kind, { value: countOf(of, group, other.to, id), comparable, like }];
        });
        const now = countOf(of, group, days.to, id);
        return [id, { now, others: Object.fromEntries(others), toDate: null, provisional: false, unit }];
      }),
    );
  const readOf = (of: string | null, days: Days, partners: Partners): ReadFigure[] =>
    [undefined, ...kinds].flatMap((kind) => {
      const day = (kind === undefined ? days : partners[kind])?.to;
      if (day === undefined) return [];
      const found = stored(of, day);
      const question = of === null ? 'whole' : `by-${of}`;
      return [{ kind: kind ?? null, question, day, at: found?.at ?? null, id: found?.id ?? null }];
    });

  const ofRange = daysBefore(range);
  const whole: Partners = { previous_period: ofRange, previous_year: totalsYearBefore(range, fiscal) };
  const before = granularity === undefined ? [] : [...bucketDays(ofRange, granularity).values()];
  const buckets =
    granularity === undefined
      ? [{ bucket: null, days: range, partners: whole }]
      : [...bucketDays(range, granularity)].map(([bucket, days], index) => ({
          bucket,
          days,
          partners: { previous_period: before[index], previous_year: bucketYearBefore(bucket, days, granularity) },
        }));
  const days = buckets.flatMap((one) => [one.days, ...kinds.flatMap((kind) => one.partners[kind] ?? [])]);
  const present = new Set(days.flatMap(({ to }) => [...(stored(dimension, to)?.groups.keys() ?? [])]));
  const known = dimension === null ? [] : readings.known(dimension);
  const listed = known.filter((value) => present.size === 0 || present.has(value));
  const groups = dimension === null ? [null] : [...listed, ...(present.has(null) ? [null] : [])];
  const rows = buckets.flatMap(({ bucket, days: own, partners }) =>
    groups.map(
      (group): ExpectedRow => ({
        bucket,
        days: own,
        groups: dimension === null ? [] : [group],
        over: readings.isOver(own.to),
        figures: figures(dimension, group, own, partners, granularity !== undefined),
        read: readOf(dimension, own, partners),
      }),
    ),
  );
  const [first] = section.order;
  const backwards = first?.by === 'bucket' && first.dir === 'desc';
  return {
    ...section,
    rows: backwards
      ? [...buckets].reverse().flatMap(({ bucket }) => rows.filter((row) => row.bucket === bucket))
      : rows,
    over: readings.isOver(range.to),
    total: section.totals ? figures(null, null, range, whole, false) : undefined,
    ...(section.totals ? { totalRead: readOf(null, range, whole) } : {}),
  };
}
