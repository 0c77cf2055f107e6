import { randomUUID } from 'node:crypto';
import { mapWithConcurrency } from '../../base/concurrency.ts';
import { DocketError } from '../../base/error.ts';
import { sha256 } from '../../base/sha256.ts';
import type { DeliveryRow } from '../../deliver/ledger/ledger.ts';
import {
  redisSelections,
  type SelectedItem,
  type Selection,
  type SelectionAction,
} from '../../queue/runs/selections.ts';
import { listRunPage, parseRunCursor } from '../../run/run-page.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { AuditActor } from '../audit-log.ts';
import type { DecisionService } from '../deliveries/decisions.ts';
import { restrictToOrgs } from '../deliveries/query-deliveries.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { toRecipientName } from '../listings/received.ts';
import { decideSelection } from './decide-selection.ts';
import {
  type DeliverySelectionAction,
  deliveryMark,
  deliveryObstacle,
  isRunAction,
  type RunSelectionAction,
  runMark,
  runObstacle,
  SEARCHED_STATES,
} from './selection-rules.ts';
import { MAX_SELECTED, type SelectionFilter, type SelectionRequest, type SelectionView } from './selection-service.ts';

/** Runs per read, and reads at the same time. */
const PAGE_SIZE = 500;
const CONCURRENCY = 16;

type Skipped = Selection['skipped'][number];
/** The items that fit, and those that do not. */
interface Found {
  readonly items: SelectedItem[];
  readonly skipped: Skipped[];
}

export type SelectionService = ReturnType<typeof createSelectionService>;

