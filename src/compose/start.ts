import { createMetrics } from '../admin/metrics/process-metrics.ts';
import type { Clock } from '../base/clock.ts';
import type { AppContext } from '../base/context.ts';
import { type DocketError, isRedisOutage, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { createScope, withScope } from '../base/scope.ts';
import { SECOND_MS } from '../base/time.ts';
import { formatDiagnostic } from '../definitions/diagnostics/diagnostic.ts';
import { watchDefinitions } from '../definitions/load/definition-source.ts';
import { fingerprintDirectory } from '../definitions/load/directory-fingerprint.ts';
import type { Definitions } from '../definitions/load/load-definitions.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import { assertMailConfigured } from '../deliver/targets/email/mail-routes.ts';
import { toRedisError } from '../redis/errors.ts';
import { startReaderThread } from '../services/definitions/definition-threads.ts';
import { composeAdmin, expectedSeries, processInfo } from './admin.ts';
import { loadDefinitions } from './built-in-kinds.ts';
import { composeDocket, type Role } from './docket.ts';
import type { DocketContext } from './feature.ts';
import { DEFINITION_THREAD } from './threads.ts';
import { openTracing } from './tracing/tracing.ts';

export interface StartOptions {
  readonly roles: ReadonlySet<Role>;
  /** Maximum number of concurrent runs. */
  readonly concurrency: number;
  /** Ms that running runs have to finish after the stop signal. */
  readonly graceMs: number;
  /** Refuses a Redis that does not log each write. */
  readonly requireDurable: boolean;
  /** Joins Redis and archive of different deployments. `who` appears in the audit log. */
  readonly adopt?: { readonly who: string };
}

/** The process's signals and events, for a running `docket start`. */
export interface StartEvents {
  /** Called once, with the log of the process. Returns a function that removes it. */
  readonly logFatalErrors: (log: Log) => () => void;
  /** Called once. Writes warnings of Node and of dependencies to the log. Returns a function that removes it. */
  readonly logWarnings: (log: Log) => () => void;
  /** Called after the definitions were loaded. Until then, a signal ends the process at once. */
  readonly stop: () => AbortSignal;
  /** Returns a function that removes the listener. */
  readonly onReload: (listener: () => void) => () => void;
}

/** Runs the roles until `stop` aborts, then closes everything. Waits for Redis while it is down, even at the start. */
export async function startDocket(plain: DocketContext, options: StartOptions, events: StartEvents): Promise<void> {
  await withScope(async (scope) => {
    const tracing = scope.use(await openTracing(plain), (opened) => opened?.close());
    const { context } = tracing ?? { context: plain };
    const { config, log, clock } = context;
    scope.use(events.logFatalErrors(log), (remove) => remove());
    scope.use(events.logWarnings(log), (remove) => remove());
    const { roles } = options;
    const { reader: parser } = scope.add(startReaderThread({ clock, entry: DEFINITION_THREAD, positions: false }));
    // If the folder cannot be read, the loader reports it.
    const seen = await fingerprintDirectory(config.DOCKET_JOBS).catch(() => undefined);
    const load = () => loadDefinitions(config.DOCKET_JOBS, { parser });
    const loaded = await retryStart(load, BUSY_MACHINE, context);
    // An invalid file only stops reports of its own organization.
    for (const diagnostic of loaded.diagnostics)
      log.error(`Skipped: ${formatDiagnostic(diagnostic)}`, { path: diagnostic.file });
    // Only workers deliver, so only they need a mail server.
    const admissionCheck = roles.has('worker') ? checkMail(config) : undefined;
    if (admissionCheck !== undefined) assertAdmitted(loaded, admissionCheck);
    const signal = events.stop();
    const metrics = createMetrics(expectedSeries(loaded), processInfo(context, { keeps: roles.has('worker') }));
    const {
      observe,
      observeRequest,
      observeSlots,
      observeRepairs,
      observeStorage,
      observeDefinitions,
      observeOverdue,
    } = metrics;
    observeDefinitions();
    const jobs = scope.add(
      watchDefinitions(loaded, {
        clock,
        log,
        parser,
        ...(seen === undefined ? {} : { seen }),
        onCheck: observeDefinitions,
        ...(admissionCheck === undefined ? {} : { admissionCheck }),
      }),
    );
    scope.use(
      jobs.onChange((changed) => metrics.initializeSeries(expectedSeries(changed))),
      (remove) => remove(),
    );
    scope.use(
      events.onReload(() => void jobs.reload()),
      (remove) => remove(),
    );
    const settings = {
      jobs,
      observe,
      observeRequest,
      observeSlots,
      observeRepairs,
      observeStorage,
      observeOverdue,
      ...options,
    };
    const openRoles = async () => {
      const opened = createScope();
      try {
        const running = opened.add(await composeDocket(context, settings));
        const admin = opened.add(await composeAdmin(context, jobs, running, metrics, { api: roles.has('admin') }));
        return { url: admin.url, close: opened.close };
      } catch (error) {
        await opened.close();
        throw error;
      }
    };
    const opened = await retryStart(openRoles, REDIS_OUTAGE, context, signal).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    if (opened === undefined) return;
    const { url } = scope.add(opened);
    const { size: count } = loaded.reports;
    log.info('Docket runs', { url, role: [...roles].join(', '), count, path: config.DOCKET_JOBS });
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    log.info('Stopping: running runs may finish');
  });
}

const checkMail =
  (config: AppContext['config']) =>
  (definition: Definition, settings: OrgSettings): DocketError | undefined => {
    try {
      assertMailConfigured(definition, settings, config);
      return undefined;
    } catch (thrown) {
      return toDocketError(thrown);
    }
  };

function assertAdmitted(jobs: Definitions, check: ReturnType<typeof checkMail>): void {
  for (const definition of jobs.reports.values()) {
    const settings = jobs.orgs.get(definition.org);
    const error = settings === undefined ? undefined : check(definition, settings);
    if (error !== undefined) throw error;
  }
}

const RETRY_INTERVAL_MS = SECOND_MS;

/** Failures that end by themselves, and what the log says while the start waits. */
interface PassingFailure {
  readonly passes: (error: DocketError) => boolean;
  readonly message: string;
}

/** If Redis rejects the credentials, the configuration is wrong, so waiting does not help. */
export const REDIS_OUTAGE: PassingFailure = {
  passes: (error) => isRedisOutage(error) && error.code !== 'redis.unauthorized',
  message: 'Redis cannot be used; the start waits until it can',
};

export const BUSY_MACHINE: PassingFailure = {
  passes: ({ code }) => code === 'definition.busy',
  message: 'The definitions are not read yet; the start waits until they are',
};

/**
 * Repeats a step of the start until it succeeds or fails for good: a process that starts during a Redis failover must
 * wait, as running processes do. Logs only the first failure. Rejects with the signal's reason if that aborts the wait.
 *
 * @param open must close what it has opened before it throws
 */
export async function retryStart<Opened>(
  open: () => Promise<Opened>,
  { passes, message }: PassingFailure,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  signal?: AbortSignal,
): Promise<Opened> {
  let since: number | undefined;
  for (;;) {
    try {
      const opened = await open();
      if (since !== undefined) log.info('The start goes on', { ms: clock.now() - since });
      return opened;
    } catch (thrown) {
      const error = toDocketError(toRedisError(thrown));
      if (!passes(error)) throw error;
      if (since === undefined) log.error(message, { error: error.toJSON() });
      since ??= clock.now();
    }
    await clock.sleep(RETRY_INTERVAL_MS, signal);
  }
}
