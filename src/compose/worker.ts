import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { startPeriodicTasks } from '../base/periodic.ts';
import type { Scope } from '../base/scope.ts';
import { secretSource } from '../base/secrets/secret.ts';
import { HOUR_MS, SECOND_MS } from '../base/time.ts';
import type { DefinitionSource } from '../definitions/load/definition-source.ts';
import type { Definitions } from '../definitions/load/load-definitions.ts';
import { readingArchive } from '../deliver/archive/readings/reading-archive.ts';
import { applyRetention } from '../deliver/archive/retention.ts';
import { type CircuitEvent, redisCircuitBreaker } from '../deliver/circuit/circuit-breaker.ts';
import { assertMailSecrets, createMailRoutes } from '../deliver/targets/email/mail-routes.ts';
import { redisCatalogCache } from '../fetch/cache/catalog-cache.ts';
import { redisResponseCache } from '../fetch/cache/redis-response-cache.ts';
import { redisResponseStore, responseStoreScript } from '../fetch/cache/redis-response-store.ts';
import type { ApiRequestResult } from '../fetch/client/compliance-client.ts';
import { activePauses } from '../queue/jobs/pause-enforcement.ts';
import { startWorker } from '../queue/jobs/worker.ts';
import { redisProcessRegistry } from '../queue/process-registry.ts';
import { redisReadingIndex } from '../queue/schedules/reading-index.ts';
import type { RunEvent } from '../run/run-events.ts';
import type { RunOrder } from '../run/run-record.ts';
import { sharedBudgets } from '../services/budgets/budgets.ts';
import { currentKeyFingerprint } from '../services/budgets/key-limits.ts';
import { createCorrectionNotifier } from '../services/corrections/correction-notices.ts';
import { createCorrectionRounds } from '../services/corrections/correction-rounds.ts';
import { createCorrectionService } from '../services/corrections/correction-service.ts';
import { redisWatchIndex } from '../services/corrections/watch-index.ts';
import { currentSettings } from '../services/definitions/frozen-definition.ts';
import { createReportScope } from '../services/definitions/report-scope.ts';
import { onReconnect, repairLedger } from '../services/deliveries/ledger-repair.ts';
import { createOwnerNotices } from '../services/deliveries/owner-notices.ts';
import { createNeededCheck, recoverExpiredRows, touchUndecided } from '../services/deliveries/undecided-deliveries.ts';
import type { Sending } from '../services/deployment/deployment.ts';
import { createReadingRounds } from '../services/readings/reading-rounds.ts';
import { rebuildSummaries, updateSummary } from '../services/readings/summarize-readings.ts';
import { createReviewContinuer, createReviewSweep } from '../services/reviews/review-sweep.ts';
import { createEventCutOver } from '../services/reviews/sign-events.ts';
import { createRunExecutor } from '../services/runs/execute-run.ts';
import { createLateNotices, redisLateNoticeClaims } from '../services/runs/late-notices.ts';
import { keepHeld } from '../services/switches/keep-held.ts';
import { checkBucket } from './archive.ts';
import { BUILT_IN_KINDS } from './built-in-kinds.ts';
import { openDelivering, openDeployment } from './deployment.ts';
import { openPreparations } from './preparations.ts';
import type { ProcessParts } from './probes/probe-context.ts';
import { createRunPorts } from './run-ports.ts';
import type { Store } from './store.ts';
import type { TracedContext } from './tracing/tracing.ts';

/** A worker waits up to this long for a token. For a longer wait, it snoozes the run and takes another one. */
const MAX_TOKEN_WAIT_MS = 5 * SECOND_MS;
const SHUTDOWN_GRACE_MS = 10 * SECOND_MS;
export const DEFAULT_CONCURRENCY = 4;

/** States in which the attempt of a run in review can end. */
const REVIEW_STATES: ReadonlySet<string> = new Set(['held', 'awaiting_approval', 'cancelled']);

