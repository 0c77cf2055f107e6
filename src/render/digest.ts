import type { Dataset, Row, Table } from '../fetch/dataset.ts';
import { firstRows, rowsIn } from '../fetch/rows.ts';
import { wordsOf } from '../words/words.ts';
import { type Chart, chartOf } from './chart.ts';
import { type ViewColumn, viewColumns } from './columns.ts';
import { type Change, changeOf } from './compare.ts';
import { type Quantity, valueText } from './format.ts';
import { totalsDiffer } from './turned.ts';
import { readingNotes, tableFacts, tableNotes } from './words.ts';

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

/** A headline figure: the service's total, or the one value of a section without groups. Never a sum made here. */
export interface Tile {
  readonly label: string;
  readonly value: string;
  /** `▲ up 12.4% from 5,685`; absent without a comparison. */
  readonly change?: string;
  /** The section's title. */
  readonly section: string;
  /** Where the sections show it again. */
  readonly of: { readonly section: string; readonly metric: string };
}

export interface Cell {
  readonly text: string;
  readonly number: boolean;
  readonly undefined: boolean;
}

export interface DigestSection {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly facts: readonly string[];
  readonly headers: readonly { readonly text: string; readonly number: boolean }[];
  /** At most `MAX_ROWS`: the last ones of a series, the first ones of a ranking. */
  readonly rows: readonly { readonly cells: readonly Cell[]; readonly partial: boolean }[];
  /** Which rows are of interest where not all are shown. */
  readonly which: 'first' | 'last';
  /** How many rows and columns there are. */
  readonly of: { readonly rows: number; readonly columns: number };
  readonly totals?: readonly Cell[];
  /** The metrics whose headline figures are here: each in a row of its own, or all in one line. */
  readonly headline: { readonly metrics: readonly string[]; readonly each: 'row' | 'column' };
  readonly notes: readonly string[];
  /** What a picture shows; of the first sections that ask for one. */
  readonly chart?: Chart;
}

/** A change in words with its arrow: no reader depends on a colour, and none is told whether it is good. */
export function changeText(
  change: Change,
  before: number | null,
  quantity: Quantity,
  unit: string | null,
  locale: string,
): string {
  const words = wordsOf(locale).mail;
  if (before === null) return words.noPrevious;
  const was = valueText(before, quantity, locale);
  if (change.direction === null) return words.was(was);
  if (change.direction === 'same') return words.unchanged(was);
  if (change.value === null) return words.changed(change.direction, undefined, was);
  const changed: Quantity =
    change.kind === 'difference' ? { kind: change.kind, unit, decimals: 0 } : { kind: change.kind };
  const size = valueText(Math.abs(change.value), changed, locale).replace(/^\+/, '');
  return words.changed(change.direction, size, was);
}

/** Of a metric the values of a row or of the totals, as texts. */
type Figures = Pick<Row, 'values' | 'compare'>;

function change({ source, quantity }: ViewColumn, { values, compare }: Figures, locale: string): string {
  const before = compare?.[source.name] ?? null;
  const between = changeOf(source.unit, values[source.name] ?? null, before);
  return changeText(between, before, quantity, source.unit, locale);
}

const value = ({ source, quantity }: ViewColumn, { values }: Figures, locale: string): string =>
  valueText(values[source.name] ?? null, quantity, locale);

/** Whether one row stands for the whole section: nothing to group by, nothing by day. */
const isSingle = ({ rows, columns }: Table): boolean =>
  rows.length === 1 && columns.length > 0 && columns.every(({ kind }) => kind === 'metric');

/** A tile with what makes its figure another one than that of the same metric elsewhere. */
interface LeadingTile extends Tile {
  readonly scope: string;
}

function tilesOf(table: Table, locale: string): LeadingTile[] {
  const [only] = firstRows(table.rows, 1);
  const figures: Figures | undefined = table.totals ?? (isSingle(table) ? only : undefined);
  if (figures === undefined) return [];
  const { current, range, compared, compareRange, filters } = table;
  const scope = JSON.stringify([current, range, compared, compareRange, filters]);
  return valuesOf(viewColumns(table, locale)).map((view) => ({
    label: view.source.label,
    value: value(view, figures, locale),
    ...(compared ? { change: change(view, figures, locale) } : {}),
    section: table.title,
    of: { section: table.id, metric: view.source.name },
    scope,
  }));
}

const valuesOf = (columns: readonly ViewColumn[]): readonly ViewColumn[] =>
  columns.filter(({ role }) => role === 'value');

const cell = (view: ViewColumn, value: ReturnType<ViewColumn['read']>, locale: string): Cell => ({
  text: valueText(value, view.quantity, locale),
  number: view.role === 'value',
  undefined: value === null,
});

/** The service's last rows of a series, the first ones of a ranking: what a reader looks for first. */
const shownRows = (table: Table): readonly Row[] =>
  table.granularity === null || table.rows.length <= MAX_ROWS
    ? firstRows(table.rows, MAX_ROWS)
    : [...rowsIn(table.rows)].slice(-MAX_ROWS);

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
    shown.push({ heading: wordsOf(locale).table.total, of: totals });
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
          ...(compared ? [text(change(view, of, locale))] : []),
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
              ? { text: view === firstView ? wordsOf(locale).table.total : '', number: false, undefined: false }
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
    which: table.granularity === null ? 'first' : 'last',
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
    facts: tableFacts(dataset, table, locale),
    ...(isSingle(table) ? figuresOf(table, locale) : tableOf(table, locale)),
    notes: tableNotes(table, locale)
      .filter((note) => !note.incomplete)
      .map((note) => note.text),
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
 * The same figure of two sections leads once: the same metric of the same days, filtered alike. Two figures of one name
 * say which section they are of.
 */
function distinct(tiles: readonly LeadingTile[], locale: string): Tile[] {
  const key = ({ scope, of, value: shown, change: how }: LeadingTile) => JSON.stringify([scope, of.metric, shown, how]);
  const once = new Map<string, LeadingTile>();
  for (const each of tiles) if (!once.has(key(each))) once.set(key(each), each);
  const kept = [...once.values()].map(({ scope: _, ...each }): Tile => each);
  const named = (label: string) => kept.filter((each) => each.label === label).length;
  return kept.map((each) =>
    named(each.label) > 1 ? { ...each, label: wordsOf(locale).mail.named(each.label, each.section) } : each,
  );
}

/** The fact that most sections share; none where each has its own. */
function sharedFact(sections: readonly DigestSection[]): string | undefined {
  const counts = new Map<string, number>();
  for (const fact of sections.flatMap(({ facts }) => facts)) counts.set(fact, (counts.get(fact) ?? 0) + 1);
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
  const tiles = distinct(
    dataset.tables.flatMap((table) => tilesOf(table, locale)),
    locale,
  );
  const sections = dataset.tables.map((table) => sectionOf(table, options));
  const basis = sharedFact(sections);
  return {
    tiles: tiles.slice(0, MAX_TILES),
    moreTiles: tiles.slice(MAX_TILES),
    ...(basis === undefined ? {} : { basis }),
    sections: withCharts(sections, options).map((section) => ({
      ...section,
      facts: section.facts.filter((fact) => fact !== basis),
    })),
    reading: [...new Set(dataset.tables.flatMap((table) => readingNotes(table, locale)))],
  };
}
