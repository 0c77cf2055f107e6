import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import { epochMsSchema } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { beforeSending, withRedisErrors } from '../../redis/errors.ts';
import { type LuaScript, loadLuaScript, runLuaScript } from '../../redis/script.ts';
import {
  additionText,
  DELIVERY_STATES,
  type DeliveryRow,
  hashTagOfDelivery,
  hashTagOfRun,
  isAfter,
  type Ledger,
  type NewDelivery,
  newDeliverySchema,
  resolutionSchema,
  resolutionText,
} from './ledger.ts';
import { BATCH_SIZE, rowsKeyOf, unknownKeyOf } from './unknown-set.ts';

const rowStateSchema = z.object({
  state: z.enum(DELIVERY_STATES),
  epoch: z.coerce.number().int(),
  detail: z.string().transform((text) => (text === '' ? null : text)),
  at: z.coerce.number().int().pipe(epochMsSchema),
  // One decision per line. Null in a row that an older version opened.
  decisions: z
    .string()
    .nullish()
    .transform((text) => (text ? text.split('\n').map((line) => resolutionSchema.parse(JSON.parse(line))) : [])),
});
const FIELDS = ['row', 'state', 'epoch', 'detail', 'at', 'decisions'] as const;
const rowReplySchema = z.tuple([z.string(), z.string(), z.string(), z.string(), z.string(), z.string().nullable()]);
const rowsReplySchema = z.record(z.string(), z.string());
const epochReplySchema = z.number().int().nullable();

const parseRow = (constant: string, state: Record<keyof z.infer<typeof rowStateSchema>, unknown>): DeliveryRow =>
  Object.freeze({ ...newDeliverySchema.parse(JSON.parse(constant)), ...rowStateSchema.parse(state) });

/** Parses one row, whose fields are in the order of `FIELDS`. Throws `run.unreadable`. */
const parseRowReply = (reply: unknown): DeliveryRow =>
  parseStored(() => {
    const [constant, state, epoch, detail, at, decisions] = rowReplySchema.parse(reply);
    return parseRow(constant, { state, epoch, detail, at, decisions });
  });

/** Parses all rows of a run, in the order in which they were opened. Throws `run.unreadable`. */
const parseRowsReply = (reply: unknown): DeliveryRow[] =>
  parseStored(() => {
    const fields = rowsReplySchema.parse(reply);
    const field = (id: string, name: string): string | undefined => fields[`${id}:${name}`];
    return Object.entries(fields)
      .filter(([name]) => name.endsWith(':row'))
      .map(([name, constant]) => ({ constant, id: name.slice(0, -':row'.length) }))
      .sort((one, other) => Number(field(one.id, 'nth')) - Number(field(other.id, 'nth')))
      .map(({ constant, id }) =>
        parseRow(constant, {
          state: field(id, 'state'),
          epoch: field(id, 'epoch'),
          detail: field(id, 'detail'),
          at: field(id, 'at'),
          decisions: field(id, 'decisions'),
        }),
      );
  });

/** Throws `run.unreadable` for a row in another format: it must not cause anything to be sent. */
function parseStored<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new DocketError('run.unreadable', 'A delivery in the ledger cannot be read.', {
      got: (cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause)).replaceAll('\n', ' ').slice(0, 500),
      next: 'A newer Docket may have written it; otherwise find out which program writes to this Redis under the same prefix.',
      retryable: true,
      cause,
    });
  }
}

/** The stored text of the fields that never change, without any other fields of the caller's object. */
const serializeConstants = ({ id, run, org, report, target, recipient, added }: NewDelivery): string =>
  JSON.stringify({ id, run, org, report, target, recipient, ...(added && { added }) });

const loadScript = (name: string): LuaScript => loadLuaScript(name, import.meta.url);

/**
 * Creates the ledger in Redis: one hash per run, `<prefix>deliveries:{<first 16 digits of the run>}`, and one sorted
 * set of all `unknown` rows, `<prefix>unknown`. `open` also enters the index of recipients (recipient-index.lua). Only
 * Lua scripts change them. On a cluster the prefix must contain the hash tag. It is as durable as the server's
 * persistence. Throws `redis.unreachable`: nothing may be sent then. Pass a client that waits for Redis, so that a
 * send's result survives a restart of the server.
 * @param prefix of every key, with its separator, e.g. `docket:`
 * @param ttlDays after which a run's unchanged rows expire, unless one of them is `unknown`
 */
