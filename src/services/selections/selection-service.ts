import type { SelectionAction, StoredSelection } from '../../queue/runs/selections.ts';
import type { RunFilter } from '../../run/run-record.ts';
import type { AuditActor } from '../audit-log.ts';

/** The most that one person decides about at once. */
export const MAX_SELECTED = 500;
/** Filter of the listing of runs; for deliveries: those of matching runs, to `recipients` where given. */
export type SelectionFilter = Omit<RunFilter, 'limit' | 'after'>;
/** Full ids, of runs or of deliveries as the action is about; or a filter. */
export type SelectionRequest =
  | { readonly action: SelectionAction; readonly ids: readonly string[] }
  | { readonly action: SelectionAction; readonly filter: SelectionFilter };

/** A preview, and what has come of it. */
export interface SelectionView extends StoredSelection {
  /** 64 hex digits, of exactly this preview. */
  readonly digest: string;
}

/** Decisions about many runs or deliveries: first a preview, then a decision about exactly what it has shown. */
export interface SelectionService {
  /**
   * Changes nothing. Data of other organizations does not exist. Throws `usage.invalid` for more than 500, and for a filter
   * without any condition.
   */
  preview(request: SelectionRequest, orgs: readonly string[] | '*'): Promise<SelectionView>;
  /** Throws `selection.not_found`, also where it has a run of another organization. */
  find(digest: string, orgs: readonly string[] | '*'): Promise<SelectionView>;
  /**
   * Decides about the items that are as the preview has shown them, and skips the others. Repeating it continues where it was
   * interrupted, or returns the same result. Throws `selection.not_found`; `selection.conflict` where somebody else has decided,
   * or another process is about to.
   */
  decide(digest: string, actor: AuditActor, orgs: readonly string[] | '*'): Promise<SelectionView>;
}
