import { toDocketError } from '../base/error.ts';
import { done, type Outcome } from '../base/outcome.ts';
import type { Catalog } from '../contract/catalog.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import { RECENT_CATALOG_MAX_AGE_MS } from '../fetch/cache/catalog-cache.ts';
import { compilePlan, type PlanInput } from '../plan/compile.ts';
import type { Plan } from '../plan/plan.ts';
import type { RunContext, RunPorts } from './run-context.ts';
import type { RunOrder } from './run-record.ts';

/**
 * Compiles a run's plan. An older version, which did not request the counts of cases, may have begun the run. Its
 * stored responses belong to calls without these counts, so the plan keeps those calls; otherwise they would be made
 * twice.
 */
async function compileForRun(
  input: PlanInput,
  { id }: Pick<RunOrder, 'id'>,
  fresh: boolean | undefined,
  { responses }: Pick<RunPorts, 'responses'>,
): Promise<Plan> {
  const plan = compilePlan(input);
  if (fresh === true || !plan.calls.some((call) => call.kind === 'report' && call.bases !== undefined)) return plan;
  const ids = new Set(plan.calls.map((call) => call.id));
  const plain = compilePlan({ ...input, bases: false });
  for (const call of plain.calls) {
    if (!ids.has(call.id) && (await responses.get(id, call.id)) !== undefined) return plain;
  }
  return plan;
}

export interface PlannedRun {
  readonly catalog: Catalog;
  readonly plan: Plan;
}

/**
 * Makes the plan, and returns it with its catalog. If a cached catalog does not allow the definition, fetches a recent
 * one.
 * @param definitionOf the definition to plan; the run's own by default
 */
export async function makePlan(
  order: RunOrder,
  { definition, settings, signal, observe, fresh }: RunContext,
  ports: RunPorts,
  definitionOf: (catalog: Catalog) => Definition = () => definition,
): Promise<Outcome<PlannedRun>> {
  const planWith = async (maxAgeMs?: number): Promise<Outcome<PlannedRun>> => {
    const { priority, org: tenant } = order;
    const request = { ...ports, priority, org: settings.org, tenant, maxAgeMs };
    const catalog = await ports.catalogs.get(request, signal, observe);
    if (catalog.kind !== 'done') return catalog;
    const { period, sectionPeriods } = order;
    const input = { definition: definitionOf(catalog.value), settings, period, sectionPeriods, catalog: catalog.value };
    const plan = await compileForRun(input, order, fresh, ports);
    return done({ catalog: catalog.value, plan });
  };
  return planWith().catch((thrown: unknown) => {
    if (toDocketError(thrown).code !== 'plan.invalid') throw thrown;
    return planWith(RECENT_CATALOG_MAX_AGE_MS);
  });
}

/** A corrected edition needs new responses: an older shared response contains the figures that need correcting. */
export const planContext = ({ corrects }: Pick<RunOrder, 'corrects'>, context: RunContext): RunContext =>
  corrects === undefined ? context : { ...context, definition: { ...context.definition, max_age: 0 } };

/** Whether calls for a run may have been made before its slot. */
export const isPrepared = (
  { trigger }: Pick<RunOrder, 'trigger'>,
  { schedule }: Pick<Definition, 'schedule'>,
): boolean => trigger === 'schedule' && schedule.some(({ prepare }) => prepare !== undefined);
