import { relationshipKind } from '../../package/relationships.ts';
import type { TemplatePackage } from '../../package/template-package.ts';
import type { XmlOpen } from '../../package/xml-tokens.ts';
import type { TemplateProblem } from '../../template-problem.ts';
import { type CellRange, formatRange } from '../../workbook/addresses.ts';
import { bodyRows, type TemplateSheet, type TemplateTable } from '../../workbook/workbook.ts';
import { isSplitBy } from '../plan-growth.ts';
import { readPart, rewriteXml, tokenizePart, type XmlPart } from './rewrite-xml.ts';

/**
 * Charts and pictures beside tables that are sized with their cells. Each inserted row makes them taller.
 * @param tables the bound tables of the sheet
 */
export async function findStretchedDrawings(
  template: TemplatePackage,
  sheet: TemplateSheet,
  tables: readonly TemplateTable[],
): Promise<readonly TemplateProblem[]> {
  const problems: TemplateProblem[] = [];
  for (const relationship of await template.relationships(sheet.part)) {
    if (relationship.external || relationshipKind(relationship) !== 'drawing') continue;
    for (const drawing of readSized(await readPart(template, relationship.target))) {
      const table = tables.find((one) => isSplitBy(drawing.range, bodyRows(one).last));
      if (table !== undefined) problems.push(stretched(sheet.name, drawing, table));
    }
  }
  return problems;
}

interface SizedDrawing {
  readonly kind: 'chart' | 'picture';
  readonly range: CellRange;
}

/** Charts and pictures with both corners tied to cells ("Move and size with cells"). */
function readSized(part: XmlPart): readonly SizedDrawing[] {
  const found: SizedDrawing[] = [];
  let corners = { from: { row: 0, column: 0 }, to: { row: 0, column: 0 } };
  rewriteXml(tokenizePart(part), {
    attributes: (element, ancestors) => {
      if (element.local.endsWith('Anchor')) corners = { from: { row: 0, column: 0 }, to: { row: 0, column: 0 } };
      const parent = ancestors.at(-1);
      const kind = element.local === 'graphicFrame' ? 'chart' : element.local === 'pic' ? 'picture' : undefined;
      if (kind !== undefined && parent !== undefined && isSized(parent)) found.push({ kind, range: corners });
      return undefined;
    },
    text: (text, { local }, ancestors) => {
      const corner = ancestors.at(-1)?.local;
      if (corner !== 'from' && corner !== 'to') return undefined;
      if (local === 'row') corners[corner].row = Number(text) + 1;
      if (local === 'col') corners[corner].column = Number(text) + 1;
      return undefined;
    },
  });
  return found;
}

const isSized = ({ local, attributes }: XmlOpen): boolean =>
  local === 'twoCellAnchor' && (attributes.editAs === undefined || attributes.editAs === 'twoCell');

const stretched = (sheet: string, { kind, range }: SizedDrawing, table: TemplateTable): TemplateProblem => ({
  severity: 'warning',
  code: 'workbook.obstacle',
  at: { sheet, cell: formatRange(range) },
  expected: `a ${kind} that keeps its size where "${table.name}" grows`,
  got: `a ${kind} in ${formatRange(range)} that becomes taller with each new row`,
  next: `Set "Move but don't size with cells" in its properties, or move it above or below the table`,
});
