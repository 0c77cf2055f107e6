import type { Column, Dataset, Row, Table } from '../fetch/dataset.ts';
import { firstRows, rowsIn } from '../fetch/rows.ts';
import { type ViewColumn, viewColumns } from './columns.ts';
import { type Change, changeOf } from './compare.ts';
import { type Quantity, valueText } from './format.ts';
import { counted, readingNotes, tableFacts, tableNotes } from './words.ts';

/** How many tiles lead the mail; the rest stands in the tables below and in the files. */
const MAX_TILES = 8;
/** Columns that a phone can still show side by side. */
const MAX_COLUMNS = 5;

/** A headline figure: the service's total, or the one value of a section without groups. Never a sum made here. */
export interface Tile {
  readonly label: string;
  readonly value: string;
  /** `▲ up 12.4% from 5,685`; absent without a comparison. */
  readonly change?: string;
  readonly section: string;
}

export interface DigestSection {
  readonly title: string;
  readonly description?: string;
  readonly facts: readonly string[];
  readonly headers: readonly { readonly text: string; readonly number: boolean }[];
  readonly rows: readonly {
    readonly cells: readonly { readonly text: string; readonly number: boolean; readonly undefined: boolean }[];
    readonly partial: boolean;
  }[];
  readonly totals?: readonly { readonly text: string; readonly number: boolean; readonly undefined: boolean }[];
  /** What was left out here, and where it is; absent when everything is shown. */
  readonly more?: string;
  readonly notes: readonly string[];
}

const ARROWS = { up: '▲ up', down: '▼ down', same: '= unchanged' } as const;

/** A change in words with its arrow: no reader depends on a colour, and none is told whether it is good. */
export function changeText(
  change: Change,
  before: number | null,
  quantity: Quantity,
  unit: string | null,
  locale: string,
): string {
  if (before === null) return 'no figure for the previous period';
  const was = valueText(before, quantity, locale);
  if (change.direction === null) return `was ${was}`;
  if (change.direction === 'same') return `${ARROWS.same} at ${was}`;
  if (change.value === null) return `${ARROWS[change.direction]} from ${was}`;
  const changed: Quantity =
    change.kind === 'difference' ? { kind: change.kind, unit, decimals: 0 } : { kind: change.kind };
  const size = valueText(Math.abs(change.value), changed, locale).replace(/^\+/, '');
  return `${ARROWS[change.direction]} ${size} from ${was}`;
}

function tile(table: Table, view: ViewColumn, values: Row['values'], compare: Row['compare'], locale: string): Tile {
  const { source, quantity } = view;
  const now = values[source.name] ?? null;
  const before = compare?.[source.name] ?? null;
  const change = table.compared
    ? { change: changeText(changeOf(source.unit, now, before), before, quantity, source.unit, locale) }
    : {};
  return { label: source.label, value: valueText(now, quantity, locale), section: table.title, ...change };
}

/** Whether one row stands for the whole section: nothing to group by, nothing by day. */
const isSingle = (table: Table): boolean =>
  table.rows.length === 1 && table.columns.every((column: Column) => column.kind === 'metric');

function tilesOf(table: Table, locale: string): Tile[] {
  const [only] = firstRows(table.rows, 1);
  const values = table.totals?.values ?? (isSingle(table) ? only?.values : undefined);
  const compare = table.totals === undefined ? only?.compare : table.totals.compare;
  if (values === undefined) return [];
  return viewColumns(table)
    .filter((view) => view.role === 'value')
    .map((view) => tile(table, view, values, compare, locale));
}

const cell = (view: ViewColumn, value: ReturnType<ViewColumn['read']>, locale: string) => ({
  text: valueText(value, view.quantity, locale),
  number: view.role === 'value',
  undefined: value === null,
});

/** The service's last rows of a series, the first ones of a ranking: what a reader looks for first. */
function shownRows(table: Table, limit: number): { rows: readonly Row[]; which: string } {
  if (table.rows.length <= limit) return { rows: firstRows(table.rows, limit), which: '' };
  return table.granularity === null
    ? { rows: firstRows(table.rows, limit), which: 'first' }
    : { rows: [...rowsIn(table.rows)].slice(-limit), which: 'last' };
}

