import { DocketError } from '../../../base/error.ts';
import type { Words } from '../../../i18n/messages.ts';
import { columnLetters, escapeXml } from './sheet-parts.ts';
import type { CellStyle } from './style.ts';

/*
 * Rows as XML (ECMA-376 part 1 §18.3.1.73 and §18.3.1.4), in place of exceljs' own cells: those are an object, a model
 * and a style each, and take ten times as long as the text that comes of them.
 */

/** Excel's own limit. */
const MAX_CELL_LENGTH = 32_767;
/** Points. */
const MAX_ROW_POINTS = 409;

export interface Cell {
  /** Text stays text whatever it begins with; a `Date` is a civil date or an instant, in UTC. */
  readonly value: string | number | boolean | Date | null;
  readonly style: CellStyle;
  /** Leads to the top of another sheet of the workbook. */
  readonly link?: string;
  /** How many columns it stretches over, the following cells of the row being missing; 1 when absent. */
  readonly span?: number;
}

/** What a sheet's rows refer to, and where they find it. */
export interface RowContext {
  /** The sheet's name. */
  readonly sheet: string;
  /** The style's place in the workbook's style sheet. */
  readonly styleId: (style: CellStyle) => number;
  /** The text's place in the workbook's table of texts. */
  readonly textId: (text: string) => number;
  readonly longTexts: LongTextStore;
}

/** Blanks that a reader may drop unless it is told not to. To tell it of every text would make a long list a fifth longer. */
const SIGNIFICANT_WHITESPACE = /^\s|\s$|\s\s|[\t\n\r]/;

const DAY_MS = 86_400_000;
/** 1 January 1970, as Excel counts days. */
const UNIX_EPOCH_DAY = 25_569;

/**
 * Makes the rows of one sheet: each is the XML of the row with this number, '' when it has nothing to say. `shared`
 * texts are written by their place in the table of texts, others in place. `height` in points. Of a text that no cell can
 * hold the beginning is written.
 */
export function createRowSerializer({ sheet, styleId, textId, longTexts }: RowContext) {
  const columns: string[] = [];
  const column = (index: number): string => {
    columns[index] ??= columnLetters(index);
    return columns[index];
  };
  const styles = new Map<CellStyle, string>();
  const styleOf = (style: CellStyle): string => {
    let attribute = styles.get(style);
    if (attribute === undefined) {
      attribute = `" s="${styleId(style)}"`;
      styles.set(style, attribute);
    }
    return attribute;
  };
  const textXml = (text: string, shared: boolean): string =>
    shared
      ? ` t="s"><v>${textId(text)}</v></c>`
      : ` t="inlineStr"><is><t${SIGNIFICANT_WHITESPACE.test(text) ? ' xml:space="preserve"' : ''}>${escapeXml(text)}</t></is></c>`;
  const valueXml = (value: Cell['value'], shared: boolean, index: number, row: number): string => {
    if (typeof value === 'number') return `><v>${value}</v></c>`;
    if (typeof value === 'string') {
      if (value.length <= MAX_CELL_LENGTH) return textXml(value, shared);
      return textXml(longTexts.shorten(value, { sheet, cell: `${column(index)}${row}` }), shared);
    }
    if (typeof value === 'boolean') return value ? ' t="b"><v>1</v></c>' : ' t="b"><v>0</v></c>';
    return value === null ? '/>' : `><v>${UNIX_EPOCH_DAY + value.getTime() / DAY_MS}</v></c>`;
  };
  return (number: number, cells: readonly (Cell | undefined)[], shared: boolean, height?: number): string => {
    let xml = '';
    for (let index = 0; index < cells.length; index += 1) {
      const cell = cells[index];
      if (cell === undefined) continue;
      const style = styleOf(cell.style);
      xml += `<c r="${column(index)}${number}${style}${valueXml(cell.value, shared, index, number)}`;
      // The cells below a stretched one carry its fill and its lines.
      const end = index + (cell.span ?? 1);
      for (let below = index + 1; below < end; below += 1) xml += `<c r="${column(below)}${number}${style}/>`;
    }
    if (height !== undefined) {
      return `<row r="${number}" ht="${Math.min(height, MAX_ROW_POINTS)}" customHeight="1">${xml}</row>`;
    }
    return xml === '' ? '' : `<row r="${number}">${xml}</row>`;
  };
}

/** Characters (UTF-16 units) of a piece: a cell of Excel holds 32,767, and the note of where it goes on takes some. */
const LONG_TEXT_CHUNK_LENGTH = 32_000;
/** They stand in memory until the workbook ends. */
const MAX_LONG_TEXT_LENGTH = 64 * 1024 * 1024;

/** A text that no cell can hold, in pieces that cells can hold. */
export interface LongText {
  readonly sheet: string;
  /** Its address there, e.g. `B7`. */
  readonly cell: string;
  readonly pieces: readonly string[];
}

export interface LongTextStore {
  /** In the order in which they came; the first is number 1. */
  readonly kept: readonly LongText[];
  /** Keeps the whole text, and returns what its cell shows: its beginning, and where the whole is. */
  shorten(text: string, at: { readonly sheet: string; readonly cell: string }): string;
}

function splitLongText(text: string): string[] {
  // A line end of two characters must not become two where a piece ends between them.
  const plain = text.replace(/\r\n?/g, '\n');
  const pieces: string[] = [];
  for (let from = 0; from < plain.length; ) {
    let to = Math.min(from + LONG_TEXT_CHUNK_LENGTH, plain.length);
    if (to < plain.length && /[\ud800-\udbff]/.test(plain.charAt(to - 1))) to -= 1;
    pieces.push(plain.slice(from, to));
    from = to;
  }
  return pieces;
}

/**
 * Excel cuts what its cells cannot hold, or refuses the file. Here the cell keeps the beginning and says where the whole
 * stands: on a sheet of its own, in order.
 * @param name that sheet's name
 */
export function createLongTextStore(name: string, { goesOn }: Words['workbook']['longTexts']): LongTextStore {
  const kept: LongText[] = [];
  let characters = 0;
  return {
    kept,
    shorten: (text, { sheet, cell }) => {
      characters += text.length;
      if (characters > MAX_LONG_TEXT_LENGTH) {
        throw new DocketError('render.failed', `The texts in "${sheet}" are too long for a workbook.`, {
          expected: `at most ${MAX_LONG_TEXT_LENGTH.toLocaleString('en')} characters in all texts that no cell can hold`,
          got: `more, the last of them "${text.slice(0, 40)}…"`,
          next: 'Write this section as CSV instead.',
        });
      }
      const pieces = splitLongText(text);
      kept.push({ sheet, cell, pieces });
      return goesOn(pieces[0] ?? '', name, kept.length);
    },
  };
}
