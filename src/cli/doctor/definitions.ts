import type { Catalog } from '../../contract/catalog.ts';
import type { Jobs } from '../../define/load.ts';
import { periodOf } from '../../define/period.ts';
import { checkPlan } from '../../plan/check-plan.ts';
import { type Finding, fail, ok, type Verdict } from './finding.ts';

/** What is known of the definitions. */
export interface Defined {
  readonly folder: string;
  readonly reports: number;
  readonly orgs: number;
  readonly faults: number;
  /** Questions that a catalog we hold does not allow. */
  readonly refused: number;
}

const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

export function judgeDefinitions({ folder, reports, orgs, faults, refused }: Defined): Verdict {
  const detail = `${counted(reports, 'report')} of ${counted(orgs, 'organization')} in ${folder}`;
  const wrong = faults + refused;
  if (wrong > 0)
    return fail(`${detail}, ${counted(wrong, 'fault')}`, '`docket check` shows each of them with its line.');
  if (reports === 0) return fail(detail, '`docket init` writes a first one; DOCKET_JOBS names the folder.');
  return ok(detail);
}

/** The definitions by themselves, and against the catalogs that are held: nothing is asked for. */
export function examineDefinitions(jobs: Jobs, catalogs: ReadonlyMap<string, Catalog>, now: number): Finding {
  let refused = 0;
  for (const definition of jobs.reports.values()) {
    const settings = jobs.orgs.get(definition.org);
    const catalog = catalogs.get(definition.org);
    if (settings === undefined || catalog === undefined) continue;
    refused += checkPlan({ definition, period: periodOf(definition, settings, now), catalog }).length;
  }
  const { folder, reports, orgs, faults } = jobs;
  const facts = { folder, reports: reports.size, orgs: orgs.size, faults: faults.length, refused };
  return { what: 'Definitions', ...judgeDefinitions(facts) };
}

export function judgeTemplates(folder: string, faults: number): Verdict {
  if (faults === 0) return ok(`${folder}, no faults`);
  return fail(`${folder}, ${counted(faults, 'fault')}`, '`docket check` shows each of them with its line.');
}

export async function examineTemplates(folder: string): Promise<Finding> {
  const { checkTemplates } = await import('../../render/check-templates.ts');
  return { what: 'Templates', ...judgeTemplates(folder, (await checkTemplates(folder)).length) };
}
