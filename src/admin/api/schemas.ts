import { z } from 'zod';
import { isoInstant, isoInstantOrNull } from '../../base/time.ts';
import { PRIORITIES } from '../../fetch/rate-limit/budget.ts';
import type { Pause } from '../../queue/schedules/pauses.ts';
import { lateAt } from '../../run/lateness.ts';
import { RUN_STATES, type RunRecord, STAGES, STATUSES, TRIGGERS } from '../../run/run-record.ts';
import { DELIVERY_STATES, type DeliveryRow } from '../../services/deliveries/decisions.ts';
import type { ReceivedDelivery } from '../../services/listings/received.ts';
import { releasePreviewSchema } from '../../services/runs/release-preview.ts';

/**
 * A full id, or a unique prefix of at least 8 hex digits. Shorter prefixes pass here, and get a more specific error
 * later.
 */
export const idOrPrefixSchema = z
  .string()
  .regex(/^[0-9a-f]{1,32}$/, 'an id, or its first 8 hex digits or more')
  .meta({ description: 'A full id, or a unique prefix of at least 8 hex digits.' });

/** The id of a run or a delivery: 32 hex digits. */
export const idSchema = z.string().regex(/^[0-9a-f]{32}$/, '32 hex digits');

const RUN_ID = '2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e';
const AT = '2026-11-16T07:00:00.000Z';
const instantSchema = z.iso.datetime().meta({ example: AT });
const count = z.int().min(0);

export const errorSchema = z
  .object({
    code: z.string().describe('Stable; messages may change.'),
    message: z.string().describe('One sentence for a person.'),
    expected: z.string().optional(),
    got: z.string().optional(),
    where: z.string().optional(),
    next: z.string().optional().describe('What to do.'),
    correlation_id: z.string().optional().describe('Correlation id of the Compliance Service, for its support.'),
  })
  .meta({ id: 'RunError' });

