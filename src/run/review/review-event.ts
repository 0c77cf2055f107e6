import { z } from 'zod';

const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/);

/** Who acted: the principal that signed in, and the person behind it. */
const actorSchema = z.object({
  /**
   * Key in `people`, or the principal's subject if no person is mapped to it. Each person counts once, however they
   * signed in.
   */
  person: z.string(),
  /** The name that packs print and the page shows. */
  name: z.string(),
  /** `Principal.subject`; `docket` for what Docket itself did. */
  principal: z.string(),
});
export type ReviewActor = Readonly<z.infer<typeof actorSchema>>;

/**
 * The deliveries that a run repeats, newest first; `at` in epoch ms. `packs`, in a report with `split`: the slugs of
 * the values whose packs were delivered.
 */
export const repeatsSchema = z
  .array(z.object({ run: z.string(), at: z.number(), packs: z.array(z.string()).readonly().exactOptional() }))
  .readonly();
export type Repeats = z.infer<typeof repeatsSchema>;

const base = { seq: z.int().positive(), at: z.number(), by: actorSchema };

/**
 * One event in a run's review, in order. The archived list of events is the source of truth and survives a loss of
 * Redis. An event is appended under the next number or not at all (`ReviewArchive.append`), so that two processes never
 * decide on different states.
 */
export const reviewEventSchema = z.discriminatedUnion('type', [
  /** The worker has stored figures: the first ones, or new ones after `reject` with `refetch`. */
  z.object({ ...base, type: z.literal('figures'), figures: sha256Schema }),
  /**
   * A new version of a comment. `section` null: the comment is on the whole report. `text` null: it is withdrawn.
   * Markup is stored as typed. `value`, in a report with `split`: the comment is only for this value's pack, where it
   * replaces the comment for all; absent: it is for all packs.
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
    /** The period is delivered again. Absent otherwise, and in older events. */
    again: z.literal(true).exactOptional(),
    repeats: repeatsSchema.exactOptional(),
  }),
  z.object({
    ...base,
    type: z.literal('reject'),
    content: sha256Schema,
    reason: z.string(),
    /** True: the figures are requested and reviewed again. False: the run ends. */
    refetch: z.boolean(),
  }),
  /** A person accepts incomplete figures (`on_incomplete: hold`). */
  z.object({ ...base, type: z.literal('release'), content: sha256Schema, reason: z.string() }),
  /** The time of `within` is over and `otherwise` is `cancel`, or a person cancelled the run. */
  z.object({ ...base, type: z.literal('cancel'), reason: z.string() }),
  /** The worker publishes exactly this content. Nothing can be added afterwards. */
  z.object({ ...base, type: z.literal('seal'), content: sha256Schema }),
  /**
   * After the seal: somebody wants to send the approved report to another address. `delivery`: id of its ledger row.
   */
  z.object({
    ...base,
    type: z.literal('recipient'),
    delivery: z.string(),
    target: z.string(),
    recipient: z.string(),
    /** Id of the delivery whose wrong address this one replaces. */
    replaces: z.string().nullable(),
    reason: z.string(),
  }),
  /** An approver's decision on the `recipient` event with number `recipient`. */
  z.object({
    ...base,
    type: z.literal('admit'),
    recipient: z.int().positive(),
    admitted: z.boolean(),
    reason: z.string(),
  }),
  /**
   * `to` (a key of `people`) is the deputy of the approver `from` (`Approver.id`) until `until` (epoch ms; null: no
   * end). Also allowed after the seal, for `recipient` events.
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
