import { isolate } from '../base/bidi.ts';
import { type Dataset, lacksCounts, type Table } from '../fetch/dataset.ts';
import { firstRows } from '../fetch/rows.ts';
import type { Filter } from '../words/filter.ts';
import { wordsOf } from '../words/words.ts';
import { viewColumns } from './columns.ts';
import { type Figures, figureChange, isSingle, valuesOf } from './figures.ts';
import { rangeText, valueText } from './format.ts';
import { filterTexts } from './words.ts';

/** Values of a filter that a tile names; of more it says how many there are, and the section names them. */
const MAX_FILTER_VALUES = 3;

/** A headline figure: the service's total, or the one value of a section without groups. Never a sum of rows. */
export interface Tile {
  /** Name and scope: all that must stand beside the figure wherever it is shown alone. */
  readonly label: string;
  /** The metric's label, with its section's title where two tiles would else read alike. */
  readonly name: string;
  /** What the figure is of, unless it is of everything in the whole period: `Risk is Severe; so far`. May be empty. */
  readonly scope: string;
  readonly value: string;
  /** `▲ up 12.4% from 5,685`; absent without a comparison. */
  readonly change?: string;
  /** The section's title. */
  readonly section: string;
  /** Where the sections show it again. */
  readonly of: { readonly section: string; readonly metric: string };
}

/** A tile with what makes its figure another one than that of the same metric elsewhere. */
interface Candidate extends Tile {
  readonly key: string;
  readonly filtered: boolean;
}

function filterText(filter: Filter, locale: string): string {
  const { mail } = wordsOf(locale);
  const values = 'is' in filter ? filter.is : 'isNot' in filter ? filter.isNot : [];
  if ('search' in filter || values.length <= MAX_FILTER_VALUES)
    return filterTexts({ filters: [filter] }, locale).join();
  const of = 'is' in filter ? mail.filterIsAmong : mail.filterIsNotAmong;
  return of(isolate(filter.label), values.length);
}

function scopeOf({ period }: Pick<Dataset, 'period'>, table: Table, locale: string): string {
  const { mail } = wordsOf(locale);
  const { range, asOf } = table;
  const others = range !== null && (range.from !== period.from || range.to !== period.to);
  return [
    ...table.filters.map((filter) => filterText(filter, locale)),
    ...(others ? [rangeText(range, locale)] : []),
    ...(table.current ? [mail.now(asOf, period.timezone)] : []),
    ...(table.running ? [mail.soFar] : []),
  ].join('; ');
}

function candidatesOf(dataset: Dataset, table: Table, locale: string): Candidate[] {
  if (lacksCounts(table)) return [];
  const [only] = firstRows(table.rows, 1);
  const figures: Figures | undefined = table.totals ?? (isSingle(table) ? only : undefined);
  if (figures === undefined) return [];
  const { current, range, compared, compareRange, filters } = table;
  const scope = scopeOf(dataset, table, locale);
  return valuesOf(viewColumns(table, locale)).map((view) => {
    const { name: metric, label: name } = view.source;
    const value = valueText(figures.values[metric] ?? null, view.quantity, locale);
    const change = compared ? { change: figureChange(view, figures, locale) } : {};
    return {
      label: name,
      name,
      scope,
      value,
      ...change,
      section: table.title,
      of: { section: table.id, metric },
      key: JSON.stringify([current, range, compared, compareRange, filters, metric, value, change]),
      filtered: filters.length > 0,
    };
  });
}

/**
 * The headline figures: those of everything first, those of a part behind them. The same figure of two sections (the same
 * metric of the same days, filtered alike) leads once; two figures of one name and scope say which section they are of.
 */
export function tilesOf(dataset: Dataset, locale: string): Tile[] {
  const { mail } = wordsOf(locale);
  const found = dataset.tables.flatMap((table) => candidatesOf(dataset, table, locale));
  const once = found.filter(({ key }, index) => found.findIndex((other) => other.key === key) === index);
  const ordered = [...once.filter(({ filtered }) => !filtered), ...once.filter(({ filtered }) => filtered)];
  const alike = (tile: Candidate) => ordered.filter(({ name, scope }) => name === tile.name && scope === tile.scope);
  const named = (label: string, about: readonly string[]) =>
    about.length === 0 ? label : mail.named(isolate(label), about);
  return ordered.map((tile): Tile => {
    const { key: _, filtered: __, ...shown } = tile;
    const section = alike(tile).length > 1 ? [isolate(tile.section)] : [];
    const scope = tile.scope === '' ? [] : [tile.scope];
    return { ...shown, name: named(tile.name, section), label: named(tile.name, [...section, ...scope]) };
  });
}
