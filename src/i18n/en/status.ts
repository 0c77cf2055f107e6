import type { LocaleFormatters } from '../formatters.ts';

/** The names of `STATUSES` (`fetch/dataset.ts`). */
export type StatusName = 'on_target' | 'watch' | 'breached' | 'undefined';

/** The time before a range, by the grammar of headlines. */
export type TimeBefore =
  | { readonly unit: 'day' | 'week' | 'month' | 'quarter' | 'year' }
  | { readonly days: number }
  | { readonly months: number }
  /** The same time a year before. */
  | 'year_before';

/** How a difference is expressed: counts are more or fewer, durations longer or shorter, all others higher or lower. */
export type DifferenceKind = 'count' | 'duration' | 'other';

const UNITS = {
  day: 'the day',
  week: 'the week',
  month: 'the month',
  quarter: 'the quarter',
  year: 'the year',
} as const;

/** The period of a target that applies to whole periods. */
export type TargetPer = keyof typeof UNITS;

const COMPARATIVES = {
  count: { up: 'more', down: 'fewer' },
  duration: { up: 'longer', down: 'shorter' },
  other: { up: 'higher', down: 'lower' },
} as const satisfies Record<DifferenceKind, object>;

const MULTIPLES = { count: 'many', duration: 'long', other: 'high' } as const satisfies Record<DifferenceKind, string>;

/** Texts about targets and statuses, and the grammar of headlines. */
export const status = (to: LocaleFormatters) => {
  const before = (time: TimeBefore): string => {
    if (time === 'year_before') return 'a year before';
    if ('unit' in time) return `${UNITS[time.unit]} before`;
    return 'days' in time ? `the ${to.number(time.days)} days before` : `the ${to.number(time.months)} months before`;
  };
  return {
    names: {
      on_target: 'on target',
      watch: 'watch',
      breached: 'breached',
      undefined: 'undefined',
    } as Readonly<Record<StatusName, string>>,
    /** For a figure whose past still changes. */
    soFar: (name: string) => `${name} so far`,
    /**
     * How a figure compares with the usual range from its own history.
     * @param range e.g. `420–520`
     */
    usual: {
      usual: (range: string) => `usual ${range}`,
      unusual: (range: string) => `outside its usual range ${range}`,
      drifting: (range: string) => `drifting, usual ${range}`,
    },
    usualColumn: 'Usual range',
    /** Figures whose status means little, because they have few cases. */
    few: (count: number, name: string) => `${to.number(count)} ${name} on few cases`,
    /** For a change, if a target says which direction is better. */
    tones: { better: 'better', worse: 'worse' },
    /** The header of the column beside a metric's figures. */
    header: (label: string) => `${label}: status`,
    column: 'Status',
    targetColumn: 'Target',
    watchColumn: 'Watch limit',
    target: (target: string) => `target ${target}`,
    /** Shown below a target. */
    watchLimit: (limit: string) => `watch ${limit}`,
    /**
     * About a metric's target, in the metric's definition.
     * @param owner who is responsible for it; may be absent
     * @param note may be absent
     */
    targetAbout: (target: string, owner: string | undefined, note: string | undefined) =>
      `Target ${target}${owner === undefined ? '' : `, owner ${owner}`}${note === undefined ? '' : `: ${note}`}`,
    /** For a target that applies to whole periods of one length. */
    targetPer: (target: string, per: TargetPer) => `${target} per ${per}`,
    /**
     * Shown below a table with statuses.
     * @param targets each with label and target
     */
    targets: (targets: readonly string[]) => `Targets: ${targets.join('; ')}.`,
    headlines: 'In short',
    /** E.g. `target 90%, breached` */
    judged: (target: string, name: string) => `target ${target}, ${name}`,
    /** E.g. `8 more than the week before`. Without a size, the figure has not changed. */
    change: (kind: DifferenceKind, direction: 'up' | 'down' | 'same' | 'unseen', size: string, time: TimeBefore) =>
      direction === 'same'
        ? `the same as ${before(time)}`
        : direction === 'unseen'
          ? `no visible change from ${before(time)}`
          : `${size} ${COMPARATIVES[kind][direction]} than ${before(time)}`,
    /** For two figures that differ, but look the same. */
    unseen: 'no visible change',
    /** For growth above 1,000%. */
    times: (kind: DifferenceKind, times: string) => `${times} times as ${MULTIPLES[kind]}`,
    /** @param parts the figure, then its target and status if it has these */
    headline: (label: string, parts: readonly string[], change: string | undefined) =>
      `${label}: ${parts.join(', ')}${change === undefined ? '' : ` (${change})`}`,
    /**
     * About the groups of a section.
     * @param apart groups with few cases differ more
     */
    largestChange: (metric: string, group: string, change: string, apart: boolean) =>
      `Largest change of ${metric}${apart ? ', apart from groups of few cases' : ''}: ${group}, ${change}`,
    /** Explains the colours of changes. The lists contain labels of metrics; either may be empty. */
    betterMeans: (higher: readonly string[], lower: readonly string[]) =>
      `Green is better and red is worse.${higher.length === 0 ? '' : ` Higher is better: ${higher.join(', ')}.`}${lower.length === 0 ? '' : ` Lower is better: ${lower.join(', ')}.`}`,
    /** Sentences in a Table Schema, without a full stop. */
    schema: {
      status:
        'Whether the figure meets its target: on_target, watch, breached, undefined (no figure, or one that cannot be right); empty without a target',
    },
  };
};
