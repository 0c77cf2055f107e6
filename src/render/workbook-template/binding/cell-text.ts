import type { CellAddress, CellRange } from '../workbook/cells.ts';

const letters = (column: number): string =>
  column <= 0 ? '' : letters(Math.floor((column - 1) / 26)) + String.fromCharCode(65 + ((column - 1) % 26));

export const formatCell = ({ row, column }: CellAddress): string => `${letters(column)}${row}`;
export const formatRange = ({ from, to }: CellRange): string =>
  from.row === to.row && from.column === to.column ? formatCell(from) : `${formatCell(from)}:${formatCell(to)}`;
