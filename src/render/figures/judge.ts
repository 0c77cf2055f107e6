import { DateTime } from 'luxon';
import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import type { Section } from '../../definitions/schema/report-definition.ts';
import {
  heldTarget,
  parseWhere,
  type SourcedTarget,
  type TargetPeriod,
  targetKey,
} from '../../definitions/schema/targets.ts';
import { fitsUnit, parseAmount } from '../../definitions/schema/values/amount.ts';
import type {
  Column,
  Dataset,
  GroupKey,
  Judgement,
  MetricValues,
  Status,
  Table,
  TargetRecord,
} from '../../fetch/dataset.ts';
import type { TableNote } from '../../fetch/notes.ts';
import { firstRows, iterateRows, wrongFigures } from '../../fetch/rows.ts';
import { lastDayOfBucket } from '../../plan/buckets.ts';
import { fewText } from './few.ts';
import { figureKey } from './figure-identity.ts';
import { numberOrNull } from './quantity.ts';
import { isWholePeriod } from './whole-period.ts';

export interface JudgeContext {
  /** The definition's sections: a target for the whole does not judge a filtered section. */
  readonly sections: readonly Pick<Section, 'id' | 'filters'>[];
  readonly calendar?: FiscalCalendar;
}

/** The status of a figure. A figure exactly on a boundary counts as on the better side. */
export function judgeFigure(
  figure: number | null,
  { better, target, watch }: Pick<TargetRecord, 'better' | 'watch'> & { readonly target: number },
): Status {
  if (figure === null) return 'undefined';
  const reaches = (boundary: number): boolean => (better === 'higher' ? figure >= boundary : figure <= boundary);
  if (reaches(target)) return 'on_target';
  return watch !== undefined && reaches(watch) ? 'watch' : 'breached';
}

/** A figure that may have a target. */
interface Figure {
  readonly bucket: string | null;
  readonly group: GroupKey | null;
  readonly value: number | null;
  /** It cannot be right. */
  readonly wrong: boolean;
  readonly cases: MetricValues | undefined;
  /** Targets that apply on this day judge it. */
  readonly day: string;
  /** Its days, if all of them have ended. */
  readonly ended: { readonly from: string; readonly to: string } | null;
}

/** The day whose targets apply to a table: its last day, or for a current count the day on which it was read. */
function findTargetDay({ current, range, asOf }: Table, { period }: Pick<Dataset, 'period'>): string {
  if (!current) return range?.to ?? period.to;
  const at = asOf === null ? undefined : DateTime.fromISO(asOf, { zone: period.timezone });
  return at?.isValid === true ? at.toFormat('yyyy-MM-dd') : period.to;
}

type Filters = Section['filters'];

/** What a section's totals cover: everything (null), one value of one dimension, or something else (undefined). */
function toScope(filters: Filters = []): GroupKey | null | undefined {
  const [filter, ...others] = filters;
  if (filter === undefined) return null;
  const { dimension, op, values } = filter;
  const [value] = values;
  return others.length > 0 || op === 'not_in' || values.length !== 1 || value === undefined
    ? undefined
    : { dimension, value };
}

const isScope = (scope: GroupKey | null | undefined, where: GroupKey | undefined): boolean =>
  scope === null
    ? where === undefined
    : scope !== undefined && where?.dimension === scope.dimension && where.value === scope.value;

