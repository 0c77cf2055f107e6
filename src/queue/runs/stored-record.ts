import { z } from 'zod';
import { DocketError, ERRORS, type ErrorCode, type ErrorJson } from '../../base/error.ts';
import { epochMsSchema } from '../../base/time.ts';
import { PRIORITIES } from '../../fetch/rate-limit/budget.ts';
import { repeatsSchema } from '../../run/review/review-event.ts';
import { REVIEW_PHASES } from '../../run/review/review-state.ts';
import {
  type Cancellation,
  RUN_STATES,
  type RunOrder,
  type RunRecord,
  STAGES,
  STATUSES,
  TRIGGERS,
} from '../../run/run-record.ts';

const countSchema = z.int().nonnegative();

const periodSchema = z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() });

const orderSchema = z.object({
  id: z.string().regex(/^[0-9a-f]{32}$/),
  org: z.string(),
  report: z.string(),
  slot: z.string(),
  trigger: z.enum(TRIGGERS),
  by: z.string().exactOptional(),
  bySubject: z.string().exactOptional(),
  priority: z.enum(PRIORITIES),
  period: periodSchema,
  sectionPeriods: z.record(z.string(), periodSchema).exactOptional(),
  digest: z.string(),
  deliver: z.boolean(),
  createdAt: epochMsSchema,
  deadlineMs: z.number().exactOptional(),
  lateAfterMs: z.number().nonnegative().exactOptional(),
  asked: z.string().exactOptional(),
  again: z.literal(true).exactOptional(),
  repeats: repeatsSchema.exactOptional(),
  corrects: z.string().exactOptional(),
  traceparent: z.string().exactOptional(),
});

const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);
/** An error that another version of Docket may have stored. */
export const errorSchema: z.ZodType<ErrorJson> = z.object({
  // A newer worker may use codes that this process does not know.
  code: z.string().transform((code) => (isCode(code) ? code : ('internal.defect' as const))),
  message: z.string(),
  expected: z.string().exactOptional(),
  got: z.string().exactOptional(),
  where: z.string().exactOptional(),
  next: z.string().exactOptional(),
  correlation_id: z.string().exactOptional(),
});

const cancellationSchema = z.object({ by: z.string(), reason: z.string(), at: epochMsSchema });

const progressSchema = z.object({
  state: z.enum(RUN_STATES),
  startedAt: epochMsSchema.nullable(),
  finishedAt: epochMsSchema.nullable(),
  until: epochMsSchema.nullable(),
  waitingFor: z.object({ until: epochMsSchema, why: z.string() }).nullable().exactOptional(),
  // Older records lack starts, attempts, losses, timings and waits.
  starts: countSchema.default(0),
  attempts: countSchema.default(0),
  losses: z.object({ all: countSchema, stuck: countSchema, far: z.number() }).default({ all: 0, stuck: 0, far: 0 }),
  calls: z.object({ planned: countSchema, made: countSchema, saved: countSchema }),
  // Absent in runs without calls before their slot, and in older records.
  pages: countSchema.exactOptional(),
  prepared: z.object({ calls: countSchema, from: epochMsSchema }).exactOptional(),
  timings: z.partialRecord(z.enum(STAGES), z.number()).default({}),
  stageEnds: z.partialRecord(z.enum(STAGES), epochMsSchema).exactOptional(),
  tokenWaitMs: z.number().default(0),
  files: z.array(z.object({ name: z.string(), bytes: countSchema, sha256: z.string() })),
  // Absent in older records, and in runs without targets.
  statuses: z.partialRecord(z.enum(STATUSES), countSchema).exactOptional(),
  fewStatuses: z.partialRecord(z.enum(STATUSES), countSchema).exactOptional(),
  deliveries: z.array(
    z.object({ target: z.string(), recipient: z.string(), state: z.string(), detail: z.string().nullable() }),
  ),
  error: errorSchema.nullable(),
  // Absent in older records, and in runs without a review.
  review: z.object({ seq: countSchema, phase: z.enum(REVIEW_PHASES), content: z.string().nullable() }).exactOptional(),
  // Absent in older records.
  reopened: z
    .array(
      z.object({
        what: z.enum(['release', 'retry', 'resend', 'settle', 'cancel', 'review']),
        by: z.string(),
        reason: z.string(),
        at: epochMsSchema,
      }),
    )
    .default([]),
  cancel: cancellationSchema.nullable().default(null),
});

/** The fields of a record that can change. */
export type MutableRunFields = Omit<RunRecord, keyof RunOrder>;

export const INITIAL_RUN_FIELDS: MutableRunFields = {
  state: 'queued',
  startedAt: null,
  finishedAt: null,
  until: null,
  starts: 0,
  attempts: 0,
  losses: { all: 0, stuck: 0, far: 0 },
  calls: { planned: 0, made: 0, saved: 0 },
  timings: {},
  tokenWaitMs: 0,
  files: [],
  deliveries: [],
  error: null,
  reopened: [],
  cancel: null,
};

/**
 * Names and values for a record's Redis hash: `order`, and each mutable field. All are JSON, except `state`, which
 * scripts read.
 */
export function toHashFields(part: { readonly order?: RunOrder } & Partial<MutableRunFields>): string[] {
  return Object.entries(part)
    .filter(([, value]) => value !== undefined)
    .flatMap(([name, value]) => [name, name === 'state' ? String(value) : JSON.stringify(value)]);
}

/** Parses a stored record. Throws `run.unreadable` for a record that this version of Docket cannot read. */
export function parseRecord(id: string, fields: Readonly<Record<string, string>>): RunRecord {
  try {
    return parseHashFields(fields);
  } catch (cause) {
    throw new DocketError('run.unreadable', `The record of the run ${id} cannot be read.`, {
      got: parseErrorMessage(cause),
      next: 'A newer Docket may have written it; otherwise find the other program that writes to this Redis under the same prefix.',
      cause,
    });
  }
}

function parseHashFields(fields: Readonly<Record<string, string>>): RunRecord {
  const { order, state, ...rest } = fields;
  const progress = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, JSON.parse(value)]));
  return Object.freeze({
    ...orderSchema.parse(JSON.parse(order ?? '')),
    ...progressSchema.parse({ ...progress, state }),
  });
}

const parseErrorMessage = (cause: unknown): string =>
  (cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause)).replaceAll('\n', ' ').slice(0, 500);

/** Parses a record from a script's flat HGETALL reply. Throws as `parseRecord`. */
export function parseRecordReply(id: string, reply: readonly unknown[]): RunRecord {
  const fields: Record<string, string> = {};
  for (let i = 0; i + 1 < reply.length; i += 2) fields[String(reply[i])] = String(reply[i + 1]);
  return parseRecord(id, fields);
}

/** Parses a cancellation that a script returned. */
export const parseCancellation = (text: string): Cancellation => cancellationSchema.parse(JSON.parse(text));
