import { type Dataset, lacksCounts, type Row, type Table } from '../fetch/dataset.ts';
import { firstRows, rowsIn } from '../fetch/rows.ts';
import { wordsOf } from '../words/words.ts';
import { type Chart, chartOf } from './chart.ts';
import { type ViewColumn, viewColumns } from './columns.ts';
import { type Figures, figureChange, isSingle, valuesOf } from './figures.ts';
import { valueText } from './format.ts';
import { type Tile, tilesOf } from './tiles.ts';
import { totalsDiffer } from './turned.ts';
import { coverFacts, filterFacts, readingNotes, sumFacts, tableNotes } from './words.ts';

/** How many tiles lead the mail; the rest stands in the sections' tables, as far as they go, and in the files. */
const MAX_TILES = 8;
/** Columns that a phone can still show side by side. */
const MAX_COLUMNS = 5;
/** Rows of a section; a small mail shows fewer. */
export const MAX_ROWS = 10;
/** Pictures of a mail: those of the first sections that ask for a chart. Each costs every recipient some 20 kB. */
export const MAX_CHARTS = 3;
/** Groups along the axis of a picture that a phone can still tell apart. */
const MAX_CHART_GROUPS = 15;

export interface Cell {
  readonly text: string;
  readonly number: boolean;
  readonly undefined: boolean;
}

export interface DigestSection {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  /** What it covers and when it was computed. */
  readonly covers: readonly string[];
  /** What it is narrowed to. */
  readonly filters: readonly string[];
  /** Which of its figures are sums of several calls. */
  readonly sums: readonly string[];
  /** One of its rows, shown or not, is still running. */
  readonly running: boolean;
  readonly headers: readonly { readonly text: string; readonly number: boolean }[];
  /** At most `MAX_ROWS`: the last ones of a series, the first ones of anything else. */
  readonly rows: readonly { readonly cells: readonly Cell[]; readonly partial: boolean }[];
  /** Which rows are of interest where not all are shown. */
  readonly which: 'first' | 'last';
  /** How many rows and columns there are. */
  readonly of: { readonly rows: number; readonly columns: number };
  readonly totals?: readonly Cell[];
  /** The metrics whose headline figures are here: each in a row of its own, or all in one line. */
  readonly headline: { readonly metrics: readonly string[]; readonly each: 'row' | 'column' };
  readonly notes: readonly string[];
  /** Why it has no rows, where the service does not have none. */
  readonly empty?: string;
  /** What a picture shows; of the first sections that ask for one. */
  readonly chart?: Chart;
}

const cell = (view: ViewColumn, value: ReturnType<ViewColumn['read']>, locale: string): Cell => ({
  text: valueText(value, view.quantity, locale),
  number: view.role === 'value',
  undefined: value === null,
});

/** Of which rows a reader looks for first: the newest of a series, the foremost of a ranking or of a list. */
const whichRows = ({ granularity, ranked }: Table): DigestSection['which'] =>
  granularity === null || ranked ? 'first' : 'last';

const shownRows = (table: Table): readonly Row[] =>
  whichRows(table) === 'first' || table.rows.length <= MAX_ROWS
    ? firstRows(table.rows, MAX_ROWS)
    : [...rowsIn(table.rows)].slice(-MAX_ROWS);

/** What the totals are called, and whether they will grow. */
function totalLabel({ running }: Table, locale: string): string {
  const { mail, table } = wordsOf(locale);
  return running ? mail.named(table.total, [mail.template.still_running]) : table.total;
}

/** What a section's table shows. */
type Shown = Pick<DigestSection, 'headers' | 'rows' | 'which' | 'of' | 'totals' | 'headline'>;

/** A section of one row: a row per metric, as in the workbook. */
function figuresOf(table: Table, locale: string): Shown {
  const columns = viewColumns(table, locale);
  const { section: own } = wordsOf(locale).workbook;
  const [row] = firstRows(table.rows, 1);
  const { totals, compared } = table;
  const shown: { readonly heading: string; readonly of: Figures }[] = [];
  if (row !== undefined) shown.push({ heading: own.value, of: row });
  if (totals !== undefined && totalsDiffer(columns, row)) {
    shown.push({ heading: totalLabel(table, locale), of: totals });
  }
  const text = (content: string): Cell => ({ text: content, number: false, undefined: false });
  const metrics = valuesOf(columns);
  const headings = shown.flatMap(({ heading }) => [
    { text: heading, number: true },
    ...(compared ? [{ text: own.change, number: false }] : []),
  ]);
  return {
    headers: [{ text: own.metric, number: false }, ...headings],
    rows: metrics.slice(0, MAX_ROWS).map((view) => ({
      cells: [
        text(view.source.label),
        ...shown.flatMap(({ of }) => [
          cell(view, of.values[view.source.name] ?? null, locale),
          ...(compared ? [text(figureChange(view, of, locale))] : []),
        ]),
      ],
      partial: row?.partial ?? false,
    })),
    which: 'first',
    of: { rows: metrics.length, columns: 1 + headings.length },
    headline: { metrics: metrics.slice(0, MAX_ROWS).map(({ source }) => source.name), each: 'row' },
  };
}

