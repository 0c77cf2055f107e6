import { DocketError } from '../base/error.ts';
import { metricBases } from '../contract/bases.ts';
import { mergeDisplay } from '../definitions/display.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import type { PlanDiagnostic } from './checks/catalog-check.ts';
import { type CheckPlanInput, checkRequests } from './checks/check-plan.ts';
import type { Call, PartnerPlan, Plan, SectionPlan } from './plan.ts';
import { callLimits, listCall } from './requests/call.ts';
import { type PlannedCalls, planRequests } from './requests/plan-requests.ts';
import { type SectionRequest, sectionRequests } from './requests/section-requests.ts';

export interface PlanInput extends CheckPlanInput {
  readonly settings: OrgSettings;
  /** False: does not request the numbers of cases behind ratios and durations. */
  readonly bases?: boolean;
}

/**
 * Compiles definition, period and catalog into the calls of a run, as frozen data. Deterministic.
 *
 * Calls are in the order of the sections, so that the top of the report is fetched first. Sections share a call if
 * their tables stay the same (`merge-requests.ts`). A table beyond the limits of one call is joined from several
 * (`split-request.ts`). Other years and the year to date need further calls (`partner-requests.ts`). Throws
 * `plan.invalid` with every `PlanDiagnostic` that stops a run.
 */
export function compilePlan(input: PlanInput): Plan {
  const { definition, settings, period, catalog, bases = true } = input;
  const requests = sectionRequests(input);
  const diagnostics = checkRequests(requests, input);
  if (diagnostics.length > 0) throw planInvalidError(definition, diagnostics);
  const planned = planRequests(
    requests,
    settings.org,
    catalog,
    callLimits(catalog, input.limits),
    bases ? (settings.bases ?? {}) : undefined,
  );
  const calls = new Map<string, Call>();
  const registerCalls = (one: PlannedCalls): Pick<PartnerPlan, 'call' | 'join' | 'baseJoin'> => {
    const {
      calls: [first, ...more],
      ...joins
    } = one;
    // A key that is set again keeps its position, so equal calls are made once.
    for (const call of [first, ...more]) calls.set(call.id, call);
    return { call: first.id, ...joins };
  };
  const ownCalls = ({ section, request }: SectionRequest): PlannedCalls | undefined => {
    if (section.list !== undefined) return { calls: [listCall(settings.org, section.list, section)] };
    return request === undefined ? undefined : planned.own(section.id);
  };
  const sections = requests.map((one): SectionPlan => {
    const { section, replaced, comparisons } = one;
    const own = ownCalls(one);
    const known = bases ? metricBases(section.metrics ?? [], catalog, settings.bases) : [];
    return {
      section,
      period: one.period,
      comparisons,
      ...(one.toDate === undefined ? {} : { toDate: one.toDate }),
      ...(own === undefined ? {} : registerCalls(own)),
      partners: planned
        .partners(section.id)
        .map(({ calls: answers, ...partner }) => ({ ...partner, ...registerCalls(answers) })),
      ...(known.length === 0 ? {} : { bases: known }),
      ...(replaced.length === 0 ? {} : { replaced }),
    };
  });
  // A copy, because freezing must not affect the caller's objects.
  const plan: Plan = {
    org: definition.org,
    report: definition.report,
    definition: { ...definition, ...mergeDisplay(definition, settings) },
    period,
    calls: [...calls.values()],
    sections,
    registryVersion: catalog.registry_version,
  };
  return frozenCopy(plan);
}

/** Formats a path: `['sections', 2, 'metrics', 1]` → `sections[2].metrics[1]`. */
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

/** Copies JSON data and freezes the copy deeply. */
function frozenCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as T;
  const copy = { ...value };
  for (const key in copy) copy[key] = frozenCopy(copy[key]);
  return Object.freeze(copy);
}
