import type { TemplatePackage } from '../../../package/template-package.ts';
import type { CellRange } from '../../../workbook/addresses.ts';
import type { TemplateWorkbook } from '../../../workbook/workbook.ts';
import { type GrowthPlan, insertedRows, type ReferenceMap } from '../../growth.ts';
import { mapChartShapes } from '../map-drawing.ts';
import { readPart, type XmlPart } from '../rewrite-xml.ts';
import type { Area } from './areas.ts';
import { type BoundCells, type ChartSources, possiblyComputed } from './chart-points.ts';
import { findComputed } from './find-computed.ts';
import { type ChartReference, chartReferences, mapChart } from './map-chart.ts';
import { chartexReferences, mapChartex } from './map-chartex.ts';
import { mapPivotCache, pivotAreas } from './map-pivot.ts';

/** Parts that remember values of cells, or draw over what does, by their content type. */
const KINDS = new Map<string, 'chart' | 'chartex' | 'shapes' | 'pivot'>([
  ['application/vnd.openxmlformats-officedocument.drawingml.chart+xml', 'chart'],
  ['application/vnd.ms-office.chartex+xml', 'chartex'],
  ['application/vnd.openxmlformats-officedocument.drawingml.chartshapes+xml', 'shapes'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.pivotcachedefinition+xml', 'pivot'],
]);

export interface ChartsAndPivots {
  readonly changes: ReadonlyMap<string, string>;
  /** Names (lower case) that stand for the points of a chart's series. */
  readonly seriesNames: ReadonlySet<string>;
}

/** Charts, the shapes inside them, and caches of pivot tables. */
export async function mapChartsAndPivots(
  template: TemplatePackage,
  workbook: TemplateWorkbook,
  plan: GrowthPlan,
  nameMap: ReferenceMap,
  cells: BoundCells,
): Promise<ChartsAndPivots> {
  const { names, tables, date1904 } = workbook;
  const map = createDataMap(nameMap, plan);
  const parts = template.parts.flatMap((part) => {
    const kind = KINDS.get(template.contentType(part)?.toLowerCase() ?? '');
    return kind === undefined ? [] : [{ part, kind }];
  });

  const areas: Area[] = [];
  const seriesNames = new Set<string>();
  for (const { part, kind } of parts) {
    if (kind === 'shapes') continue;
    const xml = await readPart(template, part);
    if (kind === 'pivot') {
      const found = pivotAreas(xml, { tables, names });
      if (found !== 'computed') areas.push(...found);
      continue;
    }
    for (const { formula, single } of referencesOf(kind, xml)) {
      areas.push(...possiblyComputed(formula, single, { map, nameMap, cells, names }));
      if (kind === 'chartex' && single === 'body') seriesNames.add(formula.toLowerCase());
    }
  }

  const computed = await findComputed(template, workbook, areas);
  const sources = { map, nameMap, cells, names, tables, date1904, computed };
  const changes = new Map<string, string>();
  for (const { part, kind } of parts) {
    const changed = MAPPERS[kind](await readPart(template, part), sources);
    if (changed !== undefined) changes.set(part, changed);
  }
  return { changes, seriesNames };
}

const referencesOf = (kind: 'chart' | 'chartex', part: XmlPart): readonly ChartReference[] =>
  kind === 'chart' ? chartReferences(part) : chartexReferences(part);

const MAPPERS = {
  chart: mapChart,
  chartex: mapChartex,
  shapes: (part: XmlPart, { map }: ChartSources) => mapChartShapes(part, map),
  pivot: mapPivotCache,
};

/**
 * A map for what reads values: a range beside the tables that ends with their last row does not grow, because no data comes
 * there. A chart over it would show empty points.
 */
export const createDataMap = (map: ReferenceMap, plan: GrowthPlan): ReferenceMap => ({
  ...map,
  range: (sheet, range, single) =>
    isBeside(plan, sheet, range)
      ? {
          from: { row: map.row(sheet, range.from.row), column: range.from.column },
          to: { row: map.row(sheet, range.to.row), column: range.to.column },
        }
      : map.range(sheet, range, single),
});

function isBeside(plan: GrowthPlan, sheet: string, { from, to }: CellRange): boolean {
  const bands = [...plan].find(([name]) => name.toLowerCase() === sheet.toLowerCase())?.[1] ?? [];
  const band = bands.find(({ last }) => last === to.row);
  if (band === undefined || insertedRows(band) === 0) return false;
  return band.tables.every(({ fromColumn, toColumn }) => to.column < fromColumn || toColumn < from.column);
}
