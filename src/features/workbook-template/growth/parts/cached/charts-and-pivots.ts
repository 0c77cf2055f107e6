import type { TemplatePackage } from '../../../package/template-package.ts';
import { tokenizeXmlStream } from '../../../package/tokenize-xml.ts';
import type { XmlToken } from '../../../package/xml-tokens.ts';
import {
  type CellAddress,
  type CellRange,
  intersects,
  parseCell,
  parseRange,
  sameName,
} from '../../../workbook/addresses.ts';
import type { TemplateWorkbook } from '../../../workbook/workbook.ts';
import { type GrowthPlan, insertedRows, type ReferenceMap } from '../../growth.ts';
import { mapFormula } from '../../map-formula.ts';
import { mapChartShapes } from '../map-drawing.ts';
import { joinText, readPart, rewriteXml, tokenizePart, type XmlPart } from '../rewrite-xml.ts';
import type { Area } from './areas.ts';
import { type BoundCells, type ChartSources, cachedPoints, possiblyComputed } from './chart-points.ts';
import { type ChartReference, chartReferences, mapChart } from './map-chart.ts';
import { mapPivotCache, pivotAreas } from './map-pivot.ts';
import { rewriteLevel } from './point-cache.ts';

/**
 * What a newer chart (waterfall, tree map, histogram and others) reads: dimensions of its data, and single-cell texts.
 */
const DIMENSIONS = new Map<string, 'numbers' | 'texts'>([
  ['numDim', 'numbers'],
  ['strDim', 'texts'],
]);

/** The references whose points a chart stores. They are often hidden names (`_xlchart.v1.0`). */
function chartexReferences(part: XmlPart): readonly ChartReference[] {
  const found: ChartReference[] = [];
  rewriteXml(tokenizePart(part), {
    text: (formula, { local }, ancestors) => {
      if (local !== 'f') return undefined;
      const dimension = DIMENSIONS.has(ancestors.at(-1)?.local ?? '');
      found.push({ formula, single: dimension ? 'body' : 'cell' });
      return undefined;
    },
  });
  return found;
}

export const mapChartex = (part: XmlPart, sources: ChartSources): string | undefined =>
  rewriteXml(tokenizePart(part), {
    element: ({ local }, ancestors) => {
      const kind = DIMENSIONS.get(local);
      if (kind === undefined && local !== 'txData') return undefined;
      const single = kind === undefined ? 'cell' : 'body';
      return (tokens) => {
        const points = cachedPoints(extractFormula(tokens), single, sources);
        let levels = 0;
        return rewriteXml(
          tokens,
          {
            text: (text, element) =>
              element.local === 'f' ? mapFormula(text, '', sources.map, undefined, single) : undefined,
            element: (element) => {
              if (element.local === 'v' && points !== 'keep') return () => '';
              if (element.local !== 'lvl' || kind === undefined) return undefined;
              levels += 1;
              return rewriteLevel(kind, points, levels === 1);
            },
          },
          ancestors,
        );
      };
    },
  });

function extractFormula(tokens: readonly XmlToken[]): string {
  const start = tokens.findIndex((token) => token.kind === 'open' && token.local === 'f');
  if (start < 0) return '';
  const end = tokens.findIndex((token, place) => place > start && token.kind === 'close');
  return joinText(tokens.slice(start, end)).trim();
}

/** Parts that store values of cells or draw over a chart, by content type. */
const KINDS = new Map<string, 'chart' | 'chartex' | 'shapes' | 'pivot'>([
  ['application/vnd.openxmlformats-officedocument.drawingml.chart+xml', 'chart'],
  ['application/vnd.ms-office.chartex+xml', 'chartex'],
  ['application/vnd.openxmlformats-officedocument.drawingml.chartshapes+xml', 'shapes'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.pivotcachedefinition+xml', 'pivot'],
]);

export interface ChartsAndPivots {
  readonly changes: ReadonlyMap<string, string>;
  /** Names (lower case) used for the points of a chart's series. */
  readonly seriesNames: ReadonlySet<string>;
}

/** Updates charts, the shapes in them, and the caches of pivot tables. */
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
    for (const { formula, single } of readReferences(kind, xml)) {
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

const readReferences = (kind: 'chart' | 'chartex', part: XmlPart): readonly ChartReference[] =>
  kind === 'chart' ? chartReferences(part) : chartexReferences(part);

const MAPPERS = {
  chart: mapChart,
  chartex: mapChartex,
  shapes: (part: XmlPart, { map }: ChartSources) => mapChartShapes(part, map),
  pivot: mapPivotCache,
};

/**
 * The map for elements that read values. A range beside the tables that ends with their last row does not grow, because
 * it gets no data. A chart over it would show empty points.
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

interface Watched {
  readonly range: CellRange;
  computed: boolean;
}

/**
 * Finds the ranges that contain a formula. Reads only sheets with such ranges, and stops when all have one.
 * @returns a function that says whether a requested range contains a formula
 */
async function findComputed(
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
          // Array formulas and data tables are stored in their first cell.
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
