import { isolateBidi } from '../../base/text/bidi.ts';
import {
  type Dataset,
  type Judgement,
  lacksCurrentCounts,
  type Row,
  type Status,
  type Table,
} from '../../fetch/dataset.ts';
import { firstRows, iterateRows } from '../../fetch/rows.ts';
import { messagesFor, type Words } from '../../i18n/messages.ts';
import { buildChart, type Chart } from '../charts/chart.ts';
import { type Figures, judgedChange, type Tone } from '../figures/change-text.ts';
import {
  isSingleRow,
  namedComparison,
  totalsDiffer,
  type ViewColumn,
  valueColumns,
  viewColumns,
} from '../figures/columns.ts';
import { formatTarget, formatValue } from '../figures/format-value.ts';
import { betterOf } from '../figures/judge.ts';
import { judgementsByMetric, statusText, totalJudgement } from '../figures/status-text.ts';
import { coverageFacts, filterFacts, legendNotes, sumFacts, tableNotes, totalHeading } from '../table-notes.ts';
import { buildTiles, type Tile } from './tiles.ts';

/** Headline figures as tiles; the others are in the sections and in the files. */
const MAX_TILES = 8;
/** Columns of a section, as many as a phone can show. */
const MAX_COLUMNS = 5;
/** Rows of a section, before the size limit of an e-mail. */
export const MAX_SUMMARY_ROWS = 10;
/** Images of an e-mail, of the first sections with a chart. Each adds some 20 kB to every message. */
export const MAX_CHARTS = 3;
/** Groups along the axis of an image, as many as a phone can show. */
const MAX_CHART_GROUPS = 15;

export interface SummaryCell {
  readonly text: string;
  readonly number: boolean;
  readonly undefined: boolean;
  /** Shape and word of its status; empty without a target. */
  readonly status: string;
  /** Which status it is; empty without a target. */
  readonly state: Status | '';
  /** The target, e.g. `target 90%`; empty where it is not shown. */
  readonly target: string;
  /** Of a change: whether it is better or worse. */
  readonly tone: Tone;
}

export interface SummarySection {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  /** From `coverageFacts`. */
  readonly covers: readonly string[];
  /** From `filterFacts`. */
  readonly filters: readonly string[];
  /** From `sumFacts`. */
  readonly sums: readonly string[];
  /** Whether one of its rows, shown or not, is still running. */
  readonly running: boolean;
  readonly headers: readonly { readonly text: string; readonly number: boolean }[];
  /** At most `MAX_SUMMARY_ROWS`, from the end that `which` names. */
  readonly rows: readonly { readonly cells: readonly SummaryCell[]; readonly partial: boolean }[];
  /** The end that is shown when there are more rows. */
  readonly which: 'first' | 'last';
  /** All rows and columns, shown or not. */
  readonly size: { readonly rows: number; readonly columns: number };
  readonly totals?: readonly SummaryCell[];
  /** The metrics whose headline figures it shows, one per row or one per column. */
  readonly headline: { readonly metrics: readonly string[]; readonly each: 'row' | 'column' };
  readonly notes: readonly string[];
  /** Why it has no rows, where the service may have some. */
  readonly empty?: string;
  /** Only the first sections with a chart have one. */
  readonly chart?: Chart;
  /** The statuses of the totals of what the chart shows, e.g. `Alerts open: ■ breached`. */
  readonly chartStatuses?: readonly string[];
}

const UNJUDGED = { status: '', state: '', target: '', tone: '' } as const;

const summaryCell = (view: ViewColumn, value: ReturnType<ViewColumn['read']>, locale: string): SummaryCell => ({
  text: formatValue(value, view.quantity, locale),
  number: view.role === 'value',
  undefined: value === null,
  ...UNJUDGED,
});

/** The cell with the status of its figure. */
const withStatus = (cell: SummaryCell, judgement: Judgement | undefined, words: Words): SummaryCell =>
  judgement === undefined ? cell : { ...cell, status: statusText(judgement.status, words), state: judgement.status };

/** The statuses of a section's figures. */
const judgedOf = ({ judgements = [] }: Dataset, table: Table) =>
  judgementsByMetric(
    table,
    judgements.filter(({ section }) => section === table.id),
  );

/** The rows to show first: the newest of a series, the first of a ranking or a list. */
const rowsOfInterest = ({ granularity, ranked }: Table): SummarySection['which'] =>
  granularity === null || ranked ? 'first' : 'last';

