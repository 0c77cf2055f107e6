import type { TemplatePackage } from '../package/template-package.ts';
import { findWorkbookPart } from '../package/workbook-part.ts';
import type { TemplateWorkbook } from '../workbook/workbook.ts';
import type { GrowthPlan, ReferenceMap } from './growth.ts';
import type { BoundCells } from './parts/cached/chart-points.ts';
import { mapChartsAndPivots } from './parts/cached/charts-and-pivots.ts';
import { mapConnections } from './parts/map-cell-lists.ts';
import { mapWorkbookPart } from './parts/map-workbook-part.ts';
import { readPart } from './parts/rewrite-xml.ts';
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
 * What changes outside the parts of the sheets: the new text of each part with a reference or an anchor that growth moves, or
 * with values of cells that are filled; null for what is left out and Excel makes again (the order of calculation, and the
 * cells that wait for data in real time).
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
