import type { Catalog, Metric } from '../contract/catalog.ts';
import type { ReportRequest, ReportResponse } from '../contract/report.ts';
import type { Section } from '../define/definition.ts';
import type { Period } from '../define/period.ts';
import type { Replacement, UndefinedTotals } from '../plan/plan.ts';
import type { Lacking, Said } from '../words/note.ts';
import type { Column, NoteCode, Row, TableNote } from './dataset.ts';

/** One call with its answer. */
export interface CallAnswer {
  readonly request: ReportRequest;
  readonly response: ReportResponse;
  /** Epoch ms at which the answer came. */
  readonly at: number;
}

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
}

const UNITS: ReadonlySet<string> = new Set(['count', 'ratio', 'seconds']);
const HOUR_MS = 3_600_000;

/** What a reader must know of the table, the gravest first. Nothing that is cut, missing or old goes without a note. */
export function notesOf(told: Told): TableNote[] {
  return [
    ...truncated(told),
    ...missing(told),
    ...unexpected(told),
    ...stale(told),
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

function truncated({ response, section, answers }: Told): TableNote[] {
  if (!response.meta.truncated) return [];
  if (answers.length > 1 && answers.some((answer) => answer.response.meta.truncated)) {
    return [note('truncated', { id: 'cut_piece', of: undefined }, true)];
  }
  const rows = response.rows.length;
  // Incomplete also where the section's own limit cuts: whoever reads "the top ten" must know that it is not all.
  return [note('truncated', { id: section.limit === undefined ? 'cut' : 'limited', of: { rows } }, true)];
}

function missing({ missing: { what, cells } }: Told): TableNote[] {
  return [
    ...(what.length === 0 ? [] : [note('missing', { id: 'lacking', of: { what } }, true)]),
    ...(cells === 0 ? [] : [note('missing', { id: 'lacking_cells', of: { cells } }, true)]),
  ];
}

/** Answers to something else than was asked. What several calls say alike is said once. */
function unexpected({ answers }: Told): TableNote[] {
  const said = new Map(answers.flatMap(unexpectedIn).map((says): [string, Said] => [JSON.stringify(says), says]));
  return [...said.values()].map((says) => note('missing', says, true));
}

function unexpectedIn({ request, response: { meta, rows } }: CallAnswer): Said[] {
  const found: Said[] = [];
  // Both spellings of the count: where they disagree, one of them says that rows are lacking.
  for (const said of [meta.row_count, meta.rows_count]) {
    if (typeof said === 'number' && said !== rows.length) {
      found.push({ id: 'other_count', of: { said, sent: rows.length } });
    }
  }
  const { from, to, timezone, compare } = request.time ?? {};
  if (from !== undefined && to !== undefined && (meta.range?.from !== from || meta.range.to !== to)) {
    const got = meta.range == null ? null : { from: meta.range.from, to: meta.range.to };
    found.push({ id: 'other_range', of: { from, to, got } });
  }
  if (timezone !== undefined && meta.timezone !== timezone) {
    found.push({ id: 'other_zone', of: { asked: timezone, got: meta.timezone } });
  }
  if (compare !== undefined && meta.compare_range == null) {
    found.push({ id: 'compared_days_unknown', of: undefined });
  }
  return found;
}

/** The first answer that is too old speaks for all. */
function stale(told: Told): TableNote[] {
  return told.answers.flatMap((answer) => staleAnswer(answer, told)).slice(0, 1);
}

function staleAnswer({ request, response: { meta }, at }: CallAnswer, told: Told): TableNote[] {
  const { periodEnd, current, period } = told;
  if (meta.as_of === null) {
    return [note('stale', { id: 'computed_unknown', of: { cached: meta.cached } }, meta.cached)];
  }
  const computed = Date.parse(meta.as_of);
  const { timezone } = period;
  // The period was over when we asked, but not when the service counted: its last days are not whole.
  const last = request.time?.to === undefined || request.time.to === period.to;
  if (!current && last && at >= periodEnd && computed < periodEnd) {
    return [note('stale', { id: 'computed_early', of: { at: meta.as_of, to: period.to, timezone } }, true)];
  }
  // The service keeps answers for an hour at most; a minute's grace is for clocks that differ.
  if (meta.cached && at - computed > HOUR_MS + 60_000) {
    return [note('stale', { id: 'computed_long_ago', of: { at: meta.as_of, timezone } }, true)];
  }
  return [];
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

function followed({ replaced, catalog }: Told): TableNote[] {
  const named = (id: string) => ({ id, label: catalog.metrics.find((metric) => metric.id === id)?.label ?? id });
  return replaced.map(({ from, to }) =>
    note('deprecated', { id: 'replaced', of: { from: named(from), to: named(to) } }),
  );
}

function deprecated({ metrics }: Told): TableNote[] {
  return metrics.flatMap(({ label, id, deprecated_at: at, replaced_by: successor = null }) =>
    at == null ? [] : [note('deprecated', { id: 'deprecated', of: { label, id, since: at.slice(0, 10), successor } })],
  );
}

function availability({ metrics, request }: Told): TableNote[] {
  const { from, to } = request.time ?? {};
  if (from === undefined || to === undefined) return [];
  return metrics.flatMap(({ label, data_available: available }): TableNote[] => {
    const first = available?.from;
    if (first == null || first <= from) return [];
    // A zero that only says that nobody counted yet is not a figure.
    const none = first > to;
    return [note('data_available_from', { id: none ? 'no_data_before' : 'data_from', of: { label, first } }, none)];
  });
}

function units({ columns }: Told): TableNote[] {
  return columns.flatMap(({ kind, label, unit }) =>
    kind !== 'metric' || unit === null || UNITS.has(unit)
      ? []
      : [note('unknown_unit', { id: 'unknown_unit', of: { label, unit } })],
  );
}
