import type { LongTexts } from './long-texts.ts';
import type { CellStyle } from './style.ts';
import { columnName } from './table.ts';
import { xmlText } from './text.ts';

/*
 * Rows as XML (ECMA-376 part 1 §18.3.1.73 and §18.3.1.4), in place of exceljs' own cells: those are an object, a model
 * and a style each, and take ten times as long as the text that comes of them.
 */

/** Excel's own limit. */
const MAX_CELL = 32_767;
/** Points. */
const MAX_HEIGHT = 409;

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
  readonly longTexts: LongTexts;
}

/** Blanks that a reader may drop unless it is told not to. To tell it of every text would make a long list a fifth longer. */
const FRAGILE = /^\s|\s$|\s\s|[\t\n\r]/;

const DAY_MS = 86_400_000;
/** 1 January 1970, as Excel counts days. */
const EPOCH_DAY = 25_569;

/**
 * Makes the rows of one sheet: each is the XML of the row with this number, '' when it has nothing to say. `shared`
 * texts are written by their place in the table of texts, others in place. `height` in points. Of a text that no cell can
 * hold the beginning is written.
 */
export function createRowXml({ sheet, styleId, textId, longTexts }: RowContext) {
  const columns: string[] = [];
  const column = (index: number): string => {
    columns[index] ??= columnName(index);
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
      : ` t="inlineStr"><is><t${FRAGILE.test(text) ? ' xml:space="preserve"' : ''}>${xmlText(text)}</t></is></c>`;
  const valueXml = (value: Cell['value'], shared: boolean, index: number, row: number): string => {
    if (typeof value === 'number') return `><v>${value}</v></c>`;
    if (typeof value === 'string') {
      if (value.length <= MAX_CELL) return textXml(value, shared);
      return textXml(longTexts.shorten(value, { sheet, cell: `${column(index)}${row}` }), shared);
    }
    if (typeof value === 'boolean') return value ? ' t="b"><v>1</v></c>' : ' t="b"><v>0</v></c>';
    return value === null ? '/>' : `><v>${EPOCH_DAY + value.getTime() / DAY_MS}</v></c>`;
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
      return `<row r="${number}" ht="${Math.min(height, MAX_HEIGHT)}" customHeight="1">${xml}</row>`;
    }
    return xml === '' ? '' : `<row r="${number}">${xml}</row>`;
  };
}
