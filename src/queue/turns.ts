import { PRIORITIES, type Priority } from '../fetch/budget.ts';
import type { Keys } from './keys.ts';
import { type RedisClient, script } from './script.ts';

/**
 * The line of runs, as numbers for BullMQ (lower goes first). The runs of an organization and of a priority form a queue
 * of their own, and its n-th run has its turn in the n-th round: however many runs one organization opens, another's
 * next one is at most a round away. (Start-time fair queueing: rounds are counted from the one that is being served.)
 */
const LEAD: Record<Priority, number> = { on_demand: 0, scheduled: 8, backfill: 64 };
/** Rounds until the next run of the same queue: a backfill gets one place in eight of what waits beside it. */
const STEP: Record<Priority, number> = { on_demand: 1, scheduled: 1, backfill: 8 };

/** BullMQ takes no number beyond. Past the last round runs go first come first served. */
const MOST = 2 ** 21 - 1;
const LAST_ROUND = Math.floor(MOST / PRIORITIES.length) - Math.max(...Object.values(LEAD)) - 1;

/** @param round from 1; 0: before all who have not begun */
const numberOf = (priority: Priority, round: number): number =>
  (round + LEAD[priority]) * PRIORITIES.length + PRIORITIES.indexOf(priority) + 1;

/** The number of a run that has begun and comes back from a sleep: it is not to queue up a second time. */
export const begun = (priority: Priority): number => numberOf(priority, 0);

/** Rounds that do not matter to a run that comes back. */
const FEW = 16;

/** Whether a run that has begun would come back to the line far behind where it should, if it kept its number. */
export const comesLate = (number: number | undefined, priority: Priority): boolean =>
  number !== undefined && number > numberOf(priority, FEW);

/** From taking a turn to standing in line. */
const ON_THE_WAY_MS = 500;

// KEYS: turns, BullMQ's prioritized set, the run's job
// ARGV: organization and priority, lead, step, index of the priority, the last round, leads of all priorities…
// Nobody in line: the count begins anew, unless somebody took a turn just now and is on the way there. 50 places are looked
// through for one that has not begun; what is behind them is not served soon, and the round that was last seen stands for it.
const TURN = script(`
if redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
local line = redis.call('ZRANGE', KEYS[2], 0, 49, 'WITHSCORES')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if #line == 0 and now - tonumber(redis.call('HGET', KEYS[1], 'at') or 0) > ${ON_THE_WAY_MS} then
  redis.call('DEL', KEYS[1])
end
local count = #ARGV - 5
local round = tonumber(redis.call('HGET', KEYS[1], 'round') or 1)
for i = 2, #line, 2 do
  local number = math.floor(line[i] / 0x100000000) - 1
  local start = math.floor(number / count) - ARGV[6 + number % count]
  if start > 0 then
    round = math.max(round, start)
    break
  end
end
local turn = math.min(math.max(round, tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 1)), tonumber(ARGV[5]))
redis.call('HSET', KEYS[1], ARGV[1], turn + ARGV[3], 'round', round, 'at', now)
redis.call('PEXPIRE', KEYS[1], 604800000)
return (turn + ARGV[2]) * count + ARGV[4] + 1
`);

/** Gives the run its place: its number in line, or undefined when it has a job already. */
export async function takeTurn(
  redis: RedisClient,
  keys: Keys,
  queue: { readonly prioritized: string; readonly job: string },
  { org, priority }: { readonly org: string; readonly priority: Priority },
): Promise<number | undefined> {
  const number = await TURN(
    redis,
    [keys.turns, queue.prioritized, queue.job],
    [
      `${org}:${priority}`,
      LEAD[priority],
      STEP[priority],
      PRIORITIES.indexOf(priority),
      LAST_ROUND,
      ...PRIORITIES.map((each) => LEAD[each]),
    ],
  );
  return number === 0 ? undefined : Number(number);
}

// KEYS: BullMQ's prioritized set  ARGV: the prefix of its jobs, the organization
const OTHERS = script(`
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, 499)) do
  local org = redis.call('HGET', ARGV[1] .. id, 'name')
  if org and org ~= ARGV[2] then return 1 end
end
return 0
`);

/** Whether a run of another organization is in line, as far as it may be served soon. */
export const othersWait = async (
  redis: RedisClient,
  queue: { readonly prioritized: string; readonly jobs: string },
  org: string,
): Promise<boolean> => (await OTHERS(redis, [queue.prioritized], [queue.jobs, org])) === 1;
