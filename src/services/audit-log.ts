import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { epochMsSchema } from '../base/time.ts';
import type { RedisClient } from '../redis/client.ts';
import { withRedisErrors } from '../redis/errors.ts';
import { redisKeys } from '../redis/keys.ts';
import type { DecisionAuthor } from '../run/run-record.ts';

/** Audited events. Their names are stable, because alerts and searches use them. */
export const AUDIT_EVENTS = [
  'run.triggered',
  'run.cancelled',
  'run.retried',
  'run.released',
  'run.commented',
  'run.approved',
  'run.rejected',
  'run.delegated',
  'delivery.resolved',
  'recipient.added',
  'recipient.approved',
  'recipient.rejected',
  'correction.opened',
  'correction.sent',
  'correction.dismissed',
  'schedule.paused',
  'schedule.resumed',
  'deliveries.stopped',
  'deliveries.released',
  'hold.set',
  'hold.released',
  'recipient.denied',
  'recipient.allowed',
  'session.opened',
  'session.closed',
  'token.created',
  'token.revoked',
  'deployment.adopted',
] as const;
export type AuditEvent = (typeof AUDIT_EVENTS)[number];

/** Who acts, from which address, and why. */
export interface AuditActor extends DecisionAuthor {
  /** Absent on the command line. */
  readonly from?: string | undefined;
}

const text = z.string().optional();
const entrySchema = z.object({
  event: z.enum(AUDIT_EVENTS),
  /** Name of the token; on the command line, the user. */
  who: z.string(),
  /** Issuer and subject of a company account. Absent for tokens and on the command line. */
  account: text,
  /** Client address; absent on the command line. */
  from: text,
  org: text,
  report: text,
  run: text,
  delivery: text,
  /** The given reason, or the decision. */
  why: text,
});
/** One recorded action. */
export type AuditEntry = Readonly<z.infer<typeof entrySchema>>;
const storedSchema = entrySchema.extend({ at: epochMsSchema });

/** A stored entry. */
export interface StoredAuditEntry extends AuditEntry {
  /** Increases with time. Use it as `after` for the next page. */
  readonly id: string;
  /** Epoch ms. */
  readonly at: number;
}

export interface AuditFilter {
  readonly orgs: readonly string[] | '*';
  /** Also lists entries without an organization: sign-ins and tokens. */
  readonly includeGlobal: boolean;
  readonly event?: AuditEvent | undefined;
  readonly who?: string | undefined;
  /** `next` of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Newest first; `next` is null on the last page. */
export interface AuditPage {
  readonly entries: readonly StoredAuditEntry[];
  readonly next: string | null;
}

export type AuditLog = ReturnType<typeof redisAuditLog>;

/** Approximate length of the stream, because Redis trims whole nodes. */
const MAX_ENTRIES = 10_000;
const BATCH_SIZE = 500;

/** Format of an entry's id. */
export const AUDIT_CURSOR_PATTERN = /^\d{1,15}-\d{1,15}$/;

const LOG_MESSAGES: Readonly<Record<AuditEvent, string>> = {
  'run.triggered': 'Run triggered',
  'run.cancelled': 'Run cancelled',
  'run.retried': 'Run retried',
  'run.released': 'Run released',
  'run.commented': 'Run commented',
  'run.approved': 'Run approved',
  'run.rejected': 'Run rejected',
  'run.delegated': 'Deputy named',
  'delivery.resolved': 'Delivery resolved',
  'recipient.added': 'Recipient added',
  'recipient.approved': 'Recipient approved',
  'recipient.rejected': 'Recipient rejected',
  'correction.opened': 'Correction opened',
  'correction.sent': 'Corrected edition sent',
  'correction.dismissed': 'Correction dismissed',
  'schedule.paused': 'Scheduled runs paused',
  'schedule.resumed': 'Scheduled runs resumed',
  'deliveries.stopped': 'Deliveries stopped',
  'recipient.denied': 'Recipients denied',
  'recipient.allowed': 'Recipients allowed again',
  'deliveries.released': 'Deliveries released',
  'hold.set': 'Legal hold set',
  'hold.released': 'Legal hold released',
  'session.opened': 'Signed in to the page',
  'session.closed': 'Signed out of the page',
  'token.created': 'Token created',
  'token.revoked': 'Token revoked',
  'deployment.adopted': 'Deployment adopted',
};

const logFields = ({ event, who, account, from, org, report, run, delivery, why }: AuditEntry) =>
  Object.fromEntries(
    Object.entries({ event, who, account, from, org, report, run, delivery, why }).filter(
      ([, value]) => value !== undefined,
    ),
  );

/** Writes an entry to the log. Without Redis, this is the only record. */
export const logAuditEntry = (log: Log, entry: AuditEntry): void =>
  log.info(LOG_MESSAGES[entry.event], logFields(entry));

/** Creates the audit log: one log line per entry, and about 10,000 entries in a Redis stream. */
export function redisAuditLog(
  redis: RedisClient,
  { prefix, clock, log }: { readonly prefix: string; readonly clock: Clock; readonly log: Log },
) {
  const key = redisKeys(prefix).audit;
  return {
    /**
     * Records an action after it succeeded. Writes the log line first. If Redis fails, logs an error. Never rejects,
     * because an error would make the caller repeat the action.
     */
    record: async (entry: AuditEntry): Promise<void> => {
      logAuditEntry(log, entry);
      const fields = logFields(entry);
      try {
        const kept = JSON.stringify({ ...fields, at: clock.now() });
        await withRedisErrors(redis, () => redis.xadd(key, 'MAXLEN', '~', MAX_ENTRIES, '*', 'entry', kept));
      } catch (thrown) {
        log.error('Audit entry could not be stored in Redis', { ...fields, error: toDocketError(thrown).toJSON() });
      }
    },
    /** Lists entries. Throws `redis.unreachable`, and `usage.invalid` for an invalid cursor. */
    list: async ({ orgs, includeGlobal, event, who, after, limit }: AuditFilter): Promise<AuditPage> => {
      if (after !== undefined && !AUDIT_CURSOR_PATTERN.test(after)) {
        throw new DocketError('usage.invalid', 'Invalid cursor.', {
          where: 'after',
          expected: 'the `next` of the previous page',
        });
      }
      const visible = (entry: StoredAuditEntry): boolean =>
        (entry.org === undefined ? includeGlobal : orgs === '*' || orgs.includes(entry.org)) &&
        (event === undefined || entry.event === event) &&
        (who === undefined || entry.who === who);
      const entries: StoredAuditEntry[] = [];
      for (let end = after === undefined ? '+' : `(${after}`; ; ) {
        const block = await withRedisErrors(redis, () => redis.xrevrange(key, end, '-', 'COUNT', BATCH_SIZE));
        for (const [id, fields] of block) {
          const entry = parseEntry(id, fields);
          if (entry === undefined || !visible(entry)) continue;
          if (entries.length === limit) return { entries, next: entries.at(-1)?.id ?? null };
          entries.push(entry);
        }
        const last = block.at(-1)?.[0];
        if (last === undefined || block.length < BATCH_SIZE) return { entries, next: null };
        end = `(${last}`;
      }
    },
  };
}

/** Parses an entry; undefined for one that this version does not know. */
function parseEntry(id: string, fields: readonly string[]): StoredAuditEntry | undefined {
  const [name, json] = fields;
  if (name !== 'entry' || json === undefined) return undefined;
  try {
    const parsed = storedSchema.safeParse(JSON.parse(json));
    return parsed.success ? { ...parsed.data, id } : undefined;
  } catch {
    return undefined;
  }
}
