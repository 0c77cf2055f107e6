import { DAY_MS } from '../../base/time.ts';
import { PRIORITIES, type Priority } from '../../fetch/rate-limit/budget.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { RedisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';

/**
 * Start-time fair queueing: maps runs to BullMQ priorities (lower first). Each organization and priority has its own
 * queue. The n-th run of a queue belongs to the n-th round, counted from the current round. However many runs one
 * organization opens, another organization's next run waits for at most one round.
 */
const ROUND_OFFSET: Record<Priority, number> = { on_demand: 0, scheduled: 8, backfill: 64 };
/** Rounds between two runs of one queue: backfills get every eighth run. */
const ROUND_STEP: Record<Priority, number> = { on_demand: 1, scheduled: 1, backfill: 8 };

/** BullMQ's maximum. After the last round, runs start in order of arrival. */
const MAX_PRIORITY = 2 ** 21 - 1;
const LAST_ROUND = Math.floor(MAX_PRIORITY / PRIORITIES.length) - Math.max(...Object.values(ROUND_OFFSET)) - 1;

/** @param round counts from 1; 0: before all runs that have not started */
const jobPriority = (priority: Priority, round: number): number =>
  (round + ROUND_OFFSET[priority]) * PRIORITIES.length + PRIORITIES.indexOf(priority) + 1;

/** The priority of a started run that returns from a snooze. It does not queue a second time. */
export const resumedPriority = (priority: Priority): number => jobPriority(priority, 0);

/** Most rounds that a returning run may wait. */
const MAX_LATE_ROUNDS = 16;

/** Whether a started run would wait too long with its current priority. */
export const isBehindTurn = (current: number | undefined, priority: Priority): boolean =>
  current !== undefined && current > jobPriority(priority, MAX_LATE_ROUNDS);

/** How long the order of an organization's runs is kept after the last one was enqueued, ms. */
const ORDER_TTL_MS = 7 * DAY_MS;

const ORDER_RUNS = loadLuaScript('./order-runs.lua', import.meta.url);

/** A run whose turn depends on when its readers expect it. */
export interface OrderedRun {
  readonly id: string;
  readonly org: string;
  readonly report: string;
  /** When readers expect it, epoch ms. */
  readonly expected: number;
}

/**
 * Puts a scheduled run in its place among its organization's waiting runs: before those that are expected later, which
 * move back by one place each.
 *
 * @param assigned the priority from `assignFairPriority`
 * @returns the run's BullMQ priority
 */
export async function takePlace(
  redis: RedisClient,
  keys: RedisKeys,
  queue: { readonly prioritized: string; readonly counter: string; readonly jobs: string },
  { id, org, report, expected }: OrderedRun,
  assigned: number,
): Promise<number> {
  const place = `${String(Math.max(0, expected)).padStart(14, '0')}|${report}`;
  const names = [keys.order(org), queue.prioritized, queue.counter];
  return Number(await runLuaScript(redis, ORDER_RUNS, names, [id, place, assigned, queue.jobs, ORDER_TTL_MS]));
}

const COUNT_PRIORITIES = loadLuaScript('./count-priorities.lua', import.meta.url);

/** Counts the jobs that wait for a worker, by priority. */
export async function countByPriority(
  redis: RedisClient,
  queue: { readonly prioritized: string },
): Promise<Readonly<Record<Priority, number>>> {
  const reply = await runLuaScript(redis, COUNT_PRIORITIES, [queue.prioritized], [PRIORITIES.length]);
  const counts: readonly unknown[] = Array.isArray(reply) ? reply : [];
  const count = (priority: Priority): number => Number(counts[PRIORITIES.indexOf(priority)] ?? 0);
  return { on_demand: count('on_demand'), scheduled: count('scheduled'), backfill: count('backfill') };
}

const NEXT_PRIORITY = loadLuaScript('./next-priority.lua', import.meta.url);
const OTHER_ORGS_WAITING = loadLuaScript('./other-orgs-waiting.lua', import.meta.url);

/** Assigns the run its round, and returns the BullMQ priority. Undefined if the run already has a job. */
export async function assignFairPriority(
  redis: RedisClient,
  keys: RedisKeys,
  queue: { readonly prioritized: string; readonly job: string },
  { org, priority }: { readonly org: string; readonly priority: Priority },
): Promise<number | undefined> {
  const number = await runLuaScript(
    redis,
    NEXT_PRIORITY,
    [keys.turns, queue.prioritized, queue.job],
    [
      `${org}:${priority}`,
      ROUND_OFFSET[priority],
      ROUND_STEP[priority],
      PRIORITIES.indexOf(priority),
      LAST_ROUND,
      ...PRIORITIES.map((each) => ROUND_OFFSET[each]),
    ],
  );
  return number === 0 ? undefined : Number(number);
}

/** Whether another organization has a run among the next 500. */
export const otherOrgsWaiting = async (
  redis: RedisClient,
  queue: { readonly prioritized: string; readonly jobs: string },
  org: string,
): Promise<boolean> => (await runLuaScript(redis, OTHER_ORGS_WAITING, [queue.prioritized], [queue.jobs, org])) === 1;
