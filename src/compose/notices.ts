import type { Clock } from '../base/clock.ts';
import { type ErrorJson, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Archive } from '../deliver/archive.ts';
import type { Circuit } from '../deliver/circuit.ts';
import type { Ledger } from '../deliver/ledger.ts';
import { NOTICE_TARGET, notifyOwner } from '../deliver/notice.ts';
import type { MailRoute } from '../deliver/targets.ts';
import type { FrozenDefinition } from '../queue/definition-store.ts';
import type { OwedNotices } from '../queue/owed-notices.ts';
import type { RunEvent } from '../run/event.ts';
import type { RunOrder, RunStore } from '../run/record.ts';

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
  /** Tells the owner, now or as soon as it can be done. */
  tell(order: RunOrder, error: ErrorJson | null): Promise<void>;
  /** Tries again what is still owed: a step of the reconciler. */
  again(): Promise<void>;
}

export function createNotices(ports: NoticePorts): Notices {
  const { owed, runs, frozenOf, mailOf, ledger, archive, circuit, clock, log, observe } = ports;

  const attempt = async (order: RunOrder, error: ErrorJson | null): Promise<void> => {
    const { definition, settings } = await frozenOf(order);
    const rows = await ledger.list(order.id);
    const { state } = await notifyOwner({
      order,
      definition,
      error,
      receipts: rows
        .filter(({ target }) => target !== NOTICE_TARGET)
        .map((row) => ({ ...row, delivery: row.id, messageId: null })),
      // An archive that cannot be trusted is a reason more to tell the owner, not one to keep silent.
      sealed: await archive.peek(order).catch(() => undefined),
      mail: await mailOf(settings),
      ledger,
      archive,
      circuit,
      clock,
      signal: AbortSignal.timeout(TRY_MS),
      observe: (event) => observe(order, event),
    });
    if (state !== 'pending' && state !== 'sending') await owed.settled(order.id);
  };

  return {
    tell: async (order, error) => {
      await owed.owe({ run: order.id, error, since: clock.now() });
      await attempt(order, error);
    },
    again: async () => {
      for (const { run, error, since } of await owed.list()) {
        const order = await runs.get(run);
        if (order === undefined || clock.now() - since > GIVE_UP_MS) {
          await owed.settled(run);
          log.error('An owner could not be told how a run ended', { run, ...(error === null ? {} : { error }) });
          continue;
        }
        try {
          await attempt(order, error);
        } catch (thrown) {
          log.warn('An owner could not be told yet how a run ended', { run, error: toDocketError(thrown).toJSON() });
        }
      }
    },
  };
}
