import { createHash } from 'node:crypto';
import { columnName } from './table.ts';

/** What the cells of one column tell beside their figures. */
export interface Mark {
  /** `bar`: as long as the figure is large, from nothing on. `change`: one colour for more, one for less. */
  readonly kind: 'bar' | 'change';
  /** Counted from 0. */
  readonly column: number;
  /** Counted from 1, both included. */
  readonly rows: { readonly from: number; readonly to: number };
}

/**
 * Blue and a dark orange: told apart by colour-blind readers, dark enough to read on white and on paper, and neither
 * says whether more is good. The arrow and the sign in the cell say the same without any colour.
 */
const MORE = 'FF005A9C';
const LESS = 'FFB34700';
/** Light enough that the figure over it keeps its contrast. */
const BAR = 'FFCFE0EC';

const colours = [MORE, LESS].map((colour) => `<dxf><font><color rgb="${colour}"/></font></dxf>`);

/** The formats that the marks refer to by their place. */
export const DIFFERENTIAL_STYLES = `<dxfs count="${colours.length}">${colours.join('')}</dxfs>`;

const X14 = 'http://schemas.microsoft.com/office/spreadsheetml/2009/9/main';

/** Two descriptions of one bar find each other by an id; the same workbook has the same ids. */
function idOf(sheet: string, range: string): string {
  const hex = createHash('sha256').update(`${sheet}!${range}`).digest('hex').toUpperCase();
  return `{${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}}`;
}

const rangeOf = ({ column, rows }: Mark): string => `${columnName(column)}${rows.from}:${columnName(column)}${rows.to}`;

/** A text is more than any number to Excel, and a dash is a text. */
const changeRule = (cell: string, sign: '&gt;' | '&lt;', style: number, priority: number): string =>
  `<cfRule type="expression" dxfId="${style}" priority="${priority}"><formula>AND(ISNUMBER(${cell}),${cell}${sign}0)</formula></cfRule>`;

const barRule = (id: string, priority: number): string =>
  `<cfRule type="dataBar" priority="${priority}"><dataBar minLength="0" maxLength="100"><cfvo type="num" val="0"/><cfvo type="max"/><color rgb="${BAR}"/></dataBar>` +
  `<extLst><ext xmlns:x14="${X14}" uri="{B025F937-C7B1-47D3-B67F-A62EFF666E3E}"><x14:id>${id}</x14:id></ext></extLst></cfRule>`;

/** The marks as a sheet holds them (ECMA-376 part 1 §18.3.1.18). */
export function conditionalFormats(sheet: string, marks: readonly Mark[]): string {
  let priority = 0;
  const next = (): number => {
    priority += 1;
    return priority;
  };
  return marks
    .map((mark) => {
      const range = rangeOf(mark);
      const cell = `${columnName(mark.column)}${mark.rows.from}`;
      const rules =
        mark.kind === 'bar'
          ? barRule(idOf(sheet, range), next())
          : changeRule(cell, '&gt;', 0, next()) + changeRule(cell, '&lt;', 1, next());
      return `<conditionalFormatting sqref="${range}">${rules}</conditionalFormatting>`;
    })
    .join('');
}

/** What Excel 2010 and later read in addition: bars of one plain colour, which do not fade out where they end. */
export function conditionalExtension(sheet: string, marks: readonly Mark[]): string {
  const bars = marks.filter(({ kind }) => kind === 'bar').map((mark) => rangeOf(mark));
  if (bars.length === 0) return '';
  const formats = bars.map(
    (range) =>
      `<x14:conditionalFormatting xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main"><x14:cfRule type="dataBar" id="${idOf(sheet, range)}">` +
      '<x14:dataBar minLength="0" maxLength="100" gradient="0"><x14:cfvo type="num"><xm:f>0</xm:f></x14:cfvo><x14:cfvo type="max"/></x14:dataBar></x14:cfRule>' +
      `<xm:sqref>${range}</xm:sqref></x14:conditionalFormatting>`,
  );
  return `<extLst><ext xmlns:x14="${X14}" uri="{78C0D931-6437-407d-A8EE-F0AAD7539E65}"><x14:conditionalFormattings>${formats.join('')}</x14:conditionalFormattings></ext></extLst>`;
}
