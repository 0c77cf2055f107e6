import type { Catalog } from '../contract/catalog.ts';
import { fitsUnit } from '../definitions/schema/amount.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import { parseSendCondition } from '../definitions/schema/send-condition.ts';
import type { PlanDiagnostic } from './catalog-check.ts';
import { unitHint } from './check-targets.ts';

/**
 * Conditions of deliveries whose number is in a unit that the metric does not have: `90` or `24h` of a ratio, `10%` of a
 * count. They do not stop a run: it compares the number as it is.
 */
export const checkConditions = (
  { deliveries }: Pick<Definition, 'deliveries'>,
  { metrics }: Catalog,
): PlanDiagnostic[] =>
  deliveries.flatMap(({ send_if }, index): PlanDiagnostic[] => {
    const condition = send_if === undefined ? undefined : parseSendCondition(send_if);
    if (condition === undefined || !('kind' in condition) || condition.kind !== 'compare') return [];
    const metric = metrics.find(({ id }) => id === condition.metric);
    if (metric === undefined || fitsUnit(condition, metric.unit)) return [];
    const { expected, next } = unitHint(metric.unit);
    return [{ path: ['deliveries', index, 'send_if'], expected, got: `"${send_if}"`, next }];
  });
