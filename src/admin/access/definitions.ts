import { comparePositions, type Diagnostic, formatDiagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import type { LoadedOrg } from '../../definitions/load/parse-definitions.ts';
import type { PeriodSpec } from '../../definitions/schema/report-definition.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import type { Principal } from '../auth/tokens.ts';
import type { Access, Validation } from './access.ts';
import { assertVisible, notFoundError } from './permissions.ts';
import { currentReport, isOrganization, type ReportsPorts } from './reports.ts';

/** A text that may become a definition, checked as `docket check` would. */
export type ValidateText = (posted: {
  readonly text: string;
  readonly file: string;
  readonly name: { readonly org: string; readonly report: string };
  /** Undefined: the organization's settings cannot be read. */
  readonly of: LoadedOrg | undefined;
}) => Promise<{
  readonly faults: readonly Diagnostic[];
  /** Why it was not compared with everything. */
  readonly unchecked: string | null;
}>;

/** What is known of what a definition asks. */
export interface PlanExplainer {
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
  readonly explainer: PlanExplainer;
  readonly checkText: ValidateText;
}

/** Texts of definitions, and what they ask. */
export function definitionsAccess(ports: DefinitionsPorts, principal: Principal): Pick<Access, 'explain' | 'validate'> {
  return {
    explain: async (org, report, period) => {
      assertVisible(principal, org);
      const { version } = await currentReport(ports, org, report);
      if (version === undefined) throw notFoundError();
      // Each try that the service refuses costs a token as well: who may only look could use the key up.
      return ports.explainer.explain(version, period, { mayAsk: principal.role === 'operator' });
    },

    validate: async (org, report, text) => {
      const jobs = ports.jobs();
      assertVisible(principal, org);
      if (!isOrganization(jobs, org)) throw notFoundError();
      const file = `${org}/${report}.yaml`;
      const of = jobs.lastKnownGood.orgs.get(org);
      const { faults, unchecked } = await ports.checkText({ text, file, name: { org, report }, of });
      return validation(faults, unchecked);
    },
  };
}

const validation = (faults: readonly Diagnostic[], unchecked: string | null): Validation => ({
  ok: faults.length === 0,
  faults: [...faults].sort(comparePositions).map((fault) => ({
    line: fault.line,
    column: fault.column,
    text: formatDiagnostic(fault),
    ...(fault.code === undefined ? {} : { code: fault.code }),
  })),
  unchecked,
});
