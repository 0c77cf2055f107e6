import { DocketError } from '../base/error.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Definition, Section } from '../definitions/schema/report-definition.ts';
import { buildCalls } from './build-calls.ts';
import { callLimits, listCall } from './call.ts';
import type { PlanDiagnostic } from './catalog-check.ts';
import { type CheckPlanInput, checkPlan } from './check-plan.ts';
import type { Call, Plan, SectionPlan } from './plan.ts';
import { sectionRequests } from './section-requests.ts';

export interface PlanInput extends CheckPlanInput {
  readonly settings: OrgSettings;
}

/**
 * Definition × Period × Catalog → the calls of a run, as frozen data. Deterministic.
 *
 * Calls are in the order of the sections, so that the top of the report is fetched first. Sections share a call if their
 * tables stay the same (`merge-requests.ts`); a table beyond the limits of one call is joined from several
 * (`split-request.ts`). Throws `plan.invalid` with every `PlanDiagnostic`.
 */
export function compilePlan(input: PlanInput): Plan {
  const { definition, settings, period, catalog } = input;
  const diagnostics = checkPlan({ ...input, readings: settings.readings });
  if (diagnostics.length > 0) throw planInvalidError(definition, diagnostics);
  const requests = sectionRequests(definition, period, catalog);
  const metricsRequests = requests.flatMap(({ section, request }) =>
    request === undefined ? [] : { section, request },
  );
  const callsBySection = buildCalls(metricsRequests, settings.org, catalog, callLimits(catalog, input.limits));
  const calls = new Map<string, Call>();
  const sections = requests.map(({ section, replaced }): SectionPlan => {
    const { calls: sectionCalls, join } =
      section.list === undefined
        ? (callsBySection.get(section.id) ?? unplanned(section))
        : { calls: [listCall(settings.org, section.list, section)] as const, join: undefined };
    // Setting a key again keeps its position: equal calls are made once.
    for (const call of sectionCalls) calls.set(call.id, call);
    return {
      section,
      call: sectionCalls[0].id,
      ...(join === undefined ? {} : { join }),
      ...(replaced.length === 0 ? {} : { replaced }),
    };
  });
  // Cloned first: freezing must not affect the caller's objects.
  const plan: Plan = {
    org: definition.org,
    report: definition.report,
    definition,
    period,
    calls: [...calls.values()],
    sections,
    registryVersion: catalog.registry_version,
  };
  return deepFreeze(structuredClone(plan));
}

function unplanned({ id }: Section): never {
  throw new Error(`no calls for the section ${id}`);
}

/** `['sections', 2, 'metrics', 1]` → `sections[2].metrics[1]`. */
const formatPath = (path: PlanDiagnostic['path']): string =>
  path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  );

function planInvalidError(definition: Definition, diagnostics: readonly PlanDiagnostic[]): DocketError {
  const lines = diagnostics.map(
    ({ path, expected, got, next }) => `${formatPath(path)}: expected ${expected}; got ${got}. ${next}`,
  );
  const name = `${definition.org}/${definition.report}`;
  return new DocketError(
    'plan.invalid',
    `${name} cannot be planned (${diagnostics.length === 1 ? '1 error' : `${diagnostics.length} errors`}):\n  ${lines.join('\n  ')}`,
    {
      where: name,
      next: 'Correct the definition; `docket check` shows each error with its line.',
    },
  );
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}
