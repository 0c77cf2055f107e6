import { isolateBidi } from '../../base/text/bidi.ts';
import { type Dataset, lacksCurrentCounts, type Status, type Table } from '../../fetch/dataset.ts';
import { firstRows } from '../../fetch/rows.ts';
import { messagesFor } from '../../i18n/messages.ts';
import type { FilterDescription } from '../../i18n/note.ts';
import { type ChangeText, changeTexts, type Figures } from '../figures/change-text.ts';
import { isSingleRow, type ViewColumn, valueColumns, viewColumns } from '../figures/columns.ts';
import { formatDateRange, formatJudged, formatTarget, formatValue } from '../figures/format-value.ts';
import { betterOf } from '../figures/judge.ts';
import { statusText, totalJudgement } from '../figures/status-text.ts';
import { describeFilters } from '../table-notes.ts';

/** Filter values that a tile names; for more it shows their number only. */
const MAX_FILTER_VALUES = 3;

/** A headline figure: the service's total, or the only value of a section without groups. Never a sum of rows. */
export interface Tile {
  /** Name and scope. */
  readonly label: string;
  /** The metric's label, with the section's title where it would not be unique. */
  readonly name: string;
  /** Filters, range and state, where they differ from the whole period: `Risk is Severe; so far`. May be empty. */
  readonly scope: string;
  readonly value: string;
  /** `▲ up 12.4% from 5,685`; absent without a comparison. */
  readonly change?: string;
  /** The same for each comparison, with whether it is better or worse; empty without a comparison. */
  readonly changes: readonly ChangeText[];
  /** `■ breached`; absent without a target. */
  readonly status?: string;
  /** Which status it is; absent without a target. */
  readonly state?: Status;
  /** `target 90%`; absent without one. */
  readonly target?: string;
  /** The section's title. */
  readonly section: string;
  /** Ids of its section and metric. */
  readonly source: { readonly section: string; readonly metric: string };
}

interface TileCandidate extends Tile {
  /** Equal for the same figure in several sections. */
  readonly key: string;
  readonly filtered: boolean;
}

function tileFilterText(filter: FilterDescription, locale: string): string {
  const { mail } = messagesFor(locale);
  const values = 'is' in filter ? filter.is : 'isNot' in filter ? filter.isNot : [];
  if ('search' in filter || values.length <= MAX_FILTER_VALUES)
    return describeFilters({ filters: [filter] }, locale).join();
  const text = 'is' in filter ? mail.filterIsAmong : mail.filterIsNotAmong;
  return text(isolateBidi(filter.label), values.length);
}

/** What a figure is of, where that is not everything in the whole period; may be empty. */
export function tileScope({ period }: Pick<Dataset, 'period'>, table: Table, locale: string): string {
  const { mail } = messagesFor(locale);
  const { range, asOf } = table;
  const otherRange = range !== null && (range.from !== period.from || range.to !== period.to);
  return [
    ...table.filters.map((filter) => tileFilterText(filter, locale)),
    ...(otherRange ? [formatDateRange(range, locale)] : []),
    ...(table.current ? [mail.now(asOf, period.timezone)] : []),
    ...(table.readings === undefined || asOf === null ? [] : [mail.read(asOf, period.timezone)]),
    ...(table.running ? [mail.soFar] : []),
  ].join('; ');
}

/** Status and target of a headline figure. */
function judgedTexts(
  { targets = [], judgements }: Dataset,
  section: string,
  { source, quantity }: ViewColumn,
  locale: string,
): Partial<Pick<Tile, 'value' | 'status' | 'state' | 'target'>> {
  const judgement = totalJudgement(judgements, section, source.name);
  const target = judgement === undefined ? undefined : targets[judgement.target]?.target;
  if (judgement === undefined || target == null) return {};
  const words = messagesFor(locale);
  const { figure } = judgement;
  return {
    ...(figure === null ? {} : { value: formatJudged(figure, target, quantity, locale) }),
    status: statusText(judgement.status, words),
    state: judgement.status,
    target: words.status.target(formatTarget(target, quantity, locale)),
  };
}

function tileCandidates(dataset: Dataset, table: Table, locale: string): TileCandidate[] {
  if (lacksCurrentCounts(table)) return [];
  const [only] = firstRows(table.rows, 1);
  const figures: Figures | undefined = table.totals ?? (isSingleRow(table) ? only : undefined);
  if (figures === undefined) return [];
  const { current, range, comparisons, filters } = table;
  const scope = tileScope(dataset, table, locale);
  return valueColumns(viewColumns(table, locale)).map((view) => {
    const { name: metric, label: name } = view.source;
    const value = formatValue(figures.values[metric] ?? null, view.quantity, locale);
    const changes = changeTexts(view, figures, comparisons, betterOf(dataset, metric), locale);
    const change = changes.length > 0 ? { change: changes.map(({ text }) => text).join('; ') } : {};
    const judged = judgedTexts(dataset, table.id, view, locale);
    return {
      label: name,
      name,
      scope,
      value,
      ...change,
      changes,
      ...judged,
      section: table.title,
      source: { section: table.id, metric },
      key: JSON.stringify([current, range, filters, metric, value, judged]),
      filtered: filters.length > 0,
    };
  });
}

/**
 * The headline figures: breached, on watch, then the others; unfiltered ones first. Duplicates (the same metric, range and filters in two sections) appear once.
 * Figures with the same name and scope get their section's title.
 */
export function buildTiles(dataset: Dataset, locale: string): Tile[] {
  const { mail } = messagesFor(locale);
  const all = dataset.tables.flatMap((table) => tileCandidates(dataset, table, locale));
  // Of one figure in several sections, the tile with the most comparisons.
  const richest = new Map<string, TileCandidate>();
  for (const tile of all) {
    const known = richest.get(tile.key);
    if (known === undefined || tile.changes.length > known.changes.length) richest.set(tile.key, tile);
  }
  const unique = [...richest.values()];
  const byFilter = [...unique.filter(({ filtered }) => !filtered), ...unique.filter(({ filtered }) => filtered)];
  const urgency = ({ state }: TileCandidate) => (state === 'breached' ? 0 : state === 'watch' ? 1 : 2);
  const ordered = byFilter.sort((one, other) => urgency(one) - urgency(other));
  const sameName = (tile: TileCandidate) =>
    ordered.filter(({ name, scope }) => name === tile.name && scope === tile.scope);
  const named = (label: string, about: readonly string[]) =>
    about.length === 0 ? label : mail.named(isolateBidi(label), about);
  return ordered.map((tile): Tile => {
    const { key: _, filtered: __, ...shown } = tile;
    const section = sameName(tile).length > 1 ? [isolateBidi(tile.section)] : [];
    const scope = tile.scope === '' ? [] : [tile.scope];
    return { ...shown, name: named(tile.name, section), label: named(tile.name, [...section, ...scope]) };
  });
}
