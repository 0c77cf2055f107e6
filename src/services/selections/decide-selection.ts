import { mapWithConcurrency, splitBatches } from '../../base/concurrency.ts';
import { DocketError, isRedisOutage, isStorageOutage, toDocketError } from '../../base/error.ts';
import type { SelectedItem, SelectionAction, SelectionOutcome, SelectionStore } from '../../queue/runs/selections.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { AuditActor } from '../audit-log.ts';
import type { DecisionService } from '../deliveries/decisions.ts';
import type { Deployment } from '../deployment/deployment.ts';
import {
  DELIVERY_STATE,
  type DeliverySelectionAction,
  deliveryMark,
  isRunAction,
  type RunSelectionAction,
  runMark,
  wasDecided,
} from './selection-rules.ts';
import type { SelectionView } from './selection-service.ts';

export interface DecidePorts extends Pick<Deployment, 'runs' | 'ledger'> {
  readonly decisions: DecisionService;
  readonly selections: SelectionStore;
}

/** Decisions carried out at once, between two renewals of the claim. */
const CONCURRENCY = 8;

/**
 * Carries out the decision on a selection's items that have no outcome yet, and records each outcome. An outage of
 * Redis or the archive ends it: the remaining items keep no outcome, and a repetition continues with them.
 */
export async function decideSelection(selection: SelectionView, actor: AuditActor, ports: DecidePorts): Promise<void> {
  const { digest, action, items } = selection;
  const claim = await ports.selections.claim(digest);
  if (claim === undefined) {
    throw new DocketError('selection.conflict', 'Another process decides about this selection right now.', {
      retryable: true,
      next: 'Repeat the same request in a minute: it then returns the result.',
    });
  }
  try {
    // Read after the claim, because another process may have just finished.
    const { outcomes } = (await ports.selections.get(digest)) ?? selection;
    const open = items.filter(({ id }) => !outcomes.has(id));
    const groups = isRunAction(action) ? open.map((item) => [item]) : byRun(open);
    for (const batch of splitBatches(groups, CONCURRENCY)) {
      await mapWithConcurrency(batch, CONCURRENCY, async (group) => {
        const results = await decideGroup(action, group, actor, ports);
        for (const [id, outcome] of results) await ports.selections.putOutcome(digest, id, outcome);
      });
      await claim.renew();
    }
  } finally {
    await claim.release();
  }
}

/** Deliveries of a run are decided together, so that it is reopened only once. */
function byRun(items: readonly SelectedItem[]): readonly (readonly SelectedItem[])[] {
  const runs = new Map<string, SelectedItem[]>();
  for (const item of items) runs.set(item.run, [...(runs.get(item.run) ?? []), item]);
  return [...runs.values()];
}

type Results = ReadonlyMap<string, SelectionOutcome>;

const DECIDED: SelectionOutcome = { result: 'decided', why: null };
const changed = (why: string): SelectionOutcome => ({ result: 'changed', why });

async function decideGroup(
  action: SelectionAction,
  group: readonly SelectedItem[],
  actor: AuditActor,
  ports: DecidePorts,
): Promise<Results> {
  const [first] = group;
  if (first === undefined) return new Map();
  return isRunAction(action)
    ? new Map([[first.id, await decideOneRun(action, first, actor, ports)]])
    : decideDeliveries(action, group, actor, ports);
}

async function decideOneRun(
  action: RunSelectionAction,
  item: SelectedItem,
  actor: AuditActor,
  ports: DecidePorts,
): Promise<SelectionOutcome> {
  const { runs, ledger } = ports;
  const record = await runs.get(item.id);
  if (record === undefined) return changed('Its record has expired.');
  if (wasDecided(action, item, record, actor)) return DECIDED;
  const readMark = async (now: RunRecord): Promise<string> =>
    runMark(now, action === 'retry' ? await ledger.list(item.id) : []);
  if ((await readMark(record)) !== item.mark) return changed(describeChange(record));
  try {
    await ports.decisions[action](item.id, actor);
    return DECIDED;
  } catch (thrown) {
    const after = await runs.get(item.id);
    // Another process, whose claim has expired, has already carried out the same decision.
    if (after !== undefined && wasDecided(action, item, after, actor)) return DECIDED;
    return toOutcome(thrown, after !== undefined && (await readMark(after)) === item.mark);
  }
}

const describeChange = ({ state, cancel }: RunRecord): string =>
  cancel !== null
    ? `${cancel.by} has cancelled it: ${cancel.reason}`
    : `It has changed since the preview: now ${state}.`;

async function decideDeliveries(
  action: DeliverySelectionAction,
  group: readonly SelectedItem[],
  actor: AuditActor,
  ports: DecidePorts,
): Promise<Results> {
  const results = new Map<string, SelectionOutcome>();
  const fit: SelectedItem[] = [];
  for (const item of group) {
    const row = await ports.ledger.find(item.id);
    if (row === undefined) results.set(item.id, changed('Its record has expired.'));
    else if (wasDecided(action, item, row, actor)) results.set(item.id, DECIDED);
    else if (deliveryMark(row) !== item.mark)
      results.set(item.id, changed(`It has changed since the preview: now ${row.state}.`));
    else fit.push(item);
  }
  const [first] = fit;
  if (first === undefined) return results;
  const ids = fit.map(({ id }) => id);
  let failure: SelectionOutcome | undefined;
  await ports.decisions
    .resolveMany(first.run, ids, action, actor, [DELIVERY_STATE[action]])
    .catch((thrown: unknown) => {
      failure = toOutcome(thrown, false);
    });
  for (const item of fit) {
    const row = await ports.ledger.find(item.id);
    const done = row !== undefined && wasDecided(action, item, row, actor);
    results.set(item.id, done ? DECIDED : (failure ?? changed('It has changed since the preview.')));
  }
  return results;
}

/**
 * Makes an outcome from an error. Rethrows an outage, which says nothing about the item. @param isSame whether the item
 * is still as the preview showed it
 */
function toOutcome(thrown: unknown, isSame: boolean): SelectionOutcome {
  const error = toDocketError(thrown);
  if (isRedisOutage(error) || isStorageOutage(error)) throw error;
  const isConflict = error.code === 'run.conflict' || error.code === 'delivery.conflict';
  return { result: isConflict && !isSame ? 'changed' : 'refused', why: error.message };
}
