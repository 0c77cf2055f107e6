import { runPageUrl } from '../../base/config/public-url.ts';
import { type ErrorJson, toDocketError } from '../../base/error.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import { reconcileRow, reconcileRun } from '../../deliver/attempt.ts';
import { MAX_ATTEMPT_MS, NOTICE_TARGET } from '../../deliver/ledger/ledger.ts';
import { type NoticePorts, notifyOwner } from '../../deliver/notices/notice-sender.ts';
import { type RunOrder, type RunRecord, type RunState, TERMINAL_STATES } from '../../run/run-record.ts';
import { allDeniedError, incompleteError, wrongFiguresError } from '../../run/run-result.ts';
import { currentSettings, loadFrozenDefinition } from '../definitions/frozen-definition.ts';
import type { Deployment, Sending } from '../deployment/deployment.ts';

/**
 * Final states without a notice, even if an earlier attempt has enqueued one. A `done` run gets a notice if its figures
 * cannot be right, or if it has no recipient.
 */
const SILENT_STATES: ReadonlySet<RunState> = new Set<RunState>(['done', 'awaiting_approval', 'cancelled', 'skipped']);
const ATTEMPT_TIMEOUT_MS = 60_000;
/**
 * A notice that could not be sent for this long is dropped, with an error in the log. It stays as long as nobody can
 * read whether its owner is denied.
 */
const MAX_NOTICE_AGE_MS = 3 * 86_400_000;

/** What it takes to send one notice, now, from the organization's current mail server. */
export const noticePorts = async (
  { ledger, denials, orgs, clock }: Deployment,
  { mailOf, circuit }: Sending,
  settings: OrgSettings,
  observe: NoticePorts['observe'] = () => {},
): Promise<NoticePorts> => ({
  ...{ ledger, denials, circuit, clock, observe },
  mail: await mailOf(currentSettings(settings, orgs())),
  signal: AbortSignal.timeout(ATTEMPT_TIMEOUT_MS),
});

/** Sends notices to owners about runs that ended badly. */
export function createOwnerNotices(deployment: Deployment, sending: Sending) {
  const { noticeOutbox, runs, definitions, ledger, archive, config, clock, log } = deployment;

  /** @returns whether the notice is settled */
  const attempt = async (order: RunOrder, error: ErrorJson | null): Promise<boolean> => {
    const { definition, settings } = await loadFrozenDefinition(order, definitions);
    // A corrupt archive must not suppress the notice.
    const published = await archive.peek(order).catch(() => undefined);
    const archivedStates = published && (await archive.getArchivedStates(published).catch(() => undefined));
    const rows = await reconcileRun(order.id, archivedStates ?? new Map(), ledger, clock);
    const { state, delivery, detail } = await notifyOwner({
      order,
      definition,
      locale: definition.locale ?? settings.locale,
      organization: settings.name ?? settings.id,
      pageUrl: runPageUrl(config.DOCKET_PUBLIC_URL, order.id),
      error,
      receipts: rows
        .filter(({ target }) => target !== NOTICE_TARGET)
        .map((row) => ({ ...row, delivery: row.id, messageId: null })),
      published,
      archive,
      ...(await noticePorts(deployment, sending, settings, (event) => sending.observe(order, event))),
    });
    if (state === 'skipped') {
      const { id: run, org, report } = order;
      log.warn('Owner notice not sent: the owner is on the deny list', { run, org, report, why: detail ?? '' });
    }
    if (state === 'unknown' && settings.on_unknown === 'resend') await requeue(delivery);
    // Read again, because another process may have requeued it.
    const { state: current } = (await ledger.find(delivery)) ?? { state };
    if (current === 'pending' || current === 'sending') return false;
    await noticeOutbox.delete(order.id);
    return true;
  };

  /** Requeues a delivery, at most once. The next periodic task sends it. */
  const requeue = async (delivery: string): Promise<void> => {
    const row = await ledger.find(delivery);
    if (row === undefined || row.decisions.some(({ by }) => by === 'docket')) return;
    const decision = { to: 'pending', by: 'docket', reason: 'on_unknown: resend', at: clock.now() } as const;
    await ledger.resolve(row.id, row.epoch, decision);
  };

  /**
   * Whether all attempts are settled. If a crashed process left some `sending`, marks them `unknown`. False while
   * attempts may still run.
   */
  const isSettled = async (run: string): Promise<boolean> => {
    const stale = (await ledger.list(run)).filter(
      ({ target, state }) => target === NOTICE_TARGET && state === 'sending',
    );
    if (stale.some(({ at }) => clock.now() - at < MAX_ATTEMPT_MS)) return false;
    for (const row of stale) await reconcileRow(ledger, row, clock);
    return true;
  };

  /** What the owner is notified about after a finished run; undefined: nothing. */
  const findConcern = async (record: RunRecord): Promise<ErrorJson | undefined> => {
    if (!record.deliver) return undefined;
    const denied = allDeniedError(record.deliveries);
    if (denied !== undefined) return denied.toJSON();
    const published = await archive.peek(record).catch(() => undefined);
    return published && wrongFiguresError(published.manifest)?.toJSON();
  };

  /** The record's error if it has one: the enqueued error may belong to an earlier attempt. */
  const findReason = async (record: RunRecord, pendingError: ErrorJson | null): Promise<ErrorJson | null> => {
    if (record.state === 'failed') return record.error ?? pendingError;
    if (record.state === 'partly_delivered') return null;
    if (record.state === 'done') return (await findConcern(record)) ?? pendingError;
    const published = await archive.peek(record).catch(() => undefined);
    return incompleteError('run.held', published?.manifest.incomplete ?? [])?.toJSON() ?? pendingError;
  };

  return {
    /**
     * Enqueues a notice. Call it before the record says that the run has ended, so that a crash does not lose the
     * notice.
     */
    enqueue: (order: RunOrder, error: ErrorJson | null): Promise<void> =>
      noticeOutbox.enqueue({ run: order.id, error, since: clock.now() }),
    /** Sends a notice. If that fails, the notice stays enqueued. */
    send: async (order: RunOrder, error: ErrorJson | null): Promise<void> => {
      await noticeOutbox.enqueue({ run: order.id, error, since: clock.now() });
      await attempt(order, error);
    },
    /** Retries pending notices. Run it periodically. */
    retryPending: async (): Promise<void> => {
      for (const { run, error, since } of await noticeOutbox.list()) {
        const record = await runs.get(run);
        // The run has not ended, or was reopened: the notice depends on its final state.
        if (record !== undefined && !TERMINAL_STATES.has(record.state)) continue;
        const isSilent =
          record !== undefined &&
          SILENT_STATES.has(record.state) &&
          (record.state !== 'done' || (await findConcern(record)) === undefined);
        if (isSilent) {
          if (await isSettled(run)) await noticeOutbox.delete(run);
          continue;
        }
        const isOld = record === undefined || clock.now() - since > MAX_NOTICE_AGE_MS;
        try {
          if (record !== undefined && (await attempt(record, await findReason(record, error)))) continue;
        } catch (thrown) {
          const failure = toDocketError(thrown).toJSON();
          const isKept = !isOld || failure.code === 'switch.unreadable';
          if (isKept) log.warn('Owner notice failed; will retry', { run, error: failure });
          if (isKept) continue;
        }
        if (!isOld) continue;
        await noticeOutbox.delete(run);
        log.error('Owner notice could not be sent and was dropped', { run, ...(error === null ? {} : { error }) });
      }
    },
  };
}

export type OwnerNotices = ReturnType<typeof createOwnerNotices>;
