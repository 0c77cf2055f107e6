import { z } from 'zod';
import { approvalSchema, peopleSchema } from '../../definitions/schema/review.ts';

/**
 * What the review of a run depends on besides its events, frozen with the figures (`figures/<sha256>/review.json`). Small,
 * and all that `reviewState` needs: neither the definition nor the figures are read to know what a run waits for.
 */
export const reviewInputsSchema = z.object({
  version: z.literal(1),
  /** The sections in the order of the report, and whether they need a comment with these figures. */
  sections: z.array(z.object({ id: z.string(), required: z.boolean() })).readonly(),
  /** Figures are incomplete and `on_incomplete` is `hold`. */
  incomplete: z.boolean(),
  /** No delivery of the report meets its `send_if`: the run is published without comments and approval. */
  nothing_to_send: z.boolean(),
  /** Absent: the report needs comments only. */
  approval: approvalSchema.optional(),
  people: peopleSchema.default({}),
  /** `RunOrder.by`; absent for scheduled runs. */
  triggered_by: z.string().optional(),
});

export type ReviewInputs = Readonly<z.infer<typeof reviewInputsSchema>>;
