import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DocketError } from '../base/error.ts';
import { instantSchema } from '../base/instant.ts';
import { type LuaScript, luaScript, readLua, runLua } from '../base/lua.ts';
import type { RedisClient } from '../base/redis-client.ts';
import { askRedis } from './ask-redis.ts';
import {
  comesAfter,
  DELIVERY_STATES,
  type DeliveryRow,
  decisionText,
  type Ledger,
  placeOfDelivery,
  placeOfRun,
} from './ledger.ts';

const fixedSchema = z.object({
  id: z.string(),
  run: z.string(),
  org: z.string(),
  report: z.string(),
  target: z.string(),
  recipient: z.string(),
});
const decisionSchema = z.object({
  to: z.enum(['sent', 'pending']),
  by: z.string(),
  reason: z.string(),
  at: instantSchema,
});
const changingSchema = z.object({
  state: z.enum(DELIVERY_STATES),
  epoch: z.coerce.number().int(),
  detail: z.string().transform((text) => (text === '' ? null : text)),
  at: z.coerce.number().int().pipe(instantSchema),
  // One line each. Null in a row that an older version opened.
  decisions: z
    .string()
    .nullish()
    .transform((text) => (text ? text.split('\n').map((line) => decisionSchema.parse(JSON.parse(line))) : [])),
});
const FIELDS = ['row', 'state', 'epoch', 'detail', 'at', 'decisions'] as const;
const foundSchema = z.tuple([z.string(), z.string(), z.string(), z.string(), z.string(), z.string().nullable()]);
const rowsSchema = z.record(z.string(), z.string());
const epochSchema = z.number().int().nullable();

function readFound(answer: unknown): DeliveryRow {
  return legible(() => {
    const [fixed, state, epoch, detail, at, decisions] = foundSchema.parse(answer);
    return readRow(fixed, { state, epoch, detail, at, decisions });
  });
}

function readRow(fixed: string, changing: Record<keyof z.infer<typeof changingSchema>, unknown>): DeliveryRow {
  return Object.freeze({ ...fixedSchema.parse(JSON.parse(fixed)), ...changingSchema.parse(changing) });
}

/** All rows of a run, the one that was opened first first. */
function rowsOf(reply: unknown): DeliveryRow[] {
  const fields = rowsSchema.parse(reply);
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
        decisions: field(id, 'decisions'),
      }),
    );
}

/** What a row says that another version of Docket has written, or somebody else: nothing may be sent by it. */
function legible<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new DocketError('run.unreadable', 'A delivery in the ledger cannot be read.', {
      got: (cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause)).replaceAll('\n', ' ').slice(0, 500),
      next: 'A newer Docket may have written it; otherwise find out who else writes to this Redis under the same prefix.',
      retryable: true,
      cause,
    });
  }
}

/** How many rows wait for a decision: those that became `unknown` since `after`, epoch ms. Throws `redis.unreachable`. */
export const countUnknown = (redis: Pick<RedisClient, 'zcount'>, prefix: string, after: number): Promise<number> =>
  askRedis('The ledger of deliveries (count)', () => redis.zcount(`${prefix}unknown`, after, '+inf'));

/** Ids in the list of undecided rows whose row is gone, since an older version let it expire. Throws `redis.unreachable`. */
export async function expiredUnknown(
  redis: Pick<RedisClient, 'zrange' | 'hexists'>,
  prefix: string,
): Promise<string[]> {
  const ids = await askRedis('The ledger of deliveries (expired)', () => redis.zrange(`${prefix}unknown`, 0, '-1'));
  const gone: string[] = [];
  for (let from = 0; from < ids.length; from += BATCH_SIZE) {
    const batch = ids.slice(from, from + BATCH_SIZE);
    const there = await askRedis('The ledger of deliveries (expired)', () =>
      Promise.all(batch.map((id) => redis.hexists(rowsKey(prefix, id), `${id}:row`))),
    );
    gone.push(...batch.filter((_, index) => there[index] === 0));
  }
  return gone;
}

const FORGET = luaScript(`
if redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':row') == 1 then return 0 end
return redis.call('ZREM', KEYS[2], ARGV[1])
`);

/** Takes an id off the list of undecided rows, unless its row is there. Throws `redis.unreachable`. */
export async function forgetUnknown(
  redis: Pick<RedisClient, 'evalsha' | 'eval'>,
  prefix: string,
  id: string,
): Promise<void> {
  await askRedis('The ledger of deliveries (forget)', () =>
    runLua(redis, FORGET, [rowsKey(prefix, id), `${prefix}unknown`], [id]),
  );
}

