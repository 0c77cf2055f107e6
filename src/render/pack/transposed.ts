import { isolateBidi } from '../../base/text/bidi.ts';
import { firstRows } from '../../fetch/rows.ts';
import { messagesFor } from '../../i18n/messages.ts';
import { totalHeading } from '../table-notes.ts';
import type { PackCell, SectionOf } from './pack.ts';

/** A table with its figures as rows: for few rows of many figures. */
export interface TransposedTable {
  /** One for each row of the table, and one for its totals. */
  readonly headings: readonly { readonly text: string; readonly partial: boolean }[];
  readonly groups: readonly {
    readonly title: string | null;
    readonly rows: readonly { readonly heading: string; readonly cells: readonly (PackCell | undefined)[] }[];
  }[];
}

/** Turns a section whose `transposed` or `transposedOnPages` is set. A cell is undefined where totals have none. */
export function transposeTable(
  { table, blocks, cells, transposed }: SectionOf<'table'>,
  locale: string,
): TransposedTable {
  const words = messagesFor(locale);
  const rows = firstRows(table.rows, table.rows.length);
  // The ISO week is in the text of its bucket.
  const keys = (blocks[0]?.keys ?? []).filter(({ role }) => role !== 'week');
  const named = (texts: readonly string[]) =>
    texts.length === 1 ? (texts[0] ?? '') : texts.map(isolateBidi).join(' · ');
  const totals = table.totals === undefined ? [] : [{ text: totalHeading(table, words), partial: table.running }];
  return {
    headings: [
      ...rows.map((row) => ({
        text: keys.length === 0 && transposed ? words.pack.value : named(keys.map((key) => cells.ofRow(key, row).text)),
        partial: row.partial,
      })),
      ...totals,
    ],
    groups: blocks.flatMap(({ groups }) =>
      groups.map(({ title, columns, headings }) => ({
        title,
        rows: columns.map((view, index) => ({
          heading: headings[index] ?? view.header,
          cells: [
            ...rows.map((row) => cells.ofRow(view, row)),
            ...(table.totals === undefined ? [] : [cells.ofTotals(view)]),
          ],
        })),
      })),
    ),
  };
}
