import { type Catalog, isAdditive } from './catalog.ts';

/** Why Docket knows which count a ratio or a duration is computed from. */
export type BaseGround = 'specification' | 'derived' | 'inferred' | 'upper_bound' | 'organization';

/** The count of cases behind a ratio or a duration. */
export interface Base {
  readonly metric: string;
  /** The id of a ratio: the cases are this share of the count. */
  readonly share?: string;
  readonly ground: BaseGround;
}

const DECIDED: Base = { metric: 'profiles.decided', ground: 'specification' };
const DECIDED_OF_CREATED: Base = { metric: 'profiles.created', share: 'cohort.completion_rate', ground: 'derived' };
const inferred = (metric: string): Base => ({ metric, ground: 'inferred' });

/**
 * The bases of the metrics in specification §2.6. Those of the ground `specification` are stated there; an inferred
 * base counts the same events at the same time. `docs/internals/small-numbers.md` gives the reason for each.
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
  // Forms without an invitation are also submitted, but have no such time.
  ['intake.time_to_submit_p50', { metric: 'intake.submissions', ground: 'upper_bound' }],
  ['transaction_alerts.time_to_decide_p50', inferred('transaction_alerts.closed')],
  ['transaction_alerts.override_rate', inferred('transaction_alerts.closed')],
  ['alerts.time_to_close_p50', inferred('alerts.closed')],
  ['rfis.response_rate', inferred('rfis.sent')],
  ['rfis.response_time_p50', inferred('rfis.answered')],
]);

/** From org.yaml: the base of a metric, or `none`. */
export type BaseSettings = Readonly<Record<string, string>>;

/**
 * The base of a metric; undefined if it is not known.
 * @param settings the organization's, which take precedence
 */
export function findBase(metric: string, settings: BaseSettings = {}): Base | undefined {
  const own = Object.hasOwn(settings, metric) ? settings[metric] : undefined;
  if (own === undefined) return BASES.get(metric);
  return own === 'none' ? undefined : { metric: own, ground: 'organization' };
}

/** The base of a metric that a run uses, frozen in its plan and manifest. */
export interface MetricBase {
  readonly metric: string;
  readonly base: string;
  readonly share?: string | undefined;
  /** The count is an upper bound: there may be fewer cases. */
  readonly atMost?: true | undefined;
}

/**
 * The bases of the ratios and durations among these metrics, if the catalog has the bases as plain counts by the same
 * time. If a base is a share of a count, the share must be one of these metrics.
 */
export function metricBases(
  metrics: readonly string[],
  { metrics: known }: Pick<Catalog, 'metrics'>,
  settings: BaseSettings = {},
): MetricBase[] {
  const find = (id: string) => known.find((metric) => metric.id === id);
  return metrics.flatMap((id): MetricBase[] => {
    const metric = find(id);
    const base = findBase(id, settings);
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
