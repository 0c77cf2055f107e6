import type { Catalog, Metric } from '../../../contract/catalog.ts';
import type { ReportRow } from '../../../contract/report.ts';
import type { ToDate } from '../../../definitions/schema/comparison.ts';
import type { MetricValues, Table } from '../../dataset.ts';
import { withoutValuesOfNoData } from '../data-start.ts';
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
  const planned = partners.filter(({ kind }) => kind === 'to_date');
  const [first] = planned;
  if (unit === undefined || first === undefined) return undefined;
  const { range } = first;
  // A service may answer with other days: those figures are not to date.
  const found = planned.filter((partner) => {
    const { from, to } = partnerRange(partner);
    return from === range.from && to === range.to;
  });
  const names = metrics.map(({ id }) => id);
  const ofRows = found.find(({ of }) => of === 'rows');
  const ofTotals = found.find(({ of }) => of === 'totals');
  const lookUp = ofRows === undefined ? undefined : partnerRows(ofRows, catalog);
  // A single row is a total.
  const isSingle = planned.every(({ of }) => of === 'totals');
  const totals = ofTotals === undefined ? undefined : partnerTotals(ofTotals);
  const totalFigures = () =>
    ofTotals === undefined ? undefined : withoutValuesOfNoData(pickMetrics(totals, names), range, metrics);
  return {
    toDate: { unit, range },
    ofRow: (row) => {
      if (row.bucket != null) return undefined;
      if (isSingle) return totalFigures();
      return lookUp && withoutValuesOfNoData(lookUp(row, undefined, names), range, metrics);
    },
    ofTotals: totalFigures,
  };
}
