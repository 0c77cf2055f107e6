import { type Job, UnrecoverableError } from 'bullmq';
import type { SteadyClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { toDocketError } from '../../../src/base/error.ts';
import { silentLog } from '../../../src/base/log.ts';
import { secretSource } from '../../../src/base/secrets/secret.ts';
import { noTrace } from '../../../src/base/trace.ts';
import type { Definitions } from '../../../src/definitions/load/load-definitions.ts';
import { correctionArchive } from '../../../src/deliver/archive/corrections/correction-archive.ts';
import { createArchive } from '../../../src/deliver/archive/create-archive.ts';
import { createReviewArchive } from '../../../src/deliver/archive/reviews/create-review-archive.ts';
import type { ArchiveStorage } from '../../../src/deliver/archive/storage/archive-storage.ts';
import type { CircuitBreaker } from '../../../src/deliver/circuit/circuit-breaker.ts';
import { archivedDenials, sharedDenials } from '../../../src/deliver/denials/shared-denials.ts';
import type { Ledger } from '../../../src/deliver/ledger/ledger.ts';
import { archivedSwitches } from '../../../src/deliver/switches/archived-switches.ts';
import { sharedSwitches } from '../../../src/deliver/switches/shared-switches.ts';
import type { Mailer } from '../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import type { SendResult } from '../../../src/deliver/targets/email/smtp/smtp-replies.ts';
import { FORMATS } from '../../../src/features/formats.ts';
import { memoryCatalogCache } from '../../../src/fetch/cache/catalog-cache.ts';
import { memoryResponseCache } from '../../../src/fetch/cache/response-cache.ts';
import { memoryResponseStore, type ResponseStore } from '../../../src/fetch/cache/response-store.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import type { FrozenDefinition } from '../../../src/queue/definitions/definition-store.ts';
import { loadRecord, type ProcessJobPorts, processRun } from '../../../src/queue/jobs/process-job.ts';
import { RetryLater } from '../../../src/queue/jobs/retry-policy.ts';
import { MAX_RUN_ATTEMPTS } from '../../../src/queue/jobs/run-queue.ts';
import type { PendingNotice } from '../../../src/queue/runs/notice-outbox.ts';
import { reviewEventSchema } from '../../../src/run/review/review-event.ts';
import type { RunPorts } from '../../../src/run/run-context.ts';
import { type RunRecord, TERMINAL_STATES } from '../../../src/run/run-record.ts';
import { createEditionStore } from '../../../src/services/corrections/edition-store.ts';
import { createDecisionService } from '../../../src/services/deliveries/decisions.ts';
import { createOwnerNotices } from '../../../src/services/deliveries/owner-notices.ts';
import { createRecipientService } from '../../../src/services/deliveries/recipients.ts';
import type { Deployment } from '../../../src/services/deployment/deployment.ts';
import { createReviewService } from '../../../src/services/reviews/create-review-service.ts';
import { createReviewContinuer, createReviewSweep } from '../../../src/services/reviews/review-sweep.ts';
import { createRunExecutor } from '../../../src/services/runs/execute-run.ts';
import { triggerRun } from '../../../src/services/runs/trigger-run.ts';
import { NEVER_STOPPED, NO_AUDIT, NO_PAUSES, NOBODY_IS_DENIED } from '../decision-harness.ts';
import { fake } from '../fake.ts';
import { memoryLedger } from '../memory-ledger.ts';
import { type ProcessLife, processLife, seenBy } from './killable.ts';
import { memoryDefinitions, memoryQueue, memoryRuns, memoryStorage } from './memory-stores.ts';
import { VERSIONS } from './reports.ts';
import { type AnsweringService, packRenderer } from './service.ts';

export interface SentMail {
  readonly to: string;
  readonly raw: string;
}

/** The reply of the mail server. By default it accepts. */
export type OnMail = (mail: SentMail) => SendResult | undefined;

const NEVER_OPEN: CircuitBreaker = {
  check: async () => undefined,
  recordFailure: async () => {},
  recordSuccess: async () => {},
};

/** Waits of a request end immediately, waits for a deadline never. */
const MAX_SLEEP_MS = 200;

/** Stores and a mail server that replace those in memory and survive all processes. */
export interface RealParts {
  readonly deployment: Deployment;
  readonly mailer: Mailer;
}

/**
 * A shared archive and mail server, a Redis that can be lost, and processes that start and die.
 * @param real absent: everything is in memory, and nothing is stopped, denied or corrected
 */
export function reviewWorld(folder: string, service: AnsweringService, onMail: OnMail, real?: RealParts) {
  let now = Date.parse('2026-11-23T09:00:00Z');
  const clock: SteadyClock = {
    now: () => now,
    monotonic: () => now,
    sleep: (ms, signal) => {
      if (ms <= MAX_SLEEP_MS) {
        now += ms;
        return Promise.resolve();
      }
      return new Promise((_, reject) => {
        if (signal?.aborted) reject(signal.reason);
        else signal?.addEventListener('abort', () => reject(signal.reason));
      });
    },
  };
  const files = new Map<string, Buffer>();
  const records = new Map<string, RunRecord>();
  const definitions = new Map<string, FrozenDefinition>();
  const jobs = new Set<string>();
  const attempts = new Map<string, number>();
  const owed = new Map<string, PendingNotice>();
  let ledger: Ledger = memoryLedger();
  let responses: ResponseStore = memoryResponseStore();
  const settings = VERSIONS[0]?.frozen.settings;
  if (settings === undefined) throw new Error('no version');
  // Nothing else of them is used.
  const orgs = new Map([['acme', settings]]);
  const current = { orgs } as unknown as Definitions;
  const mailer: Mailer = real?.mailer ?? {
    send: async ({ to }, raw) => {
      return onMail({ to, raw: Buffer.from(raw).toString('latin1') }) ?? { kind: 'accepted', response: '250 Ok' };
    },
    close: async () => {},
  };

  /** Everything that a process of Docket has. */
  const process = (life: ProcessLife = processLife()) => {
    const base = real?.deployment;
    const runs = seenBy(life, base?.runs ?? memoryRuns(records, definitions));
    const seen = seenBy(life, base?.storage ?? memoryStorage(folder, files), ['metadata', 'runFiles']);
    // An iterator is not a promise.
    const storage: ArchiveStorage = base
      ? Object.assign(Object.create(seen), { listRuns: base.storage.listRuns })
      : seen;
    const ownLedger = seenBy(life, base?.ledger ?? ledger);
    const queue = seenBy(life, memoryQueue(jobs));
    const store = seenBy(life, base?.definitions ?? memoryDefinitions(definitions));
    const ownMailer = seenBy(life, mailer);
    const archive = createArchive(storage, clock);
    const reviews = createReviewArchive(storage, reviewEventSchema);
    const noticeOutbox = seenBy(
      life,
      base?.noticeOutbox ?? {
        enqueue: async (notice: PendingNotice) => void owed.set(notice.run, notice),
        list: async () => [...owed.values()],
        delete: async (run: string) => void owed.delete(run),
      },
    );
    const shared = fake<Deployment>({
      ...(base && {
        redis: base.redis,
        prefix: base.prefix,
        workingDirectory: folder,
        corrections: correctionArchive(storage),
      }),
      runs,
      ledger: ownLedger,
      queue,
      archive,
      storage,
      reviews,
      definitions: store,
      noticeOutbox,
      pauses: NO_PAUSES,
      switches: base ? sharedSwitches(base.redis, archivedSwitches(storage), { ...base, clock }) : NEVER_STOPPED,
      denials: base ? sharedDenials(base.redis, archivedDenials(storage), { ...base, clock }) : NOBODY_IS_DENIED,
      audit: NO_AUDIT,
      orgs: () => current.orgs,
      config: readConfig({}),
      trace: noTrace,
      clock,
      log: silentLog,
    });
    const mailOf = async () => ({ mailer: ownMailer, from: 'docket@acme.example' });
    const sending = { mailOf, observe: () => {} };
    const notices = createOwnerNotices(shared, sending);
    const budget = memoryBudget({ calls: 1_000_000, windowMs: 1, clock });
    const buildRunPorts = async (): Promise<RunPorts> => ({
      ...shared,
      client: service.client,
      key: 'key',
      budget,
      reads: budget,
      responses: seenBy(life, responses),
      responseCache: memoryResponseCache(clock),
      catalogs: memoryCatalogCache(clock),
      maxWaitMs: 1,
      secrets: secretSource({}),
      formats: FORMATS,
      render: packRenderer,
      mail: await mailOf(),
      templates: undefined,
      workingDirectory: folder,
      // Only real workers wait while deliveries are stopped.
      ...(base && { editions: createEditionStore(shared), circuit: NEVER_OPEN }),
    });
    const execute = createRunExecutor({
      ...shared,
      buildRunPorts,
      notices,
      keyOf: async () => 'key',
    });
    return {
      ...shared,
      service: createReviewService(shared, undefined),
      decisions: createDecisionService(shared),
      recipients: createRecipientService(shared, async () => false),
      sweep: createReviewSweep(shared, sending),
      retryNotices: () => notices.retryPending(),
      trigger: (request: Parameters<typeof triggerRun>[0]) =>
        triggerRun(request, { ...shared, findDelivered: undefined }),
      execute,
      onTerminal: (order: RunRecord, error: Parameters<NonNullable<ProcessJobPorts['onTerminal']>>[1]) =>
        notices.send(order, error.toJSON()),
    };
  };

  /** One attempt of the first job, like that of a worker. */
  const work = async (life: ProcessLife = processLife()): Promise<void> => {
    const [id] = jobs;
    if (id === undefined) return;
    const { execute, onTerminal, ...deployment } = process(life);
    const { runs: store } = deployment;
    const made = attempts.get(id) ?? 0;
    const job = {
      data: { run: id },
      attemptsMade: made,
      stalledCounter: 0,
      opts: { attempts: MAX_RUN_ATTEMPTS },
      priority: 0,
      moveToDelayed: async () => {},
      changePriority: async () => {},
    } as unknown as Job;
    const ports: ProcessJobPorts = {
      store,
      live: fake({ put: async () => {}, delete: async () => {} }),
      execute,
      continueReview: createReviewContinuer(deployment),
      onTerminal: (order, error) => onTerminal(order as RunRecord, error),
      clock,
      log: silentLog,
      maxCrashes: 1_000,
      backoff: () => 1,
    };
    // At the end of the queue, so that a delayed job does not block the others.
    const requeue = () => {
      jobs.delete(id);
      jobs.add(id);
    };
    try {
      const record = await loadRecord(job, ports);
      const active = { controller: new AbortController(), confirmLock: async () => 60_000 };
      if (record !== undefined) await processRun(job, 'token', record, active, ports);
    } catch (thrown) {
      if (life.isDead()) return requeue();
      if (thrown instanceof RetryLater) attempts.set(id, made + 1);
      if (!(thrown instanceof UnrecoverableError)) return requeue();
    }
    jobs.delete(id);
    attempts.delete(id);
  };

  /** Enqueues runs that lost their job, like a scheduler. */
  const requeueOrphans = async (): Promise<void> => {
    const all = (await real?.deployment.runs.list({ limit: 1_000 })) ?? records.values();
    for (const { id, state } of all) if (!TERMINAL_STATES.has(state)) jobs.add(id);
  };

  return {
    files,
    records,
    jobs,
    /** The current settings of the organization. */
    orgs,
    process,
    work,
    requeueOrphans,
    ledger: () => ledger,
    advance: (ms: number) => {
      now = Math.max(Date.parse('2026-11-23T00:00:00Z'), now + ms);
    },
    flushRedis: () => {
      records.clear();
      definitions.clear();
      jobs.clear();
      attempts.clear();
      owed.clear();
      ledger = memoryLedger();
      responses = memoryResponseStore();
    },
    /** Works until only decisions of people are left. */
    settle: async () => {
      for (let round = 0; round < 12; round += 1) {
        await requeueOrphans();
        for (let left = 20; jobs.size > 0 && left > 0; left -= 1) await work();
        await process().sweep();
        await process().retryNotices();
        now += 60_000;
        if (jobs.size === 0) return;
      }
    },
    codeOf: (thrown: unknown) => toDocketError(thrown).code,
  };
}
export type ReviewWorld = ReturnType<typeof reviewWorld>;
