import type { FigureChange, Status } from '../../fetch/dataset.ts';
import { judgeFigure } from '../../render/figures/judge.ts';
import type { Boundary, EditionFigures, EditionSection } from './edition-figures.ts';

/** A figure that differs. In a report with `split`, it names its pack's value. */
export interface EditionChange extends FigureChange {
  readonly value?: string;
}

export interface EditionComparison {
  /** Every figure that differs: first the material ones, then the others, both in the order of the sections. */
  readonly changes: readonly EditionChange[];
  /** How many changes are material. They come first. */
  readonly material: number;
}

/** The service's sums may differ in the last digits of a float. */
const NOISE = 1e-9;

/** Whether two raw values count as different figures. */
export function differs(before: number | null, after: number | null): boolean {
  if (before === null || after === null) return before !== after;
  return Math.abs(after - before) > NOISE * Math.max(Math.abs(before), Math.abs(after));
}

/**
 * Whether a difference is material. Ratios are compared by percentage points, everything else relative to the earlier
 * figure. A difference from 0, or from or to an undefined figure, is always material.
 *
 * @param materiality 0 to 1
 */
export function isMaterial(
  before: number | null,
  after: number | null,
  unit: string | null,
  materiality: number,
): boolean {
  if (!differs(before, after)) return false;
  if (before === null || after === null || before === 0) return true;
  const difference = Math.abs(after - before);
  const share = unit === 'ratio' ? difference : difference / Math.abs(before);
  // In floats, 0.51 - 0.5 is a little less than 0.01.
  return share >= materiality - NOISE;
}

type EditionRow = Pick<EditionSection['rows'][number], 'bucket' | 'group'>;

const keyOf = (...parts: readonly unknown[]): string => JSON.stringify(parts);

const boundaryKey = ({ section, metric, bucket, group }: Boundary): string =>
  keyOf(section, metric, bucket, group && [group.dimension, group.value]);

/** A row's dimensions in the form that figures use. */
function buildGroups(dimensions: readonly string[], { group }: EditionRow): Pick<FigureChange, 'group' | 'within'> {
  const [first, second] = dimensions.map((dimension, index) => ({ dimension, value: group[index] ?? '' }));
  return { group: first ?? null, ...(second === undefined ? {} : { within: second }) };
}

/** A figure of a section. */
interface SectionFigure extends Pick<FigureChange, 'metric' | 'bucket' | 'group' | 'within'> {
  readonly value: number | null;
  /** Key of the figure's row. */
  readonly row: string;
}
interface SectionFigures {
  readonly values: ReadonlyMap<string, SectionFigure>;
  /** Keys of the section's rows, and of its totals. */
  readonly rows: ReadonlySet<string>;
}

const TOTALS = 'totals';

function collectFigures({ rows, totals, metrics, dimensions }: EditionSection): SectionFigures {
  const figures = new Map<string, SectionFigure>();
  const keys = new Set<string>();
  const add = (
    values: Readonly<Record<string, number | null>>,
    of: Omit<SectionFigure, 'metric' | 'value' | 'row'>,
    row: string,
  ) => {
    keys.add(row);
    for (const { name: metric } of metrics) {
      const value = values[metric];
      if (value !== undefined) figures.set(keyOf(row, metric), { metric, value, row, ...of });
    }
  };
  if (totals !== null) add(totals, { bucket: null, group: null }, TOTALS);
  for (const row of rows) {
    const { bucket, group, values } = row;
    add(values, { bucket, ...buildGroups(dimensions, row) }, keyOf(bucket, group));
  }
  return { values: figures, rows: keys };
}

/** The value in a row that the service left out: 0 for a count, none for a ratio or a duration. */
const ABSENT: Readonly<Record<string, number | null>> = { count: 0 };

/**
 * Finds the figures that the service now reports differently for an edition. Skips metrics that only one side has: the
 * catalog has changed, not the history.
 *
 * @param after the result of `editionSections` for the same definition and period
 */
