import { z } from 'zod';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { approvalSchema, type CommentarySpec, peopleSchema } from '../../definitions/schema/review.ts';
import type { Dataset, Judgement } from '../../fetch/dataset.ts';
import { incompleteNotes } from '../../fetch/notes.ts';
import { currentJudgements, withoutIgnored } from '../../render/figures/current-statuses.ts';
import type { ConditionResults } from '../delivery-conditions.ts';
import type { RunOrder } from '../run-record.ts';

/**
 * What a run's review depends on besides its events, frozen with the figures (`figures/<sha256>/review.json`). It is
 * small, and all that `reviewState` needs: to know what a run waits for, neither the definition nor the figures are
 * read.
 */
export const reviewInputsSchema = z.object({
  version: z.literal(1),
  /** The report's sections in order, and whether they need a comment with these figures. */
  sections: z
    .array(
      z.object({
        id: z.string(),
        required: z.boolean(),
        /** In a report with `split`: the values whose packs need a comment. */
        values: z.array(z.string()).readonly().optional(),
      }),
    )
    .readonly(),
  /** Whether figures are incomplete and `on_incomplete` is `hold`. */
  incomplete: z.boolean(),
  /** Whether no delivery of the report meets its `send_if`: then the run is published without comments and approval. */
  nothing_to_send: z.boolean(),
  /** Absent: the report needs only comments. */
  approval: approvalSchema.optional(),
  people: peopleSchema.default({}),
  /** `RunOrder.by`; absent for scheduled runs. */
  triggered_by: z.string().optional(),
  /** `RunOrder.bySubject`. Also absent in data of older versions. */
  triggered_by_subject: z.string().optional(),
});

export type ReviewInputs = Readonly<z.infer<typeof reviewInputsSchema>>;

/** Whether people must act before the run is delivered, with comments, approval, or both. */
export const isReviewed = (
  { deliver }: Pick<RunOrder, 'deliver'>,
  { approval, sections }: Pick<Definition, 'approval' | 'sections'>,
): boolean => deliver && (approval !== undefined || sections.some(({ commentary }) => commentary !== undefined));

/** Makes the review inputs for these figures. @param dataset judged */
export function createReviewInputs(
  dataset: Dataset,
  order: Pick<RunOrder, 'by' | 'bySubject'>,
  definition: Definition,
  settings: Pick<OrgSettings, 'people'>,
  { conditions }: ConditionResults,
): ReviewInputs {
  const { sections, deliveries, approval, on_incomplete } = definition;
  const current = currentJudgements(withoutIgnored(dataset.judgements ?? []));
  const conditional = new Set(conditions.map(({ target }) => target));
  return {
    version: 1,
    sections: sections.map(({ id, commentary }) => ({
      id,
      required: isRequired(
        commentary,
        current.filter(({ section }) => section === id),
      ),
    })),
    incomplete: on_incomplete === 'hold' && incompleteNotes(dataset).length > 0,
    // A report without deliveries is made for the archive, and is approved for that.
    nothing_to_send:
      deliveries.length > 0 &&
      conditional.size === deliveries.length &&
      conditions.every(({ send }) => !send) &&
      (dataset.correction?.unmarked ?? []).length === 0,
    ...(approval === undefined ? {} : { approval }),
    people: settings.people ?? {},
    ...(order.by === undefined ? {} : { triggered_by: order.by }),
    ...(order.bySubject === undefined ? {} : { triggered_by_subject: order.bySubject }),
  };
}

function isRequired(commentary: CommentarySpec | undefined, judgements: readonly Judgement[]): boolean {
  if (commentary === undefined || commentary.required) return commentary !== undefined;
  const trigger = 'required_if' in commentary ? commentary.required_if : undefined;
  if (trigger === undefined) return false;
  return judgements.some(({ status }) => status === 'breached' || (trigger === 'watch' && status === 'watch'));
}
