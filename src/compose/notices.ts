import type { Clock } from '../base/clock.ts';
import { type ErrorJson, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Archive } from '../deliver/archive.ts';
import { reconcile, rowsAtEnd } from '../deliver/attempt.ts';
import type { Circuit } from '../deliver/circuit.ts';
import { DEAD_MS, type Ledger, NOTICE_TARGET } from '../deliver/ledger.ts';
import { notifyOwner } from '../deliver/notice.ts';
import type { MailRoute } from '../deliver/targets.ts';
import type { FrozenDefinition } from '../queue/definition-store.ts';
import type { OwedNotices } from '../queue/owed-notices.ts';
import { incompleteError } from '../run/ending.ts';
import type { RunEvent } from '../run/event.ts';
import { ENDED, type RunOrder, type RunRecord, type RunState, type RunStore } from '../run/record.ts';

/** Ends of which nobody is told, although a try before owed a notice. */
const GOOD: ReadonlySet<RunState> = new Set<RunState>(['done', 'cancelled', 'skipped']);
const TRY_MS = 60_000;
/** A notice that could not leave for so long is given up, loudly. */
const GIVE_UP_MS = 3 * 86_400_000;

export interface NoticePorts {
  readonly owed: OwedNotices;
  readonly runs: Pick<RunStore, 'get'>;
  readonly frozenOf: (order: RunOrder) => Promise<FrozenDefinition>;
  /** Bound without the API key: a key that is missing is just what an owner has to be told. */
  readonly mailOf: (settings: OrgSettings) => Promise<MailRoute | undefined>;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly circuit?: Circuit;
  readonly clock: Clock;
  readonly log: Log;
  readonly observe: (order: RunOrder, event: RunEvent) => void;
}

/** Telling owners of runs that ended badly. */
export interface Notices {
  /** Writes down that the owner is to be told if the run ends so: a crash before its record says it loses nothing. */
  owe(order: RunOrder, error: ErrorJson | null): Promise<void>;
  /** Tells the owner, now or as soon as it can be done. */
  tell(order: RunOrder, error: ErrorJson | null): Promise<void>;
  /** Tries again what is still owed: a step of the reconciler. */
  again(): Promise<void>;
}

export function createNotices(ports: NoticePorts): Notices {
  const { owed, runs, frozenOf, mailOf, ledger, archive, circuit, clock, log, observe } = ports;

  const attempt = async (order: RunOrder, error: ErrorJson | null): Promise<void> => {
    const { definition, settings } = await frozenOf(order);
    // An archive that cannot be trusted is a reason more to tell the owner, not one to keep silent.
    const sealed = await archive.peek(order).catch(() => undefined);
    const evidence = sealed && (await archive.evidence(sealed).catch(() => undefined));
    const rows = await rowsAtEnd(order.id, evidence ?? new Map(), ledger, clock);
    const { state, delivery } = await notifyOwner({
      order,
      definition,
      error,
      receipts: rows
        .filter(({ target }) => target !== NOTICE_TARGET)
        .map((row) => ({ ...row, delivery: row.id, messageId: null })),
      sealed,
      mail: await mailOf(settings),
      ledger,
      archive,
      circuit,
      clock,
      signal: AbortSignal.timeout(TRY_MS),
      observe: (event) => observe(order, event),
    });
    if (state === 'unknown' && settings.on_unknown === 'resend') await putBack(delivery);
    // As it is by now: somebody else may have put it back meanwhile.
    const { state: standing } = (await ledger.find(delivery)) ?? { state };
    if (standing !== 'pending' && standing !== 'sending') await owed.settled(order.id);
  };

  /** Once, as of any other delivery; the next look sends it. */
  const putBack = async (delivery: string): Promise<void> => {
    const row = await ledger.find(delivery);
    if (row === undefined || row.decisions.some(({ by }) => by === 'docket')) return;
    const decision = { to: 'pending', by: 'docket', reason: 'on_unknown: resend', at: clock.now() } as const;
    await ledger.resolve(row.id, row.epoch, decision);
  };

  /** Nobody tries any more: what a dead process left `sending` is unknown. False while it may be leaving at this moment. */
  const concluded = async (run: string): Promise<boolean> => {
    const left = (await ledger.list(run)).filter(
      ({ target, state }) => target === NOTICE_TARGET && state === 'sending',
    );
    if (left.some(({ at }) => clock.now() - at < DEAD_MS)) return false;
    for (const row of left) await reconcile(ledger, row, clock);
    return true;
  };

  /** The record says it best; what was owed may be of a try before. */
  const reasonOf = async (record: RunRecord, owedFor: ErrorJson | null): Promise<ErrorJson | null> => {
    if (record.state === 'failed') return record.error ?? owedFor;
    if (record.state === 'partly_delivered') return null;
    const sealed = await archive.peek(record).catch(() => undefined);
    return incompleteError('run.held', sealed?.manifest.incomplete ?? [])?.toJSON() ?? owedFor;
  };

  return {
    owe: (order, error) => owed.owe({ run: order.id, error, since: clock.now() }),
    tell: async (order, error) => {
      await owed.owe({ run: order.id, error, since: clock.now() });
      await attempt(order, error);
    },
    again: async () => {
      for (const { run, error, since } of await owed.list()) {
        const record = await runs.get(run);
        // It goes on, or goes on again: what it comes to is told then.
        if (record !== undefined && !ENDED.has(record.state)) continue;
        if (record !== undefined && GOOD.has(record.state)) {
          if (await concluded(run)) await owed.settled(run);
          continue;
        }
        if (record === undefined || clock.now() - since > GIVE_UP_MS) {
          await owed.settled(run);
          log.error('An owner could not be told how a run ended', { run, ...(error === null ? {} : { error }) });
          continue;
        }
        try {
          await attempt(record, await reasonOf(record, error));
        } catch (thrown) {
          log.warn('An owner could not be told yet how a run ended', { run, error: toDocketError(thrown).toJSON() });
        }
      }
    },
  };
}
