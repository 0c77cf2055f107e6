import { z } from 'zod';

const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/);

/** Who acted: the principal that signed in, and the person that it belongs to. */
const actorSchema = z.object({
  /** Key of `people`, or the principal's subject where no person is mapped to it. Counts once, however it signed in. */
  person: z.string(),
  /** As printed in packs and shown on the page. */
  name: z.string(),
  /** `Principal.subject`; `docket` for what Docket did itself. */
  principal: z.string(),
});
export type ReviewActor = Readonly<z.infer<typeof actorSchema>>;

const base = { seq: z.int().positive(), at: z.number(), by: actorSchema };

/**
 * What happened in the review of a run, in order. The list is the truth: it is in the archive, survives a loss of Redis, and
 * an event is appended under the next number or not at all (`ReviewArchive.append`), so that two processes never decide on
 * different states.
 */
export const reviewEventSchema = z.discriminatedUnion('type', [
  /** The worker has stored figures: the first ones, or new ones after `reject` with `refetch`. */
  z.object({ ...base, type: z.literal('figures'), figures: sha256Schema }),
  /**
   * A comment's new version. `section` null: on the whole report; `text` null: withdrawn. Markup as typed. `value`: of a
   * report with `split`, only in the pack of this value, in place of the comment for all; absent: for all.
   */
  z.object({
    ...base,
    type: z.literal('comment'),
    section: z.string().nullable(),
    value: z.string().exactOptional(),
    text: z.string().nullable(),
  }),
  z.object({
    ...base,
    type: z.literal('approve'),
    content: sha256Schema,
    reason: z.string(),
    /** The period is delivered again. Absent where not, and in older events. */
    again: z.literal(true).exactOptional(),
  }),
  z.object({
    ...base,
    type: z.literal('reject'),
    content: sha256Schema,
    reason: z.string(),
    /** True: the figures are asked again and reviewed again; false: the run ends. */
    refetch: z.boolean(),
  }),
  /** Incomplete figures are accepted (`on_incomplete: hold`). */
  z.object({ ...base, type: z.literal('release'), content: sha256Schema, reason: z.string() }),
  /** `within` is over and `otherwise` is `cancel`, or a person cancelled the run. */
  z.object({ ...base, type: z.literal('cancel'), reason: z.string() }),
  /** The worker publishes exactly this content: nothing may be added afterwards. */
  z.object({ ...base, type: z.literal('seal'), content: sha256Schema }),
  /** After the seal: somebody wants to send what was approved to one more address. `delivery`: id of its ledger row. */
  z.object({
    ...base,
    type: z.literal('recipient'),
    delivery: z.string(),
    target: z.string(),
    recipient: z.string(),
    /** Id of the delivery whose address it corrects. */
    replaces: z.string().nullable(),
    reason: z.string(),
  }),
  /** An approver's decision on the `recipient` event with the number `recipient`. */
  z.object({
    ...base,
    type: z.literal('admit'),
    recipient: z.int().positive(),
    admitted: z.boolean(),
    reason: z.string(),
  }),
  /**
   * `to` (a key of `people`) is the deputy of the approver `from` (`Approver.id`) until `until` (epoch ms; null: no end). Also
   * after the seal, for `recipient` events.
   */
  z.object({
    ...base,
    type: z.literal('delegate'),
    from: z.string(),
    to: z.string(),
    until: z.number().nullable(),
    reason: z.string(),
  }),
]);
export type ReviewEvent = Readonly<z.infer<typeof reviewEventSchema>>;
type WithoutSeq<T> = T extends unknown ? Omit<T, 'seq'> : never;
export type NewReviewEvent = WithoutSeq<ReviewEvent>;
