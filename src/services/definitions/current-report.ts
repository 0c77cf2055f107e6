import { formatDiagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import { isInvalidOrg } from '../../definitions/load/last-known-good.ts';
import { type Definitions, reportDiagnostics } from '../../definitions/load/load-definitions.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';

export interface CurrentReportPorts {
  /** The definitions that this process has loaded. */
  readonly jobs: () => Definitions;
  /** The active version of a report whose file is invalid, if this process has loaded no valid version of it. */
  readonly lastGood: (name: string) => Promise<FrozenDefinition | undefined>;
}

/** A report as it is defined now. While its file is invalid, its last good version is current. */
export interface CurrentReport {
  /** Undefined if there is no such report, or no valid version of it. */
  readonly version: FrozenDefinition | undefined;
  /** One line per diagnostic of its file. Also empty if there is no such report. */
  readonly faults: readonly string[];
}

export async function currentReport(
  { jobs, lastGood }: CurrentReportPorts,
  org: string,
  report: string,
): Promise<CurrentReport> {
  const loaded = jobs();
  const name = `${org}/${report}`;
  const faults = reportDiagnostics(loaded, name).map(formatDiagnostic);
  const definition = loaded.reports.get(name);
  const settings = loaded.orgs.get(org);
  if (definition !== undefined && settings !== undefined) return { version: { definition, settings }, faults };
  return { version: faults.length === 0 ? undefined : await lastGood(name), faults };
}

/** Whether the organization exists. Its settings may be invalid. */
export const isOrganization = ({ orgs, folder, diagnostics }: Definitions, org: string): boolean =>
  orgs.has(org) || isInvalidOrg(folder, org, diagnostics);
