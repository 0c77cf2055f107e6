import type { PeriodSpec } from '../../define/definition.ts';
import { byPosition, type Fault, formatFault } from '../../define/fault.ts';
import type { LoadedOrg } from '../../define/report-of.ts';
import type { FrozenDefinition } from '../../queue/definition-store.ts';
import type { Access, Validation } from '../access.ts';
import type { Principal } from '../auth/tokens.ts';
import { notThere, requireSeen } from './may.ts';
import { isOrganization, type ReportsPorts, reportNow } from './reports.ts';

/** A text that may become a definition, checked as `docket check` would. */
export type CheckText = (posted: {
  readonly text: string;
  readonly file: string;
  readonly name: { readonly org: string; readonly report: string };
  /** Undefined: the organization's settings cannot be read. */
  readonly of: LoadedOrg | undefined;
}) => Promise<{
  readonly faults: readonly Fault[];
  /** Why it was not compared with everything. */
  readonly unchecked: string | null;
}>;

/** What is known of what a definition asks. */
export interface Planning {
  /**
   * What a run would ask, cost and send: what `docket explain --json` prints.
   * Throws `plan.invalid`, `catalog.missing` and what the service answers.
   * @param mayAsk whether a token may be spent on a catalog where the workers hold none
   */
  explain(
    version: FrozenDefinition,
    period: PeriodSpec | undefined,
    { mayAsk }: { readonly mayAsk: boolean },
  ): Promise<unknown>;
}

export interface DefinitionsPorts extends Pick<ReportsPorts, 'jobs' | 'lastGood'> {
  readonly planning: Planning;
  readonly checkText: CheckText;
}

/** Texts of definitions, and what they ask. */
export function definitionsAccess(ports: DefinitionsPorts, principal: Principal): Pick<Access, 'explain' | 'validate'> {
  return {
    explain: async (org, report, period) => {
      requireSeen(principal, org);
      const { version } = await reportNow(ports, org, report);
      if (version === undefined) throw notThere();
      // Each try that the service refuses costs a token as well: who may only look could use the key up.
      return ports.planning.explain(version, period, { mayAsk: principal.role === 'operator' });
    },

    validate: async (org, report, text) => {
      const jobs = ports.jobs();
      requireSeen(principal, org);
      if (!isOrganization(jobs, org)) throw notThere();
      const file = `${org}/${report}.yaml`;
      const of = jobs.good.orgs.get(org);
      const { faults, unchecked } = await ports.checkText({ text, file, name: { org, report }, of });
      return validation(faults, unchecked);
    },
  };
}

const validation = (faults: readonly Fault[], unchecked: string | null): Validation => ({
  ok: faults.length === 0,
  faults: [...faults].sort(byPosition).map((fault) => ({
    line: fault.line,
    column: fault.column,
    text: formatFault(fault),
    ...(fault.code === undefined ? {} : { code: fault.code }),
  })),
  unchecked,
});
