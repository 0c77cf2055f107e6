import type { Catalog } from '../contract/catalog.ts';
import type { Definition } from '../define/definition.ts';
import type { Period } from '../define/period.ts';
import { askedBy } from './asked.ts';
import { type CallLimits, callLimits } from './call-limits.ts';
import { checkAgainstCatalog, type PlanFault } from './check.ts';
import { checkCuts } from './check-cuts.ts';

/** What a plan is made from and checked against. */
export interface Planned {
  readonly definition: Definition;
  readonly period: Period;
  readonly catalog: Catalog;
  /** Keeps calls smaller than the service's own limits ask; the tables stay the same. */
  readonly limits?: Partial<CallLimits>;
}

/** Everything that cannot be asked: of this catalog at all, or over this period. In the order of the file. Pure. */
export function checkPlan({ definition, period, catalog, limits }: Planned): PlanFault[] {
  const asked = askedBy(definition, period, catalog);
  const faults = checkAgainstCatalog({ ...definition, sections: asked.map(({ section }) => section) }, catalog);
  return asked.flatMap(({ section, request }, index) => {
    const own = faults.filter(({ path }) => path[1] === index);
    // How it would be cut can only be told of a section that may be asked at all.
    if (own.length > 0 || request === undefined) return own;
    return checkCuts({ section, request }, ['sections', index], catalog, callLimits(catalog, limits));
  });
}
