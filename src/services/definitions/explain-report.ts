import type { Clock } from '../../base/clock.ts';
import type { SecretSource } from '../../base/secrets/secret.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { Period } from '../../definitions/periods/period.ts';
import { slotView } from '../../definitions/schedules/slot-view.ts';
import { nextReportSlots, timetableOf } from '../../definitions/schedules/slots.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { PeriodSpec } from '../../definitions/schema/report-definition.ts';
import { compilePlan } from '../../plan/compile.ts';
import { type ExplainContext, type ExplainDocument, explain } from '../../plan/explain.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { type BudgetFactory, expectedFinish, type InspectBudgetsPorts, inspectBudgets } from '../budgets/budgets.ts';

/** What is known of what a definition asks. */
export interface PlanExplainer {
  /**
   * What a run would ask, cost and send: what `docket explain --json` prints.
   * Throws `plan.invalid`, `catalog.missing` and what the service answers.
   * @param mayAsk whether a token may be spent on a catalog where the workers hold none
   */
  explain(
    version: FrozenDefinition,
    period: PeriodSpec | undefined,
    { mayAsk }: { readonly mayAsk: boolean },
  ): Promise<unknown>;
}

/** Slots that are shown beside a plan. */
const SHOWN_SLOTS = 5;

/** What an explanation goes by. */
export interface ExplainReportPorts {
  readonly catalog: Catalog;
  readonly secrets: SecretSource;
  /** The workers' lines; undefined where no Redis is named, and nothing is told of them. */
  readonly budgetOf: BudgetFactory | undefined;
  /** Of the definitions in force: they decide of the limits of the key. */
  readonly inForce?: Iterable<OrgSettings>;
  readonly clock: Clock;
}

/** What a run of the report would ask and cost, with its next slots and the line of its key as it is now. Throws `plan.invalid`. */
export async function explainReport(
  { definition, settings }: FrozenDefinition,
  period: Period,
  { catalog, secrets, budgetOf, inForce, clock }: ExplainReportPorts,
): Promise<ExplainDocument> {
  const plan = compilePlan({ definition, settings, period, catalog });
  const tokens = plan.calls.filter(({ kind }) => kind === 'report').length;
  const budget = budgetOf && (await inspectKeyBudget(settings, tokens, { secrets, budgetOf, inForce, clock }));
  return explain(plan, {
    catalog,
    ...(budget === undefined ? {} : { budget }),
    slots: nextReportSlots(timetableOf(definition, settings), clock.now(), SHOWN_SLOTS).map((slot) =>
      slotView(slot, definition, settings.timezone),
    ),
    timezone: settings.timezone,
  });
}

/** The line of the key as it is now, and when `calls` more would be through. */
async function inspectKeyBudget(
  settings: OrgSettings,
  calls: number,
  { clock, ...look }: InspectBudgetsPorts & { readonly clock: Clock },
): Promise<ExplainContext['budget'] | undefined> {
  const [line] = (await inspectBudgets([settings], look)).keys;
  if (line === undefined) return undefined;
  const { metrics, limits } = line;
  const finish = expectedFinish(metrics, limits.windowMs, calls, clock.now());
  return { tokens: metrics.tokens, waiting: metrics.waiting, finish };
}
