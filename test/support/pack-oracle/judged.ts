import { type Days, dayAt, isOne } from './days.ts';
import { type ExpectedSection, type Figure, type Frame, fewCases, isProvisional } from './expected.ts';

// Statuses of figures, written from the contract only. It uses nothing of src/.

export interface GivenTarget {
  readonly metric: string;
  readonly better: 'higher' | 'lower';
  /** In the raw unit. */
  readonly target: number;
  readonly watch?: number | undefined;
  readonly per?: 'day' | 'week' | 'month' | 'quarter' | 'year' | undefined;
  readonly where?: { readonly dimension: string; readonly value: string } | undefined;
  readonly from?: string | undefined;
  readonly report: boolean;
}
export type Verdict = 'on_target' | 'watch' | 'breached' | 'undefined';
export interface Judged {
  readonly section: string;
  readonly metric: string;
  readonly bucket: string | null;
  readonly group: string | null;
  readonly figure: number | null;
  readonly status: Verdict;
  /** Set if data may still arrive. */
  readonly soFar: true | undefined;
  /** Set if there are few cases, so that the status is counted separately. */
  readonly few: true | undefined;
  readonly target: GivenTarget;
}

function verdict(figure: number | null, { better, target, watch }: GivenTarget): Verdict {
  if (figure === null) return 'undefined';
  const sign = better === 'higher' ? 1 : -1;
  if (sign * (figure - target) >= 0) return 'on_target';
  return watch !== undefined && sign * (figure - watch) >= 0 ? 'watch' : 'breached';
}

const sameWhere = (a: GivenTarget['where'], b: GivenTarget['where']): boolean =>
  a?.dimension === b?.dimension && a?.value === b?.value;

/** The targets of a report. Its own entries replace those of the organization about the same figure. */
const inForce = (targets: readonly GivenTarget[]): readonly GivenTarget[] =>
  targets.filter(
    (one) =>
      one.report ||
      !targets.some((other) => other.report && other.metric === one.metric && sameWhere(other.where, one.where)),
  );

interface Candidate {
  readonly bucket: string | null;
  readonly group: string | null;
  readonly figure: number | null;
  readonly few: true | undefined;
  readonly day: string;
  /** The days, if they are over. */
  readonly days: Days | undefined;
}

export const endOf = (bucket: string, granularity: string): string => {
  const start = new Date(`${bucket}T00:00:00Z`);
  if (granularity === 'week') start.setUTCDate(start.getUTCDate() + 6);
  if (granularity === 'month') start.setUTCMonth(start.getUTCMonth() + 1, 0);
  return start.toISOString().slice(0, 10);
};

const figureIn = (of: Figure | undefined): Pick<Candidate, 'figure' | 'few'> => ({
  figure: of?.now ?? null,
  few: of !== undefined && fewCases(of.unit, of.now, of.cases) !== undefined ? true : undefined,
});

function candidates(section: ExpectedSection, target: GivenTarget, { asOf, timezone }: Frame): Candidate[] {
  const { metric, where, per } = target;
  const { dimensions, granularity, filters, rows, total, range, over } = section;
  const [filter] = filters;
  const value = filter?.op !== 'not_in' && filter?.values.length === 1 ? filter.values[0] : undefined;
  const isAbout =
    where === undefined
      ? filters.length === 0
      : filters.length === 1 && filter?.dimension === where.dimension && value === where.value;
  const day = range === undefined ? dayAt(asOf, timezone) : range.to;
  const single = dimensions.length === 0 && granularity === undefined;
  const figures = total ?? (single ? rows[0]?.figures : undefined);
  const found: Candidate[] = [];
  if (isAbout && figures !== undefined) {
    found.push({ bucket: null, group: null, ...figureIn(figures[metric]), day, days: over ? range : undefined });
  }
  const named =
    where !== undefined &&
    dimensions.length === 1 &&
    dimensions[0] === where.dimension &&
    filters.every(({ dimension }) => dimension === where.dimension);
  for (const row of rows) {
    const ofGroup = named && row.groups[0] === where.value;
    const group = ofGroup ? where.value : null;
    const value = figureIn(row.figures[metric]);
    if (row.bucket === null) {
      if (ofGroup) found.push({ bucket: null, group, ...value, day, days: row.over ? row.days : undefined });
    } else if (per !== undefined && (ofGroup || (isAbout && dimensions.length === 0))) {
      const last = endOf(row.bucket, granularity ?? 'day');
      const whole = row.days?.from === row.bucket && row.days.to === last;
      found.push({ bucket: row.bucket, group, ...value, day: last, days: whole && row.over ? row.days : undefined });
    }
  }
  return found;
}

/** The status of every figure with a target. */
export function judge(sections: readonly ExpectedSection[], given: readonly GivenTarget[], frame: Frame): Judged[] {
  const targets = inForce(given);
  return sections.flatMap((section) =>
    section.metrics.flatMap(({ id: metric }) => {
      const judged = new Map<string, Judged>();
      const own = targets.filter((target) => target.metric === metric);
      // A target for a length of time takes precedence over one for any length.
      for (const one of [
        ...own.filter(({ per }) => per !== undefined),
        ...own.filter(({ per }) => per === undefined),
      ]) {
        for (const { bucket, group, figure, few, day, days } of candidates(section, one, frame)) {
          const series = own.filter((other) => other.per === one.per && sameWhere(other.where, one.where));
          const held = series
            .filter(({ from = '' }) => from <= day)
            .sort((a, b) => ((a.from ?? '') < (b.from ?? '') ? 1 : -1))[0];
          if (held !== one) continue;
          if (one.per !== undefined && (days === undefined || !isOne(days, one.per, frame.fiscal))) continue;
          const key = JSON.stringify([bucket, group]);
          if (judged.has(key)) continue;
          const status = verdict(figure, one);
          const isSoFar =
            isProvisional(metric) && one.better === 'higher' && (status === 'watch' || status === 'breached');
          const soFar = isSoFar ? true : undefined;
          judged.set(key, { section: section.id, metric, bucket, group, figure, status, soFar, few, target: one });
        }
      }
      return [...judged.values()];
    }),
  );
}