export function redisLedger(
  redis: RedisClient,
  options: { readonly prefix: string; readonly ttlDays: number },
): Ledger {
  const { prefix, ttlDays } = options;
  const scripts = {
    open: loadScript('./ledger-open-3.lua'),
    begin: loadScript('./ledger-begin-1.lua'),
    settle: loadScript('./ledger-settle-2.lua'),
    resolve: loadScript('./ledger-resolve-2.lua'),
    add: loadScript('./ledger-add-3.lua'),
    withdraw: loadScript('./ledger-withdraw-1.lua'),
  };
  const unknownKey = unknownKeyOf(prefix);
  const rowsKey = (id: string): string => rowsKeyOf(prefix, hashTagOfDelivery(id));
  const keysFor = (id: string): string[] => [rowsKey(id), unknownKey];

  const withContext = <T>(operation: string, command: () => Promise<T>): Promise<T> =>
    withRedisErrors(undefined, command, beforeSending(`The ledger of deliveries (${operation})`));

  const find = async (id: string): Promise<DeliveryRow | undefined> => {
    const fields = FIELDS.map((field) => `${id}:${field}`);
    const reply = await withContext('find', () => redis.hmget(rowsKey(id), ...fields));
    return reply[0] === null ? undefined : parseRowReply(reply);
  };

  const list = async (run: string): Promise<DeliveryRow[]> => {
    const reply = await withContext('list', () => redis.hgetall(rowsKeyOf(prefix, hashTagOfRun(run))));
    return parseRowsReply(reply).filter((row) => row.run === run);
  };

  return {
    open: async (delivery, at, archived) => {
      const { id, run, org, recipient } = delivery;
      const constant = serializeConstants(delivery);
      const { state, epoch, detail } = archived ?? { state: 'pending', epoch: 0, detail: null };
      const args = [id, constant, at, ttlDays, state, epoch, detail ?? '', prefix, org, recipient, run];
      const keys = [...keysFor(id), `${prefix}record:${run}`];
      return parseRowReply(await withContext('open', () => runLuaScript(redis, scripts.open, keys, args)));
    },
    begin: async (id, at) => {
      const keys = [rowsKey(id)];
      const args = [id, at, ttlDays, randomUUID()];
      const reply = await withContext('begin', () => runLuaScript(redis, scripts.begin, keys, args));
      return epochReplySchema.parse(reply) ?? undefined;
    },
    settle: async (id, epoch, to, detail, at) => {
      const args = [id, epoch, to, detail ?? '', at, ttlDays];
      return (await withContext('settle', () => runLuaScript(redis, scripts.settle, keysFor(id), args))) === 1;
    },
    resolve: async (id, epoch, decision) => {
      const { to, at } = decision;
      const args = [id, epoch, to, resolutionText(decision), at, ttlDays, JSON.stringify(decision), randomUUID()];
      const reply = await withContext('resolve', () => runLuaScript(redis, scripts.resolve, keysFor(id), args));
      return reply === 1 ? find(id) : undefined;
    },
    add: async (delivery, decision, replaced) => {
      const { id, run, org, recipient } = delivery;
      const line = (to: 'pending' | 'replaced') => JSON.stringify({ to, ...decision });
      const old =
        replaced === undefined
          ? ['', '', '', '']
          : [
              replaced.id,
              replaced.epoch,
              `${resolutionText({ to: 'replaced', ...decision })} (now ${recipient})`,
              line('replaced'),
            ];
      const args = [
        id,
        serializeConstants(delivery),
        decision.at,
        ttlDays,
        additionText(decision),
        line('pending'),
        randomUUID(),
      ];
      const keys = [...keysFor(id), `${prefix}record:${run}`];
      const all = [...args, prefix, org, recipient, run, ...old];
      const reply = await withContext('add', () => runLuaScript(redis, scripts.add, keys, all));
      if (reply === -1) return undefined;
      const row = await find(id);
      return row && { added: reply === 1, row };
    },
    withdraw: async (run, decision) => {
      const made = { to: 'withdrawn', ...decision } as const;
      const args = [run, JSON.stringify(made), resolutionText(made), decision.at, ttlDays];
      const keys = [rowsKeyOf(prefix, hashTagOfRun(run))];
      await withContext('withdraw', () => runLuaScript(redis, scripts.withdraw, keys, args));
      return list(run);
    },
    isWithdrawn: async (run) =>
      (await withContext('withdrawn', () =>
        redis.hexists(rowsKeyOf(prefix, hashTagOfRun(run)), `withdrawn:${run}`),
      )) === 1,
    find,
    listUnknown: async (limit, after) => {
      const since = after?.at ?? '-inf';
      const rows: DeliveryRow[] = [];
      for (let from = 0; rows.length < limit; from += BATCH_SIZE) {
        const ids = await withContext('unknown', () =>
          redis.zrange(unknownKey, since, '+inf', 'BYSCORE', 'LIMIT', from, BATCH_SIZE),
        );
        for (const row of await Promise.all(ids.map(find))) {
          // The set may name rows that an older version let expire.
          if (row?.state === 'unknown' && (after === undefined || isAfter(row, after))) rows.push(row);
        }
        if (ids.length < BATCH_SIZE) break;
      }
      return rows.slice(0, limit);
    },
    list,
  };
}
