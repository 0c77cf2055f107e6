import type { Granularity } from '../../contract/report.ts';
import type {
  ComparedWith,
  NotComparableBuckets,
  NotComparableTotals,
  NotComparedReason,
  ToDateUnit,
} from '../note.ts';

/** Used as part of a header. */
export const COMPARED_WITH: Readonly<Record<ComparedWith, string>> = {
  previous_period: 'Vorperiode',
  previous_year: 'Vorjahr',
};

const GENITIVE: Readonly<Record<ComparedWith, string>> = {
  previous_period: 'der Vorperiode',
  previous_year: 'dem Vorjahr',
};

export const TO_DATE_UNITS: Readonly<Record<ToDateUnit, string>> = {
  year: 'seit Jahresbeginn',
  fiscal_year: 'seit Beginn des Geschäftsjahres',
  quarter: 'seit Quartalsbeginn',
};

/** Why a figure is not comparable. */
export const NOT_COMPARED: Readonly<Record<NotComparedReason, string>> = {
  unfinished: 'läuft noch',
  no_partner: 'kein Gegenstück',
  partial: 'unvollständig',
  weekdays: 'andere Wochentage',
  length: 'andere Zahl von Tagen',
};

const ACCUSATIVE = {
  day: { some: 'Tage', first: 'den ersten Tag', last: 'den letzten Tag', both: 'den ersten und den letzten Tag' },
  week: {
    some: 'Wochen',
    first: 'die erste Woche',
    last: 'die letzte Woche',
    both: 'die erste und die letzte Woche',
  },
  month: {
    some: 'Monate',
    first: 'den ersten Monat',
    last: 'den letzten Monat',
    both: 'den ersten und den letzten Monat',
  },
} as const;

function bucketsText(granularity: Granularity, { first, last, others }: NotComparableBuckets): string {
  const words = ACCUSATIVE[granularity];
  if (others || !(first || last)) return words.some;
  return first && last ? words.both : first ? words.first : words.last;
}

const WHY: Readonly<Record<NotComparedReason, string>> = {
  unfinished: 'noch nicht zu Ende',
  no_partner: 'kein Gegenstück',
  partial: 'hier oder in den verglichenen Tagen unvollständig',
  weekdays: 'andere Wochentage als im Vergleich',
  length: 'andere Zahl von Tagen als im Vergleich',
};

/** Continues "Keine Veränderung ist angegeben". */
export const formatBucketMismatch = (granularity: Granularity, unlike: NotComparableBuckets): string =>
  `für ${bucketsText(granularity, unlike)} (${WHY[unlike.reason]})`;

/** @param several whether the table has several comparisons, so that the sentence must name this one */
export function formatTotalMismatch(
  { kind, compared, reason, days, ofReadings }: NotComparableTotals,
  several: boolean,
): string {
  const lengths = days === null ? '' : `${days[0]} Tage mit ${days[1]}`;
  if (compared && ofReadings) {
    const what = days === null ? 'an anderen Wochentagen' : `am Ende von ${days[0]} und von ${days[1]} Tagen`;
    return `Die Veränderung gegenüber ${GENITIVE[kind]} vergleicht die Bestände ${what}.`;
  }
  if (compared) {
    const what = lengths === '' ? 'Tage, die mit einem anderen Wochentag beginnen' : lengths;
    return `Die Veränderung gegenüber ${GENITIVE[kind]} vergleicht ${what}.`;
  }
  const from = several ? ` gegenüber ${GENITIVE[kind]}` : '';
  const start = `Keine Veränderung${from} des ganzen Zeitraums ist angegeben:`;
  switch (reason) {
    case 'unfinished':
      return `${start} Er war noch nicht zu Ende.`;
    case 'weekdays':
      return `${start} Die verglichenen Tage beginnen mit einem anderen Wochentag.`;
    case 'length':
    case 'partial':
      return `${start} Sie würde ${lengths} vergleichen.`;
    default:
      return `${start} Es gibt kein Gegenstück.`;
  }
}
