import { DocketError } from '../base/error.ts';
import type { Definition, Section } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import { askedBy } from './asked.ts';
import { assemble } from './assemble.ts';
import { listCall } from './call.ts';
import { callLimits } from './call-limits.ts';
import type { PlanFault } from './check.ts';
import { checkPlan, type Planned } from './check-plan.ts';
import type { Call, Plan, SectionPlan } from './plan.ts';

export interface PlanInput extends Planned {
  readonly settings: OrgSettings;
}

/**
 * Definition × Period × Catalog → the calls a run will make, as frozen data. Pure: the same input gives the same plan.
 *
 * Calls stand in the order of the sections they answer first, so that the top of the report is fetched first. Sections
 * share a call wherever each of their tables stays the same, cell for cell (`share.ts`); a table that no single call
 * can give is put together from several (`cut.ts`). Throws `plan.invalid` listing every `PlanFault`.
 */
export function compilePlan(input: PlanInput): Plan {
  const { definition, settings, period, catalog } = input;
  const faults = checkPlan(input);
  if (faults.length > 0) throw planInvalid(definition, faults);
  const asked = askedBy(definition, period, catalog);
  const questions = asked.flatMap(({ section, request }) => (request === undefined ? [] : { section, request }));
  const assembled = assemble(questions, settings.org, catalog, callLimits(catalog, input.limits));
  const calls = new Map<string, Call>();
  const sections = asked.map(({ section, replaced }): SectionPlan => {
    const { calls: own, join } =
      section.list === undefined
        ? (assembled.get(section.id) ?? unplanned(section))
        : { calls: [listCall(settings.org, section.list, section)] as const, join: undefined };
    // Setting a key again keeps its place: equal questions are asked once.
    for (const call of own) calls.set(call.id, call);
    return {
      section,
      call: own[0].id,
      ...(join === undefined ? {} : { join }),
      ...(replaced.length === 0 ? {} : { replaced }),
    };
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

function unplanned({ id }: Section): never {
  throw new Error(`nothing was planned for the section ${id}`);
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
    `${name} asks for what the service does not answer (${faults.length === 1 ? '1 fault' : `${faults.length} faults`}):\n  ${lines.join('\n  ')}`,
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
