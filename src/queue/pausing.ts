import type { Clock } from '../base/clock.ts';
import { DocketError, type ErrorCode } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { cancel, fail, type Outcome, snooze } from '../base/outcome.ts';
import { inUnits } from '../define/duration.ts';
import type { RunOrder, RunStore } from '../run/record.ts';
import type { RunResult } from '../run/result.ts';
import type { FrozenDefinition } from './definition-store.ts';
import type { Pause, Pauses } from './pauses.ts';
import type { Execute } from './run-job.ts';
import { catchUpMs } from './timing.ts';

/** Refusals that every further call with the key would meet as well. */
const REFUSED: ReadonlySet<ErrorCode> = new Set(['api.unauthorized', 'api.forbidden']);
/** A run that was opened before the pause looks this often, ms, whether it is over. */
const LOOK_MS = 60_000;

/** What pausing needs of the world. */
export interface PausingPorts {
  readonly pauses: Pauses;
  /** Fingerprint of the API key that the organization has now; undefined while it cannot be resolved. */
  readonly keyOf: (org: string) => Promise<string | undefined>;
  readonly log: Log;
}

/** What is paused, by `<org>` or `<org>/<report>`: `pauseOf` finds a report's. */
export type PausedNow = ReadonlyMap<string, Pause>;

/**
 * What is paused. A pause for a refused key that has been replaced since is lifted here; a person's is for a person to
 * lift, and is the one that is found where both stand.
 */
export async function pausedNow({ pauses, keyOf, log }: PausingPorts): Promise<PausedNow> {
  const standing = new Map<string, Pause>();
  for (const pause of await pauses.list()) {
    const { org, report } = pause;
    const name = report === null ? org : `${org}/${report}`;
    if (pause.key === null || pause.run === null) {
      standing.set(name, pause);
      continue;
    }
    const key = await keyOf(org);
    if (key === undefined || key === pause.key) standing.set(name, standing.get(name) ?? pause);
    else await liftRefusal({ pauses, log }, org, pause.run, key, 'the API key is another one');
  }
  return standing;
}

/** The pause for which the scheduled runs of a report wait; undefined: they do not. */
export const pauseOf = (paused: PausedNow, org: string, report: string): Pause | undefined =>
  paused.get(org) ?? paused.get(`${org}/${report}`);

async function liftRefusal(
  { pauses, log }: Pick<PausingPorts, 'pauses' | 'log'>,
  org: string,
  run: string,
  key: string,
  why: string,
): Promise<void> {
  const lifted = await pauses.liftRefusal(org, run, why);
  if (lifted !== undefined) log.info('The pause of the organization is lifted', { org, key, why });
}

/** What trying a run that may be paused needs besides. */
export interface TryPorts extends PausingPorts {
  readonly runs: Pick<RunStore, 'update'>;
  /** The version of the report that the run is of. */
  readonly frozenOf: (order: RunOrder) => Promise<FrozenDefinition>;
  /** Whether the run's files are made, so that it calls nothing any more. */
  readonly sealed: (order: RunOrder) => Promise<boolean>;
  readonly clock: Clock;
}

/**
 * One try of a run, unless its report or organization is paused: a scheduled run then sleeps without a call, until the
 * pause is over or its slot is too old to be made up for. A run whose key is refused for good pauses its organization and fails,
 * so that one owner is told; other scheduled runs that meet the same refusal sleep. Runs that somebody asked for are
 * always tried, and one that succeeds with an answer of the service lifts the pause.
 *
 * @param attempt the try itself, of this version, and the fingerprint of the key that it used
 */
export async function unlessPaused(
  order: RunOrder,
  context: Parameters<Execute>[1],
  ports: TryPorts,
  attempt: (
    frozen: FrozenDefinition,
    context: Parameters<Execute>[1],
  ) => Promise<{ readonly outcome: Outcome<RunResult>; readonly key: string }>,
): Promise<Outcome<RunResult>> {
  const { org } = order;
  const [frozen, paused] = await Promise.all([ports.frozenOf(order), pausedNow(ports)]);
  const before = pauseOf(paused, org, order.report);
  // The run that caused the pause goes on: its worker may have died before the owner was told.
  const waits = before !== undefined && before.run !== order.id && stops(before, order);
  if (waits && !(await ports.sealed(order))) return sleepOn(order, frozen, before, ports);

  let answered = false;
  const observe: typeof context.observe = (event) => {
    if (event.type === 'fetched' && !event.saved) answered = true;
    context.observe(event);
  };
  const { outcome, key } = await attempt(frozen, { ...context, observe });
  if (outcome.kind === 'done' && answered && before?.run != null) {
    await liftRefusal(ports, org, before.run, key, `run ${order.id} has succeeded`);
  }
  return outcome.kind === 'fail' && REFUSED.has(outcome.error.code)
    ? refused(order, frozen, outcome.error, key, ports)
    : outcome;
}

/** A backfill was asked for, but a refused key would fail each of its runs, and each would tell the owner. */
const stops = ({ run }: Pause, { trigger }: RunOrder): boolean =>
  trigger === 'schedule' || (trigger === 'backfill' && run !== null);

async function refused(
  order: RunOrder,
  frozen: FrozenDefinition,
  error: DocketError,
  key: string,
  ports: TryPorts,
): Promise<Outcome<RunResult>> {
  const { org, id: run, report } = order;
  // The run took its key when its try began; that the old key is refused says nothing of the new one.
  if ((await ports.keyOf(org)) !== key) return fail(error);
  const why = `${error.message.split('\n')[0]} [${error.code}]`;
  const pause = await ports.pauses.put({ org, who: 'docket', why, since: ports.clock.now(), key, run, report: null });
  if (pause.run !== run && stops(pause, order)) return sleepOn(order, frozen, pause, ports);
  if (pause.run === run)
    ports.log.warn('The scheduled runs of the organization are paused', { org, report, run, key, why });
  const { code, message, correlation_id: correlationId, next = '', ...detail } = error.toJSON();
  return fail(
    new DocketError(code, message, {
      ...detail,
      ...(correlationId === undefined ? {} : { correlationId }),
      next: `${next} The scheduled runs of ${org} are paused: they go on by themselves with another key, or after \`docket resume ${org}\`.`,
      cause: error,
    }),
  );
}

async function sleepOn(
  order: RunOrder,
  frozen: FrozenDefinition,
  pause: Pause,
  { runs, clock }: TryPorts,
): Promise<Outcome<RunResult>> {
  const { org, report } = pause;
  const paused = `the scheduled runs of ${report === null ? org : `${org}/${report}`} are paused by ${pause.who} since ${new Date(pause.since).toISOString()}`;
  const scheduled = order.trigger === 'schedule';
  const due = scheduled ? Date.parse(order.slot) : order.createdAt;
  const windowMs = catchUpMs(frozen, scheduled ? due : undefined);
  if (clock.now() - due > windowMs) {
    const old = inUnits(windowMs / 1000);
    return cancel(`T${paused.slice(1)}, and slots of more than ${old} ago are not made up for. ${pause.why}`);
  }
  // The time for which a run may take counts from its first start, and this one has not begun.
  await runs.update(order.id, { startedAt: null });
  return snooze(clock.now() + LOOK_MS, paused);
}