function sectionOf(table: Table, options: DigestOptions): DigestSection {
  const { locale, maxRows, elsewhere } = options;
  const all = viewColumns(table).filter(
    ({ role, source }) => role === 'value' || role === 'label' || source.kind === 'time',
  );
  // The week's own column is in the bucket's text already.
  const wanted = all.filter((view) => view.role !== 'week');
  const views = wanted.slice(0, MAX_COLUMNS);
  const { rows, which } = shownRows(table, maxRows);
  const left = [
    ...(rows.length < table.rows.length
      ? [
          rows.length === 0
            ? `All ${counted(table.rows.length, 'row', 'rows', locale)} are`
            : `The ${which} ${rows.length} of ${counted(table.rows.length, 'row', 'rows', locale)}; the rest is`,
        ]
      : []),
  ];
  const columns = wanted.length - views.length;
  const more = [
    left.length === 0 ? undefined : `${left[0]} ${elsewhere}.`,
    columns === 0 ? undefined : `${counted(columns, 'more column', 'more columns', locale)} ${elsewhere}.`,
  ].filter((text) => text !== undefined);
  const [firstView] = views;
  const totals =
    table.totals === undefined
      ? {}
      : {
          totals: views.map((view) =>
            view.total === undefined
              ? { text: view === firstView ? 'Total' : '', number: false, undefined: false }
              : cell(view, view.total, locale),
          ),
        };
  return {
    title: table.title,
    ...(table.description === undefined ? {} : { description: table.description }),
    facts: tableFacts(options.dataset, table, locale),
    headers: views.map((view) => ({
      text: view.role === 'bucket' ? view.header : view.source.label,
      number: view.role === 'value',
    })),
    rows: rows.map((row) => ({ cells: views.map((view) => cell(view, view.read(row), locale)), partial: row.partial })),
    ...totals,
    ...(more.length === 0 ? {} : { more: more.join(' ') }),
    notes: tableNotes(table)
      .filter((note) => !note.incomplete)
      .map((note) => note.text),
  };
}

export interface DigestOptions {
  readonly dataset: Dataset;
  readonly locale: string;
  /** Rows shown of each section. */
  readonly maxRows: number;
  /** Where the rest is, e.g. `in the attached workbook`. */
  readonly elsewhere: string;
}

/** What the mail shows of a dataset, as texts: the headline, and a short table of each section. */
export interface Digest {
  readonly tiles: readonly Tile[];
  /** Said when there are more headline figures than tiles; absent otherwise. */
  readonly moreTiles?: string;
  /** What most sections cover and when they were computed, said once; the sections that differ say their own. */
  readonly basis?: string;
  readonly sections: readonly DigestSection[];
  /** How to read the figures, each sentence once. */
  readonly reading: readonly string[];
}

/** The same figure of two sections leads once; two figures of one name say which section they are of. */
function distinct(tiles: readonly Tile[]): Tile[] {
  const once = new Map(tiles.map((each) => [`${each.label}\n${each.value}\n${each.change}`, each] as const).reverse());
  const kept = tiles.filter((each) => [...once.values()].includes(each));
  const named = (label: string) => kept.filter((each) => each.label === label).length;
  return kept.map((each) => (named(each.label) > 1 ? { ...each, label: `${each.label} (${each.section})` } : each));
}

/** The fact that most sections share; none where each has its own. */
function sharedFact(sections: readonly DigestSection[]): string | undefined {
  const counts = new Map<string, number>();
  for (const fact of sections.flatMap(({ facts }) => facts)) counts.set(fact, (counts.get(fact) ?? 0) + 1);
  const [most] = [...counts].sort(([, one], [, other]) => other - one);
  return most !== undefined && most[1] > 1 ? most[0] : undefined;
}

export function digestOf(options: DigestOptions): Digest {
  const { dataset, locale, elsewhere } = options;
  const tiles = distinct(dataset.tables.flatMap((table) => tilesOf(table, locale)));
  const more = tiles.length - MAX_TILES;
  const sections = dataset.tables.filter((table) => !isSingle(table)).map((table) => sectionOf(table, options));
  const basis = sharedFact(sections);
  return {
    tiles: tiles.slice(0, MAX_TILES),
    ...(basis === undefined ? {} : { basis }),
    ...(more > 0
      ? {
          moreTiles: `${counted(more, 'more headline figure', 'more headline figures', locale)} below and ${elsewhere}.`,
        }
      : {}),
    sections: sections.map((section) => ({ ...section, facts: section.facts.filter((fact) => fact !== basis) })),
    reading: [...new Set(dataset.tables.flatMap((table) => readingNotes(table)))],
  };
}
