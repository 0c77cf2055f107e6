import { civilDate } from '../../definitions/periods/period.ts';
import type { ComparisonKind } from '../../definitions/schema/comparison.ts';
import type { Table } from '../../fetch/dataset.ts';
import type { DateRange } from '../../plan/buckets.ts';
import { formatBucket } from '../figures/format-date.ts';
import type { PackContext } from './pack-context.ts';

/** The name of the month that a range covers, e.g. `Oct 2026`; undefined for any other range. */
function monthName(range: DateRange | null, locale: string): string | undefined {
  if (range === null) return undefined;
  const first = civilDate(range.from);
  const isMonth = first.day === 1 && +civilDate(range.to) === +first.endOf('month').startOf('day');
  return isMonth ? formatBucket(first.toJSDate(), 'month', locale) : undefined;
}

/** Headings for the figures of tables without groups. Months are named if all tables cover the same one. */
export interface PeriodHeadings {
  readonly figure: string;
  readonly compared: (kind: ComparisonKind) => string;
}

const onlyOne = (texts: readonly (string | undefined)[]): string | undefined => {
  const [first, ...others] = new Set(texts);
  return others.length === 0 ? first : undefined;
};

export function periodHeadings(tables: readonly Table[], { locale, words }: PackContext): PeriodHeadings {
  const { figure, now } = words.pack.scorecard;
  const month = onlyOne(tables.map(({ range }) => monthName(range, locale)));
  const allNow = tables.length > 0 && tables.every(({ current }) => current);
  return {
    figure: month ?? (allNow ? now : figure),
    compared: (kind) => {
      const ranges = tables.flatMap(({ comparisons }) => comparisons.filter((each) => each.kind === kind));
      const other = onlyOne(ranges.map(({ range }) => monthName(range, locale)));
      return (month === undefined ? undefined : other) ?? words.table.previousName[kind];
    },
  };
}