const shownRows = (table: Table): readonly Row[] =>
  rowsOfInterest(table) === 'first' || table.rows.length <= MAX_SUMMARY_ROWS
    ? firstRows(table.rows, MAX_SUMMARY_ROWS)
    : [...iterateRows(table.rows)].slice(-MAX_SUMMARY_ROWS);

/** The label of the totals, marked when the period is still running. */
function totalLabel(table: Table, locale: string): string {
  const words = messagesFor(locale);
  const heading = totalHeading(table, words);
  return table.running ? words.mail.named(heading, [words.mail.template.still_running]) : heading;
}

type SectionTable = Pick<SummarySection, 'headers' | 'rows' | 'which' | 'size' | 'totals' | 'headline'>;

/** A section of one row, transposed as in the workbook: one row per metric. */
function transposedTable(table: Table, { dataset, locale }: SummaryOptions): SectionTable {
  const columns = viewColumns(table, locale);
  const words = messagesFor(locale);
  const { section: texts } = words.workbook;
  const [row] = firstRows(table.rows, 1);
  const { totals, comparisons, toDate } = table;
  const shown: { readonly heading: string; readonly figures: Figures }[] = [];
  if (row !== undefined) shown.push({ heading: texts.value, figures: row });
  if (totals !== undefined && totalsDiffer(columns, row)) {
    shown.push({ heading: totalLabel(table, locale), figures: totals });
  }
  const text = (content: string, tone: Tone = ''): SummaryCell => ({
    text: content,
    number: false,
    undefined: false,
    ...UNJUDGED,
    tone,
  });
  const metrics = valueColumns(columns);
  const judged = judgedOf(dataset, table);
  // Totals are judged where there are some.
  const judgedFigures = shown.at(-1)?.figures;
  const valueCell = (view: ViewColumn, figures: Figures): SummaryCell => {
    const cell = summaryCell(view, figures.values[view.source.name] ?? null, locale);
    const judgement = figures === judgedFigures ? judged.get(view.source.name)?.ofTotals : undefined;
    const target = judgement === undefined ? null : (dataset.targets?.[judgement.target]?.target ?? null);
    return {
      ...withStatus(cell, judgement, words),
      target: target === null ? '' : words.status.target(formatTarget(target, view.quantity, locale)),
    };
  };
  const headings = shown.flatMap(({ heading }) => [
    { text: heading, number: true },
    ...comparisons.map(({ kind }) => ({ text: texts.change(namedComparison(kind, comparisons)), number: false })),
    ...(toDate === undefined ? [] : [{ text: words.table.toDateName[toDate.unit], number: true }]),
  ]);
  return {
    headers: [{ text: texts.metric, number: false }, ...headings],
    rows: metrics.slice(0, MAX_SUMMARY_ROWS).map((view) => ({
      cells: [
        text(view.source.label),
        ...shown.flatMap(({ figures }) => [
          valueCell(view, figures),
          ...comparisons.map(({ kind }) => {
            const change = judgedChange(view, figures, kind, betterOf(dataset, view.source.name), locale);
            return text(change.text, change.tone);
          }),
          ...(toDate === undefined ? [] : [summaryCell(view, figures.toDate?.[view.source.name] ?? null, locale)]),
        ]),
      ],
      partial: row?.partial ?? false,
    })),
    which: 'first',
    size: { rows: metrics.length, columns: 1 + headings.length },
    headline: { metrics: metrics.slice(0, MAX_SUMMARY_ROWS).map(({ source }) => source.name), each: 'row' },
  };
}

function groupedTable(table: Table, { dataset, locale }: SummaryOptions): SectionTable {
  const words = messagesFor(locale);
  const judged = judgedOf(dataset, table);
  const judgedIn = (view: ViewColumn, row: Row): Judgement | undefined =>
    view.role === 'value' ? judged.get(view.source.name)?.ofRow(row) : undefined;
  // The text of a bucket contains the ISO week.
  const columns = viewColumns(table, locale).filter(
    ({ role, source }) => role !== 'week' && (role === 'value' || role === 'label' || source.kind === 'time'),
  );
  const views = columns.slice(0, MAX_COLUMNS);
  const [firstView] = views;
  const totals =
    table.totals === undefined
      ? {}
      : {
          totals: views.map((view) =>
            view.total === undefined
              ? {
                  text: view === firstView ? totalLabel(table, locale) : '',
                  number: false,
                  undefined: false,
                  ...UNJUDGED,
                }
              : withStatus(summaryCell(view, view.total, locale), judged.get(view.source.name)?.ofTotals, words),
          ),
        };
  return {
    headers: views.map((view) => ({
      text: view.role === 'bucket' ? view.header : view.source.label,
      number: view.role === 'value',
    })),
    rows: shownRows(table).map((row) => ({
      cells: views.map((view) => withStatus(summaryCell(view, view.read(row), locale), judgedIn(view, row), words)),
      partial: row.partial,
    })),
    which: rowsOfInterest(table),
    size: { rows: table.rows.length, columns: columns.length },
    ...totals,
    headline: { metrics: valueColumns(views).map(({ source }) => source.name), each: 'column' },
  };
}