const periodSchema = z
  .object({
    from: z.string().describe('First day, YYYY-MM-DD.'),
    to: z.string().describe('Last day (inclusive), YYYY-MM-DD.'),
    timezone: z.string(),
    label: z.string(),
  })
  .meta({ example: { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' } });

/** A run in the API: its record, with instants as ISO 8601 text. */
export const runSchema = z
  .object({
    id: idSchema.meta({ example: RUN_ID }),
    org: z.string().meta({ example: 'acme' }),
    report: z.string().meta({ example: 'weekly' }),
    state: z
      .enum(RUN_STATES)
      .describe('`queued`, `running` and `waiting` change by themselves. The other states are final or need a person.'),
    slot: z.string().describe('The scheduled instant, or `trigger:<id>`.').meta({ example: AT }),
    trigger: z.enum(TRIGGERS).describe('What triggered the run.'),
    by: z.string().nullable().describe('Name of the token, or of the user of the shell; null for scheduled runs.'),
    priority: z.enum(PRIORITIES).describe('Priority in the queue of its API key.'),
    period: periodSchema,
    section_periods: z
      .record(z.string(), periodSchema)
      .describe('Periods of sections that have their own, by section id.'),
    deliver: z.boolean().describe('false: the files are created and archived, and nothing is sent.'),
    digest: z.string().describe('The version of the definition that it uses.'),
    created_at: instantSchema,
    started_at: instantSchema.nullable(),
    finished_at: instantSchema.nullable(),
    sleeps_until: instantSchema.nullable().describe('When it expects tokens, or begins its next attempt.'),
    starts: count.describe('How often a worker started it.'),
    attempts: count.describe('Attempts used. A snooze uses none.'),
    calls: z.object({
      planned: count,
      made: count,
      saved: count.describe('Calls answered with a cached response of another run.'),
    }),
    late_at: instantSchema
      .nullable()
      .describe('When a scheduled run that has not ended becomes late, by its `late_after`; null without one.'),
    prepared: z
      .object({ calls: count, from: instantSchema.describe('When the first of them got its response.') })
      .nullable()
      .describe('Calls that were made before the slot; null if there were none.'),
    timings_ms: z.partialRecord(z.enum(STAGES), z.number()).describe('Milliseconds in each stage that was reached.'),
    token_wait_ms: z.number().describe('Milliseconds spent waiting for tokens of the API key.'),
    files: z.array(z.object({ name: z.string(), bytes: count, sha256: z.string() })).readonly(),
    statuses: z
      .partialRecord(z.enum(STATUSES), count)
      .nullable()
      .describe('Number of figures with a target, by status; null before the run ends, and without targets.'),
    few_statuses: z
      .partialRecord(z.enum(STATUSES), count)
      .nullable()
      .describe('The same for figures with few cases (`small` in `org.yaml`), which `statuses` does not count.'),
    deliveries: z
      .array(
        z.object({
          target: z.string(),
          recipient: z.string(),
          state: z.string(),
          detail: z.string().nullable(),
        }),
      )
      .readonly(),
    error: z.union([errorSchema, z.null()]),
    reopened: z
      .array(
        z.object({
          what: z.enum(['release', 'retry', 'resend', 'settle', 'cancel', 'review']),
          by: z.string(),
          reason: z.string(),
          at: instantSchema,
        }),
      )
      .readonly()
      .describe('What people decided about it.'),
    cancel: z
      .object({ by: z.string(), reason: z.string(), at: instantSchema })
      .nullable()
      .describe('Who has requested its cancellation.'),
  })
  .meta({ id: 'Run' });
export type RunView = z.infer<typeof runSchema>;

const heldSchema = releasePreviewSchema
  .extend({ error: z.union([errorSchema, z.null()]).describe('Why the archive could not be read.') })
  .meta({ id: 'HeldPack' });

/** The response for one run. */
export const runDetailSchema = runSchema
  .extend({
    held: z.union([heldSchema, z.null()]).describe('Only in state held or awaiting_approval; otherwise null.'),
  })
  .meta({ id: 'RunDetail' });

export const runView = (record: RunRecord): RunView => ({
  id: record.id,
  org: record.org,
  report: record.report,
  state: record.state,
  slot: record.slot,
  trigger: record.trigger,
  by: record.by ?? null,
  priority: record.priority,
  period: record.period,
  section_periods: record.sectionPeriods ?? {},
  deliver: record.deliver,
  digest: record.digest,
  created_at: isoInstant(record.createdAt),
  started_at: isoInstantOrNull(record.startedAt),
  finished_at: isoInstantOrNull(record.finishedAt),
  sleeps_until: isoInstantOrNull(record.until),
  starts: record.starts,
  attempts: record.attempts,
  calls: record.calls,
  late_at: isoInstantOrNull(lateAt(record) ?? null),
  prepared:
    record.prepared === undefined ? null : { calls: record.prepared.calls, from: isoInstant(record.prepared.from) },
  timings_ms: record.timings,
  token_wait_ms: record.tokenWaitMs,
  files: record.files,
  statuses: record.statuses ?? null,
  few_statuses: record.fewStatuses ?? null,
  deliveries: record.deliveries,
  error: record.error,
  reopened: record.reopened.map(({ at, ...reopening }) => ({ ...reopening, at: isoInstant(at) })),
  cancel: record.cancel === null ? null : { ...record.cancel, at: isoInstant(record.cancel.at) },
});

/** A delivery in the API. */
export const deliverySchema = z
  .object({
    id: idSchema,
    run: idSchema.meta({ example: RUN_ID }),
    org: z.string(),
    report: z.string(),
    target: z.string().describe('Position and kind, e.g. 0-email.').meta({ example: '0-email' }),
    recipient: z.string().describe('An address, or where the files go.').meta({ example: 'lead@acme.example' }),
    state: z
      .enum(DELIVERY_STATES)
      .describe(
        'unknown: it may have arrived, is not sent again automatically, and needs a decision. replaced: another address gets the files instead. withdrawn: a corrected edition goes out instead. skipped: its recipient is on the deny list.',
      ),
    added: z.literal(true).optional().describe('A person added the recipient to the run.'),
    epoch: count.describe('Number of the attempt.'),
    detail: z.string().nullable().describe('The reply of the server, or why the result is unknown.'),
    changed_at: instantSchema,
    decisions: z
      .array(
        z.object({
          to: z.enum(['sent', 'pending', 'replaced', 'withdrawn', 'skipped']),
          by: z.string(),
          reason: z.string(),
          at: instantSchema,
        }),
      )
      .readonly(),
  })
  .meta({ id: 'Delivery' });

export const deliveryView = ({ at: changedAt, decisions, ...row }: DeliveryRow): z.infer<typeof deliverySchema> => ({
  ...row,
  changed_at: isoInstant(changedAt),
  decisions: decisions.map(({ at, ...decision }) => ({ ...decision, at: isoInstant(at) })),
});

/** A delivery with its report, period and files. */
export const receivedSchema = deliverySchema
  .extend({
    period: periodSchema.optional().describe('Period of its run.'),
    title: z
      .string()
      .nullable()
      .optional()
      .describe('Title in the definition that the run used; null once that has expired.'),
    content: z
      .union([
        z.object({
          kind: z.enum(['mail', 'files', 'notice']).describe('notice: a notice to the owner about the run.'),
          formats: z.array(z.string()).readonly().describe('The formats of the files.'),
        }),
        z.null(),
      ])
      .optional()
      .describe('What the recipient gets; null once the definition that the run used has expired.'),
    archived: z.literal(true).optional().describe('true: only the archive has it. The record of its run has expired.'),
  })
  .meta({ id: 'ReceivedDelivery' });

export const receivedView = ({
  row,
  period,
  title,
  content,
  archived,
}: ReceivedDelivery): z.infer<typeof receivedSchema> => ({
  ...deliveryView(row),
  period,
  title,
  content,
  ...(archived && { archived }),
});

/** A pause in the API. */
export const pauseSchema = z
  .object({
    organization: z.string(),
    report: z.string().nullable().describe('null: all reports of the organization.'),
    who: z.string().describe('Name of a token, or of the user of a shell; `docket` for Docket’s own pauses.'),
    why: z.string(),
    since: z.iso.datetime(),
    key: z.string().nullable().describe('Fingerprint of the API key that was refused; null if a person paused it.'),
    run: z.string().nullable().describe('The run that was refused.'),
  })
  .meta({ id: 'Pause' });

export const pauseView = ({ org, report, who, why, since, key, run }: Pause): z.infer<typeof pauseSchema> => ({
  organization: org,
  report,
  who,
  why,
  since: new Date(since).toISOString(),
  key,
  run,
});
