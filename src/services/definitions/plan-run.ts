import type { Catalog } from '../../contract/catalog.ts';
import type { RunPeriods } from '../../definitions/periods/period.ts';
import { buildDesk, deskDefinition } from '../../definitions/split.ts';
import { answeredSections, withoutAnswered } from '../../plan/answered-sections.ts';
import { compilePlan } from '../../plan/compile.ts';
import { splitPlan } from '../../plan/split/split-plan.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';

/**
 * Plans a run without the sections that stored readings cover. Returns the plan, its calls, and how many of them use a
 * token. With `split`, the plan is for one value, and `calls` are those for all values. Throws `plan.invalid`.
 */
export function planRun(
  { definition, settings }: FrozenDefinition,
  periods: RunPeriods,
  catalog: Catalog,
  now: number,
) {
  const values = catalog.dimensions.find(({ id }) => id === definition.split?.by)?.values ?? [];
  const [first] = values;
  // The plans of all values have the same form.
  const one = first === undefined ? definition : deskDefinition(definition, buildDesk(first.value, first.label));
  const compiled = compilePlan({ definition: { ...one, title: definition.title }, settings, ...periods, catalog });
  const { readings, timezone } = settings;
  const answered: ReadonlySet<string> =
    readings === undefined ? new Set() : answeredSections(compiled, { settings: readings, timezone }, catalog, now);
  const plan = withoutAnswered(compiled, answered);
  const split =
    definition.split === undefined
      ? undefined
      : { plan: splitPlan(plan, definition.split.by, { org: settings.org, catalog }), values: values.length };
  const calls = split?.plan.calls ?? plan.calls;
  return { plan, answered, split, calls, tokens: calls.filter(({ kind }) => kind === 'report').length };
}

export type PlannedRun = ReturnType<typeof planRun>;
