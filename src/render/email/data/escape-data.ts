import { balanceBidiControls, isolateBidi, toSingleLine } from '../../../base/text/bidi.ts';
import type { BodyData } from '../template-data.ts';

/** The separator of cells in the text part, and characters that look like it. */
const SEPARATORS = /[|¦‖｜│┃❘∣ǀ]/g;

/** Changes every text in the data. */
function mapTexts(data: object, change: (text: string, name: string) => string): object {
  const changed = (value: unknown, name: string): unknown => {
    if (typeof value === 'string') return change(value, name);
    if (Array.isArray(value)) return value.map((item) => changed(item, name));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, changed(inner, key)]));
  };
  return Object.fromEntries(Object.entries(data).map(([key, inner]) => [key, changed(inner, key)]));
}

/** For the HTML part: direction controls in a name must not affect the text after it. */
export const escapeForHtml = (data: BodyData): object => mapTexts(data, balanceBidiControls);

/** The description comes from the definition and may have several lines. */
const keepDescriptionLines = (text: string, name: string): string =>
  name === 'description' ? text.split('\n').map(toSingleLine).join('\n') : toSingleLine(text);

/** Isolates the direction of a cell from its neighbours, and replaces separators. */
const escapeTableCell = <Cell extends { readonly text: string }>(cell: Cell): Cell => ({
  ...cell,
  text: isolateBidi(toSingleLine(cell.text).replace(SEPARATORS, '/')),
});

/** For the text part: data must not add lines, which are rows, or `|`, which starts a cell. */
export const escapeForText = (data: BodyData): object =>
  mapTexts(
    {
      ...data,
      sections: data.sections.map((section) => ({
        ...section,
        headers: section.headers.map(escapeTableCell),
        rows: section.rows.map((row) => ({ ...row, cells: row.cells.map(escapeTableCell) })),
        totals: section.totals.map(escapeTableCell),
      })),
    },
    keepDescriptionLines,
  );
