import type { Compared, Days } from './days.ts';
import { type ExpectedRow, type ExpectedSection, type Figure, fewCases } from './expected.ts';
import type { GivenTarget, Judged, Verdict } from './judged.ts';
import { factorOf } from './shown.ts';

// What all checks of a pack need. Nothing of src/ is used here.

/** How the catalog calls the values of a dimension. */
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

/** As sentences and formatted files name a status; raw files have the name itself. */
export const STATUS_WORDS = {
  on_target: 'on target',
  watch: 'watch',
  breached: 'breached',
  undefined: 'undefined',
} as const;

const soFarOf = ({ soFar }: Pick<Judged, 'soFar'>): string => (soFar ? ' so far' : '');
/** Shape and word of a status. */
export const shapeOf = (one: Pick<Judged, 'status' | 'soFar'>): string => `${SHAPES[one.status]}${soFarOf(one)}`;
/** The word of a status, as sentences have it. */
export const wordOf = (one: Pick<Judged, 'status' | 'soFar'>): string => `${STATUS_WORDS[one.status]}${soFarOf(one)}`;

export const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
export const namesKind = ({ kinds }: ExpectedSection): boolean => kinds.length > 1 || kinds[0] === 'previous_year';

export const figureOf = (figures: Readonly<Record<string, Figure>>, metric: string): Figure => {
  const figure = figures[metric];
  if (figure === undefined) throw new Error(`no ${metric}`);
  return figure;
};

/** Of a section: the judgement of a row, or of the totals. */
export const judgementOf = (
  judged: readonly Judged[],
  { id, dimensions }: ExpectedSection,
  metric: string,
  row: ExpectedRow | undefined,
): Judged | undefined => {
  const ofGroup = row !== undefined && dimensions.length > 0;
  const group = ofGroup ? (row.groups[0] ?? null) : null;
  // Only rows of one dimension have a status, and a row without a value of it is no total.
  if (ofGroup && (dimensions.length > 1 || group === null)) return undefined;
  return judged.find(
    (one) => one.section === id && one.metric === metric && one.bucket === (row?.bucket ?? null) && one.group === group,
  );
};

/** A figure's text without the number of its cases, which stands behind it where they are few, and only there. */
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
  /** Figures in cells, fields and texts. */
  cells: number;
  /** Cells of few cases. */
  few: number;
  changes: number;
  dashes: number;
  statuses: number;
  notes: number;
  headlines: number;
  /** Readings and gaps of the manifest. */
  readings: number;
  /** Of the manifest's judgements. */
  readonly byStatus: Record<Verdict, number>;
}
/** The units of a pack's headers and texts by metric, as raw units in one of them; p50 and p90 of one thing are one. */
export type UnitsShown = Map<string, Set<number>>;

export function noteUnit(units: UnitsShown, metric: string, factor: number): void {
  const thing = metric.replace(/_p\d+$/, '');
  units.set(thing, (units.get(thing) ?? new Set()).add(factor));
}
/** Of a text such as `33.9 hours`. */
export function noteUnitIn(text: string, units: UnitsShown, metric: string, unit: string | null): void {
  if (unit === 'seconds' && text !== '–') noteUnit(units, metric, factorOf(/[a-z]+$/.exec(text)?.[0]));
}

/** What was given to a report, and what its pack has to show. */
export interface PackToCheck {
  /** The report's. */
  readonly period: Days;
  readonly sections: readonly ExpectedSection[];
  readonly judged: readonly Judged[];
  readonly targets: readonly GivenTarget[];
  readonly labelOf: LabelOf;
}
