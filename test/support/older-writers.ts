import { type DeliveryState, hashTagOfDelivery, type NewDelivery } from '../../src/deliver/ledger/ledger.ts';
import { INITIAL_RUN_FIELDS, toHashFields } from '../../src/queue/runs/stored-record.ts';
import type { RedisClient } from '../../src/redis/client.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../src/redis/script.ts';
import type { RunOrder } from '../../src/run/run-record.ts';

const OPEN_RUN = loadLuaScript('./open-run-1.lua', import.meta.url);
const OPEN_ROW = loadLuaScript('./ledger-open-2.lua', import.meta.url);

/** Opens a run like the version before the search indexes. */
export async function openRunAsBefore(redis: RedisClient, prefix: string, order: RunOrder, ttlMs: number) {
  const keys = redisKeys(prefix);
  const { id, org, report, createdAt } = order;
  const indexes = [keys.orgs, keys.index(), keys.index({ org }), keys.index({ org, report }), keys.unfinished];
  const fields = toHashFields({ order, ...INITIAL_RUN_FIELDS });
  await runLuaScript(
    redis,
    OPEN_RUN,
    [keys.record(id), keys.ids, ...indexes],
    [id, createdAt, ttlMs, keys.states, org, ...fields],
  );
}

/** Opens a delivery row like the version before the index of recipients. */
export async function openRowAsBefore(
  redis: RedisClient,
  prefix: string,
  { id, run, org, report, target, recipient }: NewDelivery,
  at: number,
  state: DeliveryState = 'pending',
) {
  const constant = JSON.stringify({ id, run, org, report, target, recipient });
  const rows = [`${prefix}:deliveries:{${hashTagOfDelivery(id)}}`, `${prefix}:unknown`];
  await runLuaScript(redis, OPEN_ROW, rows, [id, constant, at, 90, state, state === 'pending' ? 0 : 1, '']);
}
