import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import type { Deployment } from '../../services/deployment/deployment.ts';
import { type RunParts, runPartsFilter, type Titles } from '../../services/listings/match-reports.ts';

/** Options of listings that match a part of a value. */
export type RunPartsFlags = RunParts;

const NO_TITLES: Titles = { reports: new Map(), sources: new Map(), orgs: new Map() };

/**
 * The filter for these options. Searches titles if this machine has the definitions. Throws `usage.invalid` for an
 * invalid period, or for a text that matches too many recipients.
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
