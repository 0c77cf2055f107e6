import type { Catalog } from '../contract/catalog.ts';
import type { Period } from '../definitions/periods/period.ts';
import type { Section } from '../definitions/schema/report-definition.ts';
import type { Plan, Replacement } from '../plan/plan.ts';
import { requestRange } from '../plan/requests/partition.ts';
import type { Table } from './dataset.ts';
import { buildColumns, describeFilters } from './internal/tables/columns/table-columns.ts';
import { sectionFields } from './internal/tables/section-fields.ts';
import { replacementNotes } from './internal/tables/table-notes.ts';

/**
 * Until when current counts match the period of a run. The service only has the counts of this moment: requested later,
 * they would put today's values into a past report.
 */
export interface CurrentCountsWindow {
  /** Epoch ms; responses received later are not shown. */
  readonly until: number;
  readonly why: 'backfill' | 'late';
  /** When the run was due, ISO. */
  readonly due: string;
}

/**
 * Removes the calls for current counts from the plan of a backfill, which would not show them. A late run keeps them,
 * because an earlier attempt may have stored a response in time.
 */
export const withoutCurrentCounts = (plan: Plan): Plan => ({
  ...plan,
  calls: plan.calls.filter((call) => call.kind !== 'report' || requestRange(call.request) !== undefined),
});

interface UndefinedCountsInput {
  readonly section: Section;
  readonly catalog: Catalog;
  readonly period: Period;
  readonly replaced?: readonly Replacement[] | undefined;
}

/**
 * The table of a section whose current counts are undefined for the run's period: it has no values and no groups, and a
 * note gives the reason. It is not incomplete, because a retry would not help.
 */
export function undefinedCountsTable(
  { section, catalog, period, replaced }: UndefinedCountsInput,
  counts: CurrentCountsWindow,
): Table {
  const columns = buildColumns(section, { columns: [] }, catalog);
  const emptyValues = Object.fromEntries(columns.map(({ name }) => [name, null]));
  const { why, due } = counts;
  return {
    ...sectionFields(section, period),
    granularity: null,
    current: true,
    range: null,
    running: false,
    comparisons: [],
    asOf: null,
    columns,
    rows: (section.dimensions ?? []).length === 0 ? [{ values: emptyValues, partial: false }] : [],
    ...(section.totals
      ? { totals: { values: Object.fromEntries((section.metrics ?? []).map((id) => [id, null])) } }
      : {}),
    filters: describeFilters(section, catalog),
    notes: [
      {
        code: 'undefined',
        message: { id: 'counts_undefined', of: { why, due, timezone: period.timezone } },
        incomplete: false,
      },
      ...replacementNotes(section, replaced ?? [], catalog),
    ],
  };
}
