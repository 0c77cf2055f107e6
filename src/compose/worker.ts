import type { HealthCheck } from '../admin/app.ts';
import { DocketError, isStorageOutage, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { startPeriodicTasks } from '../base/periodic.ts';
import type { Scope } from '../base/scope.ts';
import { secretSource } from '../base/secrets/secret.ts';
import { noTrace, type SpanAttributes, type Trace } from '../base/trace.ts';
import type { DefinitionSource } from '../definitions/load/definition-source.ts';
import type { Definitions } from '../definitions/load/load-definitions.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import { applyRetention } from '../deliver/archive/retention.ts';
import { reconcileRun } from '../deliver/attempt.ts';
import { type CircuitEvent, redisCircuitBreaker } from '../deliver/circuit/circuit-breaker.ts';
import { redisLastSentFigures } from '../deliver/last-sent-figures.ts';
import { redisLedger } from '../deliver/ledger/redis-ledger.ts';
import { assertMailSecrets, createMailRoutes } from '../deliver/targets/email/mail-routes.ts';
import { redisCatalogCache } from '../fetch/cache/catalog-cache.ts';
import { redisResponseCache } from '../fetch/cache/redis-response-cache.ts';
import { deleteResponses, redisResponseStore } from '../fetch/cache/redis-response-store.ts';
import type { ApiRequestResult } from '../fetch/client/compliance-client.ts';
import { definitionStore, type FrozenDefinition } from '../queue/definitions/definition-store.ts';
import { activePauses, executeUnlessPaused } from '../queue/jobs/pause-enforcement.ts';
import { type Execute, startWorker } from '../queue/jobs/worker.ts';
import { redisInlineLeases } from '../queue/runs/inline-leases.ts';
import { failAbandoned } from '../queue/runs/inline-run.ts';
import { redisNoticeOutbox } from '../queue/runs/notice-outbox.ts';
import { redisRunStore } from '../queue/runs/run-store.ts';
import { redisPauses } from '../queue/schedules/pauses.ts';
import { RETENTION_DAYS } from '../redis/keys.ts';
import { run } from '../run/run.ts';
import type { RunEvent } from '../run/run-events.ts';
import type { RunOrder } from '../run/run-record.ts';
import { incompleteError } from '../run/run-result.ts';
import { sharedBudgets } from '../services/budgets/budgets.ts';
import { currentKeyFingerprint } from '../services/budgets/key-limits.ts';
import { createReportScope } from '../services/definitions/report-scope.ts';
import { onReconnect, repairLedger } from '../services/deliveries/ledger-repair.ts';
import { createOwnerNotices } from '../services/deliveries/owner-notices.ts';
import { recoverExpiredRows, touchUndecided } from '../services/deliveries/undecided-deliveries.ts';
import type { DeploymentIdentity } from '../services/deployment/deployment-identity.ts';
import { archiveProbe, monitorStorage, type StoragePart, stagingProbe } from '../services/deployment/storage-health.ts';
import { checkBucket, createNeededCheck, openArchive } from './archive.ts';
import { type AppContext, createRunPorts } from './run-ports.ts';
import type { Store } from './store.ts';

/** A shorter wait for a token is spent in place; a longer one frees the worker's slot. */
const MAX_TOKEN_WAIT_MS = 5_000;
/** What runs in hand get to end when the process is asked to stop. */
const SHUTDOWN_GRACE_MS = 10_000;

export interface WorkerSettings {
  readonly jobs: DefinitionSource;
  /** Runs at the same time in this process. */
  readonly concurrency?: number;
  /** Ms for which runs in hand may go on when the process is asked to stop; ten seconds when absent. */
  readonly graceMs?: number;
  readonly observe?: (order: RunOrder, event: RunEvent) => void;
  /** Told of each request to the service, and for which organization it was. */
  readonly observeRequest?: (org: string, news: ApiRequestResult) => void;
  /** Told again and again whether what the process writes to can be written. */
  readonly observeStorage?: (part: StoragePart, usable: boolean) => void;
}

/**
 * The role `worker`, until the scope closes: takes runs off the line, delivers them, tells owners, sweeps the archive. It
 * opens no slot. Closing lets runs in hand end for a while and hands over the rest.
 * Returns whether it takes runs and can write what they make, for `/readyz`. Throws `config.invalid`.
 */
export async function openWorker(
  around: AppContext,
  settings: WorkerSettings,
  store: Store,
  identity: Pick<DeploymentIdentity, 'id' | 'known'>,
  scope: Scope,
): Promise<() => readonly HealthCheck[]> {
  const { config, clock, log } = around;
  const { prefix } = store;
  await assertMailSecrets(around);
  const kept = { prefix, keepDays: RETENTION_DAYS };
  // A run in hand outlasts a restart of Redis.
  const patient = await store.blockingClient();
  const runs = redisRunStore(patient, { ...kept, log, ended: deleteResponses(patient, { prefix: `${prefix}:` }) });
  const definitions = definitionStore(patient, kept);
  const { archive, storage, signing } = openArchive(around, scope, identity);
  await signing?.ready();
  await checkBucket(storage, log);
  const ledger = redisLedger(patient, { prefix: `${prefix}:`, ttlDays: RETENTION_DAYS });
  const mailOf = createMailRoutes(around, scope);
  const scoped = createReportScope(around, () => settings.jobs.current().orgs);
  const logScope = (jobs: Definitions): void =>
    void scoped.logDiagnostics(jobs).catch((thrown: unknown) => {
      log.error('The scope of the definitions was not checked', { error: toDocketError(thrown).toJSON() });
    });
  scope.use(settings.jobs.onChange(logScope), (stop) => stop());
  logScope(settings.jobs.current());
  const circuit = redisCircuitBreaker(patient, { prefix: `${prefix}:`, clock, tell: logCircuitEvents(log) });
  const portsOf = createRunPorts(around, scope, {
    mailOf,
    reportScope: scoped,
    sentFigures: redisLastSentFigures(patient, { prefix: `${prefix}:` }),
    responsesOf: (org) => redisResponseStore(patient, { prefix: `${prefix}:`, org }),
    sharedAnswers: redisResponseCache(patient, { prefix: `${prefix}:` }),
    catalogs: redisCatalogCache(patient, { prefix: `${prefix}:`, clock }),
    ledger,
    circuit,
    archive,
    budget: sharedBudgets(patient, prefix, clock, log, identity.known),
    orgs: () => settings.jobs.current().orgs,
    maxWaitMs: MAX_TOKEN_WAIT_MS,
    ...(settings.observeRequest === undefined ? {} : { observeRequest: settings.observeRequest }),
  });

  /**
   * Who was taken off the list since gets nothing more; who was put on it since is what a retry waits for, and so is a key
   * that is kept elsewhere now. So are the secrets and destinations that the organization's reports may have. Its mail
   * server goes by the files alone: a login is no report's, and what is frozen may have been written by others.
   */
  const inForce = (frozen: OrgSettings): OrgSettings => {
    const now = settings.jobs.current().orgs.get(frozen.id);
    const { recipients, api_key, allow_private, secrets, destinations } = now ?? frozen;
    return { ...frozen, recipients, api_key, allow_private, secrets, destinations, smtp: now?.smtp };
  };
  const frozenOf = async (order: RunOrder): Promise<FrozenDefinition> => {
    const frozen = await definitions.get(order.digest);
    // Whatever is kept under the digest: a run is of its own organization's report, or of none.
    const same = frozen?.definition.org === order.org && frozen.definition.report === order.report;
    if (same) return frozen;
    throw new DocketError('definition.not_found', `The definition of run ${order.id} is no longer kept.`, {
      expected: `the version ${order.digest}, for ${RETENTION_DAYS} days after its last use`,
      next: 'Trigger the report again: the run then uses the version that is there now.',
    });
  };
  const noticeOutbox = redisNoticeOutbox(patient, { prefix });
  const notices = createOwnerNotices({
    noticeOutbox,
    runs: store.runs,
    frozenOf,
    mailOf: (frozen) => mailOf(inForce(frozen)),
    ledger,
    archive,
    circuit,
    clock,
    log,
    observe: (order, event) => settings.observe?.(order, event),
  });

  const pausing = {
    pauses: redisPauses(patient, { prefix }),
    keyOf: currentKeyFingerprint(settings.jobs, secretSource(around.env, around)),
    log,
  };
  const trying = {
    ...pausing,
    runs,
    frozenOf,
    // An archive that cannot be trusted is the run's to speak of.
    isPublished: (order: RunOrder) =>
      archive.peek(order).then(
        (sealed) => sealed !== undefined,
        () => true,
      ),
    clock,
  };
  const attempt: Execute = async (order, context) => {
    const outcome = await executeUnlessPaused(
      order,
      context,
      trying,
      async ({ definition, settings: frozen }, observed) => {
        const org = inForce({ ...frozen, id: order.org });
        const ports = await portsOf(org);
        return { outcome: await run(order, { definition, settings: org, ...observed }, ports), key: ports.key };
      },
    );
    // Before the record says that it is over: who dies in between must not leave the owner untold.
    const isOver =
      outcome.kind === 'fail' && (context.lastAttempt || !outcome.error.retryable) && !isStorageOutage(outcome.error);
    if (isOver) {
      await notices.enqueue(order, outcome.error.toJSON());
    }
    if (outcome.kind !== 'done') return outcome;
    const { state, incomplete } = outcome.value;
    if (state === 'partly_delivered') await notices.send(order, null);
    if (state === 'held') await notices.send(order, incompleteError('run.held', incomplete)?.toJSON() ?? null);
    return outcome;
  };

  const worker = scope.use(
    startWorker({
      connection: patient,
      prefix,
      store: runs,
      execute: traceExecution(around.trace, attempt),
      telemetry: around.queueTelemetry,
      onTerminal: (order, error) => notices.send(order, error.toJSON()),
      clock,
      log,
      concurrency: settings.concurrency ?? 4,
      ...(settings.observe === undefined ? {} : { observe: settings.observe }),
    }),
    (opened) => opened.close(settings.graceMs ?? SHUTDOWN_GRACE_MS),
  );
  scope.use(
    startPeriodicTasks({
      // A scheduler may have no keys; whoever has them sees that one is another.
      steps: [
        () =>
          failAbandoned({
            runs,
            leases: redisInlineLeases(patient, { prefix }),
            noticeOutbox,
            rowsAtEnd: async (order) => {
              const sealed = await archive.peek(order);
              return reconcileRun(
                order.id,
                sealed ? await archive.getArchivedStates(sealed) : new Map(),
                ledger,
                clock,
              );
            },
            clock,
            log,
          }),
        () => notices.retryPending(),
        () => activePauses({ ...pausing, pauses: store.pauses }),
        onReconnect(patient, () => repairLedger({ runs: store.runs, archive, ledger, clock, log })),
      ],
      clock,
      log,
    }),
    (opened) => opened.close(),
  );
  const sweeping = new AbortController();
  scope.use(
    startPeriodicTasks({
      steps: [
        () => touchUndecided({ runs, definitions, ledger, log }),
        () => recoverExpiredRows(patient, `${prefix}:`, { runs, ledger, archive, storage, clock, log }),
        () =>
          applyRetention({
            storage,
            signing,
            daysOf: (org) => settings.jobs.current().orgs.get(org)?.retention_days ?? config.DOCKET_ARCHIVE_DAYS,
            ledger,
            isOpen: createNeededCheck(store.runs),
            clock,
            log,
            signal: sweeping.signal,
          }),
      ],
      clock,
      log,
      // It asks its mark whether a day has gone by.
      everyMs: 3_600_000,
    }),
    (opened) => opened.close(),
  );
  scope.use(sweeping, (controller) => controller.abort());
  await worker.ready();
  const probes = [archiveProbe({ storage }, clock), stagingProbe({ archive })];
  const storageHealth = await monitorStorage(probes, { clock, log }, scope, settings.observeStorage);
  return () => [
    { name: 'worker', ok: worker.isAccepting(), detail: `${worker.active()} runs in hand` },
    ...storageHealth.checks(),
  ];
}

/** A try of a run as a span, in the trace of whatever asked for it. */
const traceExecution =
  (trace: Trace = noTrace, execute: Execute): Execute =>
  (order, context) => {
    const { id: run, org, report, trigger } = order;
    return trace.span({ name: 'run', run, org, report, trigger, attempt: context.attempt }, async (tell) => {
      const outcome = await execute(order, context);
      tell(outcomeFields(outcome));
      return outcome;
    });
  };

const outcomeFields = (outcome: Awaited<ReturnType<Execute>>): SpanAttributes => {
  if (outcome.kind === 'done') return { state: outcome.value.state };
  return outcome.kind === 'fail' ? { state: 'failed', error: outcome.error.code } : { state: outcome.kind };
};

const logCircuitEvents =
  (log: Log) =>
  (news: CircuitEvent): void => {
    const { service: target } = news;
    if (news.kind === 'closed') {
      log.info('A target can be used again', { target, ms: news.afterMs });
      return;
    }
    log.error('A target has been failing and is left alone for a while; deliveries to it wait, none is lost', {
      target,
      until: new Date(news.until).toISOString(),
      why: news.why,
    });
  };