const rowsKey = (prefix: string, id: string): string => `${prefix}deliveries:{${placeOfDelivery(id)}}`;

const scriptOf = (name: string): LuaScript => {
  const [expiry, own] = ['./ledger-expiry.lua', name].map((each) => readLua(each, import.meta.url).lua);
  return luaScript(`${expiry}\n${own}`);
};

/** Rows of the list of undecided ones that are read at once. */
const BATCH_SIZE = 500;

/** What the ledger asks of a connection. */
export type LedgerRedis = Pick<RedisClient, 'evalsha' | 'eval' | 'hgetall' | 'hmget' | 'zrange'>;

/**
 * The ledger in Redis: one hash a run, `<prefix>deliveries:{<first 16 digits of the run>}`, and one sorted set of all
 * rows that wait for a decision, `<prefix>unknown`, changed by Lua scripts alone. On a cluster the prefix must hold the
 * hash tag. As durable as the server's persistence. Throws `redis.unreachable` when the server cannot be asked: then
 * nothing may be sent. A client that waits for Redis brings the truth of a send also after a restart of the server.
 * @param prefix in front of the key, its separator included, e.g. `docket:`
 * @param ttlDays how long after the last change the rows of a run are kept once none of them waits for a decision; until
 *   then they do not expire
 */
export function redisLedger(
  redis: LedgerRedis,
  options: { readonly prefix: string; readonly ttlDays: number },
): Ledger {
  const { prefix, ttlDays } = options;
  const scripts = {
    open: scriptOf('./ledger-open-1.lua'),
    begin: scriptOf('./ledger-begin-1.lua'),
    settle: scriptOf('./ledger-settle-1.lua'),
    resolve: scriptOf('./ledger-resolve-1.lua'),
  };
  const key = (place: string): string => `${prefix}deliveries:{${place}}`;
  const waiting = `${prefix}unknown`;
  const keysFor = (id: string): string[] => [key(placeOfDelivery(id)), waiting];

  const ask = <T>(step: string, question: () => Promise<T>): Promise<T> =>
    askRedis(`The ledger of deliveries (${step})`, question);

  const find = async (id: string): Promise<DeliveryRow | undefined> => {
    const fields = FIELDS.map((field) => `${id}:${field}`);
    const found = await ask('find', () => redis.hmget(key(placeOfDelivery(id)), ...fields));
    return found[0] === null ? undefined : readFound(found);
  };

  return {
    open: async ({ id, run: of, org, report, target, recipient }, at, evidence) => {
      const fixed = JSON.stringify({ id, run: of, org, report, target, recipient });
      const { state, epoch, detail } = evidence ?? { state: 'pending', epoch: 0, detail: null };
      const args = [id, fixed, at, ttlDays, state, epoch, detail ?? ''];
      return readFound(await ask('open', () => runLua(redis, scripts.open, keysFor(id), args)));
    },
    begin: async (id, at) => {
      const request = randomUUID();
      const answer = await ask('begin', () =>
        runLua(redis, scripts.begin, [key(placeOfDelivery(id))], [id, at, ttlDays, request]),
      );
      return epochSchema.parse(answer) ?? undefined;
    },
    settle: async (id, epoch, to, detail, at) => {
      const args = [id, epoch, to, detail ?? '', at, ttlDays];
      return (await ask('settle', () => runLua(redis, scripts.settle, keysFor(id), args))) === 1;
    },
    resolve: async (id, epoch, decision) => {
      const { to, at } = decision;
      const said = [decisionText(decision), at, ttlDays, JSON.stringify(decision), randomUUID()];
      const answer = await ask('resolve', () => runLua(redis, scripts.resolve, keysFor(id), [id, epoch, to, ...said]));
      return answer === 1 ? find(id) : undefined;
    },
    find,
    unknown: async (limit, after) => {
      const since = after?.at ?? '-inf';
      const found: DeliveryRow[] = [];
      for (let from = 0; found.length < limit; from += BATCH_SIZE) {
        const ids = await ask('unknown', () =>
          redis.zrange(waiting, since, '+inf', 'BYSCORE', 'LIMIT', from, BATCH_SIZE),
        );
        for (const row of await Promise.all(ids.map(find))) {
          // A row that an older version let expire may have stayed in the set.
          if (row?.state === 'unknown' && (after === undefined || comesAfter(row, after))) found.push(row);
        }
        if (ids.length < BATCH_SIZE) break;
      }
      return found.slice(0, limit);
    },
    list: async (of) => {
      const reply = await ask('list', () => redis.hgetall(key(placeOfRun(of))));
      return legible(() => rowsOf(reply)).filter((row) => row.run === of);
    },
  };
}