export interface WorkerSettings {
  readonly jobs: DefinitionSource;
  /** Maximum concurrent runs in this process. Default: 4. */
  readonly concurrency?: number;
  /** Ms that running runs have to finish at shutdown. Default: ten seconds. */
  readonly graceMs?: number;
  readonly observe?: (order: RunOrder, event: RunEvent) => void;
  /** Called every minute with the number of overdue approvals. */
  readonly observeOverdue?: (count: number) => void;
  /** Called for each request to the Compliance Service. */
  readonly observeRequest?: (org: string, request: ApiRequestResult) => void;
}

/**
 * Runs the role `worker` until the scope closes: processes queued runs, delivers them, notifies owners and applies the
 * retention of the archive. It opens no slots. At shutdown, running runs have `graceMs` to finish; the others are
 * requeued.
 *
 * Throws `config.invalid`.
 */
export async function openWorker(
  context: TracedContext,
  settings: WorkerSettings,
  store: Store,
  scope: Scope,
): Promise<NonNullable<ProcessParts['worker']>> {
  const { config, clock, log } = context;
  const { jobs } = settings;
  const { prefix, identity, orgs } = store;
  await assertMailSecrets(context);
  const keyPrefix = { prefix: `${prefix}:` };
  // A client that waits while Redis restarts, so that running runs do not fail.
  const redis = await store.blockingClient();
  const deployment = openDeployment(context, { redis, prefix, orgs, queue: store.queue, identity }, scope);
  const delivering = openDelivering(context, deployment, scope);
  const { runs, ledger, archive, storage, signing, pauses, switches, denials } = deployment;
  await signing?.ready();
  await checkBucket({ storage, signing }, log);
  const mailOf = createMailRoutes(context, scope);
  const reportScope = createReportScope(context, orgs, BUILT_IN_KINDS);
  const logScope = (current: Definitions): void =>
    void reportScope.logDiagnostics(current).catch((thrown: unknown) => {
      log.error('Report scope check failed', { error: toDocketError(thrown).toJSON() });
    });
  scope.use(jobs.onChange(logScope), (stop) => stop());
  logScope(jobs.current());
  const circuit = redisCircuitBreaker(redis, { ...keyPrefix, clock, onEvent: logCircuitEvents(log) });
  const storeScript = responseStoreScript();
  const sharedAnswers = redisResponseCache(redis, keyPrefix);
  const { buildRunPorts, buildRequestPorts } = createRunPorts(context, scope, {
    ...deployment,
    ...delivering,
    mailOf,
    reportScope,
    responsesOf: (org) => redisResponseStore(redis, { ...keyPrefix, org, script: storeScript }),
    sharedAnswers,
    catalogs: redisCatalogCache(redis, { ...keyPrefix, clock }),
    circuit,
    budget: sharedBudgets(redis, prefix, clock, log, identity.known),
    maxWaitMs: MAX_TOKEN_WAIT_MS,
    ...(settings.observeRequest === undefined ? {} : { observeRequest: settings.observeRequest }),
  });

  const sending: Sending = { mailOf, circuit, observe: (order, event) => settings.observe?.(order, event) };
  const notices = createOwnerNotices(deployment, sending);
  const keyOf = currentKeyFingerprint(jobs, secretSource(context.env, context));

  const sweepReviews = createReviewSweep(deployment, sending, settings.observeOverdue);
  const signEvents =
    signing === undefined
      ? []
      : [createEventCutOver(deployment, signing, redisProcessRegistry(redis, { prefix, self: 'reader' }))];
  const reviewTasks = scope.add(startPeriodicTasks({ steps: [...signEvents, sweepReviews], clock, log }));
  const execute = createRunExecutor({ ...deployment, buildRunPorts, notices, keyOf });
  const worker = scope.use(
    startWorker({
      connection: redis,
      prefix,
      store: runs,
      execute,
      telemetry: context.queueTelemetry,
      onTerminal: (order, error) => notices.send(order, error.toJSON()),
      continueReview: createReviewContinuer(deployment),
      stoppedMs: switches.stoppedMs,
      clock,
      log,
      concurrency: settings.concurrency ?? DEFAULT_CONCURRENCY,
      observe: (order, event) => {
        settings.observe?.(order, event);
        // When a run starts to wait for people, or was rejected, somebody must be notified.
        if (event.type === 'finished' && REVIEW_STATES.has(event.state)) reviewTasks.wake();
      },
    }),
    (opened) => opened.close(settings.graceMs ?? SHUTDOWN_GRACE_MS),
  );
  scope.add(
    startPeriodicTasks({
      steps: [
        // Refreshes the copy in Redis for code that reads nothing else: pages, and scripts that drop index entries.
        () => switches.read(),
        delivering.endAbandoned,
        () => notices.retryPending(),
        // The scheduler may not have the API keys, so only a worker notices that a rejected key was replaced.
        () => activePauses({ pauses, keyOf, log }),
        createLateNotices(
          deployment,
          sending,
          () => jobs.current().reports.values(),
          redisLateNoticeClaims(redis, { prefix }),
        ),
        onReconnect(redis, () => repairLedger(deployment)),
      ],
      clock,
      log,
    }),
  );
  const readings = { ...deployment, archive: readingArchive(storage), index: redisReadingIndex(redis, { prefix }) };
  const stopReadings = new AbortController();
  scope.use(
    startPeriodicTasks({
      steps: [
        createReadingRounds({
          ...readings,
          buildRequestPorts,
          onWindowEnd: (settings) => updateSummary(settings, readings),
          signal: stopReadings.signal,
        }),
      ],
      clock,
      log,
    }),
    (opened) => opened.close(),
  );
  scope.use(stopReadings, (controller) => controller.abort());
  const preparations = openPreparations(
    { ...deployment, jobs, buildRequestPorts, sharedAnswers, storeScript, keyOf },
    scope,
  );
  const stopCorrections = new AbortController();
  scope.use(
    startPeriodicTasks({
      steps: [
        createCorrectionRounds({
          ...deployment,
          service: createCorrectionService(deployment),
          index: redisWatchIndex(redis, { prefix }),
          buildCheckPorts: (frozen) => buildRunPorts(currentSettings(frozen, orgs())),
          notify: createCorrectionNotifier(deployment, sending),
          isPreparing: preparations.isDue,
          signal: stopCorrections.signal,
        }),
      ],
      clock,
      log,
    }),
    (opened) => opened.close(),
  );
  scope.use(stopCorrections, (controller) => controller.abort());
  const retention = new AbortController();
  scope.add(
    startPeriodicTasks({
      steps: [
        () => keepHeld(deployment),
        () => touchUndecided(deployment),
        () => recoverExpiredRows(deployment),
        () => rebuildSummaries(orgs(), readings),
        // Indexes deliveries that processes of older versions add to old runs.
        () => store.searchIndex.repair(),
        () =>
          applyRetention({
            storage,
            signing,
            daysOf: (org) => orgs().get(org)?.retention_days ?? config.DOCKET_ARCHIVE_DAYS,
            isHeld: switches.isHeld,
            ledger,
            isOpen: createNeededCheck(runs),
            clock,
            log,
            signal: retention.signal,
          }),
      ],
      clock,
      log,
      // Checked every hour, but applied once a day: it checks its marker in the archive.
      everyMs: HOUR_MS,
    }),
  );
  scope.use(retention, (controller) => controller.abort());
  await worker.ready();
  return { isAccepting: worker.isAccepting, active: worker.active, opened: { archive, storage, switches, denials } };
}

const logCircuitEvents =
  (log: Log) =>
  (event: CircuitEvent): void => {
    const { service: target } = event;
    if (event.kind === 'closed') {
      log.info('Circuit closed: the target is used again', { target, ms: event.afterMs });
      return;
    }
    log.error('Circuit opened: the target keeps failing; its deliveries wait', {
      target,
      until: new Date(event.until).toISOString(),
      why: event.why,
    });
  };
