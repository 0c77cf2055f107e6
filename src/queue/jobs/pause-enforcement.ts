import type { Clock } from '../../base/clock.ts';
import { DocketError, type ErrorCode } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { cancel, fail, type Outcome, snooze } from '../../base/outcome.ts';
import { MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import { formatDurationLiteral } from '../../definitions/schema/values/durations.ts';
import type { RunOrder, RunStore } from '../../run/run-record.ts';
import type { RunResult } from '../../run/run-result.ts';
import type { FrozenDefinition } from '../definitions/definition-store.ts';
import { findPause, type Pause, type Pauses } from '../schedules/pauses.ts';
import { catchUpWindowMs } from '../schedules/report-schedules.ts';
import type { Execute } from './process-job.ts';

/** Errors that every further call with the same key would return. */
const REJECTED_KEY_CODES: ReadonlySet<ErrorCode> = new Set(['api.unauthorized', 'api.forbidden']);
/** How often a run that was opened before the pause checks whether the pause is over, ms. */
const PAUSE_CHECK_INTERVAL_MS = MINUTE_MS;

export interface ActivePausesPorts {
  readonly pauses: Pauses;
  /** Fingerprint of the organization's current API key; undefined while it cannot be resolved. */
  readonly keyOf: (org: string) => Promise<string | undefined>;
  readonly log: Log;
}

/** Pauses by `<org>` or `<org>/<report>`. `findPause` finds the one for a report. */
export type ActivePauses = ReadonlyMap<string, Pause>;

/**
 * Reads the pauses. Lifts pauses for a rejected key that has been replaced since. If an organization also has a
 * person's pause, returns that one.
 */
export async function activePauses({ pauses, keyOf, log }: ActivePausesPorts): Promise<ActivePauses> {
  const active = new Map<string, Pause>();
  for (const pause of await pauses.list()) {
    const { org, report } = pause;
    const name = report === null ? org : `${org}/${report}`;
    if (pause.key === null || pause.run === null) {
      active.set(name, pause);
      continue;
    }
    const key = await keyOf(org);
    if (key === undefined || key === pause.key) active.set(name, active.get(name) ?? pause);
    else await liftKeyPause({ pauses, log }, org, pause.run, key, 'the API key was replaced');
  }
  return active;
}

async function liftKeyPause(
  { pauses, log }: Pick<ActivePausesPorts, 'pauses' | 'log'>,
  org: string,
  run: string,
  key: string,
  why: string,
): Promise<void> {
  const lifted = await pauses.liftKeyPause(org, run, why);
  if (lifted !== undefined) log.info('Pause of the organization lifted', { org, key, why });
}

export interface PauseEnforcementPorts extends ActivePausesPorts {
  readonly paused: Promise<ActivePauses>;
  readonly runs: RunStore;
  /** The version of the report that the run uses. */
  readonly frozenOf: (order: RunOrder) => Promise<FrozenDefinition>;
  /** Whether the run's files exist, so that it makes no more API calls. */
  readonly isPublished: (order: RunOrder) => Promise<boolean>;
  readonly clock: Clock;
}

/**
 * Executes one attempt of a run, unless its report or organization is paused: then a scheduled run snoozes without a
 * call, until the pause is over or its slot is too old to be caught up. A run whose key is permanently rejected pauses
 * its organization and fails, which notifies one owner. Other scheduled runs with the same rejection snooze. On-demand
 * runs are always executed; one that succeeds with a response from the service lifts the pause.
 *
 * @param attempt executes this version, and also returns the fingerprint of the key that it used
 */
export async function executeUnlessPaused(
  order: RunOrder,
  context: Parameters<Execute>[1],
  ports: PauseEnforcementPorts,
  attempt: (
    frozen: FrozenDefinition,
    context: Parameters<Execute>[1],
  ) => Promise<{ readonly outcome: Outcome<RunResult>; readonly key: string }>,
): Promise<Outcome<RunResult>> {
  const { org } = order;
  const [frozen, paused] = await Promise.all([ports.frozenOf(order), ports.paused, context.marked]);
  const pause = findPause(paused, org, order.report);
  // The run that caused the pause continues: its worker may have crashed before the owner was notified.
  const mustWait = pause !== undefined && pause.run !== order.id && isPausedBy(pause, order);
  if (mustWait && !(await ports.isPublished(order))) return snoozeWhilePaused(order, frozen, pause, ports);

  let answered = false;
  const observe: typeof context.observe = (event) => {
    if (event.type === 'fetched' && !event.saved) answered = true;
    context.observe(event);
  };
  const { outcome, key } = await attempt(frozen, { ...context, observe });
  if (outcome.kind === 'done' && answered && pause?.run != null) {
    await liftKeyPause(ports, org, pause.run, key, `run ${order.id} has succeeded`);
  }
  return outcome.kind === 'fail' && REJECTED_KEY_CODES.has(outcome.error.code)
    ? pauseForRejectedKey(order, frozen, outcome.error, key, ports)
    : outcome;
}

/** A rejected key also pauses backfills: each of their runs would fail, and notify the owner. */
const isPausedBy = ({ run }: Pause, { trigger }: RunOrder): boolean =>
  trigger === 'schedule' || (trigger === 'backfill' && run !== null);

async function pauseForRejectedKey(
  order: RunOrder,
  frozen: FrozenDefinition,
  error: DocketError,
  key: string,
  ports: PauseEnforcementPorts,
): Promise<Outcome<RunResult>> {
  const { org, id: run, report } = order;
  // The attempt resolved its key at its start. The rejection of an old key says nothing about the current one.
  if ((await ports.keyOf(org)) !== key) return fail(error);
  const why = `${error.message.split('\n')[0]} [${error.code}]`;
  const pause = await ports.pauses.put({ org, who: 'docket', why, since: ports.clock.now(), key, run, report: null });
  if (pause.run !== run && isPausedBy(pause, order)) return snoozeWhilePaused(order, frozen, pause, ports);
  if (pause.run === run) ports.log.warn('Scheduled runs of the organization paused', { org, report, run, key, why });
  const { code, message, correlation_id: correlationId, next = '', ...detail } = error.toJSON();
  return fail(
    new DocketError(code, message, {
      ...detail,
      ...(correlationId === undefined ? {} : { correlationId }),
      next: `${next} The scheduled runs of ${org} are paused. They resume when the key is replaced, when a retry succeeds, or after \`docket resume ${org} --reason …\`.`,
      cause: error,
    }),
  );
}

async function snoozeWhilePaused(
  order: RunOrder,
  frozen: FrozenDefinition,
  pause: Pause,
  { runs, clock }: PauseEnforcementPorts,
): Promise<Outcome<RunResult>> {
  const { org, report } = pause;
  const paused = `the scheduled runs of ${report === null ? org : `${org}/${report}`} are paused by ${pause.who} since ${new Date(pause.since).toISOString()}`;
  const scheduled = order.trigger === 'schedule';
  const due = scheduled ? Date.parse(order.slot) : order.createdAt;
  const windowMs = catchUpWindowMs(frozen, scheduled ? due : undefined);
  if (clock.now() - due > windowMs) {
    const old = formatDurationLiteral(windowMs / SECOND_MS);
    return cancel(`T${paused.slice(1)}, and slots more than ${old} old are not caught up. ${pause.why}`);
  }
  // The deadline counts from the first start, and this run has not started.
  await runs.update(order.id, { startedAt: null });
  return snooze(clock.now() + PAUSE_CHECK_INTERVAL_MS, paused);
}
