import { DocketError } from '../base/error.ts';
import { type Catalog, isCurrentCount } from '../contract/catalog.ts';
import type { Definition, Section } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Period } from '../define/period.ts';
import { listCall, reportCall, requestOf } from './call.ts';
import { checkAgainstCatalog, checkPeriod, type PlanFault } from './check.ts';
import type { Call, Plan, SectionPlan } from './plan.ts';
import { shareRequests } from './share.ts';

export interface PlanInput {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  readonly period: Period;
  readonly catalog: Catalog;
}

/**
 * Definition × Period × Catalog → the calls a run will make, as frozen data. Pure: the same input gives the same plan.
 *
 * Calls stand in the order of the sections they answer first, so that the top of the report is fetched first. Sections
 * share a call wherever each of their tables stays the same, cell for cell (`share.ts`). Throws `plan.invalid` listing
 * every `PlanFault`.
 */
export function compilePlan({ definition, settings, period, catalog }: PlanInput): Plan {
  const faults = [...checkAgainstCatalog(definition, catalog), ...checkPeriod(definition, period, catalog)];
  if (faults.length > 0) throw planInvalid(definition, faults);
  const current = new Set(catalog.metrics.filter(isCurrentCount).map(({ id }) => id));
  const isCurrent = ({ metrics = [] }: Section) => metrics.every((id) => current.has(id));

  const requests = shareRequests(
    definition.sections
      .filter((section) => section.list === undefined)
      .map((section) => ({ section, request: requestOf(definition, section, period, isCurrent(section)) })),
  );
  const callOf = (section: Section): Call => {
    if (section.list !== undefined) return listCall(settings.org, section.list, section);
    const request = requests.get(section.id);
    if (request === undefined) throw new Error(`nothing was planned for the section ${section.id}`);
    return reportCall(settings.org, request);
  };
  const calls = new Map<string, Call>();
  const sections = definition.sections.map((section): SectionPlan => {
    const call = callOf(section);
    // Setting a key again keeps its place: equal questions are asked once.
    calls.set(call.id, call);
    return { section, call: call.id };
  });
  // Cloned first: freezing must not reach into what the caller goes on using.
  const plan: Plan = {
    org: definition.org,
    report: definition.report,
    definition,
    period,
    calls: [...calls.values()],
    sections,
    registryVersion: catalog.registry_version,
  };
  return freeze(structuredClone(plan));
}

/** `['sections', 2, 'metrics', 1]` → `sections[2].metrics[1]`. */
export const formatPath = (path: PlanFault['path']): string =>
  path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  );

function planInvalid(definition: Definition, faults: readonly PlanFault[]): DocketError {
  const lines = faults.map(
    ({ path, expected, got, next }) => `${formatPath(path)}: expected ${expected}; got ${got}. ${next}`,
  );
  const name = `${definition.org}/${definition.report}`;
  return new DocketError(
    'plan.invalid',
    `${name} asks for what the organization's catalog does not have (${faults.length === 1 ? '1 fault' : `${faults.length} faults`}):\n  ${lines.join('\n  ')}`,
    {
      where: name,
      next: 'Correct the definition; `docket check` shows each fault with its line.',
    },
  );
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
  return value;
}