/** The figures of a metric that a target with this `where`, `rows` and `per` applies to. */
function* collectFigures(
  table: Table,
  metric: string,
  {
    where,
    per,
    rows = [],
  }: { readonly where: GroupKey | undefined; readonly per: boolean; readonly rows?: readonly string[] | undefined },
  filters: Filters,
  day: string,
): Generator<Figure> {
  const { columns, granularity, range, running } = table;
  const dimensions = columns.filter(({ kind }) => kind === 'dimension').map(({ name }) => name);
  const ofScope = isScope(toScope(filters), where);
  const [only] = dimensions;
  const ofWhere =
    where !== undefined &&
    dimensions.length === 1 &&
    only === where.dimension &&
    (filters ?? []).every(({ dimension }) => dimension === where.dimension);
  const ofRows = ofWhere || (ofScope && dimensions.length === 1 && only !== undefined && rows.includes(only));
  const ended = running ? null : range;
  const { inTotals, inRow } = wrongFigures(table);
  if (ofScope) {
    const single = dimensions.length === 0 && granularity === null;
    const figures = table.totals ?? (single ? (firstRows(table.rows, 1)[0] ?? { values: {}, cases: {} }) : undefined);
    if (figures !== undefined) {
      const wrong = table.totals === undefined ? inRow(metric, figures.values) : inTotals(metric);
      const { cases } = figures;
      yield { bucket: null, group: null, value: numberOrNull(figures.values[metric]), wrong, cases, day, ended };
    }
  }
  // A target judges buckets only if it names their length.
  if (granularity === null ? !ofRows : !per || !(ofRows || (ofScope && dimensions.length === 0))) return;
  for (const { values, partial, cases } of iterateRows(table.rows)) {
    const own = only === undefined ? undefined : values[only];
    if (ofWhere ? own !== where?.value : ofRows && typeof own !== 'string') continue;
    const group = ofRows && only !== undefined && typeof own === 'string' ? { dimension: only, value: own } : null;
    const value = numberOrNull(values[metric]);
    const wrong = inRow(metric, values);
    if (granularity === null) yield { bucket: null, group, value, wrong, cases, day, ended: partial ? null : range };
    else if (typeof values.bucket === 'string') {
      const bucket = values.bucket;
      const days = { from: bucket, to: lastDayOfBucket(bucket, granularity) };
      const whole = range !== null && days.from >= range.from && days.to <= range.to;
      yield { bucket, group, value, wrong, cases, day: days.to, ended: whole && !partial ? days : null };
    }
  }
}

interface JudgedTable {
  readonly judgements: readonly (Omit<Judgement, 'target'> & { readonly target: SourcedTarget })[];
  /** Targets that apply, whether they judge a figure or only colour changes. */
  readonly held: readonly SourcedTarget[];
  readonly notes: readonly TableNote[];
}

/** The numbers of a target in the metric's unit; undefined if one does not fit the unit. */
function parseAmounts(
  { target, watch }: SourcedTarget,
  { unit }: Column,
): Pick<TargetRecord, 'target' | 'watch'> | undefined {
  const [to, from] = [target, watch].map((written) => (written === undefined ? undefined : parseAmount(written)));
  if ((to !== undefined && !fitsUnit(to, unit)) || (from !== undefined && !fitsUnit(from, unit))) return undefined;
  return { target: to?.value ?? null, ...(from === undefined ? {} : { watch: from.value }) };
}

/** The numbers as written in the definition, for a figure whose unit is unknown: it cannot be judged by them. */
function writtenAmounts({ target, watch }: SourcedTarget): Pick<TargetRecord, 'target' | 'watch'> {
  const [to, from] = [target, watch].map((written) => (written === undefined ? undefined : parseAmount(written)));
  return { target: to?.value ?? null, ...(from === undefined ? {} : { watch: from.value }) };
}

/** Whether a figure covers one whole, ended period in which the metric's data does not begin. */
function isWhole(
  { ended }: Figure,
  per: TargetPeriod,
  { availableFrom = '' }: Column,
  calendar: FiscalCalendar | undefined,
): boolean {
  if (ended === null || (ended.from < availableFrom && availableFrom <= ended.to)) return false;
  return isWholePeriod(ended, per, calendar);
}

/**
 * Groups the entries of each target over time by its key. Entries with `per` come first, because they match a figure
 * more exactly.
 */
function groupByTarget(targets: readonly SourcedTarget[]): SourcedTarget[][] {
  const series = new Map<string, SourcedTarget[]>();
  for (const target of targets) {
    const key = targetKey(target);
    series.set(key, [...(series.get(key) ?? []), target]);
  }
  return [...series.values()].sort(([a], [b]) => Number(b?.per !== undefined) - Number(a?.per !== undefined));
}

