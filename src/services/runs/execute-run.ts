import { type DocketError, isStorageOutage } from '../../base/error.ts';
import type { Outcome } from '../../base/outcome.ts';
import { noTrace, type SpanAttributes } from '../../base/trace.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import { activePauses, executeUnlessPaused, type PauseEnforcementPorts } from '../../queue/jobs/pause-enforcement.ts';
import type { Execute } from '../../queue/jobs/process-job.ts';
import { openFigures } from '../../run/review/frozen-figures.ts';
import { run } from '../../run/run.ts';
import type { RunPorts } from '../../run/run-context.ts';
import type { RunOrder } from '../../run/run-record.ts';
import { allDeniedError, incompleteError, type RunResult, wrongFiguresError } from '../../run/run-result.ts';
import { currentSettings, loadFrozenDefinition } from '../definitions/frozen-definition.ts';
import type { OwnerNotices } from '../deliveries/owner-notices.ts';
import type { Deployment } from '../deployment/deployment.ts';

/** Creates the ports for running one organization's reports: its API key, budget and mail server. */
export type RunPortsFactory = (settings: OrgSettings) => Promise<RunPorts>;

interface Execution extends Deployment {
  readonly buildRunPorts: RunPortsFactory;
  readonly notices: OwnerNotices;
  /** Fingerprint of the organization's current API key; undefined while it cannot be resolved. */
  readonly keyOf: (org: string) => Promise<string | undefined>;
}

/**
 * Executes one attempt of a run for a worker: loads the frozen definition, applies the current access control, obeys
 * pauses, runs the pipeline (`run/run.ts`), and notifies the owner of a bad outcome. The worker turns the outcome into
 * a BullMQ verb. Each attempt is a span in the trigger's trace.
 */
export function createRunExecutor(ports: Execution): Execute {
  const { archive, reviews, orgs, buildRunPorts, notices, trace = noTrace } = ports;
  const enforcement: Omit<PauseEnforcementPorts, 'paused' | 'frozenOf'> = {
    ...ports,
    // An unreadable archive counts as published, so that the attempt itself reports the error.
    isPublished: async (order) => {
      try {
        if ((await archive.peek(order)) !== undefined) return true;
        // The run's figures are stored, and people have decided that it continues.
        return (await reviews.events(order)).length > 0;
      } catch {
        return true;
      }
    },
  };
  const attempt = (
    order: RunOrder,
    context: Parameters<Execute>[1],
    read: Pick<PauseEnforcementPorts, 'paused' | 'frozenOf'>,
  ) =>
    executeUnlessPaused(
      order,
      context,
      { ...enforcement, ...read },
      async ({ definition, settings: frozen }, observed) => {
        const settings = currentSettings({ ...frozen, id: order.org }, orgs());
        const runPorts = await buildRunPorts(settings);
        return { outcome: await run(order, { definition, settings, ...observed }, runPorts), key: runPorts.key };
      },
    );

  return (order, context) => {
    const { id, org, report, trigger } = order;
    const read = readTogether(order, ports);
    return trace.span(
      { name: 'run', run: id, org, report, trigger, attempt: context.attempt },
      async (setAttributes) => {
        const reviewed = await adoptReview(order, ports);
        const outcome = await attempt(reviewed, context, read);
        await notifyOwner(order, outcome, context, notices);
        setAttributes(spanAttributes(outcome));
        return outcome;
      },
    );
  };
}

/** Begins to read what an attempt needs from Redis, in one round trip with the record's update. */
function readTogether(
  order: RunOrder,
  { definitions, ...ports }: Execution,
): Pick<PauseEnforcementPorts, 'paused' | 'frozenOf'> {
  const load = (of: RunOrder) => loadFrozenDefinition(of, definitions);
  const [frozen, paused] = [load(order), activePauses(ports)];
  // Whoever awaits them gets the error.
  for (const reading of [frozen, paused]) reading.catch(() => {});
  // A review may continue with another version.
  return { paused, frozenOf: (of) => (of.digest === order.digest ? frozen : load(of)) };
}

/**
 * Notifies the owner. A final failure is only enqueued here, and sent after the record says `failed`: a crash in
 * between must not lose the notice. Other bad outcomes are sent at once.
 */
async function notifyOwner(
  order: RunOrder,
  outcome: Outcome<RunResult>,
  { lastAttempt }: Pick<Parameters<Execute>[1], 'lastAttempt'>,
  notices: OwnerNotices,
): Promise<void> {
  if (outcome.kind === 'fail' && isFinal(outcome.error, lastAttempt)) {
    await notices.enqueue(order, outcome.error.toJSON());
  }
  if (outcome.kind !== 'done') return;
  const { state, incomplete, review, receipts } = outcome.value;
  const isDelivered = state === 'done' && receipts.length > 0;
  const concern = isDelivered ? (allDeniedError(receipts) ?? wrongFiguresError(outcome.value)) : undefined;
  if (concern !== undefined) await notices.send(order, concern.toJSON());
  if (state === 'partly_delivered') await notices.send(order, null);
  // The review sweep sends notices about a review. It records them in the archive, because the run is not published
  // yet.
  if (state === 'held' && review === undefined) {
    await notices.send(order, incompleteError('run.held', incomplete)?.toJSON() ?? null);
  }
}

/** Whether an error ends the run. A storage outage uses no attempt: the run waits for its storage. */
const isFinal = (error: DocketError, lastAttempt: boolean): boolean =>
  (lastAttempt || !error.retryable) && !isStorageOutage(error);

function spanAttributes(outcome: Outcome<RunResult>): SpanAttributes {
  if (outcome.kind === 'done') return { state: outcome.value.state };
  return outcome.kind === 'fail' ? { state: 'failed', error: outcome.error.code } : { state: outcome.kind };
}

/**
 * The order with which a run continues. If it has a review, the review's order. After Redis was lost, a schedule may
 * reopen a slot with a later version of its report. That version may need no approval, so it must not end a review that
 * began with another version. Stores the review's version again.
 *
 * Throws `archive.corrupt`, `archive.unreachable`.
 */
async function adoptReview(order: RunOrder, { reviews, definitions, log }: Deployment): Promise<RunOrder> {
  const last = (await reviews.events(order)).findLast((event) => event.type === 'figures');
  if (last === undefined) return order;
  const { order: reviewed, definition, settings } = (await openFigures(reviews, order, last.figures)).inputs;
  if (reviewed.digest === order.digest) return order;
  await definitions.put({ definition, settings });
  const { id: run, org, report } = order;
  log.warn('Run continues with the version of its review', { run, org, report });
  return { ...order, ...reviewed };
}
