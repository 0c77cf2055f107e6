import type { SelectionAction, StoredSelection } from '../../queue/runs/selections.ts';
import type { RunFilter } from '../../run/run-record.ts';

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
