import { clipText, invalidTemplate, readingFile } from '../package/invalid-template.ts';
import { relationshipKind } from '../package/relationships.ts';
import type { Relationship, TemplatePackage } from '../package/template-package.ts';
import { decodeExcelText, tokenizeXml } from '../package/tokenize-xml.ts';
import { findWorkbookPart } from '../package/workbook-part.ts';
import { attributeOf, findPrefixedAttribute, parseBoolean } from '../package/xml-tokens.ts';
import { parseRange, parseSheetRange, sameName } from './addresses.ts';
import type { DefinedName, TemplateSheet, TemplateTable, TemplateWorkbook } from './workbook.ts';

/**
 * Reads sheets, tables and names of a template. Throws `template.invalid` if it is not a workbook or a part is missing.
 */
export const readWorkbook = (pack: TemplatePackage): Promise<TemplateWorkbook> =>
  readingFile(pack.file, () => readParts(pack));

async function readParts(pack: TemplatePackage): Promise<TemplateWorkbook> {
  const part = await findWorkbookPart(pack);
  const relationships = await pack.relationships(part);
  const { date1904, sheets: named, names } = parseWorkbook(await pack.readText(part), part);
  const sheets = named.map(({ name, relationship }) => readSheet(pack, name, relationship, relationships));
  if (sheets.length === 0) {
    throw invalidTemplate(pack.file, 'The template is not a workbook.', {
      expected: 'a workbook with sheets',
      got: 'none',
    });
  }
  const tables: TemplateTable[] = [];
  for (const sheet of sheets) {
    if (sheet.kind !== 'worksheet') continue;
    for (const { target } of (await pack.relationships(sheet.part)).filter(
      (relationship) => !relationship.external && relationshipKind(relationship) === 'table',
    )) {
      tables.push(readTable(pack.file, await pack.readText(target), target, sheet.name));
    }
  }
  return {
    sheets,
    tables,
    names: names.map((name) => definedName(name, sheets)),
    date1904,
    macros: relationships.some((relationship) => relationshipKind(relationship) === 'vbaProject'),
  };
}

interface ParsedName {
  readonly name: string;
  /** The index of its sheet. */
  readonly scope: number | null;
  readonly formula: string;
}

interface ParsedWorkbook {
  readonly date1904: boolean;
  readonly sheets: readonly { readonly name: string; readonly relationship: string }[];
  readonly names: readonly ParsedName[];
}

function parseWorkbook(text: string, part: string): ParsedWorkbook {
  const sheets: { name: string; relationship: string }[] = [];
  const names: ParsedName[] = [];
  let date1904 = false;
  let open: { name: string; scope: number | null; formula: string } | undefined;
  // Extensions have elements with the same names, e.g. `definedName` for function arguments.
  let inExtensions = 0;
  for (const token of tokenizeXml(text, part)) {
    if (token.kind === 'open' && token.local === 'extLst') inExtensions += 1;
    if (token.kind === 'close' && token.local === 'extLst') inExtensions -= 1;
    if (inExtensions > 0) continue;
    if (token.kind === 'text' && open !== undefined) open.formula += token.text;
    if (token.kind === 'close' && token.local === 'definedName' && open !== undefined) {
      names.push(open);
      open = undefined;
    }
    if (token.kind !== 'open') continue;
    if (token.local === 'workbookPr') date1904 = parseBoolean(token, 'date1904', false);
    if (token.local === 'sheet') {
      sheets.push({
        name: decodeExcelText(attributeOf(token, 'name') ?? ''),
        relationship: findPrefixedAttribute(token, 'id') ?? '',
      });
    }
    if (token.local === 'definedName') {
      const scope = attributeOf(token, 'localSheetId');
      open = {
        name: decodeExcelText(attributeOf(token, 'name') ?? ''),
        scope: scope === undefined ? null : Number(scope),
        formula: '',
      };
    }
  }
  return { date1904, sheets, names };
}

function readSheet(
  pack: TemplatePackage,
  name: string,
  id: string,
  relationships: readonly Relationship[],
): TemplateSheet {
  const relationship = relationships.find((candidate) => candidate.id === id);
  if (relationship === undefined || relationship.external || !pack.has(relationship.target)) {
    throw invalidTemplate(pack.file, 'The workbook is damaged: a sheet is missing.', {
      expected: `a part for the sheet ${clipText(name)}`,
      got: clipText(relationship?.target ?? 'no relationship'),
    });
  }
  const kind = relationshipKind(relationship);
  return {
    name,
    part: relationship.target,
    kind: kind === 'worksheet' || kind === 'chartsheet' ? kind : 'other',
  };
}

function definedName({ name, scope, formula }: ParsedName, sheets: readonly TemplateSheet[]): DefinedName {
  const target = parseSheetRange(formula);
  // Formulas may write the sheet's name in another case.
  const sheet = target && sheets.find((candidate) => sameName(candidate.name, target.sheet));
  return {
    name,
    scope: scope === null ? null : (sheets[scope]?.name ?? null),
    formula,
    ...(target === undefined || sheet === undefined ? {} : { target: { sheet: sheet.name, range: target.range } }),
  };
}

/** Parses a table part. Throws `template.invalid` if the range does not fit the table's columns and rows. */
function readTable(file: string, text: string, part: string, sheet: string): TemplateTable {
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
      // This second element, of Excel 2010 (`x14:table`), has the alternative text; `altText` is its title.
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
  const rangeWidth = range === undefined ? 0 : range.to.column - range.from.column + 1;
  const rangeHeight = range === undefined ? 0 : range.to.row - range.from.row + 1;
  const rowCounts = [headerRows, totalsRows].every((rows) => rows === 0 || rows === 1);
  if (range === undefined || !rowCounts || rangeWidth !== columns.length || rangeHeight <= headerRows + totalsRows) {
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
