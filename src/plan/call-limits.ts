import type { Catalog } from '../contract/catalog.ts';
import { LIMITS } from '../contract/limits.ts';

/** How much one metrics call may ask for (specification §8). */
export interface CallLimits {
  readonly max_range_days: number;
  readonly max_rows: number;
  readonly max_metrics: number;
  readonly max_filter_values: number;
}

/**
 * The service's limits: the catalog's where it names them, the specification's otherwise.
 * @param stricter overrides them; a plan of smaller calls answers the same
 */
export function callLimits({ limits }: Pick<Catalog, 'limits'>, stricter: Partial<CallLimits> = {}): CallLimits {
  return {
    max_range_days: limits.max_range_days,
    max_rows: limits.max_rows,
    max_metrics: LIMITS.max_metrics,
    max_filter_values: LIMITS.max_filter_values,
    ...stricter,
  };
}
