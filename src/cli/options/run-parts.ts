import type { AppContext } from '../../base/context.ts';
import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import type { DecisionContext } from '../../compose/decisions.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { type RunParts, runPartsFilter } from '../../services/listings/run-parts.ts';

/** Options of listings that match parts. */
export type RunPartsFlags = RunParts;

type Titles = Pick<Definitions, 'reports' | 'sources' | 'orgs'>;
const NO_TITLES: Titles = { reports: new Map(), sources: new Map(), orgs: new Map() };

/**
 * The filter of these options; titles are searched where this machine has the definitions. Throws `usage.invalid` for a
 * text that is no period, and for one that matches too many recipients.
 */
export async function readRunParts(
  { match, to, error, period }: RunPartsFlags,
  orgs: readonly string[] | '*',
  { searchIndex }: Pick<DecisionContext, 'searchIndex'>,
  { config, clock }: AppContext,
) {
  const titles = match === undefined ? NO_TITLES : await loadDefinitions(config.DOCKET_JOBS).catch(() => NO_TITLES);
  return runPartsFilter({ match, to, error, period }, orgs, { searchIndex, jobs: () => titles, clock });
}
