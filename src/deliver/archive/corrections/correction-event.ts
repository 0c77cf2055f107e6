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
  /** Of the pack, in a report with `split`. */
  value: z.string().exactOptional(),
});

const base = { seq: z.int().positive(), at: epochMsSchema, correction: z.int().positive() };
const decision = { ...base, by: z.string(), reason: z.string() };

/** Changes that are stored with a correction, at most. */
export const MAX_STORED_CHANGES = 1_000;

/**
 * What happened with the figures of a delivered edition, in order. `correction` counts the corrections of the run, from 1.
 * The events are the truth: an event is appended under the next number or not at all.
 */
export const correctionEventSchema = z.discriminatedUnion('type', [
  /** The service reports other figures than were delivered, and than in the correction before. */
  z.object({
    ...base,
    type: z.literal('found'),
    /** SHA-256 (hex) of the delivered figures. */
    figures: z.string(),
    /** The material ones first; at most `MAX_STORED_CHANGES`. */
    changes: z.array(changeSchema),
    /** Number of material changes. */
    material: z.int().positive(),
    /** Number of all changes. */
    total: z.int().positive(),
    /** Of a report with `split`: those whose packs have material changes. */
    values: z.array(z.string()).exactOptional(),
  }),
  /** The service reports the delivered figures again, before anybody decided. */
  z.object({ ...base, type: z.literal('withdrawn') }),
  z.object({ ...decision, type: z.literal('dismissed') }),
  /** The owner of the report was notified, or cannot be. */
  z.object({ ...base, type: z.literal('notified') }),
  /** A corrected edition is sent by this run. `subject`: of the sign-in; absent for the shell, Docket, and older versions. */
  z.object({ ...decision, type: z.literal('sent'), run: z.string(), subject: z.string().exactOptional() }),
  /**
   * A person sends a corrected edition, whatever the service reports. It closes what was not delivered yet. `run` and `subject`
   * as in `sent`.
   */
  z.object({
    ...decision,
    type: z.literal('opened'),
    run: z.string(),
    subject: z.string().exactOptional(),
    /** SHA-256 (hex) of the stored definition and settings that it is made with. */
    definition: z.string().regex(/^[0-9a-f]{64}$/),
    /** They are not those of the edition. Absent where they are. */
    redefined: z.literal(true).exactOptional(),
    /** On the whole report, printed in the edition. Absent without one. */
    comment: z.string().exactOptional(),
  }),
  /** That run has ended, and nobody received the corrected edition: it is not opened again. */
  z.object({ ...base, type: z.literal('ended') }),
]);
export type CorrectionEvent = Readonly<z.infer<typeof correctionEventSchema>>;
export type OpenedEvent = Extract<CorrectionEvent, { type: 'opened' }>;
export type FoundEvent = Extract<CorrectionEvent, { type: 'found' }>;
