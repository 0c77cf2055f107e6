import type { DurationUnit } from '../../../definitions/schema/values/units.ts';
import { DEFAULT_LOCALE, messagesFor, type Words } from '../../../i18n/messages.ts';
import { rawUnitLabel, unitLabel } from '../../../render/figures/format-value.ts';
import { changeQuantity } from '../../../render/figures/raw-columns.ts';
import type { ColumnTarget, OutlineColumn } from './bindings.ts';

/** The messages of all languages: a template can be in another language than its report. */
export const ALL_WORDS: readonly Words[] = [messagesFor(DEFAULT_LOCALE), messagesFor('de-DE')];

/** Short names, and names of seconds, which Docket's own files do not show. */
const DURATIONS: readonly (readonly [text: string, unit: DurationUnit | 'seconds'])[] = [
  ['s', 'seconds'],
  ['sec', 'seconds'],
  ['seconds', 'seconds'],
  ['sekunden', 'seconds'],
  ['min', 'minutes'],
  ['h', 'hours'],
  ['hrs', 'hours'],
  ['std', 'hours'],
  ['d', 'days'],
  ...ALL_WORDS.flatMap(({ table: { durations } }) =>
    (['minutes', 'hours', 'days'] as const).map((unit) => [durations[unit].toLowerCase(), unit] as const),
  ),
];
const DURATION_UNITS_BY_TEXT: ReadonlyMap<string, DurationUnit | 'seconds'> = new Map(DURATIONS);

/** The unit of durations that a text names, e.g. `h`, `Stunden`. Case does not matter. */
export const durationNamed = (text: string): DurationUnit | 'seconds' | undefined =>
  DURATION_UNITS_BY_TEXT.get(text.toLowerCase().replace(/\.$/, ''));

/** A text in brackets anywhere in a header: `Time to decision (hours), previous period`. */
const BRACKETS = / ?\(([^()]*)\)/g;

/** A header with one of its brackets, which may be a unit, taken out. */
export interface HeaderPart {
  readonly rest: string;
  /** In lower case, without the brackets. */
  readonly unit: string;
}

/** @param header in lower case */
export const withoutBrackets = (header: string): readonly HeaderPart[] =>
  [...header.matchAll(BRACKETS)].map(({ 0: { length }, 1: unit = '', index }) => ({
    rest: `${header.slice(0, index)}${header.slice(index + length)}`.trim(),
    unit: unit.trim(),
  }));

/** Units of figures that are not durations, as headers of Docket's own files write them. */
function plainUnits(column: OutlineColumn, { figure }: ColumnTarget): readonly string[] {
  if (figure?.figure === 'status' || column.unit === undefined) return [];
  const described = { unit: column.unit, name: column.name, label: '', kind: column.kind, type: '' };
  return ALL_WORDS.flatMap((words) => {
    if (figure?.figure === 'change') return unitLabel(changeQuantity(described, undefined), words) ?? [];
    if (column.unit === 'ratio') return ['%', words.table.rawRatio];
    return rawUnitLabel(column.unit ?? null, words) ?? [];
  }).map((text) => text.toLowerCase());
}

/**
 * The target in the unit that a header names; undefined if the figure is never in that unit.
 * @param unit in lower case
 */
export function inUnit(target: ColumnTarget, unit: string, column: OutlineColumn): ColumnTarget | undefined {
  if (column.kind === 'field') return unit === 'utc' ? { ...target, as: 'utc' } : undefined;
  if (column.kind !== 'metric') return undefined;
  const figure = target.figure?.figure;
  const mayBeDuration = column.unit === 'seconds' || column.unit === undefined;
  const duration = DURATION_UNITS_BY_TEXT.get(unit);
  if (duration !== undefined && mayBeDuration && figure !== 'status' && figure !== 'change') {
    const { unit: _, ...inSeconds } = target;
    return duration === 'seconds' ? inSeconds : { ...target, unit: duration };
  }
  // Without the catalog, any unit except a duration may be the metric's own.
  if (column.unit === undefined && figure !== 'status') return duration === undefined ? target : undefined;
  return plainUnits(column, target).includes(unit) ? target : undefined;
}
