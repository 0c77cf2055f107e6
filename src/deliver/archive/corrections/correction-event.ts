import { z } from 'zod';
import { epochMsSchema } from '../../../base/time.ts';
import { STATUSES } from '../../../fetch/dataset.ts';

const groupSchema = z.object({ dimension: z.string(), value: z.string() });
const changeSchema = z.object({
  section: z.string(),
  metric: z.string(),
  bucket: z.string().nullable(),
  group: groupSchema.nullable(),
  within: groupSchema.exactOptional(),
  before: z.number().nullable(),
  after: z.number().nullable(),
  statusBefore: z.enum(STATUSES).exactOptional(),
  statusAfter: z.enum(STATUSES).exactOptional(),
  /** The pack's value, in a report with `split`. */
  value: z.string().exactOptional(),
});

const base = { seq: z.int().positive(), at: epochMsSchema, correction: z.int().positive() };
const decision = { ...base, by: z.string(), reason: z.string() };

/** Most changes that are stored with a correction. */
export const MAX_STORED_CHANGES = 1_000;

/**
 * One event in the history of a delivered edition's figures. `correction` numbers the corrections of the run from 1.
 * These events are the source of truth: each is appended under the next number, or not at all.
 */
export const correctionEventSchema = z.discriminatedUnion('type', [
  /** The service reports figures that differ from the delivered ones, and from those of the previous correction. */
  z.object({
    ...base,
    type: z.literal('found'),
    /** SHA-256 (hex) of the delivered figures. */
    figures: z.string(),
    /** Material changes first; at most `MAX_STORED_CHANGES`. */
    changes: z.array(changeSchema),
    /** Number of material changes. */
    material: z.int().positive(),
    /** Number of all changes. */
    total: z.int().positive(),
    /** In a report with `split`: the values whose packs have material changes. */
    values: z.array(z.string()).exactOptional(),
  }),
  /** The service reports the delivered figures again, before anybody has decided. */
  z.object({ ...base, type: z.literal('withdrawn') }),
  z.object({ ...decision, type: z.literal('dismissed') }),
  /** The report's owner was notified, or cannot be. */
  z.object({ ...base, type: z.literal('notified') }),
  /**
   * This run sends a corrected edition. `subject`: who signed in; absent for the shell, for Docket itself, and in older
   * versions.
   */
  z.object({ ...decision, type: z.literal('sent'), run: z.string(), subject: z.string().exactOptional() }),
  /**
   * A person sends a corrected edition, whatever the service reports. This closes the deliveries that have not been
   * made yet. `run` and `subject` as in `sent`.
   */
  z.object({
    ...decision,
    type: z.literal('opened'),
    run: z.string(),
    subject: z.string().exactOptional(),
    /** SHA-256 (hex) of the stored definition and settings that the edition is made with. */
    definition: z.string().regex(/^[0-9a-f]{64}$/),
    /** Present if they differ from those of the replaced edition. */
    redefined: z.literal(true).exactOptional(),
    /** A comment on the whole report, printed in the edition. Absent without one. */
    comment: z.string().exactOptional(),
  }),
  /** The run of this correction ended, and nobody received the corrected edition. The run is not opened again. */
  z.object({ ...base, type: z.literal('ended') }),
]);
export type CorrectionEvent = Readonly<z.infer<typeof correctionEventSchema>>;
export type OpenedEvent = Extract<CorrectionEvent, { type: 'opened' }>;
export type FoundEvent = Extract<CorrectionEvent, { type: 'found' }>;
