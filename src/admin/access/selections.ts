import type { SelectionAction } from '../../queue/runs/selections.ts';
import { runPartsFilter } from '../../services/listings/match-reports.ts';
import type { SelectionView } from '../../services/selections/selection-service.ts';
import type { Principal } from '../auth/tokens.ts';
import { assertOperator, auditActor, visibleOrgs } from './guards.ts';
import type { RunsFilter } from './runs.ts';
import type { AdminServices } from './services.ts';

export type SelectionInput =
  | { readonly action: SelectionAction; readonly ids: readonly string[] }
  | { readonly action: SelectionAction; readonly filter: Omit<RunsFilter, 'after' | 'limit'> };

/** Decisions about many runs or deliveries of the visible organizations, by operators. */
export const selectionsAccess = (services: AdminServices, principal: Principal) => ({
  /** Shows what would be decided, and changes nothing. Throws `usage.invalid`. */
  previewSelection: async (input: SelectionInput): Promise<SelectionView> => {
    assertOperator(principal);
    if ('ids' in input) return services.selections.preview(input, principal.orgs);
    const { match, to, error, period, ...filter } = input.filter;
    const orgs = visibleOrgs(principal, filter.org);
    const parts = await runPartsFilter({ match, to, error, period }, orgs, services, services.jobs());
    return services.selections.preview({ action: input.action, filter: { ...filter, ...parts } }, orgs);
  },

  /** Throws `selection.not_found`. */
  selection: async (digest: string): Promise<SelectionView> => {
    assertOperator(principal);
    return services.selections.find(digest, principal.orgs);
  },

  /** Decides about exactly the items that the preview showed. Throws `selection.not_found`, `selection.conflict`. */
  decideSelection: async (digest: string, reason: string): Promise<SelectionView> => {
    assertOperator(principal);
    return services.selections.decide(digest, auditActor(principal, reason), principal.orgs);
  },
});