/** Decisions about many runs or deliveries: first a preview, then a decision on exactly what it showed. */
export function createSelectionService(
  deployment: Pick<Deployment, 'runs' | 'ledger' | 'redis' | 'prefix' | 'clock'>,
  decisions: DecisionService,
) {
  const { runs, ledger, clock, redis } = deployment;
  const selections = redisSelections(redis, deployment);

  const addRun = async (action: RunSelectionAction, record: RunRecord, { items, skipped }: Found): Promise<void> => {
    const rows = action === 'retry' ? await ledger.list(record.id) : [];
    const why = runObstacle(action, record, rows);
    if (why === null) items.push(runItem(record, runMark(record, rows)));
    else skipped.push({ id: record.id, why });
  };

  const addDelivery = (
    action: DeliverySelectionAction,
    row: DeliveryRow,
    record: RunRecord | undefined,
    { items, skipped }: Found,
  ): void => {
    const why = deliveryObstacle(action, row);
    const { id, run, org, report, state, recipient } = row;
    const period = record?.period.label ?? null;
    if (why === null) items.push({ id, run, org, report, period, state, recipient, mark: deliveryMark(row) });
    else skipped.push({ id, why });
  };

  const findNamed = async (action: SelectionAction, ids: readonly string[], orgs: readonly string[] | '*') => {
    const found: Found = { items: [], skipped: [] };
    const named = [...new Set(ids)];
    if (named.length > MAX_SELECTED) throw tooManyError(String(named.length));
    const each = await mapWithConcurrency(named, CONCURRENCY, async (id) => {
      if (isRunAction(action)) return { record: await runs.get(id) };
      const row = await ledger.find(id);
      return { row, record: row && (await runs.get(row.run)) };
    });
    for (const [index, { record, ...one }] of each.entries()) {
      const subject = 'row' in one ? one.row : record;
      if (subject === undefined || !isVisible(subject, orgs)) {
        found.skipped.push({ id: named[index] ?? '', why: 'There is no record of it.' });
      } else if (isRunAction(action)) {
        if (record !== undefined) await addRun(action, record, found);
      } else if ('row' in one && one.row !== undefined) addDelivery(action, one.row, record, found);
    }
    return found;
  };

  const findMatching = async (action: SelectionAction, filter: SelectionFilter, orgs: readonly string[] | '*') => {
    assertNarrow(filter);
    const found: Found = { items: [], skipped: [] };
    const { states = SEARCHED_STATES[action], ...rest } = filter;
    const store = restrictToOrgs(runs, filter.org === undefined ? orgs : [filter.org]);
    for (let after: string | null | undefined; after !== null; ) {
      const cursor = after === undefined ? undefined : parseRunCursor(after);
      const page = await listRunPage(store, { ...rest, states, after: cursor, limit: PAGE_SIZE });
      for (const record of page.runs) {
        if (isRunAction(action)) await addRun(action, record, found);
        else {
          for (const row of await ledger.list(record.id)) {
            if (filter.recipients?.includes(toRecipientName(row)) === false) continue;
            // For a run that matches, lists only deliveries that somebody could mean.
            if (deliveryObstacle(action, row) === null) addDelivery(action, row, record, found);
          }
        }
        if (found.items.length > MAX_SELECTED) throw tooManyError(`more than ${MAX_SELECTED}`);
      }
      after = page.next;
    }
    return found;
  };

  const find = async (digest: string, orgs: readonly string[] | '*'): Promise<SelectionView> => {
    const stored = /^[0-9a-f]{64}$/.test(digest) ? await selections.get(digest) : undefined;
    if (stored?.items.every((item) => isVisible(item, orgs)) === true) return { ...stored, digest };
    throw new DocketError('selection.not_found', 'There is no such preview, or it is older than two days.', {
      got: digest.slice(0, 16),
      next: 'Make the preview again: it shows what is there now.',
    });
  };

  return {
    /** Throws `selection.not_found`, also if it contains a run of another organization. */
    find,

    /**
     * Changes nothing. Data of other organizations counts as missing. Throws `usage.invalid` for more than 500 items,
     * and for a filter without any condition.
     */
    preview: async (request: SelectionRequest, orgs: readonly string[] | '*'): Promise<SelectionView> => {
      const { action } = request;
      const { items, skipped } =
        'ids' in request
          ? await findNamed(action, request.ids, orgs)
          : await findMatching(action, request.filter, orgs);
      const selection: Selection = { action, at: clock.now(), items, skipped: skipped.slice(0, MAX_SELECTED) };
      // Even equal previews get different digests: the second one comes after the first decision's effects.
      const digest = sha256(JSON.stringify([selection, randomUUID()]));
      await selections.put(digest, selection);
      return { ...selection, digest, decision: null, outcomes: new Map() };
    },

    /**
     * Carries out a decision on the items that are still as the preview showed them, and skips the others. Repeating it
     * continues after an interruption, or returns the same result. Throws `selection.not_found`, and
     * `selection.conflict` if somebody else has decided or another process is about to.
     */
    decide: async (digest: string, actor: AuditActor, orgs: readonly string[] | '*'): Promise<SelectionView> => {
      const selection = await find(digest, orgs);
      const decision = await selections.decide(digest, actor);
      if (decision.by !== actor.by || decision.reason !== actor.reason) {
        throw new DocketError('selection.conflict', `${decision.by} has decided about this selection.`, {
          expected: 'a preview that nobody has decided about',
          got: `the reason ${JSON.stringify(decision.reason)}`,
          next: 'Make a new preview of what is left.',
        });
      }
      await decideSelection(selection, actor, { runs, ledger, decisions, selections });
      return find(digest, orgs);
    },
  };
}

const isVisible = ({ org }: { readonly org: string }, orgs: readonly string[] | '*'): boolean =>
  orgs === '*' || orgs.includes(org);

const runItem = ({ id, org, report, period, state }: RunRecord, mark: string): SelectedItem => ({
  id,
  run: id,
  org,
  report,
  period: period.label,
  state,
  recipient: null,
  mark,
});

const tooManyError = (got: string): DocketError =>
  new DocketError('usage.invalid', 'Too many items at once.', {
    expected: `at most ${MAX_SELECTED}`,
    got,
    next: 'Narrow the filter, for example by report, state or time. Nothing was changed.',
  });

/** Throws `usage.invalid` for a filter that matches everything, which nobody intends. */
function assertNarrow(filter: SelectionFilter): void {
  if (Object.values(filter).some((value) => value !== undefined)) return;
  throw new DocketError('usage.invalid', 'The filter has no condition.', {
    expected: 'at least one of organization, report, state, period, recipient, error and time',
    got: 'none',
    next: 'Add a condition.',
  });
}
