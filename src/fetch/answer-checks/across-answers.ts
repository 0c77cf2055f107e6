import { isCurrentCount, isProvisional, type Metric } from '../../contract/catalog.ts';
import type { ReportRequest, ReportResponse } from '../../contract/report.ts';
import type { NoteParams } from '../../i18n/note.ts';
import { buildBuckets, type DateRange, endOfDay, previousPeriod, sameDays } from '../../plan/buckets.ts';
import { requestRange } from '../../plan/requests/partition.ts';
import type { Table, WrongFigure } from '../dataset.ts';
import type { TableNote } from '../notes.ts';
import { iterateRows } from '../rows.ts';
import { readGroup } from './checked-answer.ts';
import { isCounted } from './figure-checks.ts';
import { toNumber } from './value-types.ts';

/**
 * A response for a whole table, or for the other days that a table is compared with: from one call, or joined from
 * several.
 */
export interface WholeAnswer {
  readonly kind: 'own' | 'previous_year' | 'to_date' | 'trend';
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  /** When the service computed each of its calls. */
  readonly asOf: readonly (string | null)[];
  /** Metrics without a known total: no call reports it, and no sum of calls gives it. */
  readonly undefinedTotals?: readonly string[] | undefined;
}

/** A table with all responses that it is made from. */
export interface AnsweredTable {
  readonly table: Table;
  readonly answers: readonly WholeAnswer[];
  readonly metrics: readonly Metric[];
}

/** The figures of a table that responses of other tables contradict. */
export interface Contradictions {
  readonly notes: readonly TableNote[];
  readonly wrong: readonly WrongFigure[];
}

/** A figure from a response: a metric over a range of days, within filters and a group. */
interface Fact extends DateRange {
  /** Index of the table. */
  readonly of: number;
  readonly kind: WholeAnswer['kind'];
  readonly metric: Metric;
  readonly value: number | null;
  /** Filters and groups; empty if there are none. */
  readonly scope: string;
  /** Its position in the table. Undefined for figures that the table is only compared with. */
  readonly at: WrongFigure['at'] | undefined;
  /** Undefined if its calls were computed at different times. */
  readonly asOf: string | null | undefined;
  readonly timezone: string;
}

/** Filters and groups in a fixed order, so that a group of rows has the same scope as a filter by its value. */
function serializeScope({ filters = [], dimensions = [] }: ReportRequest, group: readonly (string | null)[]): string {
  const parts = [
    ...filters.map(({ dimension, op, values }) => [dimension, op === 'eq' ? 'in' : op, ...[...values].sort()]),
    ...dimensions.map((dimension, nth) => [dimension, 'in', group[nth] ?? null]),
  ].map((part) => JSON.stringify(part));
  return [...new Set(parts)].sort().join(' ');
}

function* collectFacts({ answers, metrics }: AnsweredTable, of: number): Generator<Fact> {
  for (const { kind, request, response, asOf, undefinedTotals = [] } of answers) {
    const range = requestRange(request);
    const { dimensions = [], time } = request;
    const { meta, rows, totals } = response;
    // The service answered for other days; another check reports that.
    if (range === undefined || !sameDays(meta.range, range)) continue;
    const [first, ...more] = asOf;
    const asOfAll = more.every((each) => each === first) ? first : undefined;
    const common = { of, kind, asOf: asOfAll, timezone: time?.timezone ?? 'UTC' };
    const previousRange = time?.compare === undefined ? undefined : previousPeriod(range);
    const previous = sameDays(meta.compare_range, previousRange) ? previousRange : undefined;
    const buckets = buildBuckets(range, time?.granularity);
    const places = new Map(buckets.map(({ label }, index) => [label, index]));
    const previousBuckets = previous === undefined ? [] : buildBuckets(previous, time?.granularity);
    const whole = serializeScope({ ...request, dimensions: [] }, []);
    const scopes = rows.map((row) => serializeScope(request, readGroup(row, dimensions)));
    for (const metric of metrics) {
      const { id } = metric;
      if (isCurrentCount(metric) || !request.metrics.includes(id)) continue;
      const fact = ({ from, to }: DateRange, value: number | null, scope: string, at?: WrongFigure['at']): Fact => ({
        ...common,
        from,
        to,
        metric,
        value,
        scope,
        at: kind === 'own' ? at : undefined,
      });
      for (const [nth, row] of rows.entries()) {
        const place = time?.granularity === undefined ? 0 : places.get(row.bucket ?? '');
        const bucket = place === undefined ? undefined : buckets[place];
        const scope = scopes[nth] ?? whole;
        if (place === undefined || bucket === undefined) continue;
        const value = toNumber(row[id]);
        const at = { bucket: row.bucket ?? null, group: readGroup(row, dimensions) };
        if (value !== undefined) yield fact(bucket, value, scope, at);
        const before = previousBuckets[place];
        const compared = toNumber(row.compare?.[id]);
        if (before !== undefined && compared !== undefined) yield fact(before, compared, scope);
      }
      const total = toNumber(totals?.[id]);
      if (total === undefined || undefinedTotals.includes(id)) continue;
      yield fact(range, total, whole, 'totals');
      const compared = toNumber(totals?.compare?.[id]);
      if (previous !== undefined && compared !== undefined) yield fact(previous, compared, whole);
    }
  }
}

