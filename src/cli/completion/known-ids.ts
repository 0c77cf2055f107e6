import { systemClock } from '../../base/clock.ts';
import { readConfig } from '../../base/config/config.ts';
import { silentLog } from '../../base/log.ts';
import { redisLedger } from '../../deliver/ledger/redis-ledger.ts';
import { redisRunStore } from '../../queue/runs/run-store.ts';
import type { RedisClient } from '../../redis/client.ts';
import { openRedis } from '../../redis/connection.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS } from '../../redis/keys.ts';
import type { RunState } from '../../run/run-record.ts';
import type { Environment } from '../io.ts';
import { localTimes } from '../terminal/local-times.ts';
import { deliveryIdCells, idCells } from '../terminal/table/cell.ts';

/** A candidate for the typed word. The values `:files` and `:folders` request the shell's own completion. */
export interface Completion {
  readonly value: string;
  readonly description: string;
}

/** The ids that a word can stand for. */
export type WantedIds =
  | { readonly of: 'runs' /** Absent: in any state. */; readonly states?: readonly RunState[] }
  | { readonly of: 'deliveries' };

/** Deadline in ms. The shell waits for the candidates between two key presses. */
const DEADLINE_MS = 600;
const MAX_CANDIDATES = 30;
const MAX_SCANNED_DELIVERIES = 500;
/** Fewer typed digits would match too many runs. */
const MIN_SEARCHED_DIGITS = 3;

/**
 * The newest runs, or the deliveries that wait for a decision, with the first digits of their ids. Empty if Redis does
 * not respond at once, or on any other error: a shell has no place to show it.
 *
 * @param prefix the typed digits: candidates have at least as many
 */
export async function findKnownIds(
  wanted: WantedIds,
  prefix: string,
  env: Environment,
): Promise<readonly Completion[]> {
  if (!/^[0-9a-f]{0,32}$/.test(prefix)) return [];
  let redis: RedisClient | undefined;
  const timeout = new AbortController();
  try {
    const { REDIS_URL } = readConfig(env);
    const late = systemClock.sleep(DEADLINE_MS, timeout.signal).then((): readonly Completion[] => []);
    late.catch(() => {});
    // Not a producer's client: the timers of its commands would keep the process alive after the deadline.
    redis = await openRedis(REDIS_URL, 'worker', silentLog, { connectTimeoutMs: DEADLINE_MS });
    return await Promise.race([read(redis, wanted, prefix, env), late]);
  } catch {
    return [];
  } finally {
    timeout.abort();
    redis?.disconnect();
  }
}

/** An id and its description. */
interface Described {
  readonly id: string;
  readonly text: string;
}

async function read(
  redis: RedisClient,
  wanted: WantedIds,
  prefix: string,
  env: Environment,
): Promise<readonly Completion[]> {
  const found =
    wanted.of === 'runs' ? await findRuns(redis, wanted.states, prefix, env) : await findDeliveries(redis, env);
  const cellOf = (wanted.of === 'runs' ? idCells : deliveryIdCells)(found.map(({ id }) => id));
  return found
    .filter(({ id }) => id.startsWith(prefix))
    .slice(0, MAX_CANDIDATES)
    .map(({ id, text }) => {
      const { brief } = cellOf(id);
      return { value: brief.length >= prefix.length ? brief : id, description: text };
    });
}

/** The newest runs. If enough digits were typed, older ones too. */
async function findRuns(
  redis: RedisClient,
  states: readonly RunState[] | undefined,
  prefix: string,
  env: Environment,
): Promise<readonly Described[]> {
  const store = redisRunStore(redis, { prefix: DEFAULT_KEY_PREFIX, keepDays: RETENTION_DAYS, log: silentLog });
  const times = localTimes(systemClock.now(), env);
  const newest = await store.list({ ...(states === undefined ? {} : { states }), limit: MAX_CANDIDATES });
  const others = prefix.length < MIN_SEARCHED_DIGITS ? [] : await store.findIdsByPrefix(prefix);
  const known = new Set(newest.map(({ id }) => id));
  const older = await Promise.all(
    others
      .filter((id) => !known.has(id))
      .slice(0, MAX_CANDIDATES)
      .map((id) => store.get(id)),
  );
  const wanted = older.flatMap((run) =>
    run === undefined || (states !== undefined && !states.includes(run.state)) ? [] : run,
  );
  return [...newest, ...wanted].map(({ id, org, report, period, state, createdAt }) => ({
    id,
    text: `${state.replaceAll('_', ' ')}: ${org}/${report} ${period.label}, ${times.relative(createdAt)}`,
  }));
}

async function findDeliveries(redis: RedisClient, env: Environment): Promise<readonly Described[]> {
  const ledger = redisLedger(redis, { prefix: `${DEFAULT_KEY_PREFIX}:`, ttlDays: RETENTION_DAYS });
  const times = localTimes(systemClock.now(), env);
  const rows = await ledger.listUnknown(MAX_SCANNED_DELIVERIES);
  return rows.map(({ id, org, report, recipient, state, at }) => ({
    id,
    text: `${state}: ${org}/${report} to ${recipient}, ${times.relative(at)}`,
  }));
}
