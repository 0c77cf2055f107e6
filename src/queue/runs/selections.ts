import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DAY_MS, epochMsSchema, MINUTE_MS } from '../../base/time.ts';
import { parseStored, type RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import type { DecisionAuthor } from '../../run/run-record.ts';

/**
 * What people may decide about many items at once: the first three about runs, the others about deliveries. Approving
 * is not among them.
 */
export const SELECTION_ACTIONS = ['cancel', 'retry', 'release', 'resend', 'sent'] as const;
export type SelectionAction = (typeof SELECTION_ACTIONS)[number];

const itemSchema = z.object({
  /** Id of the run or delivery. */
  id: z.string(),
  run: z.string(),
  org: z.string(),
  report: z.string(),
  /** Label of the period; null if the run's record has expired. */
  period: z.string().nullable(),
  state: z.string(),
  /** Null for a run. */
  recipient: z.string().nullable(),
  /** Changes when the run or delivery has changed. */
  mark: z.string(),
});
const selectionSchema = z.object({
  action: z.enum(SELECTION_ACTIONS),
  at: epochMsSchema,
  items: z.array(itemSchema).readonly(),
  /** Items that were named or match, but on which this decision is impossible. */
  skipped: z.array(z.object({ id: z.string(), why: z.string() })).readonly(),
});
const outcomeSchema = z.object({ result: z.enum(['decided', 'changed', 'refused']), why: z.string().nullable() });
const authorSchema = z.object({ by: z.string(), reason: z.string() });

export type SelectedItem = Readonly<z.infer<typeof itemSchema>>;
export type Selection = Readonly<z.infer<typeof selectionSchema>>;
/** `changed`: the item changed before the decision was carried out. `refused`: `why` has the reason. */
export type SelectionOutcome = Readonly<z.infer<typeof outcomeSchema>>;

export interface StoredSelection extends Selection {
  /** Null until somebody has decided. */
  readonly decision: DecisionAuthor | null;
  /** Outcomes by id of the item. */
  readonly outcomes: ReadonlyMap<string, SelectionOutcome>;
}

/** Enough time to look at a preview, decide, and come back for the result. */
const TTL_MS = 2 * DAY_MS;
/** If a process stops while carrying out a decision, others wait this long. */
const CLAIM_MS = MINUTE_MS;
const OUTCOME = 'of:';

/**
 * Stores previews of decisions about many items, by digest, and the outcomes. If they are lost, no decision is lost.
 */
export function redisSelections(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  return {
    put: mapped(async (digest: string, selection: Selection) => {
      await redis.hset(keys.selection(digest), 'selection', JSON.stringify(selection));
      await redis.pexpire(keys.selection(digest), TTL_MS);
    }),
    get: mapped(async (digest: string): Promise<StoredSelection | undefined> => {
      const fields = await redis.hgetall(keys.selection(digest));
      const selection = parseStored(selectionSchema, fields.selection ?? '');
      if (selection === undefined) return undefined;
      const outcomes = new Map<string, SelectionOutcome>();
      for (const [name, text] of Object.entries(fields)) {
        const outcome = name.startsWith(OUTCOME) ? parseStored(outcomeSchema, text) : undefined;
        if (outcome !== undefined) outcomes.set(name.slice(OUTCOME.length), outcome);
      }
      return { ...selection, decision: parseStored(authorSchema, fields.decision ?? '') ?? null, outcomes };
    }),
    /** Stores the first decision about a selection. Later ones are ignored. @returns the first decision */
    decide: mapped(async (digest: string, { by, reason }: DecisionAuthor): Promise<DecisionAuthor> => {
      await redis.hsetnx(keys.selection(digest), 'decision', JSON.stringify({ by, reason }));
      await redis.pexpire(keys.selection(digest), TTL_MS);
      return parseStored(authorSchema, (await redis.hget(keys.selection(digest), 'decision')) ?? '') ?? { by, reason };
    }),
    putOutcome: mapped(async (digest: string, id: string, outcome: SelectionOutcome) => {
      await redis.hset(keys.selection(digest), `${OUTCOME}${id}`, JSON.stringify(outcome));
    }),
    /** @returns undefined while another process has the claim */
    claim: mapped(async (digest: string) => {
      const [key, token] = [keys.selectionClaim(digest), randomUUID()];
      if ((await redis.set(key, token, 'PX', CLAIM_MS, 'NX')) === null) return undefined;
      return {
        renew: mapped(async () => void (await redis.pexpire(key, CLAIM_MS))),
        release: mapped(async () => {
          if ((await redis.get(key)) === token) await redis.del(key);
        }),
      };
    }),
  };
}
export type SelectionStore = ReturnType<typeof redisSelections>;
