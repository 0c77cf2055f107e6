import type { Readings } from '../admin/metrics.ts';
import { DocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { type SecretSource, secretSource } from '../base/secret.ts';
import type { Jobs } from '../define/load.ts';
import type { CircuitNews } from '../deliver/circuit.ts';
import { directoryArchive } from '../deliver/directory-archive.ts';
import { redisCircuit } from '../deliver/redis-circuit.ts';
import { redisLedger } from '../deliver/redis-ledger.ts';
import { sweepArchive } from '../deliver/retention.ts';
import { redisSentFigures } from '../deliver/sent-figures.ts';
import { redisCatalogs } from '../fetch/catalogs.ts';
import { redisShared } from '../fetch/redis-shared.ts';
import { redisStore } from '../fetch/redis-store.ts';
import { asking, assertSuitable, openRedis } from '../queue/connection.ts';
import { redisCursors } from '../queue/cursors.ts';
import type { Decisions } from '../queue/decisions.ts';
import { definitionStore, type FrozenDefinition } from '../queue/definition-store.ts';
import { nameOf, openDue } from '../queue/due.ts';
import { runQueue } from '../queue/jobs.ts';
import { DEFAULT_PREFIX } from '../queue/keys.ts';
import { owedNotices } from '../queue/owed-notices.ts';
import { redisPauses } from '../queue/pauses.ts';
import { pausedNow, unlessPaused } from '../queue/pausing.ts';
import { requeueLost, startReconciler } from '../queue/reconciler.ts';
import { type RedisRunStore, redisRunStore } from '../queue/run-store.ts';
import { schedules, startTicks } from '../queue/schedules.ts';
import { type Trigger, trigger } from '../queue/trigger.ts';
import { type Execute, startWorker } from '../queue/worker.ts';
import { incompleteError } from '../run/ending.ts';
import type { RunEvent } from '../run/event.ts';
import { ENDED, type RunOrder } from '../run/record.ts';
import { run } from '../run/run.ts';
import { sharedBudgets } from './budgets.ts';
import { bindDecisions } from './decisions.ts';
import { KEEP_DAYS } from './keep-days.ts';
import { mailRoutes } from './mail.ts';
import { createNotices } from './notices.ts';
import { archiveFolder, bindPorts, type PortsOf, type Surroundings } from './ports.ts';
import { readNow } from './readings.ts';

/** A shorter wait for a token is spent in place; a longer one frees the worker's slot. */
const PATIENCE_MS = 5_000;
/** What runs in hand get to end when the process is asked to stop. */
const GRACE_MS = 10_000;

export interface WorkerSettings {
  readonly jobs: Jobs;
  /** In front of every Redis key; two Dockets with different ones never meet. */
  readonly prefix?: string;
  /** Runs at the same time in this process. */
  readonly concurrency?: number;
  readonly observe?: (order: RunOrder, event: RunEvent) => void;
  /** Refuses a Redis that may forget runs and deliveries, instead of warning. */
  readonly requireDurable?: boolean;
}

export interface RunningWorker {
  readonly trigger: Trigger;
  readonly runs: RedisRunStore;
  /** What a person may decide about deliveries and runs that have ended. */
  readonly decisions: Decisions;
  /** Whether Redis answers; throws `redis.unreachable` otherwise. */
  readonly ping: () => Promise<void>;
  /** What the metrics tell of all processes; throws `redis.unreachable`. */
  readonly readings: () => Promise<Readings>;
  /** What runs here go through, for `explain` and the like. */
  readonly portsOf: PortsOf;
  /** Lets runs in hand end for a while, hands over the rest, closes everything. */
  close(): Promise<void>;
}

/**
 * The worker, its schedules and the reconciler against one Redis. On a failed start everything that was opened is closed.
 * Throws `redis.unreachable`, `redis.unsuitable`, `config.invalid`.
 */
export async function composeWorker(around: Surroundings, settings: WorkerSettings): Promise<RunningWorker> {
  const scope = createScope();
  try {
    return await open(around, settings, scope);
  } catch (error) {
    await scope.close();
    throw error;
  }
}

async function open(around: Surroundings, settings: WorkerSettings, scope: Scope): Promise<RunningWorker> {
  const { config, clock, log } = around;
  const prefix = settings.prefix ?? DEFAULT_PREFIX;
  // Whoever triggers waits for an answer and is told at once when Redis is away; a run in hand outlasts a restart of it.
  const producer = scope.use(await openRedis(config.REDIS_URL, 'producer', log), (redis) => redis.disconnect());
  const patient = scope.use(await openRedis(config.REDIS_URL, 'worker', log), (redis) => redis.disconnect());
  await assertSuitable(producer, log, { requireDurable: settings.requireDurable ?? false });

  const kept = { prefix, keepDays: KEEP_DAYS };
  const runs = redisRunStore(producer, kept);
  const definitions = definitionStore(producer, kept);
  const queue = scope.use(runQueue(producer, { prefix }), (opened) => opened.close());
  const archive = directoryArchive(archiveFolder(config), clock);
  const ledger = redisLedger(patient, { prefix: `${prefix}:`, ttlDays: KEEP_DAYS });
  const mailOf = mailRoutes(around, scope);
  // Whoever decides waits for an answer, too.
  const asked = redisLedger(producer, { prefix: `${prefix}:`, ttlDays: KEEP_DAYS });
  const circuit = redisCircuit(patient, { prefix: `${prefix}:`, clock, tell: sayCircuit(log) });
  const portsOf = bindPorts(around, scope, {
    mailOf,
    sentFigures: redisSentFigures(patient, { prefix: `${prefix}:` }),
    responses: redisStore(patient, { prefix: `${prefix}:` }),
    sharedAnswers: redisShared(patient, { prefix: `${prefix}:` }),
    catalogs: redisCatalogs(patient, { prefix: `${prefix}:`, clock }),
    ledger,
    circuit,
    archive,
    budget: sharedBudgets(patient, prefix, clock, log),
    patienceMs: PATIENCE_MS,
  });
  const open: Trigger = (request) => trigger(request, { runs, definitions, queue, clock, log });

  const frozenOf = async (order: RunOrder): Promise<FrozenDefinition> => {
    const frozen = await definitionStore(patient, kept).get(order.digest);
    if (frozen !== undefined) return frozen;
    throw new DocketError('definition.not_found', `The definition of run ${order.id} is no longer kept.`, {
      expected: `the version ${order.digest}, for ${KEEP_DAYS} days after its last use`,
      next: 'Trigger the report again: the run then uses the version that is there now.',
    });
  };
  const secrets = secretSource(around.env);
  const notices = createNotices({
    owed: owedNotices(patient, { prefix }),
    runs,
    frozenOf,
    mailOf,
    ledger,
    archive,
    circuit,
    clock,
    log,
    observe: (order, event) => settings.observe?.(order, event),
  });

  const keyOf = currentKeys(settings.jobs, secrets);
  const trying = {
    pauses: redisPauses(patient, { prefix }),
    keyOf,
    runs: redisRunStore(patient, kept),
    // An archive that cannot be trusted is the run's to speak of.
    sealed: (order: RunOrder) =>
      archive.find(order).then(
        (sealed) => sealed !== undefined,
        () => true,
      ),
    clock,
    log,
  };
  const execute: Execute = async (order, context) => {
    const { definition, settings: org } = await frozenOf(order);
    const outcome = await unlessPaused(order, context, trying, async (observed) => {
      const ports = await portsOf(org);
      return { outcome: await run(order, { definition, settings: org, ...observed }, ports), key: ports.key };
    });
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
      store: redisRunStore(patient, kept),
      execute,
      onTerminal: (order, error) => notices.tell(order, error.toJSON()),
      clock,
      log,
      concurrency: settings.concurrency ?? 4,
      ...(settings.observe === undefined ? {} : { observe: settings.observe }),
    }),
    (opened) => opened.close(GRACE_MS),
  );

  const reports = frozenReports(settings.jobs);
  const pauses = redisPauses(producer, { prefix });
  for (const { org, key, why, since } of (await pausedNow({ pauses, keyOf, log })).values()) {
    const from = new Date(since).toISOString();
    log.warn('The organization is paused: its scheduled runs wait', { org, key, why: `since ${from}: ${why}` });
  }
  const duePorts = {
    cursors: redisCursors(producer, { prefix }),
    trigger: open,
    paused: () => pausedNow({ pauses, keyOf, log }),
    clock,
    log,
  };
  const registered = scope.use(schedules(producer, { prefix, clock, log }), (opened) => opened.close());
  await registered.sync(reports);
  const ticks = scope.use(
    startTicks(patient, {
      prefix,
      log,
      onTick: async (name) => {
        await openDue(
          reports.filter((report) => nameOf(report) === name),
          duePorts,
        );
      },
    }),
    (opened) => opened.close(),
  );
  scope.use(
    startReconciler({
      steps: [
        () => openDue(reports, duePorts),
        () => requeueLost({ runs, queue, clock, log }),
        () => notices.again(),
        () => registered.sync(reports),
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
        () =>
          sweepArchive({
            root: archiveFolder(config),
            daysOf: (org) => settings.jobs.orgs.get(org)?.retention_days ?? config.DOCKET_ARCHIVE_DAYS,
            ledger,
            open: async (id) => {
              const record = await runs.get(id);
              return record !== undefined && !ENDED.has(record.state);
            },
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
  await Promise.all([worker.ready(), ticks.ready()]);

  return {
    trigger: open,
    runs,
    decisions: bindDecisions({ runs, queue, ledger: asked, archive, clock, log }),
    portsOf,
    ping: async () => {
      await asking(producer, () => producer.ping());
    },
    readings: () => readNow({ redis: producer, prefix, queue, jobs: settings.jobs, secrets, clock }),
    close: () => scope.close(),
  };
}

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

const frozenReports = ({ reports, orgs }: Jobs): FrozenDefinition[] =>
  [...reports.values()].flatMap((definition) => {
    const settings = orgs.get(definition.org);
    return settings === undefined ? [] : [{ definition, settings }];
  });

/** Fingerprint of the key that an organization has now: read anew each time, so that a rotated key is noticed. */
const currentKeys =
  ({ orgs }: Jobs, secrets: SecretSource) =>
  async (org: string): Promise<string | undefined> => {
    const settings = orgs.get(org);
    const secret = settings === undefined ? undefined : await secrets(settings.api_key).catch(() => undefined);
    return secret?.fingerprint();
  };
