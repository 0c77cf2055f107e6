import type { Catalog, Metric } from '../contract/catalog.ts';
import type { ReportRequest, ReportResponse } from '../contract/report.ts';
import type { Section } from '../define/definition.ts';
import type { Period } from '../define/period.ts';
import type { Replacement, UndefinedTotals } from '../plan/plan.ts';
import type { Column, Note, Row } from './dataset.ts';

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
  /** Names of asked columns that the answer lacks as a whole, and how many cells it lacks beside. */
  readonly missing: { readonly columns: readonly string[]; readonly cells: number };
  /** Epoch ms at which the period is over. */
  readonly periodEnd: number;
  readonly current: boolean;
}

const UNITS: ReadonlySet<string> = new Set(['count', 'ratio', 'seconds']);
const HOUR_MS = 3_600_000;

/** What a reader must know of the table, the gravest first. Nothing that is cut, missing or old goes without a note. */
export function notesOf(told: Told): Note[] {
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

const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

function truncated({ response, section, answers }: Told): Note[] {
  if (!response.meta.truncated) return [];
  if (answers.length > 1 && answers.some((answer) => answer.response.meta.truncated)) {
    const text = 'The service cut an answer that this table is put together from: there are more rows.';
    return [{ code: 'truncated', text, incomplete: true }];
  }
  const rows = plural(response.rows.length, 'row');
  // Incomplete also where the section's own limit cuts: whoever reads "the top ten" must know that it is not all.
  const text =
    section.limit === undefined
      ? `The service cut the table after ${rows}: there are more.`
      : `Only the first ${rows}, as the report asks; there are more.`;
  return [{ code: 'truncated', text, incomplete: true }];
}

function missing({ missing: { columns, cells } }: Told): Note[] {
  const notes: Note[] = [];
  const note = (text: string) => notes.push({ code: 'missing', text, incomplete: true });
  if (columns.length > 0) note(`The service did not answer ${columns.join(', ')}: empty here.`);
  if (cells > 0) note(`The service left ${plural(cells, 'cell')} out; they are empty.`);
  return notes;
}

/** Answers to something else than was asked. What several calls say alike is said once. */
function unexpected({ answers }: Told): Note[] {
  const texts = new Set<string>();
  for (const { request, response } of answers) {
    const { meta, rows } = response;
    // Both spellings of the count: where they disagree, one of them says that rows are lacking.
    for (const said of [meta.row_count, meta.rows_count]) {
      if (typeof said === 'number' && said !== rows.length) {
        texts.add(`The service speaks of ${plural(said, 'row')} and sent ${rows.length}.`);
      }
    }
    const { from, to, timezone, compare } = request.time ?? {};
    if (from !== undefined && to !== undefined && (meta.range?.from !== from || meta.range.to !== to)) {
      const got = meta.range == null ? 'does not say for which' : `answered for ${meta.range.from} to ${meta.range.to}`;
      texts.add(`Asked for ${from} to ${to}, the service ${got}.`);
    }
    if (timezone !== undefined && meta.timezone !== timezone) {
      texts.add(`Asked for days in ${timezone}, the service answered for days in ${meta.timezone}.`);
    }
    if (compare !== undefined && meta.compare_range == null) {
      texts.add('The service does not say which days the previous period has.');
    }
  }
  return [...texts].map((text) => ({ code: 'missing', text, incomplete: true }));
}

/** The first answer that is too old speaks for all. */
function stale(told: Told): Note[] {
  return told.answers.flatMap((answer) => staleAnswer(answer, told)).slice(0, 1);
}

function staleAnswer({ request, response: { meta }, at }: CallAnswer, told: Told): Note[] {
  const { periodEnd, current, period } = told;
  if (meta.as_of === null) {
    const kept = meta.cached ? ', and had kept them: they may be old' : '';
    const text = `The service does not say readably when it computed the figures${kept}.`;
    return [{ code: 'stale', text, incomplete: meta.cached }];
  }
  const computed = Date.parse(meta.as_of);
  // The period was over when we asked, but not when the service counted: its last days are not whole.
  const last = request.time?.to === undefined || request.time.to === period.to;
  if (!current && last && at >= periodEnd && computed < periodEnd) {
    const text = `Computed at ${meta.as_of}, before the period had ended (${period.to}, ${period.timezone}): its end is not counted.`;
    return [{ code: 'stale', text, incomplete: true }];
  }
  // The service keeps answers for an hour at most; a minute's grace is for clocks that differ.
  if (meta.cached && at - computed > HOUR_MS + 60_000) {
    return [
      {
        code: 'stale',
        text: `From the service's cache, computed at ${meta.as_of}: older than an hour.`,
        incomplete: true,
      },
    ];
  }
  return [];
}

function partial({ rows, section }: Told): Note[] {
  const running = [...new Set(rows.filter((row) => row.partial).map((row) => row.values.bucket))];
  if (running.length === 0) return [];
  const named = running.filter((bucket) => typeof bucket === 'string');
  const text =
    named.length === 0
      ? 'The period is still running: its figures will grow.'
      : `The ${section.granularity ?? 'bucket'} from ${named.join(', ')} is still running: its figures will grow.`;
  return [{ code: 'partial', text, incomplete: false }];
}

function undefinedCells({ rows, columns, missing: { columns: absent } }: Told): Note[] {
  const names = columns.filter((column) => column.kind === 'metric' && !absent.includes(column.name));
  const empty = names.filter((column) => rows.some((row) => row.values[column.name] === null));
  if (empty.length === 0) return [];
  const text = `An empty cell of ${empty.map(({ label }) => label).join(', ')} is undefined (a rate or a median over nothing), not 0.`;
  return [{ code: 'undefined', text, incomplete: false }];
}

/** Not incomplete: nothing that the service has is missing, and no other try would bring it. */
function undefinedTotals({ undefinedTotals: lacking, columns }: Told): Note[] {
  if (lacking === undefined) return [];
  const labels = columns.filter(({ name }) => lacking.metrics.includes(name)).map(({ label }) => label);
  const why = lacking.why === 'range' ? 'the period is longer' : 'a filter has more values';
  const text = `The total of ${labels.join(', ')} is undefined: ${why} than one call of the service takes, and what is not a plain count cannot be added up from parts.`;
  return [{ code: 'undefined', text, incomplete: false }];
}

function followed({ replaced, catalog }: Told): Note[] {
  const labelOf = (id: string) => catalog.metrics.find((metric) => metric.id === id)?.label ?? id;
  return replaced.map(({ from, to }) => ({
    code: 'deprecated',
    text: `${labelOf(to)} (${to}) stands in place of ${labelOf(from)} (${from}), which is deprecated.`,
    incomplete: false,
  }));
}

function deprecated({ metrics }: Told): Note[] {
  return metrics
    .filter((metric) => metric.deprecated_at != null)
    .map((metric) => ({
      code: 'deprecated',
      text: `${metric.label} (${metric.id}) is deprecated since ${metric.deprecated_at?.slice(0, 10)}${metric.replaced_by == null ? '' : `; ${metric.replaced_by} takes its place`}.`,
      incomplete: false,
    }));
}

function availability({ metrics, request }: Told): Note[] {
  const { from, to } = request.time ?? {};
  if (from === undefined || to === undefined) return [];
  return metrics.flatMap((metric): Note[] => {
    const first = metric.data_available?.from;
    if (first == null || first <= from) return [];
    // A zero that only says that nobody counted yet is not a figure.
    const none = first > to;
    const text = none
      ? `${metric.label} has no data before ${first}: its zeros say nothing.`
      : `${metric.label} has data from ${first}; days before read zero.`;
    return [{ code: 'data_available_from', text, incomplete: none }];
  });
}

function units({ columns }: Told): Note[] {
  return columns.flatMap(({ kind, label, unit }) =>
    kind !== 'metric' || unit === null || UNITS.has(unit)
      ? []
      : [{ code: 'unknown_unit' as const, text: `${label} is in "${unit}", shown as it came.`, incomplete: false }],
  );
}