export function compareEditions(
  before: Pick<EditionFigures, 'sections' | 'boundaries' | 'corrections'>,
  after: readonly EditionSection[],
): EditionComparison {
  const boundaries = new Map(before.boundaries.map((boundary) => [boundaryKey(boundary), boundary]));
  const found = before.sections.flatMap((section) => {
    const now = after.find(({ id }) => id === section.id);
    return now === undefined ? [] : compareSections(section, now, boundaries, before.corrections.materiality);
  });
  const material = found.filter((one) => one.material);
  const others = found.filter((one) => !one.material);
  return { changes: [...material, ...others].map(({ change }) => change), material: material.length };
}

/**
 * Finds the figures that the service now reports differently for each pack of an edition. Skips packs that have no
 * figures now.
 *
 * @param after the packs' current sections, by value
 */
export function comparePacks(
  { packs = [], corrections }: Pick<EditionFigures, 'packs' | 'corrections'>,
  after: ReadonlyMap<string, readonly EditionSection[]>,
): EditionComparison {
  const found = packs.map((pack) => {
    const { changes, material } = compareEditions({ ...pack, corrections }, after.get(pack.value) ?? []);
    return { changes: changes.map((change) => ({ ...change, value: pack.value })), material };
  });
  const material = found.flatMap((one) => one.changes.slice(0, one.material));
  const others = found.flatMap((one) => one.changes.slice(one.material));
  return { changes: [...material, ...others], material: material.length };
}

interface Difference {
  readonly change: FigureChange;
  readonly material: boolean;
}

function compareSections(
  before: EditionSection,
  now: EditionSection,
  boundaries: ReadonlyMap<string, Boundary>,
  materiality: number,
): readonly Difference[] {
  const [old, current] = [collectFigures(before), collectFigures(now)];
  const units = new Map(now.metrics.map(({ name, unit }) => [name, unit]));
  const known = new Set(before.metrics.map(({ name }) => name));
  const allRows = !before.capped && !now.capped && before.dimensions.join() === now.dimensions.join();
  const open = new Set([...before.open, ...now.open]);
  /** A figure's value on one side; undefined if it cannot be compared. */
  const valueIn = (one: SectionFigures, key: string, row: string, unit: string | null): number | null | undefined => {
    const found = one.values.get(key);
    if (found !== undefined) return found.value;
    // The service left the value out, or nobody knows which rows may be missing.
    if (one.rows.has(row) || row === TOTALS || !allRows) return undefined;
    return ABSENT[unit ?? ''] ?? null;
  };
  const differences: Difference[] = [];
  for (const key of new Set([...old.values.keys(), ...current.values.keys()])) {
    const figure = old.values.get(key) ?? current.values.get(key);
    const unit = figure && units.get(figure.metric);
    if (figure === undefined || unit === undefined || !known.has(figure.metric)) continue;
    const { metric, bucket, group, within, row } = figure;
    if (open.has(bucket) && !(old.values.has(key) && current.values.has(key))) continue;
    const [was, is] = [valueIn(old, key, row, unit), valueIn(current, key, row, unit)];
    if (was === undefined || is === undefined || !differs(was, is)) continue;
    const boundary =
      within === undefined
        ? boundaries.get(keyOf(before.id, metric, bucket, group && [group.dimension, group.value]))
        : undefined;
    const statuses = boundary && judgeStatuses(was, is, boundary);
    differences.push({
      change: {
        section: before.id,
        metric,
        bucket,
        group,
        ...(within && { within }),
        before: was,
        after: is,
        ...statuses,
      },
      material: isMaterial(was, is, unit, materiality) || statuses?.statusBefore !== statuses?.statusAfter,
    });
  }
  return differences;
}

const judgeStatuses = (
  before: number | null,
  after: number | null,
  boundary: Boundary,
): { readonly statusBefore: Status; readonly statusAfter: Status } => ({
  statusBefore: judgeFigure(before, boundary),
  statusAfter: judgeFigure(after, boundary),
});