const MINUTE_MS = 60_000;

/**
 * Whether the service computed two figures at the same time, as readers see it. Figures that change by the second need
 * exactly the same instant.
 */
function atSameTime(one: Fact, other: Fact): boolean {
  if (one.asOf == null || other.asOf == null) return false;
  const [a, b] = [Date.parse(one.asOf), Date.parse(other.asOf)];
  if (a === b) return true;
  // Dimensions have their current values, and figures of running days or of provisional metrics can change at any time.
  const isStable = one.scope === '' && !isProvisional(one.metric) && hasEnded(one) && hasEnded(other);
  return isStable && Math.floor(a / MINUTE_MS) === Math.floor(b / MINUTE_MS);
}

const hasEnded = ({ to, timezone, asOf }: Fact): boolean => asOf != null && endOfDay(to, timezone) <= Date.parse(asOf);

/** Floating-point sums may differ in their last digits. */
const isEqual = (one: number | null, other: number | null): boolean =>
  one === null || other === null ? one === other : Math.abs(one - other) <= 1e-9 * Math.abs(one);

interface Conflict {
  readonly id: 'answers_differ' | 'to_date_below';
  readonly one: Fact;
  readonly other: Fact;
}

/** The same text for two facts that should be the same figure. */
const figureKey = ({ metric, from, to, timezone, scope }: Fact): string =>
  JSON.stringify([metric.id, from, to, timezone, scope]);

/** Figures that should be the same but differ between two responses. Only ended days are compared. */
function differing(facts: readonly Fact[]): Conflict[] {
  const first = new Map<string, Fact>();
  return facts.filter(hasEnded).flatMap((fact): Conflict[] => {
    const { metric } = fact;
    const known = first.get(figureKey(fact));
    if (known === undefined) {
      first.set(figureKey(fact), fact);
      return [];
    }
    // Provisional metrics change between two responses, even for past days.
    const isExpected = isProvisional(metric) && known.asOf !== fact.asOf;
    if (isEqual(known.value, fact.value) || isExpected) return [];
    return [{ id: 'answers_differ', one: known, other: fact }];
  });
}

/**
 * Counts to date that are smaller than a count for some of their days. Distinct counts are included: more days never
 * have fewer distinct things.
 */
function belowParts(facts: readonly Fact[]): Conflict[] {
  const keyOf = ({ metric, scope, timezone }: Fact) => JSON.stringify([metric.id, scope, timezone]);
  const parts = new Map<string, Fact[]>();
  for (const fact of facts) {
    if (!isCounted(fact.metric) || fact.kind === 'to_date') continue;
    parts.set(keyOf(fact), [...(parts.get(keyOf(fact)) ?? []), fact]);
  }
  return facts.flatMap((fact): Conflict[] => {
    if (fact.kind !== 'to_date' || !isCounted(fact.metric)) return [];
    const within = (parts.get(keyOf(fact)) ?? []).filter(
      ({ from, to, value }) =>
        from >= fact.from && to <= fact.to && (value ?? 0) > (fact.value ?? Number.POSITIVE_INFINITY),
    );
    return within.slice(0, 1).map((one) => ({ id: 'to_date_below', one, other: fact }));
  });
}

