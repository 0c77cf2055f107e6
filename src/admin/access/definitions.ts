import type { PeriodSpec } from '../../define/definition.ts';
import { byPosition, type Fault, formatFault } from '../../define/fault.ts';
import { faultAt } from '../../define/parse.ts';
import { reportOf } from '../../define/report-of.ts';
import type { Path } from '../../define/source.ts';
import type { FrozenDefinition } from '../../queue/definition-store.ts';
import type { Access, Validation } from '../access.ts';
import type { Principal } from '../auth/tokens.ts';
import { notThere, requireSeen } from './may.ts';
import { isOrganization, type ReportsPorts, reportNow } from './reports.ts';

/** Something that cannot be asked of the organization's catalog, and where the definition asks it. */
export interface PlanFault extends Pick<Fault, 'expected' | 'got' | 'next'> {
  readonly path: Path;
}

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
  /** Compares with the catalog that the workers hold, and asks nobody for another; a text: why it was not compared. */
  check(version: FrozenDefinition): Promise<readonly PlanFault[] | string>;
}

export interface DefinitionsPorts extends Pick<ReportsPorts, 'jobs' | 'lastGood'> {
  readonly planning: Planning;
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
      const { source, definition, faults } = reportOf(text, file, { org, report }, jobs.good.orgs.get(org));
      const settings = jobs.orgs.get(org);
      if (faults.length > 0) return validation(faults, null);
      if (definition === undefined || settings === undefined) {
        return validation(
          [],
          'The organization’s org.yaml has a fault: recipients and calendar were not looked at either.',
        );
      }
      const planned = await ports.planning.check({ definition, settings });
      if (typeof planned === 'string') return validation([], planned);
      return validation(
        planned.flatMap(({ path, ...fault }) => faultAt(source, path, fault)),
        null,
      );
    },
  };
}

const validation = (faults: readonly Fault[], unchecked: string | null): Validation => ({
  ok: faults.length === 0,
  faults: [...faults].sort(byPosition).map((fault) => ({
    line: fault.line,
    column: fault.column,
    text: formatFault(fault),
  })),
  unchecked,
});
