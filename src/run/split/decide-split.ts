import type { ConditionResults } from '../delivery-conditions.ts';
import { decideDeliveries } from '../render-stage.ts';
import { createReviewInputs, type ReviewInputs } from '../review/review-inputs.ts';
import type { RunContext, RunPorts } from '../run-context.ts';
import type { RunOrder } from '../run-record.ts';
import { type PackFigures, runDataset, type SplitFigures } from './frozen-split.ts';
import { packContext } from './split-figures.ts';

/**
 * Adds to the packs the decisions on their deliveries, and makes the inputs of their review. All packs have one review.
 * It needs a comment on a section if any pack that somebody receives does.
 * @param folder receives the rows of lists as files
 */
export async function decideSplit(
  figures: SplitFigures,
  folder: string,
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
): Promise<{ readonly split: SplitFigures; readonly review: ReviewInputs }> {
  const packs: PackFigures[] = [];
  const reviews: { readonly value: string; readonly review: ReviewInputs }[] = [];
  for (const pack of figures.packs) {
    const { desk, held } = pack;
    const dataset = await pack.dataset?.(folder);
    if (dataset === undefined) {
      packs.push(pack);
      continue;
    }
    const own = packContext(context, desk);
    const conditions = pack.conditions ?? (await decideDeliveries(dataset, own, ports));
    packs.push({ ...pack, conditions });
    const review = createReviewInputs(dataset, order, own.definition, own.settings, conditions);
    if (held === undefined) reviews.push({ value: desk.value, review });
  }
  const { definition, settings } = context;
  const none: ConditionResults = { conditions: [] };
  const whole = createReviewInputs(runDataset(figures, order, context), order, definition, settings, none);
  return {
    split: { ...figures, packs },
    review: {
      ...whole,
      sections: whole.sections.map(({ id }, index) => {
        const values = reviews.flatMap(({ value, review }) => (review.sections[index]?.required ? [value] : []));
        return { id, required: values.length > 0, ...(values.length === 0 ? {} : { values }) };
      }),
      incomplete: reviews.some(({ review }) => review.incomplete),
      nothing_to_send: reviews.every(({ review }) => review.nothing_to_send),
    },
  };
}
