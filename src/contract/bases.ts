import { type Catalog, isAdditive } from './catalog.ts';

/** How it is known which count a ratio or a duration is computed from. */
export type BaseGround = 'specification' | 'derived' | 'inferred' | 'upper_bound' | 'organization';

/** The count of the cases behind a ratio or a duration. */
export interface Base {
  readonly metric: string;
  /** A ratio: the cases are this share of the count. */
  readonly share?: string;
  readonly ground: BaseGround;
}

const DECIDED: Base = { metric: 'profiles.decided', ground: 'specification' };
const DECIDED_OF_CREATED: Base = { metric: 'profiles.created', share: 'cohort.completion_rate', ground: 'derived' };
const inferred = (metric: string): Base => ({ metric, ground: 'inferred' });

/**
 * The bases of the metrics of specification §2.6. Those of the specification are in its words; an inferred one counts the
 * same events at the same time. `docs/internals/small-numbers.md` gives the reason for each.
 */
const BASES: ReadonlyMap<string, Base> = new Map([
  ['profiles.approval_rate', DECIDED],
  ['profiles.time_to_decision_p50', DECIDED],
  ['profiles.time_to_decision_p90', DECIDED],
  ['cohort.completion_rate', { metric: 'profiles.created', ground: 'specification' }],
  ['cohort.turnaround_p50', DECIDED_OF_CREATED],
  ['cohort.turnaround_p90', DECIDED_OF_CREATED],
  ['screening.address_failure_rate', inferred('screening.address_runs')],
  ['intake.completion_rate', inferred('intake.invitations_sent')],
  // Forms without an invitation are submitted, too, and have no such time.
  ['intake.time_to_submit_p50', { metric: 'intake.submissions', ground: 'upper_bound' }],
  ['transaction_alerts.time_to_decide_p50', inferred('transaction_alerts.closed')],
  ['transaction_alerts.override_rate', inferred('transaction_alerts.closed')],
  ['alerts.time_to_close_p50', inferred('alerts.closed')],
  ['rfis.response_rate', inferred('rfis.sent')],
  ['rfis.response_time_p50', inferred('rfis.answered')],
]);

/** In org.yaml: the base of a metric, or `none`. */
export type BaseSettings = Readonly<Record<string, string>>;

/** The base of a metric; undefined if it is not known. @param settings of the organization, which decide */
export function baseOf(metric: string, settings: BaseSettings = {}): Base | undefined {
  const own = Object.hasOwn(settings, metric) ? settings[metric] : undefined;
  if (own === undefined) return BASES.get(metric);
  return own === 'none' ? undefined : { metric: own, ground: 'organization' };
}

/** The base of a metric as a run uses it, frozen into its plan and manifest. */
export interface MetricBase {
  readonly metric: string;
  readonly base: string;
  readonly share?: string | undefined;
  /** There may be fewer cases. */
  readonly atMost?: true | undefined;
}

/**
 * The bases of the ratios and durations among these metrics, where the catalog has them as plain counts by the same time.
 * A share must be among the metrics itself.
 */
export function metricBases(
  metrics: readonly string[],
  { metrics: known }: Pick<Catalog, 'metrics'>,
  settings: BaseSettings = {},
): MetricBase[] {
  const find = (id: string) => known.find((metric) => metric.id === id);
  return metrics.flatMap((id): MetricBase[] => {
    const metric = find(id);
    const base = baseOf(id, settings);
    if (base === undefined || (metric?.unit !== 'ratio' && metric?.unit !== 'seconds')) return [];
    const count = find(base.metric);
    if (count === undefined || !isAdditive(count) || count.time_field !== metric.time_field) return [];
    if (base.share !== undefined && !metrics.includes(base.share)) return [];
    return [
      {
        metric: id,
        base: base.metric,
        ...(base.share === undefined ? {} : { share: base.share }),
        ...(base.ground === 'upper_bound' ? { atMost: true as const } : {}),
      },
    ];
  });
}
