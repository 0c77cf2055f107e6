import { createHash } from 'node:crypto';
import { columnLetters } from './xml-text.ts';

/** The conditional format of one column. */
export interface ConditionalFormat {
  /** `bar`: a data bar from zero. `change`: one colour for an increase, another for a decrease. */
  readonly kind: 'bar' | 'change';
  /** Counted from 0. */
  readonly column: number;
  /** Counted from 1, both ends included. */
  readonly rows: { readonly from: number; readonly to: number };
}

/**
 * Blue and dark orange: colour-blind readers can tell them apart, they have enough contrast on paper, and they do not
 * suggest whether more is good. The arrow and the sign in the cell give the same information.
 */
const INCREASE_COLOUR = 'FF005A9C';
const DECREASE_COLOUR = 'FFB34700';
/** Light enough for the contrast of the figure on top of it. */
const BAR_COLOUR = 'FFCFE0EC';

const differentialFormats = [INCREASE_COLOUR, DECREASE_COLOUR].map(
  (colour) => `<dxf><font><color rgb="${colour}"/></font></dxf>`,
);

/** The styles of changes. Conditional formats refer to them by index: 0 increase, 1 decrease. */
export const DIFFERENTIAL_STYLES = `<dxfs count="${differentialFormats.length}">${differentialFormats.join('')}</dxfs>`;

const X14 = 'http://schemas.microsoft.com/office/spreadsheetml/2009/9/main';

/**
 * The id that links the two descriptions of one data bar. It is derived, so that the same workbook always has the same
 * ids.
 */
function dataBarId(sheet: string, range: string): string {
  const hex = createHash('sha256').update(`${sheet}!${range}`).digest('hex').toUpperCase();
  return `{${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}}`;
}

const rangeAddress = ({ column, rows }: ConditionalFormat): string =>
  `${columnLetters(column)}${rows.from}:${columnLetters(column)}${rows.to}`;

/** Checks for a number first, because in Excel a text such as a dash is greater than any number. */
const changeRule = (cell: string, sign: '&gt;' | '&lt;', style: number, priority: number): string =>
  `<cfRule type="expression" dxfId="${style}" priority="${priority}"><formula>AND(ISNUMBER(${cell}),${cell}${sign}0)</formula></cfRule>`;

const barRule = (id: string, priority: number): string =>
  `<cfRule type="dataBar" priority="${priority}"><dataBar minLength="0" maxLength="100"><cfvo type="num" val="0"/><cfvo type="max"/><color rgb="${BAR_COLOUR}"/></dataBar>` +
  `<extLst><ext xmlns:x14="${X14}" uri="{B025F937-C7B1-47D3-B67F-A62EFF666E3E}"><x14:id>${id}</x14:id></ext></extLst></cfRule>`;

/** The conditional formats of a sheet (ECMA-376 part 1 §18.3.1.18). */
export function conditionalFormattingXml(sheet: string, formats: readonly ConditionalFormat[]): string {
  let priority = 0;
  const next = (): number => {
    priority += 1;
    return priority;
  };
  return formats
    .map((format) => {
      const range = rangeAddress(format);
      const cell = `${columnLetters(format.column)}${format.rows.from}`;
      const rules =
        format.kind === 'bar'
          ? barRule(dataBarId(sheet, range), next())
          : changeRule(cell, '&gt;', 0, next()) + changeRule(cell, '&lt;', 1, next());
      return `<conditionalFormatting sqref="${range}">${rules}</conditionalFormatting>`;
    })
    .join('');
}

/**
 * The data bars in a solid colour, for Excel 2010 and later, as an entry of the sheet's extensions; '' if there are
 * none.
 */
export function conditionalFormattingExtension(sheet: string, formats: readonly ConditionalFormat[]): string {
  const bars = formats.filter(({ kind }) => kind === 'bar').map((format) => rangeAddress(format));
  if (bars.length === 0) return '';
  const extensions = bars.map(
    (range) =>
      `<x14:conditionalFormatting xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main"><x14:cfRule type="dataBar" id="${dataBarId(sheet, range)}">` +
      '<x14:dataBar minLength="0" maxLength="100" gradient="0"><x14:cfvo type="num"><xm:f>0</xm:f></x14:cfvo><x14:cfvo type="max"/></x14:dataBar></x14:cfRule>' +
      `<xm:sqref>${range}</xm:sqref></x14:conditionalFormatting>`,
  );
  return `<ext xmlns:x14="${X14}" uri="{78C0D931-6437-407d-A8EE-F0AAD7539E65}"><x14:conditionalFormattings>${extensions.join('')}</x14:conditionalFormattings></ext>`;
}