function tableOf(table: Table, locale: string): Shown {
  // The week's own column is in the bucket's text already.
  const wanted = viewColumns(table, locale).filter(
    ({ role, source }) => role !== 'week' && (role === 'value' || role === 'label' || source.kind === 'time'),
  );
  const views = wanted.slice(0, MAX_COLUMNS);
  const [firstView] = views;
  const totals =
    table.totals === undefined
      ? {}
      : {
          totals: views.map((view) =>
            view.total === undefined
              ? { text: view === firstView ? totalLabel(table, locale) : '', number: false, undefined: false }
              : cell(view, view.total, locale),
          ),
        };
  return {
    headers: views.map((view) => ({
      text: view.role === 'bucket' ? view.header : view.source.label,
      number: view.role === 'value',
    })),
    rows: shownRows(table).map((row) => ({
      cells: views.map((view) => cell(view, view.read(row), locale)),
      partial: row.partial,
    })),
    which: whichRows(table),
    of: { rows: table.rows.length, columns: wanted.length },
    ...totals,
    headline: { metrics: valuesOf(views).map(({ source }) => source.name), each: 'column' },
  };
}

function sectionOf(table: Table, { dataset, locale }: DigestOptions): DigestSection {
  return {
    id: table.id,
    title: table.title,
    ...(table.description === undefined ? {} : { description: table.description }),
    covers: coverFacts(dataset, table, locale),
    filters: filterFacts(table, locale),
    sums: sumFacts(dataset, table, locale),
    running: !('path' in table.rows) && table.rows.some(({ partial }) => partial),
    ...(isSingle(table) ? figuresOf(table, locale) : tableOf(table, locale)),
    notes: tableNotes(table, locale)
      .filter((note) => !note.incomplete)
      .map((note) => note.text),
    ...(lacksCounts(table) && table.rows.length === 0 ? { empty: wordsOf(locale).table.noCounts } : {}),
  };
}

export interface DigestOptions {
  readonly dataset: Dataset;
  readonly locale: string;
}

/** What the mail shows of a dataset, as texts: the headline, and a short table of each section. */
export interface Digest {
  readonly tiles: readonly Tile[];
  /** Headline figures for which there is no room. */
  readonly moreTiles: readonly Tile[];
  /** What most sections cover and when they were computed, said once; the sections that differ say their own. */
  readonly basis?: string;
  readonly sections: readonly DigestSection[];
  /** How to read the figures, each sentence once. */
  readonly reading: readonly string[];
}

/**
 * What most sections cover; none where each covers something else. Never what some are narrowed to and never that some
 * are current counts: said above all sections, it would seem to hold for those that say nothing of the kind.
 */
function sharedCover(sections: readonly DigestSection[], tables: Dataset['tables']): string | undefined {
  const current = new Set(tables.filter((table) => table.current).map(({ id }) => id));
  const counts = new Map<string, number>();
  for (const cover of sections.flatMap(({ id, covers }) => (current.has(id) ? [] : covers))) {
    counts.set(cover, (counts.get(cover) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, one], [, other]) => other - one);
  return most !== undefined && most[1] > 1 ? most[0] : undefined;
}

/** The sections with what their pictures show. */
function withCharts(sections: readonly DigestSection[], { dataset, locale }: DigestOptions): DigestSection[] {
  const tables = new Map(dataset.tables.map((table) => [table.id, table]));
  let drawn = 0;
  return sections.map((section) => {
    const table = tables.get(section.id);
    const chart = drawn < MAX_CHARTS && table !== undefined ? chartOf(table, locale, MAX_CHART_GROUPS) : undefined;
    if (chart === undefined) return section;
    drawn += 1;
    return { ...section, chart };
  });
}

export function digestOf(options: DigestOptions): Digest {
  const { dataset, locale } = options;
  const tiles = tilesOf(dataset, locale);
  const sections = dataset.tables.map((table) => sectionOf(table, options));
  const basis = sharedCover(sections, dataset.tables);
  return {
    tiles: tiles.slice(0, MAX_TILES),
    moreTiles: tiles.slice(MAX_TILES),
    ...(basis === undefined ? {} : { basis }),
    sections: withCharts(sections, options).map((section) => ({
      ...section,
      covers: section.covers.filter((cover) => cover !== basis),
    })),
    reading: [...new Set(dataset.tables.flatMap((table) => readingNotes(table, locale)))],
  };
}
