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
/** Of the template's style. */
const MIN_FIRST_COLUMN = 86;
/** Bold and small. */
const HEADER_LETTER = 7.3;
const HEADER_LINE_HEIGHT = 17;
/** Above a table. */
const TABLE_GAP = 14;

/** Lines of a text in a cell that wraps between words. */
function wrapped(text: string, letters: number): number {
  let [count, used] = [1, 0];
  for (const word of text.split(/\s+/)) {
    if (used > 0 && used + 1 + word.length > letters) {
      count += 1;
      used = 0;
    }
    used += word.length + (used > 0 ? 1 : 0);
  }
  return count;
}

const lines = (text: string, letters: number): number => (text === '' ? 0 : Math.ceil(text.length / letters));
const small = (text: string): number => lines(text, SMALL_LINE) * SMALL_LINE_HEIGHT;
const normal = (text: string): number => lines(text, LINE) * LINE_HEIGHT;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

type Section = BodyData['sections'][number];

/** More than that of comments takes no space from the figures: the e-mail is longer instead. */
const MAX_COMMENTS_HEIGHT = 700;

const commentsHeight = ({ comments, sections }: BodyData): number =>
  Math.min(
    MAX_COMMENTS_HEIGHT,
    sum([...comments, ...sections.flatMap((section) => section.comments)].map(commentHeight)),
  );

const commentHeight = ({ parts, more }: BodyData['comments'][number]): number =>
  14 +
  sum(parts.map(({ heading }) => small(heading))) +
  sum(parts.flatMap((part) => part.lines).map(({ spans }) => normal(spans.map(({ text }) => text).join('')) + 4)) +
  small(more);

type Cells = Section['rows'][number]['cells'];

const longestWord = (text: string): number => Math.max(0, ...text.split(/[\s-]+/).map((word) => word.length));

/**
 * The widths of a table's columns. Words of headings and figures do not break, so wide columns take space from the first one,
 * of names, which is wider than the others where there is space.
 */
function columnWidths({ headers, rows, totals }: Section): number[] {
  const share = TABLE_WIDTH / Math.max(1, headers.length + FIRST_COLUMN_SHARE - 1);
  const lines = [...rows.map(({ cells }) => cells), totals];
  const others = headers.slice(1).map(({ text }, index) => {
    const letters = lines.map((cells) => {
      const { short = '', number = false } = cells[index + 1] ?? {};
      return number ? short.length : longestWord(short);
    });
    return Math.max(
      share,
      longestWord(text) * HEADER_LETTER + CELL_PADDING,
      Math.max(...letters) * LETTER + CELL_PADDING,
    );
  });
  return [Math.min(share * FIRST_COLUMN_SHARE, Math.max(MIN_FIRST_COLUMN, TABLE_WIDTH - sum(others))), ...others];
}

/** Height of a row: its highest cell. */
function rowHeight(cells: Cells, widths: readonly number[]): number {
  const heights = cells.map(({ short, number, status, target, range, tone_word, picture }, index) => {
    if (picture !== null) return picture.height;
    const width = (widths[index] ?? TABLE_WIDTH) - CELL_PADDING;
    const textLines = number ? 1 : wrapped(short, Math.floor(width / LETTER));
    const rangeLines = range === '' ? 0 : wrapped(range, Math.floor(width / LETTER));
    return (
      (textLines + rangeLines + [status, target, tone_word].filter((text) => text !== '').length) * CELL_LINE_HEIGHT
    );
  });
  return Math.max(CELL_LINE_HEIGHT, ...heights) + CELL_BORDERS;
}

const headerHeight = ({ headers }: Section, widths: readonly number[]): number => {
  const lines = headers.map(({ text }, index) =>
    wrapped(text, Math.floor(((widths[index] ?? TABLE_WIDTH) - CELL_PADDING) / HEADER_LETTER)),
  );
  return Math.max(1, ...lines) * HEADER_LINE_HEIGHT + CELL_BORDERS + TABLE_GAP;
};

function sectionHeight(section: Section): number {
  const { title, description, takeaway, paragraphs, facts, rows, totals, chart, notes, more } = section;
  const widths = columnWidths(section);
  const tableRows = sum(rows.map(({ cells }) => rowHeight(cells, widths)));
  const header =
    rows.length + totals.length === 0
      ? 0
      : headerHeight(section, widths) + (totals.length > 0 ? rowHeight(totals, widths) : 0);
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
            ({ name, scope, changes, status, target, range, section }) =>
              16 +
              33 +
              17 *
                (sum([name, scope, `${status}${target}`, range, section].map((text) => lines(text, TILE_LINE))) +
                  sum(changes.map(({ text }) => lines(text, TILE_LINE)))),
          ),
        ),
      ),
    ) +
    small(data.more_tiles) +
    (data.correction === '' ? 0 : 50 + sum(data.changes.map(normal)) + small(data.more_changes)) +
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
      commentsHeight(data) +
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
