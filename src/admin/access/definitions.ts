import { comparePositions, type Diagnostic, formatDiagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import { type CurrentReportPorts, currentReport, isOrganization } from '../../services/definitions/current-report.ts';
import type { ValidateText } from '../../services/definitions/definition-threads.ts';
import type { PlanExplainer } from '../../services/definitions/explain-report.ts';
import type { Principal } from '../auth/tokens.ts';
import { type Access, assertVisible, notFoundError, type Validation } from './access.ts';

export interface DefinitionsPorts extends CurrentReportPorts {
  readonly explainer: PlanExplainer;
  readonly checkText: ValidateText;
}

/** Plans and validation of definitions. */
export function definitionsAccess(ports: DefinitionsPorts, principal: Principal): Pick<Access, 'explain' | 'validate'> {
  return {
    explain: async (org, report, period) => {
      assertVisible(principal, org);
      const { version } = await currentReport(ports, org, report);
      if (version === undefined) throw notFoundError();
      // Each attempt costs a token, even a refused one: a viewer must not be able to use up the budget.
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
