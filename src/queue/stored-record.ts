import { z } from 'zod';
import { DocketError, ERRORS, type ErrorCode, type ErrorJson } from '../base/error.ts';
import { instantSchema } from '../base/instant.ts';
import { PRIORITIES } from '../fetch/budget.ts';
import { type Cancellation, RUN_STATES, type RunOrder, type RunRecord, STAGES, TRIGGERS } from '../run/record.ts';

const countSchema = z.int().nonnegative();

const orderSchema = z.object({
  id: z.string().regex(/^[0-9a-f]{32}$/),
  org: z.string(),
  report: z.string(),
  slot: z.string(),
  trigger: z.enum(TRIGGERS),
  by: z.string().exactOptional(),
  priority: z.enum(PRIORITIES),
  period: z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() }),
  digest: z.string(),
  deliver: z.boolean(),
  createdAt: instantSchema,
  deadlineMs: z.number().exactOptional(),
  asked: z.string().exactOptional(),
  traceparent: z.string().exactOptional(),
});

const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);
/** An error that another version of Docket may have written down. */
export const errorSchema: z.ZodType<ErrorJson> = z.object({
  // A newer worker may know codes that this process does not.
  code: z.string().transform((code) => (isCode(code) ? code : ('internal.defect' as const))),
  message: z.string(),
  expected: z.string().exactOptional(),
  got: z.string().exactOptional(),
  where: z.string().exactOptional(),
  next: z.string().exactOptional(),
  correlation_id: z.string().exactOptional(),
});

const cancellationSchema = z.object({ by: z.string(), reason: z.string(), at: instantSchema });

const progressSchema = z.object({
  state: z.enum(RUN_STATES),
  startedAt: instantSchema.nullable(),
  finishedAt: instantSchema.nullable(),
  until: instantSchema.nullable(),
  // Older records have no starts, attempts, losses, timings and waits.
  starts: countSchema.default(0),
  attempts: countSchema.default(0),
  losses: z.object({ all: countSchema, stuck: countSchema, far: z.number() }).default({ all: 0, stuck: 0, far: 0 }),
  calls: z.object({ planned: countSchema, made: countSchema, saved: countSchema }),
  timings: z.partialRecord(z.enum(STAGES), z.number()).default({}),
  tokenWaitMs: z.number().default(0),
  files: z.array(z.object({ name: z.string(), bytes: countSchema, sha256: z.string() })),
  deliveries: z.array(
    z.object({ target: z.string(), recipient: z.string(), state: z.string(), detail: z.string().nullable() }),
  ),
  error: errorSchema.nullable(),
  // Older records have none.
  reopened: z
    .array(
      z.object({
        what: z.enum(['release', 'retry', 'resend', 'settle', 'cancel']),
        by: z.string(),
        reason: z.string(),
        at: instantSchema,
      }),
    )
    .default([]),
  cancel: cancellationSchema.nullable().default(null),
});

/** What of a record changes while the run goes on. */
export type RunProgress = Omit<RunRecord, keyof RunOrder>;

/** Of a run that was just opened. */
export const NOT_STARTED: RunProgress = {
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

/** Fields of the Redis hash of a record: the order as one, each part of the progress as one of its own. JSON, save the state, which scripts read. */
export function toFields(part: { readonly order?: RunOrder } & Partial<RunProgress>): string[] {
  return Object.entries(part)
    .filter(([, value]) => value !== undefined)
    .flatMap(([name, value]) => [name, name === 'state' ? String(value) : JSON.stringify(value)]);
}

/** A record as it was stored. Throws `run.unreadable` for one that was not written by us, or not by this version. */
export function recordOf(id: string, fields: Readonly<Record<string, string>>): RunRecord {
  try {
    return fromFields(fields);
  } catch (cause) {
    throw new DocketError('run.unreadable', `The record of the run ${id} cannot be read.`, {
      got: faultOf(cause),
      next: 'A newer Docket may have written it; otherwise find out who else writes to this Redis under the same prefix.',
      cause,
    });
  }
}

function fromFields(fields: Readonly<Record<string, string>>): RunRecord {
  const { order, state, ...rest } = fields;
  const progress = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, JSON.parse(value)]));
  return Object.freeze({
    ...orderSchema.parse(JSON.parse(order ?? '')),
    ...progressSchema.parse({ ...progress, state }),
  });
}

const faultOf = (cause: unknown): string =>
  (cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause)).replaceAll('\n', ' ').slice(0, 500);

/** As `recordOf`, of a flat reply of HGETALL inside a script. */
export function recordOfReply(id: string, reply: readonly unknown[]): RunRecord {
  const fields: Record<string, string> = {};
  for (let i = 0; i + 1 < reply.length; i += 2) fields[String(reply[i])] = String(reply[i + 1]);
  return recordOf(id, fields);
}

/** A cancellation as a script answers it. */
export const readCancellation = (text: string): Cancellation => cancellationSchema.parse(JSON.parse(text));
