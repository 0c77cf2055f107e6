import { type Catalog, KNOWN_UNITS, type Metric } from '../../../contract/catalog.ts';
import type { ReportRequest, ReportResponse } from '../../../contract/report.ts';
import type { Period } from '../../../definitions/periods/period.ts';
import type { Section } from '../../../definitions/schema/report-definition.ts';
import type { MissingData, NoteMessage } from '../../../i18n/note.ts';
import { startOfDay } from '../../../plan/buckets.ts';
import type { Replacement, UndefinedTotals } from '../../../plan/plan.ts';
import { checkAnswers } from '../../answer-checks/check-answers.ts';
import type { CallAnswer } from '../../answer-checks/checked-answer.ts';
import { freshnessFindings } from '../../answer-checks/freshness.ts';
import { toNumber } from '../../answer-checks/value-types.ts';
import type { Column, Row, Table } from '../../dataset.ts';
import type { NoteCode, TableNote } from '../../notes.ts';
import { findCoveredRange, type TableComparer } from './comparisons/compare-figures.ts';
import { comparisonNotes, comparisonStartNotes } from './comparisons/comparison-notes.ts';
import type { PartnerAnswer } from './comparisons/partner-answers.ts';
import { dataStartsAfter } from './data-start.ts';

/** Input for the notes of a table. */
export interface NoteContext {
  readonly section: Section;
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  /** The calls of the table. */
  readonly answers: readonly CallAnswer[];
  /** Figures of other days that the table is compared with. */
  readonly partners: readonly PartnerAnswer[];
  readonly undefinedTotals: UndefinedTotals | undefined;
  readonly replaced: readonly Replacement[];
  readonly catalog: Catalog;
  /** The catalog with the service's own names. */
  readonly published: Catalog;
  /** Findings in the table's own responses. */
  readonly findings: readonly TableNote[];
  readonly period: Period;
  /** The section's metrics, as in the catalog. */
  readonly metrics: readonly Metric[];
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly comparers: readonly TableComparer[];
  readonly toDate: Table['toDate'];
  readonly hasTotals: boolean;
  /**
   * Requested columns that the response lacks, everything else that it lacks, and the number of other missing cells.
   */
  readonly missing: {
    readonly columns: readonly string[];
    readonly what: readonly MissingData[];
    readonly cells: number;
  };
  /** Epoch ms at which the period ends. */
  readonly periodEnd: number;
  /** Epoch ms at which its figures were computed. */
  readonly computed: number;
  readonly current: boolean;
  /** The range had not ended when the figures were computed. */
  readonly running: boolean;
}

/** Collects all notes of a table, the most severe first. Everything truncated, missing or stale gets a note. */
export function collectTableNotes(context: NoteContext): TableNote[] {
  return [
    ...truncated(context),
    ...missing(context),
    ...findings(context),
    ...freshnessFindings(
      [context, ...context.partners].flatMap(({ answers }) => answers),
      context,
    ),
    ...partial(context),
    ...comparisonNotes({ ...context, granularity: context.section.granularity, range: findCoveredRange(context) }),
    ...undefinedCells(context),
    ...undefinedTotals(context),
    ...deprecated(context),
    ...replacements(context),
    ...availability(context),
    ...units(context),
  ];
}

const note = (code: NoteCode, message: NoteMessage, incomplete = false): TableNote => ({ code, message, incomplete });

/** Notes on rows that are cut off. A cut by the section's own `limit` does not make it incomplete. */
function truncated({ response, section, answers, partners }: NoteContext): TableNote[] {
  // Figures of other days are requested without a limit, unless the section's own calls contain them.
  const isPartnerTruncated = partners.some(
    (partner) => partner.request.limit === undefined && partner.response.meta.truncated,
  );
  if (isPartnerTruncated) return [note('truncated', { id: 'cut_piece', of: undefined }, true)];
  if (!response.meta.truncated) return [];
  const rows = response.rows.length;
  const isTruncated = answers.some(isTruncatedByService);
  if (!isTruncated && section.limit !== undefined) return [note('truncated', { id: 'limited', of: { rows } })];
  return [
    note('truncated', answers.length > 1 ? { id: 'cut_piece', of: undefined } : { id: 'cut', of: { rows } }, true),
  ];
}

/** Whether the service omitted rows although there are fewer than the requested limit. */
const isTruncatedByService = ({ request: { limit }, response }: CallAnswer): boolean =>
  response.meta.truncated && (limit === undefined || response.rows.length < limit);

/** Findings in the table's responses and in those for other days, without repetitions. */
function findings(context: NoteContext): TableNote[] {
  const { partners, catalog, published, metrics, running } = context;
  const ofPartners = partners.flatMap(({ kind, request, response, answers, undefinedTotals: without }) => {
    const isRunning = running && kind !== 'previous_year';
    const expected = { catalog, published, metrics, request, response, running: isRunning, undefinedTotals: without };
    return checkAnswers(answers, expected).notes;
  });
  const found = [...context.findings, ...ofPartners];
  return [...new Map(found.map((finding) => [JSON.stringify(finding.message), finding])).values()];
}

