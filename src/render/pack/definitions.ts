import { isolateBidi } from '../../base/text/bidi.ts';
import type { Column, Table } from '../../fetch/dataset.ts';
import type { Words } from '../../i18n/messages.ts';
import type { FewRules } from '../figures/few.ts';
import { formatTarget } from '../figures/format-value.ts';
import type { PackDefinition } from './pack.ts';
import type { PackContext } from './pack-context.ts';

interface DefinedColumn {
  readonly column: Column;
  /** The tables that show the column. */
  readonly tables: readonly Table[];
}

/** All columns of these kinds without repetitions, in order of first appearance, with the tables that show them. */
function definedColumns(tables: readonly Table[], kinds: readonly Column['kind'][]): DefinedColumn[] {
  const found = new Map<string, { readonly column: Column; readonly tables: Table[] }>();
  for (const table of tables) {
    for (const column of table.columns) {
      if (!kinds.includes(column.kind)) continue;
      const known = found.get(column.name);
      if (known === undefined) found.set(column.name, { column, tables: [table] });
      else known.tables.push(table);
    }
  }
  return [...found.values()];
}

/** The unit in words: `ratio from 0 to 1, shown as %`; empty for columns that are not metrics. */
function unitText({ unit, shownIn }: Column, words: Words): string {
  const { count, ratio, duration, otherUnit } = words.workbook.definitions;
  if (unit === 'count') return count;
  if (unit === 'ratio') return ratio;
  if (unit === 'seconds') return duration(shownIn === undefined ? undefined : words.table.durations[shownIn]);
  return unit === null ? '' : otherUnit(unit);
}

/** When a metric counts a case, since when it has data, and what replaces it. */
function columnNotes({ counts, availableFrom, replacedBy }: Column, words: Words['workbook']['definitions']): string[] {
  return [
    counts === 'now' ? words.countsNow : undefined,
    counts === undefined || counts === 'now' ? undefined : words.countsAt(counts),
    availableFrom === undefined ? undefined : words.availableFrom(availableFrom),
    replacedBy === undefined ? undefined : replacedBy === null ? words.deprecated : words.replacedBy(replacedBy),
  ].filter((line) => line !== undefined);
}

/** What is known about the number of cases behind a ratio or a duration. */
function caseNotes({ name, unit }: Column, { small, bases = [] }: FewRules, { workbook }: Words): string[] {
  if (small === undefined || (unit !== 'ratio' && unit !== 'seconds')) return [];
  const base = bases.find(({ metric }) => metric === name);
  if (base === undefined) return [workbook.definitions.casesUnknown];
  return base.atMost === true ? [workbook.definitions.casesAtMost(base.base)] : [];
}

/** Who is responsible for the targets of a metric, and what they are for. */
function targetAbout({ name }: Column, { dataset, columnsOf, words, locale }: PackContext): string[] {
  const { targets = [], judgements = [] } = dataset;
  const used = new Set(judgements.flatMap(({ metric, target }) => (metric === name ? [target] : [])));
  const view = dataset.tables
    .flatMap((table) => columnsOf(table))
    .find(({ role, source }) => role === 'value' && source.name === name);
  const texts = targets.flatMap(({ target, owner, note }, index) => {
    if (!used.has(index) || target === null || view === undefined || (owner ?? note) === undefined) return [];
    const text = formatTarget(target, view.quantity, locale, []);
    return [words.status.targetAbout(text, owner && isolateBidi(owner), note && isolateBidi(note))];
  });
  return [...new Set(texts)].map((text) => (/[.!?]$/.test(text) ? text : `${text}.`));
}

/** Explains all metrics, then dimensions and fields of lists. */
export function packDefinitions(context: PackContext): PackDefinition[] {
  const { dataset, words } = context;
  const columns = [
    ...definedColumns(dataset.tables, ['metric']),
    ...definedColumns(dataset.tables, ['dimension', 'field']),
  ];
  return columns.map(({ column, tables }) => ({
    column,
    unit: unitText(column, words),
    notes: [
      ...columnNotes(column, words.workbook.definitions),
      ...caseNotes(column, dataset, words),
      ...targetAbout(column, context),
    ],
    sections: tables.map(({ title }) => title),
    printed: tables.some(({ print }) => print !== false),
  }));
}