/** The mail shows no change of a row, so it gives no reason why some have none. */
const withoutUnlikeRows = (table: Table): Table => ({
  ...table,
  notes: table.notes.filter(({ message }) => message.id !== 'unlike_rows'),
});

function summarySection(table: Table, options: SummaryOptions): SummarySection {
  const { dataset, locale } = options;
  return {
    id: table.id,
    title: table.title,
    ...(table.description === undefined ? {} : { description: table.description }),
    covers: coverageFacts(dataset, table, locale),
    filters: filterFacts(table, locale),
    sums: sumFacts(dataset, table, locale),
    running: !('path' in table.rows) && table.rows.some(({ partial }) => partial),
    ...(isSingleRow(table) ? transposedTable(table, options) : groupedTable(table, options)),
    notes: tableNotes(isSingleRow(table) ? table : withoutUnlikeRows(table), locale)
      .filter((note) => !note.incomplete)
      .map((note) => note.text),
    ...(lacksCurrentCounts(table) && table.rows.length === 0 ? { empty: messagesFor(locale).table.noCounts } : {}),
  };
}

export interface SummaryOptions {
  readonly dataset: Dataset;
  readonly locale: string;
}

/** The content of an e-mail as texts: headline figures, and a short table per section. */
export interface EmailSummary {
  readonly tiles: readonly Tile[];
  /** Headline figures beyond the maximum. */
  readonly moreTiles: readonly Tile[];
  /** The coverage that most sections share. They do not repeat it. */
  readonly basis?: string;
  readonly sections: readonly SummarySection[];
  /** The legend, each sentence once. */
  readonly reading: readonly string[];
}

/**
 * The coverage that most sections share; undefined if none is shared. Filters and current counts are never shared: above
 * all sections they would seem to apply to every section.
 */
function sharedCoverage(sections: readonly SummarySection[], tables: Dataset['tables']): string | undefined {
  const current = new Set(tables.filter((table) => table.current).map(({ id }) => id));
  const counts = new Map<string, number>();
  for (const cover of sections.flatMap(({ id, covers }) => (current.has(id) ? [] : covers))) {
    counts.set(cover, (counts.get(cover) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, one], [, other]) => other - one);
  return most !== undefined && most[1] > 1 ? most[0] : undefined;
}

function chartStatuses(chart: Chart, table: Table, { judgements }: Dataset, words: Words): string[] {
  const metrics = new Set(chart.axes.flatMap(({ series }) => series.map(({ metric }) => metric)));
  return table.columns.flatMap(({ name, label }) => {
    const judgement = metrics.has(name) ? totalJudgement(judgements, table.id, name) : undefined;
    return judgement === undefined
      ? []
      : [words.status.headline(isolateBidi(label), [statusText(judgement.status, words)], undefined)];
  });
}

/** Adds the charts of the first sections that have one. */
function attachCharts(sections: readonly SummarySection[], { dataset, locale }: SummaryOptions): SummarySection[] {
  const tables = new Map(dataset.tables.map((table) => [table.id, table]));
  let drawn = 0;
  return sections.map((section) => {
    const table = tables.get(section.id);
    const chart = drawn < MAX_CHARTS && table !== undefined ? buildChart(table, locale, MAX_CHART_GROUPS) : undefined;
    if (chart === undefined || table === undefined) return section;
    drawn += 1;
    return { ...section, chart, chartStatuses: chartStatuses(chart, table, dataset, messagesFor(locale)) };
  });
}

export function buildSummary(options: SummaryOptions): EmailSummary {
  const { dataset, locale } = options;
  const tiles = buildTiles(dataset, locale);
  const sections = dataset.tables.map((table) => summarySection(table, options));
  const basis = sharedCoverage(sections, dataset.tables);
  return {
    tiles: tiles.slice(0, MAX_TILES),
    moreTiles: tiles.slice(MAX_TILES),
    ...(basis === undefined ? {} : { basis }),
    sections: attachCharts(sections, options).map((section) => ({
      ...section,
      covers: section.covers.filter((cover) => cover !== basis),
    })),
    reading: [...new Set(dataset.tables.flatMap((table) => legendNotes(table, locale)))],
  };
}