function missing({ missing: { what, cells } }: NoteContext): TableNote[] {
  return [
    ...(what.length === 0 ? [] : [note('missing', { id: 'lacking', of: { what } }, true)]),
    ...(cells === 0 ? [] : [note('missing', { id: 'lacking_cells', of: { cells } }, true)]),
  ];
}

function partial({ rows, section, request, period: { timezone }, computed }: NoteContext): TableNote[] {
  const running = [...new Set(rows.filter((row) => row.partial).map((row) => row.values.bucket))];
  if (running.length === 0) return [];
  const buckets = running.filter((bucket) => typeof bucket === 'string');
  if (buckets.length === 0) return [note('partial', { id: 'period_running', of: undefined })];
  const granularity = section.granularity ?? null;
  const { from = '' } = request.time ?? {};
  const hasBegun = (day: string): boolean => startOfDay(day < from ? from : day, timezone) <= computed;
  const days = buckets.filter(hasBegun);
  const toCome = buckets.filter((day) => !hasBegun(day));
  return [
    ...(days.length === 0 ? [] : [note('partial', { id: 'buckets_running', of: { granularity, days } })]),
    ...(toCome.length === 0 ? [] : [note('partial', { id: 'buckets_to_come', of: { granularity, days: toCome } })]),
  ];
}

/** Notes on values that the service left undefined. Days without data have a note of their own. */
function undefinedCells({ rows, response, columns, missing: { columns: absent } }: NoteContext): TableNote[] {
  const names = columns.filter((column) => column.kind === 'metric' && !absent.includes(column.name));
  const empty = names.filter(({ name }) =>
    rows.some(({ values }, index) => values[name] === null && toNumber(response.rows[index]?.[name]) == null),
  );
  if (empty.length === 0) return [];
  return [note('undefined', { id: 'undefined_cells', of: { labels: empty.map(({ label }) => label) } })];
}

/** Not incomplete, because the service has no such totals. */
function undefinedTotals({ undefinedTotals: lacking, columns }: NoteContext): TableNote[] {
  if (lacking === undefined) return [];
  const labels = columns.filter(({ name }) => lacking.metrics.includes(name)).map(({ label }) => label);
  return [note('undefined', { id: 'undefined_totals', of: { labels, why: lacking.why } })];
}

/** Notes on deprecated metrics and replacements. They need no response. */
export function replacementNotes(section: Section, replaced: readonly Replacement[], catalog: Catalog): TableNote[] {
  const metrics = catalog.metrics.filter(({ id }) => section.metrics?.includes(id));
  return [...deprecated({ metrics }), ...replacements({ replaced, catalog })];
}

function replacements({ replaced, catalog }: Pick<NoteContext, 'replaced' | 'catalog'>): TableNote[] {
  const labelled = (id: string) => ({ id, label: catalog.metrics.find((metric) => metric.id === id)?.label ?? id });
  return replaced.map(({ from, to }) =>
    note('deprecated', { id: 'replaced', of: { from: labelled(from), to: labelled(to) } }),
  );
}

function deprecated({ metrics }: Pick<NoteContext, 'metrics'>): TableNote[] {
  return metrics.flatMap(({ label, id, deprecated_at: at, replaced_by: successor = null }) =>
    at == null ? [] : [note('deprecated', { id: 'deprecated', of: { label, id, since: at.slice(0, 10), successor } })],
  );
}

function availability(context: NoteContext): TableNote[] {
  const { from, to } = context.request.time ?? {};
  if (from === undefined || to === undefined) return [];
  const ofTable = context.metrics.flatMap((metric): TableNote[] => {
    const { label } = metric;
    const first = dataStartsAfter(metric, from);
    // A table without any figure of the metric is incomplete.
    if (first !== undefined && first > to) {
      return [note('data_available_from', { id: 'no_data_before', of: { label, first } }, true)];
    }
    return first === undefined ? [] : [note('data_available_from', { id: 'data_from', of: { label, first } })];
  });
  // If a metric has no data in the whole range, its other notes would add nothing.
  const withData = context.metrics.filter((metric) => dataStartsAfter(metric, to) === undefined);
  return [...ofTable, ...comparisonStartNotes({ ...context, metrics: withData })];
}

function units({ columns }: NoteContext): TableNote[] {
  return columns.flatMap(({ kind, label, unit }) =>
    kind !== 'metric' || unit === null || KNOWN_UNITS.has(unit)
      ? []
      : [note('unknown_unit', { id: 'unknown_unit', of: { label, unit } })],
  );
}
