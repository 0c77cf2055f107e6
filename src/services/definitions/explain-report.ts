import type { Clock } from '../../base/clock.ts';
import type { SecretSource } from '../../base/secrets/secret.ts';
import type { Catalog } from '../../contract/catalog.ts';
import { assertBegun } from '../../definitions/periods/assert-period.ts';
import { type RunPeriods, resolveRunPeriods } from '../../definitions/periods/period.ts';
import { slotView } from '../../definitions/schedules/slot-view.ts';
import { buildTimetable, nextReportSlots } from '../../definitions/schedules/slots.ts';
import { describeDelivery } from '../../definitions/schema/kinds.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { PeriodSpec } from '../../definitions/schema/report-definition.ts';
import { TARGETS } from '../../deliver/targets/registry.ts';
import { withCatalog } from '../../fetch/cache/catalog-cache.ts';
import { type ExplainContext, type ExplainDocument, explain } from '../../plan/explain.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import type { BudgetFactory } from '../budgets/budgets.ts';
import { expectedFinish, type InspectBudgetsPorts, inspectBudgets } from '../budgets/inspect-budgets.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { viewPreparation } from '../preparations/explain-preparation.ts';
import { type CatalogFinder, catalogForUser } from './catalog-finder.ts';
import { planRun } from './plan-run.ts';

export type PlanExplainer = ReturnType<typeof createPlanExplainer>;

/** Explains reports to users of the admin route. */
export const createPlanExplainer = (
  { secrets, orgs, clock }: Pick<Deployment, 'secrets' | 'orgs' | 'clock'>,
  finder: CatalogFinder,
  budgetOf: BudgetFactory,
) => ({
  /**
   * Plan, cost and deliveries of a run: the document of `docket explain --json`. Throws `period.not_begun`,
   * `plan.invalid`, `catalog.missing` and the service's errors.
   * @param mayFetch whether a token may be spent on a catalog that is not cached
   */
  explain: async (
    { definition, settings }: FrozenDefinition,
    spec: PeriodSpec | undefined,
    { mayFetch }: { readonly mayFetch: boolean },
  ): Promise<unknown> => {
    const periods = resolveRunPeriods(definition, settings, clock.now(), spec);
    assertBegun(periods, clock.now());
    return withCatalog(
      (maxAgeMs) => catalogForUser(finder, settings, { mayFetch, maxAgeMs }),
      (catalog) =>
        explainReport({ definition, settings }, periods, {
          ...{ catalog, secrets, budgetOf, clock },
          activeOrgs: orgs().values(),
        }),
    );
  },
});

/** How many upcoming slots a plan shows. */
const SHOWN_SLOTS = 5;

export interface ExplainReportPorts {
  readonly catalog: Catalog;
  readonly secrets: SecretSource;
  /** The workers' budgets. Undefined without Redis: the document then omits the budget. */
  readonly budgetOf: BudgetFactory | undefined;
  /** The active organizations, which determine the API key's limits. */
  readonly activeOrgs?: Iterable<OrgSettings>;
  readonly clock: Clock;
}

/**
 * The requests and cost of a run of the report, its next slots, and its API key's current budget. Throws
 * `plan.invalid`.
 */
export async function explainReport(
  { definition, settings }: FrozenDefinition,
  periods: RunPeriods,
  { catalog, secrets, budgetOf, activeOrgs, clock }: ExplainReportPorts,
): Promise<ExplainDocument> {
  const { plan, answered, tokens, split } = planRun({ definition, settings }, periods, catalog, clock.now());
  const { timezone } = settings;
  const budget = budgetOf && (await inspectKeyBudget(settings, tokens, { secrets, budgetOf, activeOrgs, clock }));
  return explain(plan, {
    catalog,
    recipients: definition.deliveries.flatMap((delivery) => {
      const { addresses, labels = addresses } = describeDelivery(delivery, TARGETS);
      return labels;
    }),
    ...(budget === undefined ? {} : { budget }),
    slots: nextReportSlots(buildTimetable(definition, settings), clock.now(), SHOWN_SLOTS).map((slot) =>
      slotView(slot, definition, settings.timezone),
    ),
    timezone,
    answered,
    prepare: viewPreparation({ definition, settings }, catalog, clock.now()),
    ...(split === undefined ? {} : { split }),
  });
}

/** The API key's current budget, and when `calls` further calls can have been started. */
async function inspectKeyBudget(
  settings: OrgSettings,
  calls: number,
  { clock, ...ports }: InspectBudgetsPorts & { readonly clock: Clock },
): Promise<ExplainContext['budget'] | undefined> {
  const [budget] = (await inspectBudgets([settings], ports)).keys;
  if (budget === undefined) return undefined;
  const { metrics, limits } = budget;
  const finish = expectedFinish(metrics, limits.windowMs, calls, clock.now());
  return { tokens: metrics.tokens, waiting: metrics.waiting, finish };
}
