import { type Catalog, isCurrentCount } from '../contract/catalog.ts';
import type { Section } from '../define/definition.ts';
import type { Period } from '../define/period.ts';
import { rangeOf } from '../plan/arrange.ts';
import type { Plan, Replacement } from '../plan/plan.ts';
import type { Table } from './dataset.ts';
import { replacementNotes } from './notes.ts';
import { columnsOf, filtersOf } from './tables.ts';

/**
 * Until when an answer is the state that a run is to show. The service knows current counts of now alone: asked later,
 * it would put today's figures into a pack of the past.
 */
export interface CountsWindow {
  /** Epoch ms; answers that come later show nothing. */
  readonly until: number;
  readonly why: 'backfill' | 'late';
  /** When the run was due, ISO. */
  readonly due: string;
}

/**
 * The plan as a backfill asks it: without the calls for current counts, whose answers it would not show. A run that is
 * late asks for them, because it knows only by the answer's time whether it is: one that an earlier try got is in time.
 */
export const withoutCounts = (plan: Plan): Plan => ({
  ...plan,
  calls: plan.calls.filter((call) => call.kind !== 'report' || rangeOf(call.request) !== undefined),
});

/** Whether all that the section shows are current counts. */
export const isCurrentSection = ({ metrics = [] }: Section, catalog: Catalog): boolean =>
  metrics.length > 0 &&
  metrics.every((id) => catalog.metrics.some((metric) => metric.id === id && isCurrentCount(metric)));

interface UndefinedInput {
  readonly section: Section;
  readonly catalog: Catalog;
  readonly period: Period;
  readonly replaced?: readonly Replacement[] | undefined;
}

/**
 * The table of a section of current counts that nobody knows of the time that the run is of: no figure, and the reason.
 * Which groups there were is not known either. Not incomplete: no other try would bring it.
 */
export function undefinedCounts({ section, catalog, period, replaced }: UndefinedInput, counts: CountsWindow): Table {
  const columns = columnsOf(section, { columns: [] }, catalog);
  const nothing = Object.fromEntries(columns.map(({ name }) => [name, null]));
  const { why, due } = counts;
  return {
    id: section.id,
    title: section.title ?? section.id,
    ...(section.description === undefined ? {} : { description: section.description }),
    granularity: null,
    current: true,
    range: null,
    running: false,
    compared: false,
    compareRange: null,
    asOf: null,
    columns,
    rows: (section.dimensions ?? []).length === 0 ? [{ values: nothing, partial: false }] : [],
    ...(section.totals
      ? { totals: { values: Object.fromEntries((section.metrics ?? []).map((id) => [id, null])) } }
      : {}),
    ...(section.chart === undefined ? {} : { chart: section.chart }),
    filters: filtersOf(section, catalog),
    notes: [
      {
        code: 'undefined',
        says: { id: 'counts_undefined', of: { why, due, timezone: period.timezone } },
        incomplete: false,
      },
      ...replacementNotes(section, replaced ?? [], catalog),
    ],
  };
}
