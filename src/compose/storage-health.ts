import type { Check } from '../admin/app.ts';
import type { Clock } from '../base/clock.ts';
import { diskFaultOf } from '../base/disk-fault.ts';
import { DocketError, type ErrorCode, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { Scope } from '../base/scope.ts';
import { startReconciler } from '../queue/reconciler.ts';
import { within } from '../queue/within.ts';

/** What a process writes to. */
export const STORAGE_PARTS = ['redis_writes', 'archive', 'staging'] as const;
export type StoragePart = (typeof STORAGE_PARTS)[number];

/** One part, and how to find out whether it can be written. */
export interface StorageProbe {
  readonly part: StoragePart;
  /** Ms between two probes while it is well. */
  readonly intervalMs: number;
  /** Rejects with why it cannot be used, and leaves nothing behind. */
  readonly probe: () => Promise<void>;
}

/** Between two probes of a part that cannot be used, ms. */
const RETRY_INTERVAL_MS = 10_000;
/** A probe that takes longer says that its part does not answer, ms. */
const PROBE_TIMEOUT_MS = 10_000;

const NAMES: Readonly<Record<StoragePart, string>> = {
  redis_writes: 'Redis',
  archive: 'The archive',
  staging: 'The folder in which files are made',
};

/** For anybody who asks `/readyz`: no path, no server, no id. The log and `docket doctor` have them. */
const WORDS: Partial<Record<ErrorCode, string>> = {
  'redis.out_of_memory': 'is out of memory and accepts no writes',
  'redis.unwritable': 'accepts no writes',
  'redis.unreachable': 'cannot be reached, or is a read-only replica',
  'redis.unauthorized': 'does not permit writing',
  'redis.unsuitable': 'may throw away keys: maxmemory-policy is not noeviction',
  'archive.unreachable': 'does not answer',
  'archive.corrupt': 'cannot be told from another one: its marker cannot be read',
  'config.secret_missing': 'cannot be used: a credential is missing',
};

interface Found {
  readonly usable: boolean;
  readonly detail: string;
  /** Epoch ms. */
  readonly since: number;
}

export interface StorageHealth {
  /** What the last probes found, for `/readyz`; asks nothing. */
  checks(): readonly Check[];
}

/**
 * Finds out again and again, until the scope closes, whether the process can write what it has to write: at a rate of its
 * own, however often somebody asks. Resolves after the first probe of each part. A change is logged once.
 *
 * @param observe told what each probe found
 */
export async function watchStorage(
  probes: readonly StorageProbe[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  scope: Scope,
  observe: (part: StoragePart, usable: boolean) => void = () => {},
): Promise<StorageHealth> {
  const found = new Map<StoragePart, Found>();
  const steps = probes.map((probe) => watched(probe, { clock, log, found, observe }));
  await Promise.all(steps.map((step) => step()));
  scope.use(startReconciler({ steps, clock, log, everyMs: RETRY_INTERVAL_MS }), (opened) => opened.close());
  return {
    checks: () =>
      probes.map(({ part }) => {
        const { usable = false, detail = '' } = found.get(part) ?? {};
        return { name: part, ok: usable, detail };
      }),
  };
}

/** Probes the part when it is due. One that hangs is not probed a second time meanwhile. */
function watched(
  { part, intervalMs, probe }: StorageProbe,
  {
    clock,
    log,
    found,
    observe,
  }: {
    readonly clock: Clock;
    readonly log: Log;
    readonly found: Map<StoragePart, Found>;
    readonly observe: (part: StoragePart, usable: boolean) => void;
  },
): () => Promise<void> {
  let dueAt = Number.NEGATIVE_INFINITY;
  let pending: Promise<DocketError | undefined> | undefined;

  const conclude = (error: DocketError | undefined): void => {
    const before = found.get(part);
    const usable = error === undefined;
    const changed = before?.usable !== usable;
    const detail = usable ? 'can be written' : `${NAMES[part]} ${wordsFor(error)}.`;
    found.set(part, { usable, detail, since: changed ? clock.now() : (before?.since ?? clock.now()) });
    observe(part, usable);
    if (!usable && changed) log.error(`${detail} Runs wait until it can be written again.`, { error: error.toJSON() });
    if (usable && before?.usable === false) {
      log.info(`${NAMES[part]} can be written again`, { ms: clock.now() - before.since });
    }
  };

  return async () => {
    // A clock that was set back must not end the probes.
    if (Math.abs(dueAt - clock.now()) <= intervalMs && clock.now() < dueAt) return;
    pending ??= probe().then(() => undefined, toDocketError);
    const asked = pending;
    let answer: DocketError | undefined = late();
    if (
      await within(
        asked.then((error) => (answer = error)),
        PROBE_TIMEOUT_MS,
      )
    )
      pending = undefined;
    conclude(answer);
    dueAt = clock.now() + (answer === undefined ? intervalMs : RETRY_INTERVAL_MS / 2);
  };
}

const late = (): DocketError =>
  new DocketError('archive.unreachable', `A trial write was not answered within ${PROBE_TIMEOUT_MS} ms.`, {
    next: 'Look at the disk or the network share behind it.',
  });

function wordsFor(error: DocketError): string {
  const fault = diskFaultOf(error);
  if (fault !== undefined) return `cannot be written: ${fault.words}`;
  if (error.code.startsWith('archive.marker_')) return 'is not there: it has another marker, or none';
  return WORDS[error.code] ?? 'cannot be written';
}
