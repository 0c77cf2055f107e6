import type { Catalog } from '../../../contract/catalog.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import { runPeriodsOf } from '../../../definitions/periods/period.ts';
import { checkPlan } from '../../../plan/checks/check-plan.ts';
import { type CheckResult, type Finding, fail, ok } from '../finding.ts';

export interface DefinitionCounts {
  readonly folder: string;
  readonly reports: number;
  readonly orgs: number;
  readonly faults: number;
  /** Errors against the available catalogs. */
  readonly planErrors: number;
}

const formatCount = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

export function evaluateDefinitions({ folder, reports, orgs, faults, planErrors }: DefinitionCounts): CheckResult {
  const detail = `${formatCount(reports, 'report')} of ${formatCount(orgs, 'organization')} in ${folder}`;
  const errors = faults + planErrors;
  if (errors > 0) return fail(`${detail}, ${formatCount(errors, 'error')}`, '`docket check` shows each with its line.');
  if (reports === 0) return fail(detail, '`docket init` creates a first one; DOCKET_JOBS names the folder.');
  return ok(detail);
}

/** Checks the definitions, also against the given catalogs. Makes no call. */
export function checkDefinitions(jobs: Definitions, catalogs: ReadonlyMap<string, Catalog>, now: number): Finding {
  let planErrors = 0;
  for (const definition of jobs.reports.values()) {
    const settings = jobs.orgs.get(definition.org);
    const catalog = catalogs.get(definition.org);
    if (settings === undefined || catalog === undefined) continue;
    planErrors += checkPlan({ definition, settings, ...runPeriodsOf(definition, settings, now), catalog }).length;
  }
  const { folder, reports, orgs, diagnostics } = jobs;
  const facts = { folder, reports: reports.size, orgs: orgs.size, faults: diagnostics.length, planErrors };
  return { what: 'Definitions', ...evaluateDefinitions(facts) };
}

export function evaluateTemplates(folder: string, faults: number): CheckResult {
  if (faults === 0) return ok(`${folder}, no errors`);
  return fail(`${folder}, ${formatCount(faults, 'error')}`, '`docket check` shows each with its line.');
}

export async function checkTemplateFolder(folder: string): Promise<Finding> {
  const { checkTemplates } = await import('../../../render/check-templates.ts');
  return { what: 'Templates', ...evaluateTemplates(folder, (await checkTemplates(folder)).length) };
}
