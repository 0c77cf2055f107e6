import { type Catalog, isCurrentCount, type Metric } from '../../contract/catalog.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { parseSendCondition } from '../../definitions/schema/send-condition.ts';
import { parseWhere, type Target } from '../../definitions/schema/targets.ts';
import { fitsUnit, parseAmount } from '../../definitions/schema/values/amount.ts';
import { type PlanDiagnostic, suggestion } from './catalog-check.ts';

/** What a number in this unit looks like. */
const unitHint = (unit: string | null): { readonly expected: string; readonly next: string } => {
  if (unit === 'ratio')
    return { expected: 'a share from 0 to 1, or in % (the metric is a ratio)', next: 'Write it in %, e.g. 90%.' };
  if (unit === 'seconds')
    return { expected: 'seconds, or a number with s, m, h or d (the metric is a duration)', next: 'Write e.g. 24h.' };
  return {
    expected: `a number without a unit (the metric's unit is ${unit ?? 'none'})`,
    next: 'Write the number alone.',
  };
};

/** The advice for a number that is only wrong because it is negative. */
const NOT_NEGATIVE = { expected: '0 or more: no figure of the metric is negative', next: 'Remove the sign.' };

/**
 * Reports everything in a list of targets that this catalog does not allow: unknown metrics, dimensions and values,
 * units that do not match, and periods for a metric that has none.
 * @param at path of the list
 */
export function checkTargets(
  targets: readonly Target[],
  catalog: Catalog,
  at: PlanDiagnostic['path'] = ['targets'],
): PlanDiagnostic[] {
  const metrics = new Map(catalog.metrics.map((metric) => [metric.id, metric]));
  return targets.flatMap((target, index): PlanDiagnostic[] => {
    const path = [...at, index];
    const metric = metrics.get(target.metric);
    if (metric === undefined) {
      return [
        {
          path: [...path, 'metric'],
          code: 'catalog.unknown',
          expected: "a metric of the organization's catalog",
          got: `"${target.metric}"`,
          next: suggestion(target.metric, metrics.keys(), 'Name one of the catalog, or remove the entry.'),
        },
      ];
    }
    return [
      ...checkAmounts(target, metric, path),
      ...checkPer(target, metric, path),
      ...checkWhere(target, metric, catalog, path),
      ...checkRows(target, metric, path),
    ];
  });
}

function checkAmounts(target: Target, { id, unit }: Metric, path: PlanDiagnostic['path']): PlanDiagnostic[] {
  return (['target', 'watch'] as const).flatMap((field): PlanDiagnostic[] => {
    const written = target[field];
    const amount = written === undefined ? undefined : parseAmount(written);
    if (amount === undefined || fitsUnit(amount, unit)) return [];
    const { expected, next } = fitsUnit({ ...amount, value: -amount.value }, unit) ? NOT_NEGATIVE : unitHint(unit);
    return [{ path: [...path, field], expected, got: `${written} for "${id}"`, next }];
  });
}

function checkPer({ per }: Target, metric: Metric, path: PlanDiagnostic['path']): PlanDiagnostic[] {
  if (per === undefined || !isCurrentCount(metric)) return [];
  return [
    {
      path: [...path, 'per'],
      expected: 'no "per" for a current count, which is the state at one time',
      got: `"${per}" for "${metric.id}"`,
      next: 'Remove "per".',
    },
  ];
}

const checkRows = ({ rows = [] }: Target, metric: Metric, path: PlanDiagnostic['path']): PlanDiagnostic[] =>
  rows.flatMap((id, index): PlanDiagnostic[] =>
    metric.dimensions.includes(id)
      ? []
      : [
          {
            path: [...path, 'rows', index],
            expected: `a dimension that "${metric.id}" accepts (${metric.dimensions.join(', ')})`,
            got: `"${id}"`,
            next: suggestion(id, metric.dimensions, 'Name one of these, or remove it.'),
          },
        ],
  );

function checkWhere(target: Target, metric: Metric, catalog: Catalog, path: PlanDiagnostic['path']): PlanDiagnostic[] {
  const where = parseWhere(target);
  if (where === undefined) return [];
  const at = [...path, 'where'];
  const dimension = catalog.dimensions.find(({ id }) => id === where.dimension);
  if (dimension === undefined || !metric.dimensions.includes(dimension.id)) {
    const accepted = metric.dimensions;
    return [
      {
        path: at,
        expected:
          accepted.length === 0
            ? `no "where": "${metric.id}" accepts no dimension`
            : `a dimension that "${metric.id}" accepts (${accepted.join(', ')})`,
        got: `"${where.dimension}"`,
        next: 'Name one of these, or remove "where".',
      },
    ];
  }
  const values = dimension.values.map(({ value }) => value);
  // Dimensions without listed values accept any value.
  if (values.length === 0 || values.includes(where.value)) return [];
  return [
    {
      path: [...at, where.dimension],
      code: 'catalog.unknown',
      expected: `a value that "${where.dimension}" takes: ${values.slice(0, 12).join(', ')}`,
      got: `"${where.value}"`,
      next: 'Use one of the values above.',
    },
  ];
}

/**
 * Warns about conditions of deliveries with a number in another unit than the metric's: `90` or `24h` for a ratio,
 * `10%` for a count. They do not stop a run, which compares the number as it is.
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
