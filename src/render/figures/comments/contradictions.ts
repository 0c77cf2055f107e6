import { parseComment, plainCommentText } from '../../../definitions/commentary/comment-text.ts';
import { DURATION_UNITS } from '../../../definitions/schema/values/units.ts';
import type { Column, Dataset, Row, Table } from '../../../fetch/dataset.ts';
import { iterateRows } from '../../../fetch/rows.ts';
import { computeChange } from '../quantity.ts';
import { totalFigures } from '../total-figures.ts';
import { withoutReferences } from './references.ts';
import { type TypedNumber, typedNumbers } from './typed-numbers.ts';

/** A typed number that matches no figure of the section. It is only a warning: the author may know better. */
export interface Contradiction {
  /** As typed. */
  readonly number: string;
  /** The total of the metric that the sentence names, as the pack prints it; absent if it names none. */
  readonly figure?: { readonly label: string; readonly text: string };
}

/** In larger sections nobody reads all figures, and they are not checked. */
const MAX_ROWS = 5_000;
const MAX_WARNINGS = 20;

/** The numbers that readers may see in tables, without their sign. */
interface ShownNumbers {
  readonly percent: Set<number>;
  readonly seconds: Set<number>;
  readonly plain: Set<number>;
}

/**
 * Finds numbers typed in a comment that contradict the figures of its section. They look like figures, or are in a
 * sentence with the label of a metric, but match no figure, change, target or figure before, however these are rounded.
 * Numbers from references are never included. Empty for sections without metrics and for very long ones. Pure.
 *
 * @param section null: the comment is on the whole report
 * @param dataset with statuses
 */
export function contradictions(
  text: string,
  section: string | null,
  dataset: Dataset,
  locale: string,
): readonly Contradiction[] {
  const tables = dataset.tables.filter(
    ({ id, columns }) => (section === null || id === section) && columns.some(isMetric),
  );
  if (tables.length === 0 || tables.some(({ rows }) => rows.length > MAX_ROWS)) return [];
  const typed = typedNumbers(plainCommentText(parseComment(withoutReferences(text))), locale);
  if (typed.length === 0) return [];
  const shown: ShownNumbers = { percent: new Set(), seconds: new Set(), plain: new Set() };
  for (const table of tables) addNumbers(shown, table, dataset);
  const totals = tables.flatMap((table) => totalFigures(dataset, table, locale));
  const found = new Map<string, Contradiction>();
  for (const number of typed) {
    const named = totals.find(({ view }) => number.sentence.includes(view.source.label.toLowerCase()));
    if ((!number.looksLikeFigure && named === undefined) || isShown(number, shown)) continue;
    const figure = named === undefined ? {} : { figure: { label: named.view.source.label, text: named.text } };
    if (!found.has(number.typed)) found.set(number.typed, { number: number.typed, ...figure });
  }
  return [...found.values()].slice(0, MAX_WARNINGS);
}

const isMetric = ({ kind }: Column): boolean => kind === 'metric';

function isShown({ readings, unit }: TypedNumber, { percent, seconds, plain }: ShownNumbers): boolean {
  const isNear = (numbers: Iterable<number>): boolean => {
    for (const number of numbers) {
      // A number exactly half a digit away may be rounded either way, and is not exact in binary.
      if (readings.some(({ value, tolerance }) => Math.abs(number - value) <= tolerance * (1 + 1e-9))) return true;
    }
    return false;
  };
  if (unit === 'percent') return isNear(percent);
  if (unit === 'seconds') return isNear(seconds);
  if (isNear(plain) || isNear(percent)) return true;
  return Object.values(DURATION_UNITS).some((scale) => isNear([...seconds].map((value) => value / scale)));
}

function addNumbers(shown: ShownNumbers, table: Table, { targets = [] }: Dataset): void {
  const metrics = table.columns.filter(isMetric);
  const add = (column: Column, value: unknown): void => {
    if (typeof value !== 'number') return;
    const size = Math.abs(value);
    if (column.unit === 'seconds') shown.seconds.add(size);
    else shown.plain.add(size);
    if (column.unit === 'ratio') shown.percent.add(size * 100);
  };
  const addFigures = ({ values, compare = {}, toDate }: Pick<Row, 'values' | 'compare' | 'toDate'>): void => {
    for (const column of metrics) {
      const { name, unit } = column;
      const value = values[name];
      add(column, value);
      add(column, toDate?.[name]);
      for (const compared of Object.values(compare)) {
        const before = compared.values[name];
        add(column, before);
        if (typeof value !== 'number' || typeof before !== 'number') continue;
        add(column, value - before);
        const change = computeChange(unit, value, before);
        // Besides points and differences, people also write the growth in percent.
        if (change.kind === 'points') shown.percent.add(Math.abs(change.value ?? 0));
        if (before !== 0) shown.percent.add(Math.abs((value - before) / before) * 100);
      }
    }
  };
  if (table.totals !== undefined) addFigures(table.totals);
  for (const row of iterateRows(table.rows)) {
    addFigures(row);
    for (const { name, unit } of metrics) {
      const [part, whole] = [row.values[name], table.totals?.values[name]];
      // People often write a group's share of the total, although tables do not show it.
      if (unit === 'count' && typeof part === 'number' && typeof whole === 'number' && whole !== 0)
        shown.percent.add((part / whole) * 100);
    }
  }
  for (const column of metrics) {
    for (const value of table.trend?.values[column.name] ?? []) add(column, value);
    for (const { metric, target, watch } of targets) {
      if (metric !== column.name) continue;
      add(column, target);
      add(column, watch);
    }
  }
}
