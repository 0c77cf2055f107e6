import type { TemplatePackage } from '../package/template-package.ts';
import { findWorkbookPart } from '../package/workbook-part.ts';
import type { XmlOpen } from '../package/xml-tokens.ts';
import type { TemplateWorkbook } from '../workbook/workbook.ts';
import type { GrowthPlan, ReferenceMap } from './growth.ts';
import { mapFormula } from './map-formula.ts';
import type { BoundCells } from './parts/cached/chart-points.ts';
import { mapChartsAndPivots } from './parts/cached/charts-and-pivots.ts';
import { mapConnections } from './parts/map-cell-lists.ts';
import {
  getPrefix,
  joinRaw,
  readPart,
  rewriteXml,
  tokenizePart,
  type XmlPart,
  type XmlRewriter,
} from './parts/rewrite-xml.ts';
import { mapSheetParts } from './parts/sheet-parts.ts';

const SPREADSHEET = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

export interface GrownTemplate {
  readonly template: TemplatePackage;
  readonly workbook: TemplateWorkbook;
  readonly plan: GrowthPlan;
  readonly map: ReferenceMap;
  readonly cells: BoundCells;
}

/**
 * The changes outside the parts of the sheets: the new text of each part with a moved reference or anchor, or with
 * values of filled cells. Null removes a part that Excel creates again (the calculation order, and the list of cells
 * with real-time data).
 */
export async function mapParts({
  template,
  workbook,
  plan,
  map,
  cells,
}: GrownTemplate): Promise<Map<string, string | null>> {
  const { changes: charts, seriesNames } = await mapChartsAndPivots(template, workbook, plan, map, cells);
  const changes = new Map<string, string | null>(charts);

  const part = await findWorkbookPart(template);
  const changed = mapWorkbookPart(await readPart(template, part), workbook, seriesNames, map);
  if (changed !== undefined) changes.set(part, changed);

  for (const name of template.parts) {
    const type = template.contentType(name)?.toLowerCase();
    if (type === `${SPREADSHEET}.calcchain+xml`) changes.set(name, null);
    if (type === `${SPREADSHEET}.volatiledependencies+xml` && map.changes) changes.set(name, null);
    if (type !== `${SPREADSHEET}.connections+xml` || !map.changes) continue;
    const connections = mapConnections(await readPart(template, name), map);
    if (connections !== undefined) changes.set(name, connections);
  }

  if (!map.changes) return changes;
  for (const sheet of workbook.sheets) {
    const bands = plan.get(sheet.name) ?? [];
    const bound = new Set(bands.flatMap(({ tables }) => tables.map(({ name }) => name)));
    const boundTables = workbook.tables.filter((table) => table.sheet === sheet.name && bound.has(table.name));
    for (const [name, text] of await mapSheetParts({ template, sheet, bands, boundTables, map }))
      changes.set(name, text);
  }
  return changes;
}

/** The elements before `calcPr` in a workbook (ECMA-376 part 1, §18.2.27). */
const BEFORE_CALCULATION = ['sheets', 'functionGroups', 'externalReferences', 'definedNames'];

/**
 * Updates the workbook part: defined names, including print areas and filters, follow the growth, and Excel will
 * calculate all formulas when it opens the file.
 * @param series names (lower case) of the points of a chart; for these, a single cell is a table of one row
 */
export function mapWorkbookPart(
  part: XmlPart,
  { sheets }: Pick<TemplateWorkbook, 'sheets'>,
  series: ReadonlySet<string>,
  map: ReferenceMap,
): string | undefined {
  const names: XmlRewriter = {
    text: (formula, { local, attributes }) => {
      if (local !== 'definedName') return undefined;
      const scope = sheets[Number(attributes.localSheetId ?? -1)]?.name ?? '';
      const single = series.has(attributes.name?.toLowerCase() ?? '') ? 'body' : 'cell';
      return mapFormula(formula, scope, map, undefined, single);
    },
  };
  const last = lastBeforeCalculation(part);
  return rewriteXml(tokenizePart(part), {
    ...names,
    attributes: ({ local }, ancestors) =>
      local === 'calcPr' && ancestors.length === 1 ? { fullCalcOnLoad: '1' } : undefined,
    element: (element, ancestors) =>
      element.local === last && ancestors.length === 1
        ? (tokens) => (rewriteXml(tokens, names, ancestors) ?? joinRaw(tokens)) + calculation(element)
        : undefined,
  });
}

const calculation = (sibling: XmlOpen): string => `<${getPrefix(sibling)}calcPr fullCalcOnLoad="1"/>`;

/** The element that `calcPr` must follow; undefined if the workbook already has a `calcPr`. */
function lastBeforeCalculation(part: XmlPart): string | undefined {
  let depth = 0;
  let last: string | undefined;
  for (const token of tokenizePart(part)) {
    if (token.kind === 'open') {
      if (depth === 1 && token.local === 'calcPr') return undefined;
      if (depth === 1 && BEFORE_CALCULATION.includes(token.local)) last = token.local;
      depth += 1;
    } else if (token.kind === 'close') depth -= 1;
  }
  return last;
}
