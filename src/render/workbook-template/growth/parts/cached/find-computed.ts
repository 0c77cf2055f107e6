import type { TemplatePackage } from '../../../package/template-package.ts';
import { tokenizeXmlStream } from '../../../package/tokenize-xml.ts';
import {
  type CellAddress,
  type CellRange,
  intersects,
  parseCell,
  parseRange,
  sameName,
} from '../../../workbook/addresses.ts';
import type { TemplateWorkbook } from '../../../workbook/workbook.ts';

interface Watched {
  readonly range: CellRange;
  computed: boolean;
}

/**
 * Finds the ranges with a formula in one of their cells. Only sheets with such ranges are read, until all of them have one.
 * @returns Whether a requested range has one.
 */
export async function findComputed(
  source: Pick<TemplatePackage, 'openPart'>,
  { sheets }: Pick<TemplateWorkbook, 'sheets'>,
  ranges: Iterable<{ readonly sheet: string; readonly range: CellRange }>,
): Promise<(sheet: string, range: CellRange) => boolean> {
  const bySheet = new Map<string, Map<string, Watched>>();
  for (const { sheet, range } of ranges) {
    const watched = bySheet.get(sheet.toLowerCase()) ?? new Map<string, Watched>();
    bySheet.set(sheet.toLowerCase(), watched);
    watched.set(key(range), { range, computed: false });
  }
  for (const [name, watched] of bySheet) {
    const sheet = sheets.find((one) => sameName(one.name, name));
    if (sheet?.kind === 'worksheet') await watch(source, sheet.part, [...watched.values()]);
  }
  return (sheet, range) => bySheet.get(sheet.toLowerCase())?.get(key(range))?.computed ?? false;
}

const key = ({ from, to }: CellRange): string => `${from.row},${from.column}:${to.row},${to.column}`;

async function watch(
  source: Pick<TemplatePackage, 'openPart'>,
  part: string,
  watched: readonly Watched[],
): Promise<void> {
  const cell = { row: 0, column: 0 };
  const stream = await source.openPart(part);
  try {
    for await (const tokens of tokenizeXmlStream(stream, part)) {
      for (const token of tokens) {
        if (token.kind !== 'open') continue;
        if (token.local === 'row') {
          cell.row = token.attributes.r === undefined ? cell.row + 1 : Number(token.attributes.r);
          cell.column = 0;
        } else if (token.local === 'c') {
          cell.column = parseCell(token.attributes.r ?? '')?.column ?? cell.column + 1;
        } else if (token.local === 'f') {
          // Array formulas and data tables are in their first cell.
          const range = parseRange(token.attributes.ref ?? '') ?? { from: cell, to: cell };
          for (const one of watched) if (intersects(one.range, range) || includes(one.range, cell)) one.computed = true;
        }
      }
      if (watched.every(({ computed }) => computed)) break;
    }
  } finally {
    stream.destroy();
  }
}

const includes = (range: CellRange, cell: CellAddress): boolean => intersects(range, { from: cell, to: cell });
