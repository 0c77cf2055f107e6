import { DAY_MS } from '../../../../base/time.ts';
import type { CellStyle } from '../style/styles.ts';
import type { LongTextStore } from './long-texts.ts';
import { columnLetters, escapeXml } from './xml-text.ts';

/*
 * Writes rows as XML (ECMA-376 part 1 §18.3.1.73 and §18.3.1.4). This replaces the cells of exceljs, which create an
 * object, a model and a style each and take ten times as long.
 */

/** Excel's limit, in UTF-16 units. */
const MAX_CELL_LENGTH = 32_767;
/** Excel's limit. */
const MAX_ROW_POINTS = 409;

/** A part of a text with one style. Its words are data. */
export interface TextRun {
  readonly text: string;
  readonly emphasis?: 'em' | 'strong';
}

export interface Cell {
  /** Text is never read as a formula. A `Date` is a civil date or an instant, in UTC. */
  readonly value: string | number | boolean | Date | null;
  readonly style: CellStyle;
  /** The same text in parts, some of them emphasized. Only possible in the shared string table. */
  readonly runs?: readonly TextRun[];
  /** The name of a sheet that the cell links to. */
  readonly link?: string;
  /** The number of merged columns, whose cells are left out of the row. Default: 1. */
  readonly span?: number;
}

/** The tables of the workbook that the rows of a sheet refer to. */
export interface RowContext {
  /** The sheet's name. */
  readonly sheet: string;
  /** Returns the index in the workbook's style sheet. */
  readonly styleId: (style: CellStyle) => number;
  /** Returns the index in the shared string table. */
  readonly textId: (text: string, runs?: readonly TextRun[]) => number;
  readonly longTexts: LongTextStore;
}

/**
 * Whitespace that readers drop without `xml:space`. With the attribute on every text, a long list would be a fifth
 * longer.
 */
const SIGNIFICANT_WHITESPACE = /^\s|\s$|\s\s|[\t\n\r]/;

/** 1 January 1970 in Excel's day count. */
const UNIX_EPOCH_DAY = 25_569;

/**
 * Creates the XML of a sheet's rows by row number; '' for an empty row without a height. If `shared`, texts are
 * references into the shared string table, otherwise they are inline. `height` is in points. Texts that are too long
 * for a cell are shortened.
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
  const textXml = (text: string, shared: boolean, runs?: readonly TextRun[]): string =>
    shared
      ? ` t="s"><v>${textId(text, runs)}</v></c>`
      : ` t="inlineStr"><is><t${SIGNIFICANT_WHITESPACE.test(text) ? ' xml:space="preserve"' : ''}>${escapeXml(text)}</t></is></c>`;
  const valueXml = ({ value, runs }: Cell, shared: boolean, index: number, row: number): string => {
    if (typeof value === 'number') return `><v>${value}</v></c>`;
    if (typeof value === 'string') {
      if (value.length <= MAX_CELL_LENGTH) return textXml(value, shared, runs);
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
      xml += `<c r="${column(index)}${number}${style}${valueXml(cell, shared, index, number)}`;
      // Merged cells need the fill and the borders as well.
      const end = index + (cell.span ?? 1);
      for (let merged = index + 1; merged < end; merged += 1) xml += `<c r="${column(merged)}${number}${style}/>`;
    }
    // Excel refuses a file with a height that is not a number.
    if (height !== undefined && height > 0) {
      return `<row r="${number}" ht="${Math.min(height, MAX_ROW_POINTS)}" customHeight="1">${xml}</row>`;
    }
    return xml === '' ? '' : `<row r="${number}">${xml}</row>`;
  };
}
