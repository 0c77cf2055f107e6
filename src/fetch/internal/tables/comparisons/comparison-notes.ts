import { isProvisional, type Metric } from '../../../../contract/catalog.ts';
import type { Granularity } from '../../../../contract/report.ts';
import type { NotComparableBuckets, NotComparableTotals } from '../../../../i18n/note.ts';
import { buildBuckets, type DateRange } from '../../../../plan/buckets.ts';
import { NOT_COMPARABLE_REASONS } from '../../../../plan/like-for-like.ts';
import type { Row, Table, TableComparison } from '../../../dataset.ts';
import type { TableNote } from '../../../notes.ts';
import { dataStartsAfter } from '../data-start.ts';
import type { TableComparer } from './compare-figures.ts';

/** What the notes need to know about a comparison of a table. */
export type NotedComparison = Pick<TableComparer, 'from' | 'totalsComparison' | 'days'> & {
  readonly comparison: Pick<TableComparison, 'kind'>;
};

/** A table, made from responses or from readings. */
interface ComparedTable {
  readonly granularity: Granularity | undefined;
  /** The days that it covers; undefined for current counts. */
  readonly range: DateRange | undefined;
  readonly metrics: readonly Metric[];
  readonly rows: readonly Row[];
  readonly comparers: readonly NotedComparison[];
  readonly hasTotals: boolean;
  /** Its figures are readings of current counts. */
  readonly ofReadings?: true;
}

/**
 * Notes on changes that are not shown, and on those shown although their ranges differ. None makes the table
 * incomplete.
 */
export function comparisonNotes(context: ComparedTable): TableNote[] {
  const { comparers, metrics } = context;
  if (comparers.length === 0) return [];
  const provisional = metrics.filter(isProvisional).map(({ label }) => label);
  // If nothing is compared anyway, the reasons of rows do not matter.
  const compares = provisional.length < metrics.length;
  return [
    ...(compares ? [...buildRowNotes(context), ...buildTotalNotes(context)] : []),
    ...(provisional.length === 0
      ? []
      : [
          {
            code: 'not_comparable' as const,
            message: { id: 'provisional' as const, of: { labels: provisional } },
            incomplete: false,
          },
        ]),
  ];
}

function buildRowNotes({ granularity, range, rows, comparers }: ComparedTable): TableNote[] {
  if (granularity === undefined || range === undefined) return [];
  const labels = buildBuckets(range, granularity).map(({ label }) => label);
  const ofKind = ({ comparison: { kind } }: NotedComparison) => {
    const buckets = new Map<string, Set<unknown>>();
    for (const { values, compare } of rows) {
      const reason = compare?.[kind]?.unlike;
      if (reason !== undefined) buckets.set(reason, (buckets.get(reason) ?? new Set()).add(values.bucket));
    }
    return { kind, buckets };
  };
  const found = comparers.map(ofKind);
  const reasons = NOT_COMPARABLE_REASONS.flatMap((reason): NotComparableBuckets[] => {
    const places = found.flatMap(({ kind, buckets }) => {
      const affected = buckets.get(reason);
      if (affected === undefined) return [];
      const first = affected.has(labels[0]);
      const last = labels.length > 1 && affected.has(labels.at(-1));
      const others = affected.size > Number(first) + Number(last);
      return [{ kind, first, last, others }];
    });
    // Comparisons that affect the same buckets share a part of the sentence.
    const parts = new Map<string, typeof places>();
    for (const place of places) {
      const key = JSON.stringify([place.first, place.last, place.others]);
      parts.set(key, [...(parts.get(key) ?? []), place]);
    }
    return [...parts.values()].flatMap((same) => {
      const [one] = same;
      if (one === undefined) return [];
      const kinds = same.length === comparers.length ? [] : same.map(({ kind }) => kind);
      return [{ reason, kinds, first: one.first, last: one.last, others: one.others }];
    });
  });
  if (reasons.length === 0) return [];
  return [{ code: 'unlike', message: { id: 'unlike_rows', of: { granularity, reasons } }, incomplete: false }];
}

/** Totals that cannot be compared. Rows without a bucket count as totals. */
function buildTotalNotes({ granularity, rows, comparers, hasTotals, ofReadings }: ComparedTable): TableNote[] {
  if (!hasTotals && (granularity !== undefined || rows.length === 0)) return [];
  const totals = comparers.flatMap(({ comparison: { kind }, totalsComparison, days }): NotComparableTotals[] => {
    const { compared, unlike: reason = null } = totalsComparison;
    const lengths = compared ? (totalsComparison.days ?? null) : days;
    if (compared && reason === null && lengths === null) return [];
    return [{ kind, compared, reason, days: lengths, ...(ofReadings ? { ofReadings } : {}) }];
  });
  if (totals.length === 0) return [];
  return [
    {
      code: 'unlike',
      message: { id: 'unlike_totals', of: { totals, several: comparers.length > 1 } },
      incomplete: false,
    },
  ];
}

/** Metrics whose data begins within the compared days, or within the days of the figures to date. */
export function comparisonStartNotes({
  metrics,
  comparers,
  toDate,
}: Pick<ComparedTable, 'metrics' | 'comparers'> & { readonly toDate: Table['toDate'] }): TableNote[] {
  const [before] = comparers.flatMap(({ from }) => from ?? []).sort();
  return metrics.flatMap((metric): TableNote[] => {
    const { label } = metric;
    const since = before === undefined ? undefined : dataStartsAfter(metric, before);
    const first = toDate === undefined ? undefined : dataStartsAfter(metric, toDate.range.from);
    return [
      ...(since === undefined
        ? []
        : [
            {
              code: 'data_available_from' as const,
              message: { id: 'not_compared_before' as const, of: { label, first: since } },
              incomplete: false,
            },
          ]),
      ...(first === undefined
        ? []
        : [
            {
              code: 'data_available_from' as const,
              message: { id: 'to_date_from' as const, of: { label, first } },
              incomplete: false,
            },
          ]),
    ];
  });
}
