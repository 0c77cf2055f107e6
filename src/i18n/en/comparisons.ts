import type { Granularity } from '../../contract/report.ts';
import type {
  ComparedWith,
  NotComparableBuckets,
  NotComparableTotals,
  NotComparedReason,
  ToDateUnit,
} from '../note.ts';

/** Used as part of a header or of a sentence. */
export const COMPARED_WITH: Readonly<Record<ComparedWith, string>> = {
  previous_period: 'previous period',
  previous_year: 'year before',
};

export const TO_DATE_UNITS: Readonly<Record<ToDateUnit, string>> = {
  year: 'year to date',
  fiscal_year: 'fiscal year to date',
  quarter: 'quarter to date',
};

/** Why a figure is not comparable. */
export const NOT_COMPARED: Readonly<Record<NotComparedReason, string>> = {
  unfinished: 'not ended yet',
  no_partner: 'nothing to compare with',
  partial: 'partial',
  weekdays: 'other weekdays',
  length: 'other number of days',
};

function bucketsText(granularity: Granularity, { first, last, others }: NotComparableBuckets): string {
  if (others || !(first || last)) return `${granularity}s`;
  if (first && last) return `the first and the last ${granularity}`;
  return `the ${first ? 'first' : 'last'} ${granularity}`;
}

/** Continues "No change is shown". */
export function formatBucketMismatch(granularity: Granularity, unlike: NotComparableBuckets): string {
  const buckets = bucketsText(granularity, unlike);
  switch (unlike.reason) {
    case 'unfinished':
      return `for ${buckets} that had not ended`;
    case 'no_partner':
      return `for ${buckets} without a counterpart`;
    case 'partial':
      return `for ${buckets}, partial here or in the compared days`;
    case 'weekdays':
      return `for ${buckets} that fall on other weekdays than their counterparts`;
    case 'length':
      return `for ${buckets} that have other numbers of days than their counterparts`;
  }
}

/** @param several whether the table has several comparisons, so that the sentence must name this one */
export function formatTotalMismatch(
  { kind, compared, reason, days, ofReadings }: NotComparableTotals,
  several: boolean,
): string {
  const other = `the ${COMPARED_WITH[kind]}`;
  const lengths = days === null ? '' : `${days[0]} days with ${days[1]}`;
  if (compared && ofReadings) {
    const what = days === null ? 'on other weekdays' : `at the end of ${days[0]} and of ${days[1]} days`;
    return `The change from ${other} compares the counts ${what}.`;
  }
  if (compared) {
    const what = lengths === '' ? 'days that begin on another weekday' : lengths;
    return `The change from ${other} compares ${what}.`;
  }
  const from = several ? ` from ${other}` : '';
  switch (reason) {
    case 'unfinished':
      return `No change${from} of the whole range is shown: it had not ended.`;
    case 'weekdays':
      return `No change${from} of the whole range is shown: ${other} begins on another weekday.`;
    case 'length':
    case 'partial':
      return `No change${from} of the whole range is shown: it would compare ${lengths}.`;
    default:
      return `No change${from} of the whole range is shown: there is nothing to compare with.`;
  }
}
