import { closeDirections, isolate } from '../base/bidi.ts';
import { singleLine } from '../base/single-line.ts';
import type { mailData } from './mail-data.ts';

type MailData = ReturnType<typeof mailData>;

/** What separates the cells of the text part, and what looks like it. */
const SEPARATORS = /[|¦‖｜│┃❘∣ǀ]/g;

/** The data with every text changed. */
function withTexts(data: object, change: (text: string, name: string) => string): object {
  const changed = (value: unknown, name: string): unknown => {
    if (typeof value === 'string') return change(value, name);
    if (Array.isArray(value)) return value.map((item) => changed(item, name));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, changed(inner, key)]));
  };
  return Object.fromEntries(Object.entries(data).map(([key, inner]) => [key, changed(inner, key)]));
}

/** For the HTML part, whose elements keep line breaks from being any: no name turns the words around it around. */
export const htmlData = (data: MailData): object => withTexts(data, closeDirections);

/** A description is the definition's own and may have several lines. */
const inLines = (text: string, name: string): string =>
  name === 'description' ? text.split('\n').map(singleLine).join('\n') : singleLine(text);

/** A cell beside others: a name from right to left would carry their figures along, and a separator would be a cell more. */
const inRow = <Cell extends { readonly text: string }>(cell: Cell): Cell => ({
  ...cell,
  text: isolate(singleLine(cell.text).replace(SEPARATORS, '/')),
});

/** For the text part, where a line is a row and `|` begins a cell: names of data make neither. */
export const textData = (data: MailData): object =>
  withTexts(
    {
      ...data,
      sections: data.sections.map((section) => ({
        ...section,
        headers: section.headers.map(inRow),
        rows: section.rows.map((row) => ({ ...row, cells: row.cells.map(inRow) })),
        totals: section.totals.map(inRow),
      })),
    },
    inLines,
  );
