import type { Catalog, Metric } from '../contract/catalog.ts';
import { KNOWN_UNITS } from '../contract/catalog.ts';
import type { ReportRequest, ReportResponse } from '../contract/report.ts';
import type { Section } from '../define/definition.ts';
import type { Period } from '../define/period.ts';
import type { Replacement, UndefinedTotals } from '../plan/plan.ts';
import type { Lacking, Said } from '../words/note.ts';
import type { CallAnswer } from './answer-checks/answer.ts';
import { answerFindings } from './answer-checks/check-answers.ts';
import { freshnessFindings } from './answer-checks/freshness.ts';
import { comparedDays, dataAfter } from './compared-days.ts';
import type { Column, NoteCode, Row, TableNote } from './dataset.ts';

/** Everything the notes of one table are made from. */
export interface Told {
  readonly section: Section;
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  /** The calls that the table was read from. */
  readonly answers: readonly CallAnswer[];
  readonly undefinedTotals: UndefinedTotals | undefined;
  readonly replaced: readonly Replacement[];
  readonly catalog: Catalog;
  readonly period: Period;
  /** The section's metrics, as the catalog has them. */
  readonly metrics: readonly Metric[];
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** Names of asked columns that the answer lacks as a whole, all that it lacks, and how many cells it lacks beside. */
  readonly missing: {
    readonly columns: readonly string[];
    readonly what: readonly Lacking[];
    readonly cells: number;
  };
  /** Epoch ms at which the period is over. */
  readonly periodEnd: number;
  readonly current: boolean;
  /** The range was not over when it was computed. */
  readonly running: boolean;
}

/** What a reader must know of the table, the gravest first. Nothing that is cut, missing or old goes without a note. */
export function notesOf(told: Told): TableNote[] {
  return [
    ...truncated(told),
    ...missing(told),
    ...answerFindings(told.answers, told),
    ...freshnessFindings(told.answers, told),
    ...partial(told),
    ...undefinedCells(told),
    ...undefinedTotals(told),
    ...deprecated(told),
    ...followed(told),
    ...availability(told),
    ...units(told),
  ];
}

const note = (code: NoteCode, says: Said, incomplete = false): TableNote => ({ code, says, incomplete });

/** Rows that the author's own `limit` cut are not missing: a reader must know that there are more, and that is all. */
function truncated({ response, section, answers }: Told): TableNote[] {
  if (!response.meta.truncated) return [];
  const rows = response.rows.length;
  const cut = answers.some(isCutByService);
  if (!cut && section.limit !== undefined) return [note('truncated', { id: 'limited', of: { rows } })];
  return [
    note('truncated', answers.length > 1 ? { id: 'cut_piece', of: undefined } : { id: 'cut', of: { rows } }, true),
  ];
}

/** The service left rows out that its request did not: with fewer than the limit there was room for them. */
const isCutByService = ({ request: { limit }, response }: CallAnswer): boolean =>
  response.meta.truncated && (limit === undefined || response.rows.length < limit);

function missing({ missing: { what, cells } }: Told): TableNote[] {
  return [
    ...(what.length === 0 ? [] : [note('missing', { id: 'lacking', of: { what } }, true)]),
    ...(cells === 0 ? [] : [note('missing', { id: 'lacking_cells', of: { cells } }, true)]),
  ];
}

function partial({ rows, section }: Told): TableNote[] {
  const running = [...new Set(rows.filter((row) => row.partial).map((row) => row.values.bucket))];
  if (running.length === 0) return [];
  const days = running.filter((bucket) => typeof bucket === 'string');
  if (days.length === 0) return [note('partial', { id: 'period_running', of: undefined })];
  return [note('partial', { id: 'buckets_running', of: { granularity: section.granularity ?? null, days } })];
}

function undefinedCells({ rows, columns, missing: { columns: absent } }: Told): TableNote[] {
  const names = columns.filter((column) => column.kind === 'metric' && !absent.includes(column.name));
  const empty = names.filter((column) => rows.some((row) => row.values[column.name] === null));
  if (empty.length === 0) return [];
  return [note('undefined', { id: 'undefined_cells', of: { labels: empty.map(({ label }) => label) } })];
}

/** Not incomplete: nothing that the service has is missing, and no other try would bring it. */
function undefinedTotals({ undefinedTotals: lacking, columns }: Told): TableNote[] {
  if (lacking === undefined) return [];
  const labels = columns.filter(({ name }) => lacking.metrics.includes(name)).map(({ label }) => label);
  return [note('undefined', { id: 'undefined_totals', of: { labels, why: lacking.why } })];
}

/** Which metrics are deprecated, and which stand in place of one: known without an answer. */
export function replacementNotes(section: Section, replaced: readonly Replacement[], catalog: Catalog): TableNote[] {
  const metrics = catalog.metrics.filter(({ id }) => section.metrics?.includes(id));
  return [...deprecated({ metrics }), ...followed({ replaced, catalog })];
}

function followed({ replaced, catalog }: Pick<Told, 'replaced' | 'catalog'>): TableNote[] {
  const named = (id: string) => ({ id, label: catalog.metrics.find((metric) => metric.id === id)?.label ?? id });
  return replaced.map(({ from, to }) =>
    note('deprecated', { id: 'replaced', of: { from: named(from), to: named(to) } }),
  );
}

function deprecated({ metrics }: Pick<Told, 'metrics'>): TableNote[] {
  return metrics.flatMap(({ label, id, deprecated_at: at, replaced_by: successor = null }) =>
    at == null ? [] : [note('deprecated', { id: 'deprecated', of: { label, id, since: at.slice(0, 10), successor } })],
  );
}

function availability(told: Told): TableNote[] {
  const { from, to } = told.request.time ?? {};
  if (from === undefined || to === undefined) return [];
  const before = comparedDays(told)?.from;
  return told.metrics.flatMap((metric): TableNote[] => {
    const { label } = metric;
    const first = dataAfter(metric, from);
    // A zero that only says that nobody counted yet is not a figure.
    if (first !== undefined && first > to) {
      return [note('data_available_from', { id: 'no_data_before', of: { label, first } }, true)];
    }
    const since = before === undefined ? undefined : dataAfter(metric, before);
    return [
      ...(first === undefined ? [] : [note('data_available_from', { id: 'data_from', of: { label, first } })]),
      ...(since === undefined
        ? []
        : [note('data_available_from', { id: 'not_compared_before', of: { label, first: since } })]),
    ];
  });
}

function units({ columns }: Told): TableNote[] {
  return columns.flatMap(({ kind, label, unit }) =>
    kind !== 'metric' || unit === null || KNOWN_UNITS.has(unit)
      ? []
      : [note('unknown_unit', { id: 'unknown_unit', of: { label, unit } })],
  );
}
