import type { Row, Status } from '../../../../fetch/dataset.ts';
import { messagesFor, type Words } from '../../../../i18n/messages.ts';
import { type Tone, withArrow } from '../../../figures/change-text.ts';
import { isFigureColumn, type ViewColumn } from '../../../figures/columns.ts';
import { unitLabel } from '../../../figures/format-value.ts';
import type { ColumnBlock, PackCell, PackStatus, SectionCells } from '../../../pack/pack.ts';

/** The status of a figure. The template chooses its shape, and Docket its word. */
export interface StatusData {
  readonly state: Status;
  readonly word: string;
}

export interface CellData {
  readonly text: string;
  /** The text is aligned right. */
  readonly number: boolean;
  /** For a change: whether it is better or worse. */
  readonly tone: Tone;
  /** The figure has few cases and is grey. */
  readonly few: boolean;
  readonly status: StatusData | null;
}

export interface TableRowData {
  readonly cells: readonly CellData[];
  /** Its time has not ended. */
  readonly partial: boolean;
  readonly total: boolean;
}

export interface TableData {
  /** In points. */
  readonly widths: readonly number[];
  /** Headings above groups of columns; empty if there are none. */
  readonly groups: readonly { readonly text: string; readonly span: number }[];
  readonly headers: readonly { readonly text: string; readonly number: boolean }[];
  readonly rows: readonly TableRowData[];
}

/** Width of a letter in table texts, in points. The padding of the cell is added. */
const LETTER_WIDTH = 4.9;
const PADDING = 12;
const MIN_WIDTH = 34;
/** The most points for a figure with its status. */
const MAX_FIGURE_WIDTH = 140;
const MAX_HEADING_WIDTH = 96;
/** The most points for a header with a long word, if the page has space for all columns. */
const MAX_WORD_WIDTH = 150;
const MAX_KEY_WIDTH = 260;

const estimateWidth = (letters: number): number => letters * LETTER_WIDTH + PADDING;

/** The width in letters: arrows and per cent signs are nearly twice as wide as a digit. */
const lettersIn = (text: string): number => text.length + 0.8 * (text.match(/[▲▼%]/g)?.length ?? 0);

const longestWord = (text: string): number => Math.max(0, ...text.split(/[\s\u00ad-]+/).map((word) => word.length));

interface MeasuredColumn {
  readonly number: boolean;
  readonly header: string;
  readonly texts: readonly string[];
}

const sumWidths = (widths: readonly number[]): number => widths.reduce((sum, width) => sum + width, 0);

function wantedWidth({ number, header, texts }: MeasuredColumn, mostOfHeading: number): number {
  const most = number ? MAX_FIGURE_WIDTH : MAX_KEY_WIDTH;
  const heading = estimateWidth(Math.max(longestWord(header), Math.min(header.length, number ? 11 : 24)));
  const cell = estimateWidth(Math.max(0, ...texts.map(lettersIn)));
  return Math.max(MIN_WIDTH, Math.min(mostOfHeading, heading), Math.min(most, cell));
}

/**
 * Column widths that show cells and headers without breaking words, if they fit on the page. If not, headers get
 * narrower first, then keys.
 */
export function columnWidths(columns: readonly MeasuredColumn[], pageWidth: number): readonly number[] {
  const whole = columns.map((column) => wantedWidth(column, MAX_WORD_WIDTH));
  if (sumWidths(whole) <= pageWidth) return whole;
  const wanted = columns.map((column) => wantedWidth(column, MAX_HEADING_WIDTH));
  const total = sumWidths(wanted);
  if (total <= pageWidth) return wanted;
  const figures = columns.reduce((sum, { number }, index) => sum + (number ? (wanted[index] ?? 0) : 0), 0);
  const keys = total - figures;
  const left = pageWidth - figures;
  // Each key keeps room for a few words. Figures shrink only if even that does not fit.
  if (keys > 0 && left >= columns.filter(({ number }) => !number).length * 70) {
    return withLeastWidths(
      wanted.map((width, index) => (columns[index]?.number ? width : (width / keys) * left)),
      pageWidth,
    );
  }
  return withLeastWidths(
    wanted.map((width) => (width / total) * pageWidth),
    pageWidth,
  );
}

/** No column gets less than a quarter of its neighbours' width: the widest one gives way. */
function withLeastWidths(widths: readonly number[], pageWidth: number): readonly number[] {
  const raised = widths.map((width, index) =>
    Math.max(width, (widths[index - 1] ?? 0) / 4, (widths[index + 1] ?? 0) / 4),
  );
  const widest = raised.indexOf(Math.max(...raised));
  const over = Math.max(0, sumWidths(raised) - pageWidth);
  return raised.map((width, index) => (index === widest ? width - over : width));
}

