import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import { instantSchema } from '../../base/instant.ts';
import type { Log } from '../../base/log.ts';
import type { RedisClient } from '../../base/redis-client.ts';
import { asking } from '../../queue/connection.ts';
import { keysOf } from '../../queue/keys.ts';

/** What the audit log tells of. The names are stable: alerts and searches are made of them. */
export const AUDIT_EVENTS = [
  'run.triggered',
  'run.cancelled',
  'run.retried',
  'run.released',
  'delivery.resolved',
  'schedule.paused',
  'schedule.resumed',
  'session.opened',
  'session.closed',
  'token.created',
  'token.revoked',
  'deployment.adopted',
] as const;
export type AuditEvent = (typeof AUDIT_EVENTS)[number];

/** One thing that somebody did. */
export interface AuditEntry {
  readonly event: AuditEvent;
  /** Name of the token; on the command line, of the person. */
  readonly who: string;
  /** Address that it came from; absent on the command line. */
  readonly from?: string | undefined;
  readonly org?: string | undefined;
  readonly report?: string | undefined;
  readonly run?: string | undefined;
  readonly delivery?: string | undefined;
  /** Reason that was given, or how it was decided. */
  readonly why?: string | undefined;
}

/** An entry as it is kept. */
export interface KeptEntry extends AuditEntry {
  /** Grows with time; `after` of the page that follows. */
  readonly id: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Which entries. */
export interface AuditFilter {
  readonly orgs: readonly string[] | '*';
  /** Also those of no organization: sign-ins and tokens. */
  readonly house: boolean;
  readonly event?: AuditEvent | undefined;
  readonly who?: string | undefined;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Newest first; `next` is null on the last page. */
export interface AuditPage {
  readonly entries: readonly KeptEntry[];
  readonly next: string | null;
}

/** Who did what. */
export interface Audit {
  /**
   * Call it once the thing is done. The log has its line before anything is asked of Redis, and an entry that Redis
   * refuses is an error in the log, not one of the caller's: what was done is done, and an error would have it done twice.
   * Never rejects.
   */
  tell(entry: AuditEntry): Promise<void>;
  /** Throws `redis.unreachable`, and `usage.invalid` for an `after` that no page has given. */
  list(filter: AuditFilter): Promise<AuditPage>;
}

/** Entries that are kept, about: a stream is cut in whole blocks. */
const MOST = 10_000;
const BLOCK = 500;

/** An entry's id. */
export const CURSOR = /^\d{1,15}-\d{1,15}$/;

const SENTENCES: Readonly<Record<AuditEvent, string>> = {
  'run.triggered': 'Run triggered',
  'run.cancelled': 'Run cancelled',
  'run.retried': 'The rest of a run is made again',
  'run.released': 'Run released',
  'delivery.resolved': 'Delivery resolved',
  'schedule.paused': 'Scheduled runs paused',
  'schedule.resumed': 'Scheduled runs resumed',
  'session.opened': 'Signed in to the page',
  'session.closed': 'Signed out of the page',
  'token.created': 'Token created',
  'token.revoked': 'Token revoked',
  'deployment.adopted': 'Deployment adopted',
};

const text = z.string().optional();
const entrySchema = z.object({
  event: z.enum(AUDIT_EVENTS),
  who: z.string(),
  at: instantSchema,
  from: text,
  org: text,
  report: text,
  run: text,
  delivery: text,
  why: text,
});

const lineOf = ({ event, who, from, org, report, run, delivery, why }: AuditEntry) =>
  Object.fromEntries(
    Object.entries({ event, who, from, org, report, run, delivery, why }).filter(([, value]) => value !== undefined),
  );

/** An entry's line in the log: all that there is of it without a Redis. */
export const auditLine = (log: Log, entry: AuditEntry): void => log.info(SENTENCES[entry.event], lineOf(entry));

/** The audit log: a line in the log, and the last 10,000 or so as a stream in Redis. */
export function redisAudit(
  redis: RedisClient,
  { prefix, clock, log }: { readonly prefix: string; readonly clock: Clock; readonly log: Log },
): Audit {
  const key = keysOf(prefix).audit;
  return {
    tell: async (entry) => {
      auditLine(log, entry);
      const line = lineOf(entry);
      try {
        const kept = JSON.stringify({ ...line, at: clock.now() });
        await asking(redis, () => redis.xadd(key, 'MAXLEN', '~', MOST, '*', 'entry', kept));
      } catch (thrown) {
        log.error('An entry of the audit log was not kept in Redis; this log alone has it', {
          ...line,
          error: toDocketError(thrown).toJSON(),
        });
      }
    },
    list: async ({ orgs, house, event, who, after, limit }) => {
      if (after !== undefined && !CURSOR.test(after)) {
        throw new DocketError('usage.invalid', 'No page of the audit log goes on there.', {
          where: 'after',
          expected: 'the `next` of the page before',
        });
      }
      const visible = (entry: KeptEntry): boolean =>
        (entry.org === undefined ? house : orgs === '*' || orgs.includes(entry.org)) &&
        (event === undefined || entry.event === event) &&
        (who === undefined || entry.who === who);
      const entries: KeptEntry[] = [];
      for (let end = after === undefined ? '+' : `(${after}`; ; ) {
        const block = await asking(redis, () => redis.xrevrange(key, end, '-', 'COUNT', BLOCK));
        for (const [id, fields] of block) {
          const entry = read(id, fields);
          if (entry === undefined || !visible(entry)) continue;
          if (entries.length === limit) return { entries, next: entries.at(-1)?.id ?? null };
          entries.push(entry);
        }
        const last = block.at(-1)?.[0];
        if (last === undefined || block.length < BLOCK) return { entries, next: null };
        end = `(${last}`;
      }
    },
  };
}

/** Undefined for what a later version wrote and this one does not know. */
function read(id: string, fields: readonly string[]): KeptEntry | undefined {
  const [name, json] = fields;
  if (name !== 'entry' || json === undefined) return undefined;
  try {
    const parsed = entrySchema.safeParse(JSON.parse(json));
    return parsed.success ? { ...parsed.data, id } : undefined;
  } catch {
    return undefined;
  }
}
