import type { SelectionAction, StoredSelection } from '../../queue/runs/selections.ts';
import type { RunFilter } from '../../run/run-record.ts';
import type { AuditActor } from '../audit-log.ts';

/** Most items on which one decision can be made. */
export const MAX_SELECTED = 500;
/** A filter as for the listing of runs. For deliveries: those of matching runs, only to `recipients` if given. */
export type SelectionFilter = Omit<RunFilter, 'limit' | 'after'>;
/** Full ids of runs or deliveries, as the action requires; or a filter. */
export type SelectionRequest =
  | { readonly action: SelectionAction; readonly ids: readonly string[] }
  | { readonly action: SelectionAction; readonly filter: SelectionFilter };

/** A preview, with the outcomes so far. */
export interface SelectionView extends StoredSelection {
  /** 64 hex digits that identify exactly this preview. */
  readonly digest: string;
}

/** Decisions about many runs or deliveries: first a preview, then a decision on exactly what it showed. */
export interface SelectionService {
  /**
   * Changes nothing. Data of other organizations counts as missing. Throws `usage.invalid` for more than 500 items, and
   * for a filter without any condition.
   */
  preview(request: SelectionRequest, orgs: readonly string[] | '*'): Promise<SelectionView>;
  /** Throws `selection.not_found`, also if it contains a run of another organization. */
  find(digest: string, orgs: readonly string[] | '*'): Promise<SelectionView>;
  /**
   * Carries out a decision on the items that are still as the preview showed them, and skips the others. Repeating it
   * continues after an interruption, or returns the same result. Throws `selection.not_found`, and `selection.conflict`
   * if somebody else has decided or another process is about to.
   */
  decide(digest: string, actor: AuditActor, orgs: readonly string[] | '*'): Promise<SelectionView>;
}
