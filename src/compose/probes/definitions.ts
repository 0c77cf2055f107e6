import type { Catalog } from '../../contract/catalog.ts';
import { runPeriodsOf } from '../../definitions/periods/period.ts';
import { checkPlan } from '../../plan/checks/check-plan.ts';
import { type CheckResult, fail, ok } from '../../services/deployment/probe.ts';
import type { Examination } from './probe-context.ts';

const formatCount = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

/** Checks the definitions, including against the given catalogs. Makes no call. */
export function checkDefinitions(
  { jobs, now }: Pick<Examination, 'jobs' | 'now'>,
  catalogs: ReadonlyMap<string, Catalog>,
): CheckResult {
  let planErrors = 0;
  for (const definition of jobs.reports.values()) {
    const settings = jobs.orgs.get(definition.org);
    const catalog = catalogs.get(definition.org);
    if (settings === undefined || catalog === undefined) continue;
    planErrors += checkPlan({ definition, settings, ...runPeriodsOf(definition, settings, now), catalog }).length;
  }
  const { folder, reports, orgs, diagnostics } = jobs;
  const detail = `${formatCount(reports.size, 'report')} of ${formatCount(orgs.size, 'organization')} in ${folder}`;
  const errors = diagnostics.length + planErrors;
  if (errors > 0) return fail(`${detail}, ${formatCount(errors, 'error')}`, '`docket check` shows each with its line.');
  if (reports.size === 0) return fail(detail, '`docket init` creates a first one; DOCKET_JOBS names the folder.');
  return ok(detail);
}

export async function checkTemplateFolder({ context }: Examination): Promise<CheckResult | undefined> {
  const folder = context.config.DOCKET_TEMPLATES;
  if (folder === undefined) return undefined;
  const { checkTemplates } = await import('../../render/check-templates.ts');
  const faults = (await checkTemplates(folder)).length;
  if (faults === 0) return ok(`${folder}, no errors`);
  return fail(`${folder}, ${formatCount(faults, 'error')}`, '`docket check` shows each with its line.');
}
