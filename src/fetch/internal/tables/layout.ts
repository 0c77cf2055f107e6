import type { Period } from '../../../definitions/periods/period.ts';
import { DEFAULT_TOP } from '../../../definitions/schema/layout.ts';
import type { Section } from '../../../definitions/schema/report-definition.ts';
import type { Table, TableLayout, TableTrend } from '../../dataset.ts';

/**
 * Adds the section's layout to its table, and whether the section is printed.
 * @param trend from readings; absent if the table has its own or none
 */
export function laidOut(table: Table, section: Section, trend: TableTrend | undefined): Table {
  const layout = buildLayout(section);
  return {
    ...table,
    ...(layout === undefined ? {} : { layout }),
    ...(trend === undefined ? {} : { trend }),
    ...(section.print === false ? { print: false } : {}),
  };
}

/** Undefined for a plain table. */
function buildLayout({ layout = 'table', groups = [], top = DEFAULT_TOP, worst }: Section): TableLayout | undefined {
  switch (layout) {
    case 'table':
      return undefined;
    case 'scorecard':
      return { kind: layout, groups };
    case 'exceptions':
      return worst === undefined ? { kind: layout, top } : { kind: layout, top: worst, worst: true };
    default:
      return { kind: layout };
  }
}

/** A text section as a table without columns and rows. */
export const textTable = (section: Section, period: Period): Table => ({
  id: section.id,
  title: section.title ?? section.id,
  ...(section.description === undefined ? {} : { description: section.description }),
  granularity: null,
  current: false,
  period,
  range: null,
  comparisons: [],
  asOf: null,
  running: false,
  columns: [],
  rows: [],
  filters: [],
  notes: [],
});
