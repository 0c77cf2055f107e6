import { clipText, invalidTemplate } from '../package/invalid-template.ts';
import { decodeExcelText, tokenizeXml } from '../package/tokenize-xml.ts';
import { attributeOf } from '../package/xml-tokens.ts';
import { parseRange } from './addresses.ts';
import type { TemplateTable } from './workbook.ts';

/** A table from the text of its part. Throws `template.invalid` if its range cannot hold what it says. */
export function readTable(file: string, text: string, part: string, sheet: string): TemplateTable {
  const attributes: Record<string, string> = {};
  const columns: { header: string; formula?: string }[] = [];
  let title: string | undefined;
  let inFormula = false;
  for (const token of tokenizeXml(text, part)) {
    if (token.kind === 'text') {
      const column = columns.at(-1);
      if (inFormula && column !== undefined) column.formula = (column.formula ?? '') + token.text;
      continue;
    }
    if (token.kind === 'close' && token.local === 'calculatedColumnFormula') inFormula = false;
    if (token.kind !== 'open') continue;
    if (token.local === 'table') {
      // The second one, of Excel 2010 (`x14:table`), has the alternative text; its title is `altText`.
      const alternative = attributeOf(token, 'altText');
      if (alternative !== undefined) title = decodeExcelText(alternative);
      if (attributeOf(token, 'ref') !== undefined) Object.assign(attributes, token.attributes);
    }
    if (token.local === 'tableColumn') columns.push({ header: decodeExcelText(attributeOf(token, 'name') ?? '') });
    if (token.local === 'calculatedColumnFormula') inFormula = true;
  }
  const name = decodeExcelText(attributes.displayName ?? attributes.name ?? '');
  const range = parseRange(attributes.ref ?? '');
  const headerRows = Number(attributes.headerRowCount ?? 1);
  const totalsRows = Number(attributes.totalsRowCount ?? 0);
  const widthOf = range === undefined ? 0 : range.to.column - range.from.column + 1;
  const heightOf = range === undefined ? 0 : range.to.row - range.from.row + 1;
  const rowCounts = [headerRows, totalsRows].every((rows) => rows === 0 || rows === 1);
  if (range === undefined || !rowCounts || widthOf !== columns.length || heightOf <= headerRows + totalsRows) {
    throw invalidTemplate(file, `The table ${clipText(name)} on the sheet ${clipText(sheet)} is damaged.`, {
      expected: `a range of ${columns.length} columns with at least one row of data`,
      got: clipText(attributes.ref ?? 'none'),
      next: 'Repair the table in Excel, or create it again.',
    });
  }
  return {
    part,
    sheet,
    name,
    ...(title === undefined ? {} : { title }),
    range,
    headerRows,
    totalsRows,
    columns,
  };
}
