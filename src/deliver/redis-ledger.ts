import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { DocketError } from '../base/error.ts';
import { readLua, runLua } from '../base/lua.ts';
import { type DeliveryRow, type Ledger, placeOfDelivery, placeOfRun } from './ledger.ts';

const fixedSchema = z.object({
  id: z.string(),
  run: z.string(),
  org: z.string(),
  report: z.string(),
  target: z.string(),
  recipient: z.string(),
});
const changingSchema = z.object({
  state: z.enum(['pending', 'sending', 'sent', 'refused', 'unknown']),
  epoch: z.coerce.number().int(),
  detail: z.string().transform((text) => (text === '' ? null : text)),
  at: z.coerce.number().int(),
});
const openedSchema = z.tuple([z.string(), z.string(), z.string(), z.string(), z.string()]);
const rowsSchema = z.record(z.string(), z.string());
const epochSchema = z.number().int().nullable();

function readRow(fixed: string, changing: Record<keyof z.infer<typeof changingSchema>, unknown>): DeliveryRow {
  return Object.freeze({ ...fixedSchema.parse(JSON.parse(fixed)), ...changingSchema.parse(changing) });
}

/** What the ledger asks of a connection. */
export type LedgerRedis = Pick<Redis, 'evalsha' | 'eval' | 'hgetall'>;

/**
 * The ledger in Redis: one hash a run, `<prefix>deliveries:{<first 16 digits of the run>}`, changed by Lua scripts
 * alone. As durable as the server's persistence. Throws `redis.unreachable` when the server cannot be asked: then
 * nothing may be sent. A client that waits for Redis brings the truth of a send also after a restart of the server.
 * @param prefix in front of the key, its separator included, e.g. `docket:`
 * @param ttlDays how long after the last change the rows of a run are kept
 */
export function redisLedger(
  redis: LedgerRedis,
  options: { readonly prefix: string; readonly ttlDays: number },
): Ledger {
  const { prefix, ttlDays } = options;
  const scripts = {
    open: readLua('./ledger-open-1.lua', import.meta.url),
    begin: readLua('./ledger-begin-1.lua', import.meta.url),
    settle: readLua('./ledger-settle-1.lua', import.meta.url),
  };
  const key = (place: string): string => `${prefix}deliveries:{${place}}`;

  const ask = async <T>(step: string, question: () => Promise<T>): Promise<T> => {
    try {
      return await question();
    } catch (cause) {
      throw new DocketError('redis.unreachable', `The ledger of deliveries cannot be asked (${step}).`, {
        got: cause instanceof Error ? cause.message : String(cause),
        next: 'See that Redis is up and that REDIS_URL points to it; nothing is sent without the ledger.',
        cause,
      });
    }
  };

  return {
    open: async ({ id, run: of, org, report, target, recipient }, at) => {
      const fixed = JSON.stringify({ id, run: of, org, report, target, recipient });
      const answer = await ask('open', () =>
        runLua(redis, scripts.open, [key(placeOfDelivery(id))], [id, fixed, at, ttlDays]),
      );
      const [row, state, epoch, detail, changed] = openedSchema.parse(answer);
      return readRow(row, { state, epoch, detail, at: changed });
    },
    begin: async (id, at) => {
      const request = randomUUID();
      const answer = await ask('begin', () =>
        runLua(redis, scripts.begin, [key(placeOfDelivery(id))], [id, at, ttlDays, request]),
      );
      return epochSchema.parse(answer) ?? undefined;
    },
    settle: async (id, epoch, to, detail, at) => {
      const answer = await ask('settle', () =>
        runLua(redis, scripts.settle, [key(placeOfDelivery(id))], [id, epoch, to, detail ?? '', at, ttlDays]),
      );
      return answer === 1;
    },
    list: async (of) => {
      const fields = rowsSchema.parse(await ask('list', () => redis.hgetall(key(placeOfRun(of)))));
      const field = (id: string, name: string): string | undefined => fields[`${id}:${name}`];
      return Object.entries(fields)
        .filter(([name]) => name.endsWith(':row'))
        .map(([name, fixed]) => ({ fixed, id: name.slice(0, -':row'.length) }))
        .sort((one, other) => Number(field(one.id, 'nth')) - Number(field(other.id, 'nth')))
        .map(({ fixed, id }) =>
          readRow(fixed, {
            state: field(id, 'state'),
            epoch: field(id, 'epoch'),
            detail: field(id, 'detail'),
            at: field(id, 'at'),
          }),
        )
        .filter((row) => row.run === of);
    },
  };
}
