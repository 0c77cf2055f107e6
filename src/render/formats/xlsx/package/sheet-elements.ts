import { escapeXml } from './xml-text.ts';

export interface SheetLink {
  /** The address of the cell. */
  readonly cell: string;
  /** The name of the sheet that it links to. */
  readonly to: string;
}

const linkXml = ({ cell, to }: SheetLink): string =>
  `<hyperlink ref="${cell}" location="${escapeXml(`'${to}'!A1`)}" display="${escapeXml(to)}"/>`;

/** Links to other sheets; '' for none. */
export const hyperlinksXml = (links: readonly SheetLink[]): string =>
  links.length === 0 ? '' : `<hyperlinks>${links.map(linkXml).join('')}</hyperlinks>`;

/** Merged ranges, e.g. `A1:C1`; '' for none. */
export const mergeCellsXml = (ranges: readonly string[]): string =>
  ranges.length === 0
    ? ''
    : `<mergeCells count="${ranges.length}">${ranges.map((range) => `<mergeCell ref="${range}"/>`).join('')}</mergeCells>`;

const MAX_COLUMN_INDEX = 16_383;

/** Page breaks after these rows; '' for none. */
export const rowBreaksXml = (rows: readonly number[]): string =>
  rows.length === 0
    ? ''
    : `<rowBreaks count="${rows.length}" manualBreakCount="${rows.length}">${rows.map((row) => `<brk id="${row}" max="${MAX_COLUMN_INDEX}" man="1"/>`).join('')}</rowBreaks>`;
