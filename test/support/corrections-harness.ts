import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type SteadyClock, systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { createScope } from '../../src/base/scope.ts';
import { DAY_MS } from '../../src/base/time.ts';
import { reportFileSchema } from '../../src/compose/built-in-kinds.ts';
import { createInlinePorts } from '../../src/compose/run-ports.ts';
import type { OrgSettings } from '../../src/definitions/schema/org-settings.ts';
import type { Definition } from '../../src/definitions/schema/report-definition.ts';
import { correctionArchive } from '../../src/deliver/archive/corrections/correction-archive.ts';
import { createArchive } from '../../src/deliver/archive/create-archive.ts';
import { createReviewArchive } from '../../src/deliver/archive/reviews/create-review-archive.ts';
import { directoryStorage } from '../../src/deliver/archive/storage/directory-storage.ts';
import { createMailCatcher } from '../../src/demo/mail-catcher.ts';
import { FORMATS } from '../../src/features/formats.ts';
import type { FrozenDefinition } from '../../src/queue/definitions/definition-store.ts';
import { INITIAL_RUN_FIELDS } from '../../src/queue/runs/stored-record.ts';
import { createRenderer } from '../../src/render/renderer.ts';
import { loadReview } from '../../src/run/review/load-review.ts';
import { type ReviewActor, type ReviewEvent, reviewEventSchema } from '../../src/run/review/review-event.ts';
import { run } from '../../src/run/run.ts';
import type { RunPorts } from '../../src/run/run-context.ts';
import { createRunOrder } from '../../src/run/run-order.ts';
import type { RunOrder, RunRecord } from '../../src/run/run-record.ts';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type CorrectionWatch, createCorrectionRounds } from '../../src/services/corrections/correction-rounds.ts';
import { createCorrectionService } from '../../src/services/corrections/correction-service.ts';
import { createEditionStore } from '../../src/services/corrections/edition-store.ts';
import type { CorrectionSummary, WatchIndex } from '../../src/services/corrections/watch-index.ts';
import type { Deployment } from '../../src/services/deployment/deployment.ts';
import { NO_AUDIT } from './decision-harness.ts';
import { fake } from './fake.ts';
import { memoryLedger } from './memory-ledger.ts';
import { settingsOf } from './reports.ts';

/** The system clock, which a test can move ahead. */
export function movableClock(): SteadyClock & { advance(ms: number): void } {
  let offset = 0;
  return {
    now: () => systemClock.now() + offset,
    monotonic: () => systemClock.monotonic() + offset,
    sleep: systemClock.sleep,
    advance: (ms) => {
      offset += ms;
    },
  };
}

/** A process that dies at the call with this number: this call and all later ones do nothing. */
export function mortal<T extends object>(store: T, life: { left: number }): T {
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => {
        life.left -= 1;
        if (life.left < 0) throw new Error('killed');
        return Reflect.apply(member, target, args);
      };
    },
  });
}

type Insisting = Partial<Pick<Extract<ReviewEvent, { type: 'approve' }>, 'again' | 'repeats'>>;

const EVA: ReviewActor = { person: 'eva', name: 'Eva', principal: 'token:eva' };

export function memoryWatchIndex(): WatchIndex & { lose(): void } {
  const checks = new Map<string, number>();
  const claims = new Map<string, string>();
  let summaries: readonly CorrectionSummary[] = [];
  return {
    checks: async () => new Map(checks),
    recordCheck: async (id, at) => {
      checks.set(id, at);
      claims.delete(id);
    },
    retain: async () => {},
    claim: async (id, by) => {
      const holder = claims.get(id) ?? by;
      claims.set(id, holder);
      return holder === by;
    },
    putSummaries: async (all) => {
      summaries = all;
    },
    summaries: async () => summaries,
    lose: () => {
      checks.clear();
      claims.clear();
      summaries = [];
    },
  };
}

/**
 * Delivered editions, the watch and its decisions against a sandbox, with everything except the archive in memory. The
 * budget has the window of the sandbox.
 */
