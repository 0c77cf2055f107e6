import type { Clock } from '../base/clock.ts';
import type { SecretSource } from '../base/secret.ts';
import type { Catalog } from '../contract/catalog.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Period } from '../define/period.ts';
import { slotView } from '../define/slot-view.ts';
import { nextReportSlots, timetableOf } from '../define/slots.ts';
import { compilePlan } from '../plan/compile.ts';
import { type ExplainDocument, type ExplainExtra, explain } from '../plan/explain.ts';
import type { FrozenDefinition } from '../queue/definition-store.ts';
import { type BudgetLook, type Budgets, expectedFinish, lookAtBudgets } from './budgets.ts';

/** Slots that are shown beside a plan. */
const SLOTS = 5;

/** What an explanation goes by. */
export interface ExplanationPorts {
  readonly catalog: Catalog;
  readonly secrets: SecretSource;
  /** The workers' lines; undefined where no Redis is named, and nothing is told of them. */
  readonly budgetOf: Budgets | undefined;
  /** Of the definitions in force: they decide of the limits of the key. */
  readonly inForce?: Iterable<OrgSettings>;
  readonly clock: Clock;
}

/** What a run of the report would ask and cost, with its next slots and the line of its key as it is now. Throws `plan.invalid`. */
export async function explanationOf(
  { definition, settings }: FrozenDefinition,
  period: Period,
  { catalog, secrets, budgetOf, inForce, clock }: ExplanationPorts,
): Promise<ExplainDocument> {
  const plan = compilePlan({ definition, settings, period, catalog });
  const tokens = plan.calls.filter(({ kind }) => kind === 'report').length;
  const budget = budgetOf && (await lineNow(settings, tokens, { secrets, budgetOf, inForce, clock }));
  return explain(plan, {
    catalog,
    ...(budget === undefined ? {} : { budget }),
    slots: nextReportSlots(timetableOf(definition, settings), clock.now(), SLOTS).map((slot) =>
      slotView(slot, definition, settings.timezone),
    ),
    timezone: settings.timezone,
  });
}

/** The line of the key as it is now, and when `calls` more would be through. */
async function lineNow(
  settings: OrgSettings,
  calls: number,
  { clock, ...look }: BudgetLook & { readonly clock: Clock },
): Promise<ExplainExtra['budget'] | undefined> {
  const [line] = (await lookAtBudgets([settings], look)).keys;
  if (line === undefined) return undefined;
  const { metrics, limits } = line;
  const finish = expectedFinish(metrics, limits.windowMs, calls, clock.now());
  return { tokens: metrics.tokens, waiting: metrics.waiting, finish };
}