const isNumeric = (column: ViewColumn): boolean =>
  isFigureColumn(column) || column.quantity.kind === 'amount' || column.quantity.kind === 'identifier';

export interface TableOptions {
  readonly locale: string;
  /** In points. */
  readonly pageWidth: number;
  readonly cells: SectionCells;
}

const EMPTY: CellData = { text: '', number: false, tone: '', few: false, status: null };

/** A cell, without its unit if the heading has it. */
function cellData(
  view: ViewColumn,
  heading: string,
  cell: PackCell | undefined,
  number: boolean,
  words: Words,
): CellData {
  if (cell === undefined) return EMPTY;
  const unit = unitLabel(view.quantity, words);
  const { tone, status, direction = null, few = false } = cell;
  const text = withArrow(cell.value === null ? null : direction, cell.text);
  return {
    text:
      unit !== undefined && heading.includes(`(${unit})`) && text.endsWith(` ${unit}`)
        ? text.slice(0, -unit.length - 1)
        : text,
    number,
    tone,
    few,
    status: status === undefined ? null : statusData(status),
  };
}

export const statusData = ({ status, word }: PackStatus): StatusData => ({ state: status, word });

function withWidths(table: Omit<TableData, 'widths'>, pageWidth: number): TableData {
  const texts = (index: number): readonly string[] =>
    table.rows.map(({ cells }) => {
      const { text = '', status = null } = cells[index] ?? {};
      return status === null ? text : `${text}    ${status.word}`;
    });
  const columns = table.headers.map(({ text, number }, index) => ({ number, header: text, texts: texts(index) }));
  return { widths: columnWidths(columns, pageWidth), ...table };
}

/**
 * One block of columns with these rows.
 * @param total the heading of the totals; absent: no totals
 */
export function blockTable(
  { keys, groups }: ColumnBlock,
  rows: readonly Row[],
  { locale, pageWidth, cells }: TableOptions,
  total?: string,
): TableData {
  const words = messagesFor(locale);
  const titled = groups.some(({ title }) => title !== null);
  const columns = [
    ...keys.map((column) => ({ column, header: column.header, heading: column.header })),
    ...groups.flatMap(({ title, columns: own, headings }) =>
      own.map((column, index) => {
        const header = headings[index] ?? column.header;
        return { column, header, heading: column.role === 'change' ? header : `${title ?? ''} ${header}` };
      }),
    ),
  ].map((each) => ({ ...each, number: isNumeric(each.column) }));
  const body = rows.map(
    (row): TableRowData => ({
      cells: columns.map(({ column, heading, number }) =>
        cellData(column, heading, cells.ofRow(column, row), number, words),
      ),
      partial: row.partial,
      total: false,
    }),
  );
  const totals = (heading: string): TableRowData => ({
    cells: columns.map(({ column, heading: own, number }, index) =>
      column.total === undefined && index === 0
        ? { ...EMPTY, text: heading }
        : cellData(column, own, cells.ofTotals(column), number, words),
    ),
    partial: false,
    total: true,
  });
  return withWidths(
    {
      groups: titled
        ? [
            ...keys.map(() => ({ text: '', span: 1 })),
            ...groups.map(({ title, columns: own }) => ({ text: title ?? '', span: own.length })),
          ]
        : [],
      headers: columns.map(({ header, number }) => ({ text: header, number })),
      rows: total === undefined ? body : [...body, totals(total)],
    },
    pageWidth,
  );
}

/** A few rows shown as columns, with their figures as rows. */
export function transposedTable(
  blocks: readonly ColumnBlock[],
  rows: readonly Row[],
  { locale, pageWidth, cells }: TableOptions,
  total?: string,
): TableData {
  const words = messagesFor(locale);
  const keys = blocks[0]?.keys ?? [];
  const figures = blocks.flatMap(({ groups }) =>
    groups.flatMap(({ columns, names }) =>
      columns.map((column, index) => ({ column, name: names[index] ?? column.header })),
    ),
  );
  const formatRowName = (row: Row): string => keys.map((key) => cells.ofRow(key, row).text).join(' · ');
  const headers = [
    { text: words.pack.scorecard.metric, number: false },
    ...rows.map((row) => ({ text: keys.length === 0 ? words.pack.value : formatRowName(row), number: true })),
    ...(total === undefined ? [] : [{ text: total, number: true }]),
  ];
  return withWidths(
    {
      groups: [],
      headers,
      rows: figures.map(({ column, name }) => ({
        cells: [
          { ...EMPTY, text: name },
          ...rows.map((row) => cellData(column, name, cells.ofRow(column, row), true, words)),
          ...(total === undefined ? [] : [cellData(column, name, cells.ofTotals(column), true, words)]),
        ],
        partial: false,
        total: false,
      })),
    },
    pageWidth,
  );
}
