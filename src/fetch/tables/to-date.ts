import type { Catalog, Metric } from '../../contract/catalog.ts';
import type { ReportRow } from '../../contract/report.ts';
import type { ToDate } from '../../definitions/schema/comparison.ts';
import type { DateRange } from '../../plan/buckets.ts';
import type { MetricValues, Table } from '../dataset.ts';
import { dataStartsAfter } from './data-start.ts';
import { type PartnerAnswer, partnerRange, partnerRows, partnerTotals, pickMetrics } from './partner-answers.ts';

/** The figures of a table from the start of a year or quarter on. */
export interface ToDateFigures {
  readonly toDate: NonNullable<Table['toDate']>;
  /** Undefined for rows with a bucket. */
  readonly ofRow: (row: ReportRow) => MetricValues | undefined;
  readonly ofTotals: () => MetricValues | undefined;
}

/** Undefined if the section shows none. */
export function toDateFigures(
  unit: ToDate | undefined,
  partners: readonly PartnerAnswer[],
  metrics: readonly Metric[],
  catalog: Catalog,
): ToDateFigures | undefined {
  const found = partners.filter(({ kind }) => kind === 'to_date');
  const [first] = found;
  if (unit === undefined || first === undefined) return undefined;
  const range = partnerRange(first);
  const names = metrics.map(({ id }) => id);
  const ofRows = found.find(({ of }) => of === 'rows');
  const ofTotals = found.find(({ of }) => of === 'totals');
  const lookUp = ofRows === undefined ? undefined : partnerRows(ofRows, catalog);
  const totals = ofTotals === undefined ? undefined : partnerTotals(ofTotals);
  const totalFigures = () =>
    ofTotals === undefined ? undefined : withoutValuesOfNoDays(pickMetrics(totals, names), range, metrics);
  return {
    toDate: { unit, range },
    ofRow: (row) => {
      if (row.bucket != null) return undefined;
      return lookUp === undefined
        ? totalFigures()
        : withoutValuesOfNoDays(lookUp(row, undefined, names), range, metrics);
    },
    ofTotals: totalFigures,
  };
}

/** Metrics whose data begins after these days have no value: the service returns 0. */
function withoutValuesOfNoDays(values: MetricValues, { to }: DateRange, metrics: readonly Metric[]): MetricValues {
  const without = metrics.filter((metric) => metric.id in values && dataStartsAfter(metric, to) !== undefined);
  return without.length === 0 ? values : { ...values, ...Object.fromEntries(without.map(({ id }) => [id, null])) };
}
