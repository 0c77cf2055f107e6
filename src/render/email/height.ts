import type { BodyData } from './template-data.ts';

/*
 * How high an e-mail of our own template is at 600 pixels of width, in CSS pixels: a guess from above, by the lengths of its
 * texts. Checked in a browser by the tests. Templates of others have another height and the same choice of sections.
 */

/** What a reader scrolls through: the e-mail shows fewer rows, then fewer sections, until it is below this. */
export const MAX_HEIGHT = 2_520;

/** Letters on a line: of paragraphs in small and in normal size, of a column of tiles. */
const SMALL_LINE = 84;
const LINE = 70;
const TILE_LINE = 27;
const SMALL_LINE_HEIGHT = 19;
const LINE_HEIGHT = 23;
/** The width that a table's cells share. */
const TABLE_WIDTH = 552;
const LETTER = 7;
const CELL_PADDING = 10;
const CELL_LINE_HEIGHT = 18;
const CELL_BORDERS = 11;
const FIRST_COLUMN_SHARE = 1.6;

const lines = (text: string, letters: number): number => (text === '' ? 0 : Math.ceil(text.length / letters));
const small = (text: string): number => lines(text, SMALL_LINE) * SMALL_LINE_HEIGHT;
const normal = (text: string): number => lines(text, LINE) * LINE_HEIGHT;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

type Section = BodyData['sections'][number];

/** Height of a row: its highest cell. The first column, of names, is wider than the others. */
function rowHeight(cells: Section['rows'][number]['cells'], columns: number): number {
  const share = TABLE_WIDTH / Math.max(1, columns + FIRST_COLUMN_SHARE - 1);
  const heights = cells.map(({ short, number, status, target, tone_word, picture }, index) => {
    if (picture !== null) return picture.height;
    const width = share * (index === 0 ? FIRST_COLUMN_SHARE : 1) - CELL_PADDING;
    const textLines = number ? 1 : lines(short, Math.max(6, Math.floor(width / LETTER)));
    return (textLines + [status, target, tone_word].filter((text) => text !== '').length) * CELL_LINE_HEIGHT;
  });
  return Math.max(CELL_LINE_HEIGHT, ...heights) + CELL_BORDERS;
}

function sectionHeight({
  title,
  description,
  takeaway,
  paragraphs,
  facts,
  headers,
  rows,
  totals,
  ...rest
}: Section): number {
  const { chart, notes, more } = rest;
  const tableRows = sum(rows.map(({ cells }) => rowHeight(cells, headers.length)));
  const header =
    rows.length + totals.length === 0 ? 0 : 54 + (totals.length > 0 ? rowHeight(totals, headers.length) : 0);
  return (
    26 +
    lines(title, 50) * 26 +
    normal(description) +
    normal(takeaway) +
    sum(paragraphs.map(normal)) +
    sum(facts.map(small)) +
    (chart === null ? 0 : 14 + (chart.height * TABLE_WIDTH) / Math.max(1, chart.width) + small(chart.note)) +
    header +
    tableRows +
    10 +
    small(more) +
    sum(notes.map(small))
  );
}

function topHeight(data: BodyData): number {
  const { logo, title, description, basis, incomplete, attention, other_headlines: headlines, tile_rows: tiles } = data;
  return (
    40 +
    (logo === null ? 0 : logo.height + 14) +
    22 +
    lines(title, 38) * 34 +
    60 +
    (incomplete.length === 0
      ? 0
      : 50 + sum(incomplete.map(({ section, text }) => lines(`${section}: ${text}`, 68) * LINE_HEIGHT))) +
    small(data.more_incomplete) +
    (data.attention_heading === '' ? 0 : 46) +
    sum(attention.map(({ text }) => normal(text))) +
    small(data.more_attention) +
    (headlines.length === 0 ? 0 : 12 + sum(headlines.map((text) => normal(text) + 6))) +
    sum(
      tiles.map((row) =>
        Math.max(
          ...row.map(
            ({ name, scope, changes, status, target, section }) =>
              16 +
              33 +
              17 *
                (sum([name, scope, `${status}${target}`, section].map((text) => lines(text, TILE_LINE))) +
                  sum(changes.map(({ text }) => lines(text, TILE_LINE)))),
          ),
        ),
      ),
    ) +
    small(data.more_tiles) +
    small(description) +
    small(basis) +
    30
  );
}

export function estimateHeight(data: BodyData): number {
  const { sections, files, reading, reason, owner, more_sections: more, other_sections: others } = data;
  return Math.round(
    topHeight(data) +
      sum(sections.map(sectionHeight)) +
      normal(more) +
      small(others.join(' · ')) +
      (files.length === 0 ? 0 : 60 + files.length * LINE_HEIGHT) +
      small(data.more_files) +
      40 +
      sum(reading.map(small)) +
      small(`${reason} ${owner}`) +
      SMALL_LINE_HEIGHT * 5,
  );
}
