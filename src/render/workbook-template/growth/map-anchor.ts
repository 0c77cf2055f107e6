import type { XmlOpen } from '../package/xml-tokens.ts';
import type { ReferenceMap } from './growth.ts';

/** Rows of an anchor of a control or an embedded object (`from` before `to`). */
export interface RowAnchor {
  /** The row of a corner, from 0, in the filled workbook. */
  row(corner: 'from' | 'to', row: number): number;
}

/** @param open `anchor`: with neither `moveWithCells` nor `sizeWithCells` it stays where it is on the page. */
export function createAnchor({ attributes }: XmlOpen, sheet: string, map: ReferenceMap): RowAnchor {
  const sizes = isTrue(attributes.sizeWithCells);
  const moves = sizes || isTrue(attributes.moveWithCells);
  let moved = 0;
  return {
    row: (corner, row) => {
      if (!moves) return row;
      if (corner === 'to' && !sizes) return row + moved;
      const mapped = map.row(sheet, row + 1) - 1;
      if (corner === 'from') moved = mapped - row;
      return mapped;
    },
  };
}

const isTrue = (value: string | undefined): boolean => value === '1' || value === 'true';
