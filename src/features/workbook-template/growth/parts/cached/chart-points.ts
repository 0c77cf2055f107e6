import type { CellValue } from '../../../binding/bindings.ts';
import type { CellRange } from '../../../workbook/addresses.ts';
import type { DefinedName } from '../../../workbook/workbook.ts';
import type { ReferenceMap } from '../../growth.ts';
import { type Area, findAreas } from './areas.ts';

/** A chart does not store more values than this. Excel reads them from the cells anyway. */
export const MAX_CACHED_POINTS = 10_000;

/** The values of bound cells, by their place in the filled workbook. */
export interface BoundCells {
  /**
   * The values of a range, row by row. Undefined if one of its cells is unbound or computed by a formula, or if there
   * are more than `MAX_CACHED_POINTS`.
   */
  values(sheet: string, range: CellRange): readonly CellValue[] | undefined;
  /** Whether a cell of the range is bound. Then the stored values of charts and pivot tables are of the sample. */
  touches(sheet: string, range: CellRange): boolean;
}

/** The values that a chart stores for a reference: those of the template, none, or these, row by row. */
export type CachedPoints = 'keep' | 'drop' | { readonly values: readonly CellValue[]; readonly columns: number };

export interface ChartSources {
  /** For references (`createDataMap`). */
  readonly map: ReferenceMap;
  /** For defined names. */
  readonly nameMap: ReferenceMap;
  readonly cells: BoundCells;
  readonly names: readonly DefinedName[];
  /** Whether days are counted from 1904 on. */
  readonly date1904: boolean;
  /** Whether a formula computes a cell of this range of the template. */
  readonly computed: (sheet: string, range: CellRange) => boolean;
}

/**
 * The points to store for a reference in the filled workbook.
 * @param single how to treat a single cell: as a cell (in titles), or as a table of one row (in a series)
 */
export function cachedPoints(formula: string, single: 'cell' | 'body', sources: ChartSources): CachedPoints {
  const { cells, names, date1904, computed } = sources;
  const areas = findAreas(formula, names);
  if (areas === 'none') return 'keep';
  if (areas === 'computed') return 'drop';
  const filled = areas.map((area) => ({ sheet: area.sheet, range: fillArea(area, single, sources) }));
  const values = filled.map(({ sheet, range }) => cells.values(sheet, range));
  const known = values.flatMap((one) => one ?? []);
  if (values.every((one) => one !== undefined)) {
    if (known.length > MAX_CACHED_POINTS) return 'drop';
    const points = date1904 ? known.map(since1904) : known;
    return { values: points, columns: areas.length === 1 && areas[0] ? width(areas[0].range) : 1 };
  }
  const same = areas.every(({ range }, place) => size(range) === size(filled[place]?.range ?? range));
  const stale =
    filled.some(({ sheet, range }) => cells.touches(sheet, range)) ||
    areas.some(({ sheet, range }) => computed(sheet, range));
  return same && !stale ? 'keep' : 'drop';
}

/** The areas of a reference whose stored points can stay, unless a formula computes one of their cells. */
export function possiblyComputed(
  formula: string,
  single: 'cell' | 'body',
  sources: Omit<ChartSources, 'date1904' | 'computed'>,
): readonly Area[] {
  const areas = findAreas(formula, sources.names);
  if (typeof areas === 'string') return [];
  return areas.filter((area) => !sources.cells.touches(area.sheet, fillArea(area, single, sources)));
}

/** Days between the first days of Excel's two date systems. */
const DAYS_TO_1904 = 1_462;

const since1904 = (value: CellValue): CellValue =>
  value !== null && typeof value === 'object' ? { serial: value.serial - DAYS_TO_1904 } : value;

export const fillArea = (
  { sheet, range, lone, named }: Area,
  single: 'cell' | 'body',
  { map, nameMap }: Pick<ChartSources, 'map' | 'nameMap'>,
): CellRange => (named ? nameMap : map).range(sheet, range, lone ? single : 'body');

const width = ({ from, to }: CellRange): number => to.column - from.column + 1;

const size = (range: CellRange): number => width(range) * (range.to.row - range.from.row + 1);
