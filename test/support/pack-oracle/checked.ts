import type { Compared, Days } from './days.ts';
import { type ExpectedRow, type ExpectedSection, type Figure, fewCases } from './expected.ts';
import type { GivenTarget, Judged, Verdict } from './judged.ts';
import { factorOf } from './shown.ts';

// What all checks of a pack share. It uses nothing of src/.

/** The catalog's label for a value of a dimension. */
export type LabelOf = (dimension: string, value: string | null) => string;

export const OF: Readonly<Record<Compared, string>> = {
  previous_period: 'previous period',
  previous_year: 'year before',
};
export const TO_DATE = {
  year: 'year to date',
  fiscal_year: 'fiscal year to date',
  quarter: 'quarter to date',
} as const;
const SHAPES = {
  on_target: '● on target',
  watch: '◆ watch',
  breached: '■ breached',
  undefined: '○ undefined',
} as const;

/** The words for a status in sentences and formatted files. Raw files have the name itself. */
export const STATUS_WORDS = {
  on_target: 'on target',
  watch: 'watch',
  breached: 'breached',
  undefined: 'undefined',
} as const;

const soFarOf = ({ soFar }: Pick<Judged, 'soFar'>): string => (soFar ? ' so far' : '');
/** The shape and word of a status. */
export const shapeOf = (one: Pick<Judged, 'status' | 'soFar'>): string => `${SHAPES[one.status]}${soFarOf(one)}`;
/** The word of a status in a sentence. */
export const wordOf = (one: Pick<Judged, 'status' | 'soFar'>): string => `${STATUS_WORDS[one.status]}${soFarOf(one)}`;

export const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
export const namesKind = ({ kinds }: ExpectedSection): boolean => kinds.length > 1 || kinds[0] === 'previous_year';

export const figureOf = (figures: Readonly<Record<string, Figure>>, metric: string): Figure => {
  const figure = figures[metric];
  if (figure === undefined) throw new Error(`no ${metric}`);
  return figure;
};

/** The judgement of a row or of the totals of a section. */
export const judgementOf = (
  judged: readonly Judged[],
  { id, dimensions }: ExpectedSection,
  metric: string,
  row: ExpectedRow | undefined,
): Judged | undefined => {
  const ofGroup = row !== undefined && dimensions.length > 0;
  const group = ofGroup ? (row.groups[0] ?? null) : null;
  // Only rows with one dimension have a status. A row without a value of it is not a total.
  if (ofGroup && (dimensions.length > 1 || group === null)) return undefined;
  return judged.find(
    (one) => one.section === id && one.metric === metric && one.bucket === (row?.bucket ?? null) && one.group === group,
  );
};

/** The text of a figure without the number of its cases, which must follow it if there are few, and only then. */
export function withoutCases(
  text: string,
  unit: string | null,
  value: number | null,
  cases: number | null | undefined,
): string {
  const few = fewCases(unit, value, cases);
  const [, figure = text, number] = /^(.*) \(n = (\d+)\)$/.exec(text) ?? [];
  if (number !== (few === undefined ? undefined : `${few}`)) throw new Error(`"${text}" for ${value} of ${cases}`);
  return figure;
}

export interface Checked {
  /** The number of figures in cells, fields and texts. */
  cells: number;
  /** The number of cells with few cases. */
  few: number;
  changes: number;
  dashes: number;
  statuses: number;
  notes: number;
  headlines: number;
  /** The number of readings and gaps in the manifest. */
  readings: number;
  /** The judgements of the manifest, counted by status. */
  readonly byStatus: Record<Verdict, number>;
}
/** The displayed units per metric, as raw units in one of them. p50 and p90 of the same duration share them. */
export type UnitsShown = Map<string, Set<number>>;

export function noteUnit(units: UnitsShown, metric: string, factor: number): void {
  const thing = metric.replace(/_p\d+$/, '');
  units.set(thing, (units.get(thing) ?? new Set()).add(factor));
}
/** Records the unit of a text such as `33.9 hours`. */
export function noteUnitIn(text: string, units: UnitsShown, metric: string, unit: string | null): void {
  if (unit === 'seconds' && text !== '–') noteUnit(units, metric, factorOf(/[a-z]+$/.exec(text)?.[0]));
}

/** The input of a report, and what its pack has to show. */
export interface PackToCheck {
  /** The period of the report. */
  readonly period: Days;
  readonly sections: readonly ExpectedSection[];
  readonly judged: readonly Judged[];
  readonly targets: readonly GivenTarget[];
  readonly labelOf: LabelOf;
}