function conflictNotes(conflicts: readonly Conflict[], id: Conflict['id'], sameTime: boolean): TableNote[] {
  const found = conflicts.filter((each) => each.id === id && atSameTime(each.one, each.other) === sameTime);
  const [first] = found;
  if (first === undefined) return [];
  const { one, other } = first;
  const of: NoteParams['answers_differ'] = {
    figures: found.length,
    label: one.metric.label,
    from: one.from,
    to: one.to,
    one: one.value,
    other: other.value,
    at: sameTime || one.asOf == null || other.asOf == null ? null : [one.asOf, other.asOf],
    timezone: one.timezone,
  };
  return [{ code: 'total_mismatch', message: { id, of }, incomplete: sameTime }];
}

/** Finds the contradictions between the responses of a report, by table. */
export function contradictions(tables: readonly AnsweredTable[]): readonly Contradictions[] {
  const facts = tables.flatMap((table, of) => [...collectFacts(table, of)]);
  const conflicts = [...differing(facts), ...belowParts(facts)];
  const wrong = new Set(
    conflicts
      .filter(({ one, other }) => atSameTime(one, other))
      .flatMap(({ one, other }) => [figureKey(one), figureKey(other)]),
  );
  return tables.map((table, index): Contradictions => {
    const own = conflicts.filter(({ one, other }) => one.of === index || other.of === index);
    const repeated = repeatedFigures(table);
    return {
      notes: [
        ...(['answers_differ', 'to_date_below'] as const).flatMap((id) =>
          [true, false].flatMap((sameTime) => conflictNotes(own, id, sameTime)),
        ),
        ...repeated.notes,
      ],
      wrong: [
        ...facts.flatMap((fact) => {
          const { of, metric, at } = fact;
          return of === index && at !== undefined && wrong.has(figureKey(fact)) ? [{ metric: metric.id, at }] : [];
        }),
        ...repeated.wrong,
      ],
    };
  });
}

/** With fewer rows or smaller figures, equal values may be a coincidence. */
const MIN_REPEATED_ROWS = 3;
const MIN_REPEATED_FIGURE = 100;

/** Finds counts where every row equals the row it is compared with. */
function repeatedFigures({ table, answers, metrics }: AnsweredTable): Contradictions {
  const found = table.comparisons.map(({ kind }) => {
    const repeated = metrics.filter((metric) => isCounted(metric) && isRepeated(table, metric.id, kind));
    return { kind, repeated };
  });
  const own = answers.find((each) => each.kind === 'own');
  return found.reduce<{ notes: TableNote[]; wrong: WrongFigure[] }>(
    (all, { kind, repeated }) => {
      if (repeated.length === 0 || own === undefined) return all;
      const partner = kind === 'previous_year' ? answers.find((each) => each.kind === kind) : undefined;
      const [one, other] = [own.asOf[0], (partner ?? own).asOf[0]];
      const toMinute = (at: string | null | undefined) => Math.floor(Date.parse(at ?? '') / MINUTE_MS);
      const isSame = one === other || toMinute(one) === toMinute(other);
      const at = isSame || one == null || other == null ? null : ([one, other] as const);
      const of = { labels: repeated.map(({ label }) => label), kind, at, timezone: table.period.timezone };
      all.notes.push({ code: 'total_mismatch', message: { id: 'figures_repeated', of }, incomplete: isSame });
      if (isSame) all.wrong.push(...repeated.map(({ id }) => ({ metric: id, at: 'column' as const })));
      return all;
    },
    { notes: [], wrong: [] },
  );
}

function isRepeated({ rows }: Table, metric: string, kind: 'previous_period' | 'previous_year'): boolean {
  let large = 0;
  for (const { values, compare } of iterateRows(rows)) {
    const value = values[metric];
    if (typeof value !== 'number' || value <= MIN_REPEATED_FIGURE) continue;
    if (compare?.[kind]?.values[metric] !== value) return false;
    large += 1;
  }
  return large >= MIN_REPEATED_ROWS;
}
