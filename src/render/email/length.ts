import type { BodyData } from './template-data.ts';

/** The longest e-mail that readers scroll through, in rows of a table: about 2,500 pixels at 600 pixels of width. */
export const MAX_LENGTH = 39;

/** CSS pixels. */
const ROW_PX = 60;
/** More than that of comments takes no space from the figures: the e-mail is longer instead. */
const MAX_COMMENTS = 12;

const count = (lists: readonly { readonly length: number }[]): number =>
  lists.reduce((total, { length }) => total + length, 0);

/** How long an e-mail is, in rows of a table whose texts wrap. Each part has a fixed length, whatever its texts. */
export function lengthInRows(data: BodyData): number {
  const { sections, tile_rows: tiles, attention, incomplete, other_headlines: headlines, changes, reading } = data;
  const others = data.other_sections;
  const comments = [...data.comments, ...sections.flatMap((section) => section.comments)];
  const lengths = sections.map(
    ({ rows, totals, chart, paragraphs, facts, notes }) =>
      1.5 +
      0.9 * (rows.length + (totals.length > 0 ? 1 : 0)) +
      (chart === null ? 0 : chart.height / ROW_PX) +
      count([paragraphs, facts, notes]) / 2,
  );
  return (
    9 +
    4 * tiles.length +
    count([attention, incomplete, headlines, changes, reading]) / 2 +
    others.length / 4 +
    lengths.reduce((total, each) => total + each, 0) +
    Math.min(MAX_COMMENTS, count(comments.flatMap(({ parts }) => parts.map(({ lines }) => lines))))
  );
}