export async function correctionsHarness(
  sandboxOptions: SandboxOptions = {},
  /** `url` derives the URL to use from that of the sandbox. */
  through: {
    readonly ledger?: ReturnType<typeof memoryLedger>;
    readonly key?: string;
    readonly url?: (sandbox: string) => Promise<string>;
  } = {},
) {
  const clock = movableClock();
  const windowMs = sandboxOptions.windowMs ?? 200;
  const sandbox = await startSandbox({ windowMs, clock, ...sandboxOptions });
  const folder = await mkdtemp(join(tmpdir(), 'docket-corrections-'));
  const mail = await createMailCatcher(join(folder, 'mailbox'));
  const storage = directoryStorage(join(folder, 'archive'));
  const archive = createArchive(storage, clock);
  const ledger = through.ledger ?? memoryLedger();
  const corrections = correctionArchive(storage);
  const reviews = createReviewArchive(storage, reviewEventSchema);
  const frozen = new Map<string, FrozenDefinition>();
  const definitions = fake<Deployment['definitions']>({
    reportSchema: reportFileSchema,
    get: async (digest) => frozen.get(digest),
    put: async (one) => void frozen.set(one.definition.digest, one),
  });
  // The key with the smallest history, since a changed past is generated again.
  const key = sandbox.keys.find(({ label }) => label === (through.key ?? 'lakeside'))?.key ?? '';
  const url = (await through.url?.(sandbox.url)) ?? sandbox.url;
  const settings = settingsOf({
    budget: { window: windowMs / 1000 },
    recipients: { domains: ['acme.example'], addresses: [] },
  });
  const orgs = new Map<string, OrgSettings>([[settings.id, settings]]);
  const editions = createEditionStore(
    fake({ corrections, archive, ledger, definitions, clock, orgs: () => orgs, workingDirectory: folder }),
  );
  const config = readConfig({ COMPLIANCE_API_URL: url, SMTP_URL: mail.url, MAIL_FROM: 'reports@acme.example' });
  const inline = createInlinePorts(
    { config, env: { ACME_KEY: key }, clock, log: silentLog, workingDirectory: folder },
    undefined,
    createScope(),
    { archive, ledger, editions, reviews },
    { orgs },
  );
  onTestFinished(async () => {
    await inline.scope.close();
    await mail.close();
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  });

  // Renders without a thread, whose start would take longer than the rendering.
  const render = createRenderer(FORMATS);
  const records = new Map<string, RunRecord>();
  const queued: string[] = [];
  const notified: string[] = [];
  const index = memoryWatchIndex();
  const deployment = fake<Deployment>({
    corrections,
    archive,
    ledger,
    definitions,
    workingDirectory: folder,
    runs: fake({
      get: async (id) => records.get(id),
      update: async () => {},
      open: async (order) => {
        const known = records.get(order.id);
        const record = known ?? { ...INITIAL_RUN_FIELDS, ...order };
        records.set(order.id, record);
        return { opened: known === undefined, record };
      },
    }),
    queue: fake({ enqueue: async ({ id }) => void queued.push(id) }),
    orgs: () => orgs,
    audit: NO_AUDIT,
    config,
    clock,
    log: silentLog,
  });
  const service = createCorrectionService(deployment, async () => false);
  const stopping = new AbortController();
  /** Another process with the same archive and Redis. */
  const process = (change: Partial<CorrectionWatch> = {}) =>
    createCorrectionRounds({
      ...deployment,
      service,
      index,
      buildCheckPorts: inline.buildRunPorts,
      notify: async ({ id }) => notified.push(id) > 0,
      signal: stopping.signal,
      ...change,
    });
  const round = process();

  const execute = async (order: RunOrder, definition: Definition, change: Partial<RunPorts> = {}) => {
    const now = orgs.get(settings.id) ?? settings;
    const context = {
      definition,
      settings: now,
      signal: stopping.signal,
      observe: () => {},
      lastAttempt: true,
    };
    return run(order, context, { ...(await inline.buildRunPorts(now)), render, ...change });
  };

  /** Approves the content of a run and executes the run again. */
  const approve = async (order: RunOrder, definition: Definition, by: ReviewActor = EVA, more: Insisting = {}) => {
    const { state } = await loadReview(reviews, order);
    const [seq, content] = [state.seq + 1, state.content ?? ''];
    const event = { type: 'approve', seq, at: clock.now(), by, content, reason: 'checked', ...more } as const;
    await reviews.append(order, seq, event);
    return execute(order, definition);
  };

  /** A run of a past period that has not been executed yet. */
  const orderOf = async (
    definition: Definition,
    slot = new Date(clock.now()).toISOString(),
    at = clock.now(),
  ): Promise<RunOrder> => {
    frozen.set(definition.digest, { definition, settings });
    const request = { trigger: 'schedule', priority: 'scheduled', deliver: true } as const;
    return createRunOrder({ definition, settings, ...request, slot, at, now: clock.now() });
  };

  return {
    approve,
    orderOf,
    /** Makes the ledger forget everything, like Redis without persistence. */
    loseLedger: ledger.lose,
    folder,
    storage,
    clock,
    sandbox,
    mail,
    archive,
    ledger,
    corrections,
    service,
    settings,
    orgs,
    frozen,
    deployment,
    records,
    queued,
    notified,
    index,
    inline,
    process,
    execute,
    /** Delivers an edition of a past period. */
    deliver: async (definition: Definition, slot?: string, change: Partial<RunPorts> = {}) => {
      const order = await orderOf(definition, slot);
      const first = await execute(order, definition, change);
      const outcome = definition.approval === undefined ? first : await approve(order, definition);
      if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
      return { id: order.id, org: order.org, report: order.report };
    },
    /** Moves the clock by a day, and runs rounds until nothing is due. */
    nextDay: async (rounds = 1) => {
      clock.advance(DAY_MS);
      for (let index = 0; index < rounds; index += 1) await round();
    },
    round,
  };
}
