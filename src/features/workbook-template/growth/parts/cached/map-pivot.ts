import { parseBoolean, type XmlOpen } from '../../../package/xml-tokens.ts';
import { formatRange, parseRange, sameName } from '../../../workbook/addresses.ts';
import type { TemplateTable } from '../../../workbook/workbook.ts';
import type { ReferenceMap } from '../../growth.ts';
import { mapRef } from '../map-tables.ts';
import { rewriteXml, tokenizePart, type XmlPart } from '../rewrite-xml.ts';
import { type Area, findAreas } from './areas.ts';
import { type ChartSources, fillArea } from './chart-points.ts';

const SOURCES = new Set(['worksheetSource', 'rangeSet']);

export interface PivotSources extends ChartSources {
  readonly tables: readonly Pick<TemplateTable, 'name' | 'sheet' | 'range'>[];
}

/** The areas of the template that a pivot cache is built from; `computed` if functions decide which. */
export function pivotAreas(
  part: XmlPart,
  { tables, names }: Pick<PivotSources, 'tables' | 'names'>,
): readonly Area[] | 'computed' {
  const areas: Area[] = [];
  for (const token of tokenizePart(part)) {
    // Everything after this is cached data.
    if (token.kind === 'open' && token.local === 'cacheFields') break;
    if (token.kind !== 'open' || !SOURCES.has(token.local)) continue;
    const { sheet, ref, name } = token.attributes;
    const range = ref === undefined ? undefined : parseRange(ref);
    if (sheet !== undefined && range !== undefined) areas.push({ sheet, range, lone: false, named: false });
    if (name === undefined) continue;
    const table = tables.find((one) => sameName(one.name, name));
    const named = table
      ? [{ sheet: table.sheet, range: table.range, lone: false, named: false }]
      : findAreas(name, names);
    if (named === 'computed') return 'computed';
    if (named !== 'none') areas.push(...named);
  }
  return areas;
}

/**
 * Updates the definition of a pivot cache: its source follows the growth, and Excel refreshes it on opening if its
 * cells have changed.
 */
export function mapPivotCache(part: XmlPart, sources: PivotSources): string | undefined {
  const refresh = isStale(pivotAreas(part, sources), sources);
  return rewriteXml(tokenizePart(part), {
    attributes: (open, ancestors) => {
      if (ancestors.length > 0) return SOURCES.has(open.local) ? mapSource(open.attributes, sources.map) : undefined;
      return refresh && !parseBoolean(open, 'refreshOnLoad', false) ? { refreshOnLoad: '1' } : undefined;
    },
  });
}

function mapSource({ sheet, ref }: XmlOpen['attributes'], map: ReferenceMap): { ref: string } | undefined {
  const range = ref === undefined ? undefined : parseRange(ref);
  if (sheet === undefined || ref === undefined || range === undefined) return undefined;
  const mapped = map.range(sheet, range, 'body');
  // Keeps the written form, e.g. `A:F`, if nothing changes.
  return formatRange(mapped) === formatRange(range) ? undefined : { ref: formatRange(mapped) };
}

const isStale = (areas: readonly Area[] | 'computed', sources: PivotSources): boolean =>
  areas === 'computed' ||
  areas.some((area) => {
    const { sheet, range } = area;
    const filled = fillArea(area, 'body', sources);
    const grown = filled.to.row - filled.from.row !== range.to.row - range.from.row;
    return grown || sources.cells.touches(sheet, filled) || sources.computed(sheet, range);
  });

/** Updates the place of a pivot table. It moves, but never grows. */
export const mapPivotTable = (part: XmlPart, sheet: string, map: ReferenceMap): string | undefined =>
  rewriteXml(tokenizePart(part), {
    attributes: ({ local, attributes: { ref } }) =>
      local === 'location' && ref !== undefined ? { ref: mapRef(ref, sheet, false, map) } : undefined,
  });
