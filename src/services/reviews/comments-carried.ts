import { stripInvisible } from '../../base/text/bidi.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { loadReview, type Reviews } from '../../run/review/load-review.ts';
import type { ReviewComment } from '../../run/review/review-state.ts';
import type { RunRecord, RunStore } from '../../run/run-record.ts';
import type { CarriedComment } from './review-service.ts';

export interface CarriedCommentsPorts {
  readonly reviews: Pick<Reviews, 'events' | 'get'>;
  readonly runs: Pick<RunStore, 'list'>;
}

/** Runs of the report that are looked through for the last period: several may have the same. */
const MAX_RUNS = 50;

/**
 * Comments of the last period before the run's, for the sections with `carry` that have none yet: drafts, which are never
 * printed. Empty where no recorded run of an earlier period was reviewed.
 */
export async function carriedComments(
  run: RunRecord,
  definition: Definition,
  comments: readonly ReviewComment[],
  { reviews, runs }: CarriedCommentsPorts,
): Promise<readonly CarriedComment[]> {
  const carried = definition.sections.filter(({ id, commentary }) => {
    const carry = commentary !== undefined && 'carry' in commentary && commentary.carry === true;
    return carry && !comments.some(({ section }) => section === id);
  });
  if (carried.length === 0) return [];
  const { org, report, period } = run;
  const earlier = (await runs.list({ org, report, limit: MAX_RUNS }))
    .filter((each) => each.id !== run.id && each.deliver && each.period.to < period.from)
    // The last period, and of its runs the newest: a corrected edition has the last word.
    .sort((a, b) => compare(b.period.to, a.period.to) || b.createdAt - a.createdAt);
  const [latest] = earlier;
  for (const each of earlier) {
    // A comment of two periods ago is no draft for this one.
    if (each.period.to !== latest?.period.to) return [];
    const { state } = await loadReview(reviews, { id: each.id, org, report });
    if (state.phase !== 'sealed') continue;
    return carried.flatMap(({ id }): CarriedComment[] => {
      const comment = state.comments.find(({ section }) => section === id);
      if (comment === undefined) return [];
      return [
        {
          section: id,
          text: stripInvisible(comment.text),
          author: comment.by.name,
          period: each.period.label,
          run: each.id,
        },
      ];
    });
  }
  return [];
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
