import type { TemplatePackage } from '../../package/template-package.ts';
import { tokenizeXmlStream } from '../../package/tokenize-xml.ts';
import type { XmlOpen } from '../../package/xml-tokens.ts';
import { insertedRows, type RowBand } from '../growth.ts';

/** Heights of rows (counted from 1) in EMU, the unit of anchors. */
export interface RowHeights {
  /** In the template. */
  before(row: number): number;
  /** In the filled workbook. Inserted rows are as high as the last row of data. */
  after(row: number): number;
}

const EMU_PER_POINT = 12_700;
/** Excel's own default, in points. */
const DEFAULT_HEIGHT = 15;

/**
 * Reads the heights of a sheet's rows. Rows without a height have the sheet's default.
 * @param until the last row to read
 */
export async function readRowHeights(
  template: Pick<TemplatePackage, 'openPart'>,
  part: string,
  bands: readonly RowBand[],
  until: number,
): Promise<RowHeights> {
  const heights = new Map<number, number>();
  let usual = DEFAULT_HEIGHT * EMU_PER_POINT;
  let row = 0;
  const stream = await template.openPart(part);
  try {
    for await (const tokens of tokenizeXmlStream(stream, part)) {
      for (const token of tokens) {
        if (token.kind !== 'open') continue;
        if (token.local === 'sheetFormatPr') usual = toEmu(token.attributes.defaultRowHeight) ?? usual;
        if (token.local !== 'row') continue;
        row = token.attributes.r === undefined ? row + 1 : Number(token.attributes.r);
        const height = parseHeight(token);
        if (height !== undefined && row <= until) heights.set(row, height);
      }
      if (row > until) break;
    }
  } finally {
    stream.destroy();
  }
  const before = (of: number): number => heights.get(of) ?? usual;
  return { before, after: (of) => before(templateRow(bands, of)) };
}

const parseHeight = ({ attributes: { ht, hidden } }: XmlOpen): number | undefined =>
  hidden === '1' || hidden === 'true' ? 0 : toEmu(ht);

function toEmu(points: string | undefined): number | undefined {
  const number = Number(points ?? Number.NaN);
  return Number.isFinite(number) && number >= 0 ? Math.round(number * EMU_PER_POINT) : undefined;
}

/** The template row that a row of the filled workbook comes from or copies. */
function templateRow(bands: readonly RowBand[], row: number): number {
  let shift = 0;
  for (const band of bands) {
    if (row <= band.last + shift) break;
    const inserted = insertedRows(band);
    if (row <= band.last + shift + inserted) return band.last;
    shift += inserted;
  }
  return row - shift;
}
