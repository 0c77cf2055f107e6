import type { LocaleFormatters } from '../formatters.ts';

/** The names of `STATUSES` (`fetch/dataset.ts`). */
export type StatusName = 'on_target' | 'watch' | 'breached' | 'undefined';

/** The time before a range, as the grammar of headlines needs it. */
export type TimeBefore =
  | { readonly unit: 'day' | 'week' | 'month' | 'quarter' | 'year' }
  | { readonly days: number }
  | { readonly months: number }
  /** The same time a year before. */
  | 'year_before';

/** What a difference is of: counts are more or fewer, durations longer or shorter, the rest higher or lower. */
export type DifferenceKind = 'count' | 'duration' | 'other';

const UNITS = {
  day: 'the day',
  week: 'the week',
  month: 'the month',
  quarter: 'the quarter',
  year: 'the year',
} as const;

/** What a target for whole periods is per. */
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
    /** Of a figure whose past still changes. */
    soFar: (name: string) => `${name} so far`,
    /** Where a figure is to the range that its own history makes usual. @param range `420–520` */
    usual: {
      usual: (range: string) => `usual ${range}`,
      unusual: (range: string) => `outside its usual range ${range}`,
      drifting: (range: string) => `drifting, usual ${range}`,
    },
    usualColumn: 'Usual range',
    /** Figures whose status says little. */
    few: (count: number, name: string) => `${to.number(count)} ${name} on few cases`,
    /** Of a change, where a target says which direction is better. */
    tones: { better: 'better', worse: 'worse' },
    /** Header of the column beside a metric's figures. */
    header: (label: string) => `${label}: status`,
    column: 'Status',
    targetColumn: 'Target',
    watchColumn: 'Watch limit',
    target: (target: string) => `target ${target}`,
    /** Below a target. */
    watchLimit: (limit: string) => `watch ${limit}`,
    /** Of a metric, in its definition. @param owner who answers for it; @param note may be absent, as the owner */
    targetAbout: (target: string, owner: string | undefined, note: string | undefined) =>
      `Target ${target}${owner === undefined ? '' : `, owner ${owner}`}${note === undefined ? '' : `: ${note}`}`,
    /** Of a target for whole periods of one length. */
    targetPer: (target: string, per: TargetPer) => `${target} per ${per}`,
    /** Below a table with statuses. @param targets label and target each */
    targets: (targets: readonly string[]) => `Targets: ${targets.join('; ')}.`,
    headlines: 'In short',
    /** `target 90%, breached` */
    judged: (target: string, name: string) => `target ${target}, ${name}`,
    /** `8 more than the week before`; without a size the figure is the same. */
    change: (kind: DifferenceKind, direction: 'up' | 'down' | 'same' | 'unseen', size: string, time: TimeBefore) =>
      direction === 'same'
        ? `the same as ${before(time)}`
        : direction === 'unseen'
          ? `no visible change from ${before(time)}`
          : `${size} ${COMPARATIVES[kind][direction]} than ${before(time)}`,
    /** Two figures that differ, but not as they are shown. */
    unseen: 'no visible change',
    /** Growth above 1,000%. */
    times: (kind: DifferenceKind, times: string) => `${times} times as ${MULTIPLES[kind]}`,
    /** @param parts the figure, then its target and status if it has one */
    headline: (label: string, parts: readonly string[], change: string | undefined) =>
      `${label}: ${parts.join(', ')}${change === undefined ? '' : ` (${change})`}`,
    /** Of groups of a section. @param apart groups of few cases differ more */
    largestChange: (metric: string, group: string, change: string, apart: boolean) =>
      `Largest change of ${metric}${apart ? ', apart from groups of few cases' : ''}: ${group}, ${change}`,
    /** What the colours of changes mean. Labels of metrics; either list may be empty. */
    betterMeans: (higher: readonly string[], lower: readonly string[]) =>
      `Green is better and red is worse.${higher.length === 0 ? '' : ` Higher is better: ${higher.join(', ')}.`}${lower.length === 0 ? '' : ` Lower is better: ${lower.join(', ')}.`}`,
    /** Sentences of a Table Schema without their full stop. */
    schema: {
      status:
        'Whether the figure meets its target: on_target, watch, breached, undefined (no figure, or one that cannot be right); empty without a target',
    },
  };
};
