import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import type { Deployment } from '../../services/deployment/deployment.ts';
import type { Titles } from '../../services/listings/match-reports.ts';
import { type RunParts, runPartsFilter } from '../../services/listings/run-parts.ts';

/** Options of listings that match parts. */
export type RunPartsFlags = RunParts;

const NO_TITLES: Titles = { reports: new Map(), sources: new Map(), orgs: new Map() };

/**
 * The filter of these options; titles are searched where this machine has the definitions. Throws `usage.invalid` for a
 * text that is no period, and for one that matches too many recipients.
 */
export async function readRunParts(
  { match, to, error, period }: RunPartsFlags,
  orgs: readonly string[] | '*',
  deployment: Deployment,
) {
  const { config } = deployment;
  const titles = match === undefined ? NO_TITLES : await loadDefinitions(config.DOCKET_JOBS).catch(() => NO_TITLES);
  return runPartsFilter({ match, to, error, period }, orgs, deployment, titles);
}
