import type { Check } from '../admin/app.ts';
import { DocketError, isStorageOutage, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { Scope } from '../base/scope.ts';
import { secretSource } from '../base/secret.ts';
import { noTrace, type Trace, type TraceFields } from '../base/trace.ts';
import type { JobsInForce } from '../define/in-force.ts';
import type { Jobs } from '../define/load.ts';
import type { OrgSettings } from '../define/org.ts';
import { rowsAtEnd } from '../deliver/attempt.ts';
import type { CircuitNews } from '../deliver/circuit.ts';
import { redisCircuit } from '../deliver/redis-circuit.ts';
import { redisLedger } from '../deliver/redis-ledger.ts';
import { sweepArchive } from '../deliver/retention.ts';
import { redisSentFigures } from '../deliver/sent-figures.ts';
import { redisCatalogs } from '../fetch/catalogs.ts';
import type { RequestNews } from '../fetch/client.ts';
import { redisShared } from '../fetch/redis-shared.ts';
import { dropAnswers, redisStore } from '../fetch/redis-store.ts';
import { definitionStore, type FrozenDefinition } from '../queue/definition-store.ts';
import { failAbandoned, inlineLeases } from '../queue/inline-run.ts';
import { owedNotices } from '../queue/owed-notices.ts';
import { redisPauses } from '../queue/pauses.ts';
import { pausedNow, unlessPaused } from '../queue/pausing.ts';
import { startReconciler } from '../queue/reconciler.ts';
import { redisRunStore } from '../queue/run-store.ts';
import { type Execute, startWorker } from '../queue/worker.ts';
import { incompleteError } from '../run/ending.ts';
import type { RunEvent } from '../run/event.ts';
import type { RunOrder } from '../run/record.ts';
import { run } from '../run/run.ts';
import { neededIn, openArchive, tryShelf } from './archive.ts';
import { sharedBudgets } from './budgets.ts';
import { currentKeys } from './current-keys.ts';
import type { DeploymentIdentity } from './deployment-identity.ts';
import { afterEachAbsence, settleForgotten } from './forgotten.ts';
import { KEEP_DAYS } from './keep-days.ts';
import { mailRoutes, requireMailSecrets } from './mail.ts';
import { createNotices } from './notices.ts';
import { bindPorts, type Surroundings } from './ports.ts';
import { reportScope } from './report-scope.ts';
import { type StoragePart, watchStorage } from './storage-health.ts';
import { archiveProbe, stagingProbe } from './storage-probes.ts';
import type { Store } from './store.ts';
import { keepUndecided, recoverExpired } from './undecided.ts';

/** A shorter wait for a token is spent in place; a longer one frees the worker's slot. */
const PATIENCE_MS = 5_000;
/** What runs in hand get to end when the process is asked to stop. */
const GRACE_MS = 10_000;

export interface WorkerSettings {
  readonly jobs: JobsInForce;
  /** Runs at the same time in this process. */
  readonly concurrency?: number;
  /** Ms for which runs in hand may go on when the process is asked to stop; ten seconds when absent. */
  readonly graceMs?: number;
  readonly observe?: (order: RunOrder, event: RunEvent) => void;
  /** Told of each request to the service, and for which organization it was. */
  readonly observeRequest?: (org: string, news: RequestNews) => void;
  /** Told again and again whether what the process writes to can be written. */
  readonly observeStorage?: (part: StoragePart, usable: boolean) => void;
}

/**
 * The role `worker`, until the scope closes: takes runs off the line, delivers them, tells owners, sweeps the archive. It
 * opens no slot. Closing lets runs in hand end for a while and hands over the rest.
 * Returns whether it takes runs and can write what they make, for `/readyz`. Throws `config.invalid`.
 */
export async function openWorker(
  around: Surroundings,
  settings: WorkerSettings,
  store: Store,
  identity: Pick<DeploymentIdentity, 'id' | 'known'>,
  scope: Scope,
): Promise<() => readonly Check[]> {
  const { config, clock, log } = around;
  const { prefix } = store;
  await requireMailSecrets(around);
  const kept = { prefix, keepDays: KEEP_DAYS };
  // A run in hand outlasts a restart of Redis.
  const patient = await store.patient();
  const runs = redisRunStore(patient, { ...kept, log, ended: dropAnswers(patient, { prefix: `${prefix}:` }) });
  const definitions = definitionStore(patient, kept);
  const { archive, shelf, signing } = openArchive(around, scope, identity);
  await signing?.ready();
  await tryShelf(shelf, log);
  const ledger = redisLedger(patient, { prefix: `${prefix}:`, ttlDays: KEEP_DAYS });
  const mailOf = mailRoutes(around, scope);
  const scoped = reportScope(around, () => settings.jobs.now().orgs);
  const logScope = (jobs: Jobs): void =>
    void scoped.logFaults(jobs).catch((thrown: unknown) => {
      log.error('The scope of the definitions was not checked', { error: toDocketError(thrown).toJSON() });
    });
  scope.use(settings.jobs.changed(logScope), (stop) => stop());
  logScope(settings.jobs.now());
  const circuit = redisCircuit(patient, { prefix: `${prefix}:`, clock, tell: sayCircuit(log) });
  const portsOf = bindPorts(around, scope, {
    mailOf,
    reportScope: scoped,
    sentFigures: redisSentFigures(patient, { prefix: `${prefix}:` }),
    responsesOf: (org) => redisStore(patient, { prefix: `${prefix}:`, org }),
    sharedAnswers: redisShared(patient, { prefix: `${prefix}:` }),
    catalogs: redisCatalogs(patient, { prefix: `${prefix}:`, clock }),
    ledger,
    circuit,
    archive,
    budget: sharedBudgets(patient, prefix, clock, log, identity.known),
    orgs: () => settings.jobs.now().orgs,
    patienceMs: PATIENCE_MS,
    ...(settings.observeRequest === undefined ? {} : { observeRequest: settings.observeRequest }),
  });

  /**
   * Who was taken off the list since gets nothing more; who was put on it since is what a retry waits for, and so is a key
   * that is kept elsewhere now. So are the secrets and destinations that the organization's reports may have. Its mail
   * server goes by the files alone: a login is no report's, and what is frozen may have been written by others.
   */
  const inForce = (frozen: OrgSettings): OrgSettings => {
    const now = settings.jobs.now().orgs.get(frozen.id);
    const { recipients, api_key, allow_private, secrets, destinations } = now ?? frozen;
    return { ...frozen, recipients, api_key, allow_private, secrets, destinations, smtp: now?.smtp };
  };
  const frozenOf = async (order: RunOrder): Promise<FrozenDefinition> => {
    const frozen = await definitions.get(order.digest);
    // Whatever is kept under the digest: a run is of its own organization's report, or of none.
    const same = frozen?.definition.org === order.org && frozen.definition.report === order.report;
    if (same) return frozen;
    throw new DocketError('definition.not_found', `The definition of run ${order.id} is no longer kept.`, {
      expected: `the version ${order.digest}, for ${KEEP_DAYS} days after its last use`,
      next: 'Trigger the report again: the run then uses the version that is there now.',
    });
  };
  const owed = owedNotices(patient, { prefix });
  const notices = createNotices({
    owed,
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
    keyOf: currentKeys(settings.jobs, secretSource(around.env, around)),
    log,
  };
  const trying = {
    ...pausing,
    runs,
    frozenOf,
    // An archive that cannot be trusted is the run's to speak of.
    sealed: (order: RunOrder) =>
      archive.peek(order).then(
        (sealed) => sealed !== undefined,
        () => true,
      ),
    clock,
  };
  const attempt: Execute = async (order, context) => {
    const outcome = await unlessPaused(order, context, trying, async ({ definition, settings: frozen }, observed) => {
      const org = inForce({ ...frozen, id: order.org });
      const ports = await portsOf(org);
      return { outcome: await run(order, { definition, settings: org, ...observed }, ports), key: ports.key };
    });
    // Before the record says that it is over: who dies in between must not leave the owner untold.
    const isOver =
      outcome.kind === 'fail' && (context.lastAttempt || !outcome.error.retryable) && !isStorageOutage(outcome.error);
    if (isOver) {
      await notices.owe(order, outcome.error.toJSON());
    }
    if (outcome.kind !== 'done') return outcome;
    const { state, incomplete } = outcome.value;
    if (state === 'partly_delivered') await notices.tell(order, null);
    if (state === 'held') await notices.tell(order, incompleteError('run.held', incomplete)?.toJSON() ?? null);
    return outcome;
  };

  const worker = scope.use(
    startWorker({
      connection: patient,
      prefix,
      store: runs,
      execute: traced(around.trace, attempt),
      telemetry: around.queueTelemetry,
      onTerminal: (order, error) => notices.tell(order, error.toJSON()),
      clock,
      log,
      concurrency: settings.concurrency ?? 4,
      ...(settings.observe === undefined ? {} : { observe: settings.observe }),
    }),
    (opened) => opened.close(settings.graceMs ?? GRACE_MS),
  );
  scope.use(
    startReconciler({
      // A scheduler may have no keys; whoever has them sees that one is another.
      steps: [
        () =>
          failAbandoned({
            runs,
            leases: inlineLeases(patient, { prefix }),
            owed,
            rowsAtEnd: async (order) => {
              const sealed = await archive.peek(order);
              return rowsAtEnd(order.id, sealed ? await archive.evidence(sealed) : new Map(), ledger, clock);
            },
            clock,
            log,
          }),
        () => notices.again(),
        () => pausedNow({ ...pausing, pauses: store.pauses }),
        afterEachAbsence(patient, () => settleForgotten({ runs: store.runs, archive, ledger, clock, log })),
      ],
      clock,
      log,
    }),
    (opened) => opened.close(),
  );
  const sweeping = new AbortController();
  scope.use(
    startReconciler({
      steps: [
        () => keepUndecided({ runs, definitions, ledger, log }),
        () => recoverExpired(patient, `${prefix}:`, { runs, ledger, archive, shelf, clock, log }),
        () =>
          sweepArchive({
            shelf,
            signing,
            daysOf: (org) => settings.jobs.now().orgs.get(org)?.retention_days ?? config.DOCKET_ARCHIVE_DAYS,
            ledger,
            open: neededIn(store.runs),
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
  const probes = [archiveProbe({ shelf }, clock), stagingProbe({ archive })];
  const storage = await watchStorage(probes, { clock, log }, scope, settings.observeStorage);
  return () => [
    { name: 'worker', ok: worker.taking(), detail: `${worker.active()} runs in hand` },
    ...storage.checks(),
  ];
}

/** A try of a run as a span, in the trace of whatever asked for it. */
const traced =
  (trace: Trace = noTrace, execute: Execute): Execute =>
  (order, context) => {
    const { id: run, org, report, trigger } = order;
    return trace.span({ name: 'run', run, org, report, trigger, attempt: context.attempt }, async (tell) => {
      const outcome = await execute(order, context);
      tell(endOf(outcome));
      return outcome;
    });
  };

const endOf = (outcome: Awaited<ReturnType<Execute>>): TraceFields => {
  if (outcome.kind === 'done') return { state: outcome.value.state };
  return outcome.kind === 'fail' ? { state: 'failed', error: outcome.error.code } : { state: outcome.kind };
};

const sayCircuit =
  (log: Log) =>
  (news: CircuitNews): void => {
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