function judgeTable(
  dataset: Dataset,
  table: Table,
  targets: readonly SourcedTarget[],
  { sections, calendar }: JudgeContext,
): JudgedTable {
  const filters = sections.find(({ id }) => id === table.id)?.filters;
  const day = findTargetDay(table, dataset);
  const judgements: JudgedTable['judgements'][number][] = [];
  const held = new Set<SourcedTarget>();
  const notes: TableNote[] = [];
  for (const column of table.columns.filter(({ kind }) => kind === 'metric')) {
    const { name: metric, label, unit } = column;
    const judged = new Set<string>();
    const refused = new Set<SourcedTarget>();
    for (const series of groupByTarget(targets.filter((target) => target.metric === metric))) {
      const [{ per, rows } = {}] = series;
      const where = series[0] && parseWhere(series[0]);
      const atEnd = where === undefined ? heldTarget(series, day) : undefined;
      if (atEnd !== undefined) held.add(atEnd);
      for (const figure of collectFigures(table, metric, { where, per: per !== undefined, rows }, filters, day)) {
        const target = heldTarget(series, figure.day);
        if (target?.target === undefined) continue;
        if (per !== undefined && !isWhole(figure, per, column, calendar)) continue;
        const key = JSON.stringify([figure.bucket, figure.group]);
        if (judged.has(key)) continue;
        const { bucket, group, value, wrong, cases } = figure;
        const amounts = parseAmounts(target, column) ?? (wrong ? writtenAmounts(target) : undefined);
        if (amounts === undefined || amounts.target === null) {
          refused.add(target);
          continue;
        }
        judged.add(key);
        held.add(target);
        const status = wrong
          ? 'undefined'
          : judgeFigure(value, { better: target.better, ...amounts, target: amounts.target });
        const judgement = { section: table.id, metric, bucket, group, figure: value, status, target } as const;
        // A share of what has happened so far can only grow, so only "on target" is final.
        const soFar = column.provisional === true && target.better === 'higher' && status !== 'on_target';
        const few = !wrong && fewText(dataset, column, value, cases) !== undefined;
        judgements.push({
          ...judgement,
          ...(wrong ? { wrong } : soFar && value !== null ? { soFar } : {}),
          ...(few ? { few: target.few === 'ignore' ? 'ignored' : true } : {}),
        });
      }
    }
    for (const { target } of refused) {
      const of = { label, target: String(target), unit: unit ?? '' };
      notes.push({ code: 'target_mismatch', message: { id: 'target_mismatch', of }, incomplete: false });
    }
  }
  return { judgements, held: [...held], notes };
}

function toRecord(entry: SourcedTarget, column: Column, wrong: boolean): TargetRecord {
  const { metric, per, better, from, rows, few, owner, note, source } = entry;
  const where = parseWhere(entry);
  return {
    metric,
    ...(where === undefined ? {} : { where }),
    ...(per === undefined ? {} : { per }),
    better,
    ...(parseAmounts(entry, column) ?? (wrong ? writtenAmounts(entry) : { target: null })),
    ...(from === undefined ? {} : { from }),
    ...(rows === undefined ? {} : { rows }),
    ...(few === undefined ? {} : { few }),
    ...(owner === undefined ? {} : { owner }),
    ...(note === undefined ? {} : { note }),
    source,
  };
}

/**
 * Adds the targets that apply to the dataset's figures, and the status of each figure that has a target.
 *
 * A target without `per` applies to totals, and to the rows that its `where` names. A target with `per` applies to
 * totals and buckets that are one whole, ended period of that length, unless the metric's data begins in it. A section
 * with filters is judged only by a target whose `where` equals its filter. A target that does not fit the metric's unit
 * judges nothing, and a note says so. Pure.
 */
export function judgeDataset(dataset: Dataset, targets: readonly SourcedTarget[], context: JudgeContext): Dataset {
  if (targets.length === 0) return dataset;
  const judged = dataset.tables.map((table) => judgeTable(dataset, table, table.unsplit ? [] : targets, context));
  const columns = new Map(
    dataset.tables.flatMap((table) => table.columns.map((column) => [column.name, column] as const)),
  );
  const wrong = new Set(dataset.tables.flatMap((table) => (table.wrong ?? []).map(({ metric }) => metric)));
  const used = new Set(judged.flatMap(({ held }) => held));
  const inOrder = targets.filter((target) => used.has(target));
  return {
    ...dataset,
    tables: dataset.tables.map((table, index) => {
      const notes = judged[index]?.notes ?? [];
      return notes.length === 0 ? table : { ...table, notes: [...table.notes, ...notes] };
    }),
    targets: inOrder.flatMap((target) => {
      const column = columns.get(target.metric);
      return column === undefined ? [] : toRecord(target, column, wrong.has(target.metric));
    }),
    judgements: judged.flatMap(({ judgements }, index) =>
      judgements.map((judgement) => {
        const table = dataset.tables[index];
        const key = table && figureKey(table, judgement.metric, judgement);
        return { ...judgement, target: inOrder.indexOf(judgement.target), key };
      }),
    ),
  };
}
