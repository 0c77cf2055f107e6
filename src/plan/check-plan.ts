import type { Catalog } from '../contract/catalog.ts';
import type { Definition } from '../define/definition.ts';
import type { Period } from '../define/period.ts';
import { askedBy } from './asked.ts';
import { type CallLimits, callLimits } from './call-limits.ts';
import { findPlanFaults, type PlanFault } from './check.ts';
import { checkCuts } from './check-cuts.ts';

/** What a plan is made from and checked against. */
export interface Planned {
  readonly definition: Definition;
  readonly period: Period;
  readonly catalog: Catalog;
  /** Keeps calls smaller than the service's own limits ask; the tables stay the same. */
  readonly limits?: Partial<CallLimits>;
}

/** A person corrects some and asks again; to tell of each value of very long lists would take minutes. */
export const MAX_PLAN_FAULTS = 100;

/**
 * What cannot be asked: of this catalog at all, or over this period. In the order of the file, and no more than
 * `MAX_PLAN_FAULTS`. Pure.
 */
export function checkPlan({ definition, period, catalog, limits }: Planned): PlanFault[] {
  const asked = askedBy(definition, period, catalog);
  const faults: PlanFault[] = [];
  const sections = asked.map(({ section }) => section);
  for (const fault of findPlanFaults({ ...definition, sections }, catalog)) {
    if (faults.push(fault) === MAX_PLAN_FAULTS) return faults;
  }
  for (const [index, { section, request }] of asked.entries()) {
    // How it would be cut can only be told of a section that may be asked at all.
    if (request === undefined || faults.some(({ path }) => path[1] === index)) continue;
    faults.push(...checkCuts({ section, request }, ['sections', index], catalog, callLimits(catalog, limits)));
  }
  // Those of a section are in order already.
  return faults.sort((a, b) => Number(a.path[1]) - Number(b.path[1])).slice(0, MAX_PLAN_FAULTS);
}
