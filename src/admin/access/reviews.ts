import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import type { ReviewService } from '../../services/reviews/create-review-service.ts';
import type { DelegationRequest } from '../../services/reviews/delegate.ts';
import type { CommentWarning, Reviewer, ReviewView } from '../../services/reviews/review-service.ts';
import type { RunFile } from '../../services/runs/run-file-reader.ts';
import type { Principal } from '../auth/tokens.ts';
import { assertOperator, getVisibleRun, notFoundError } from './guards.ts';

/** Reviews of runs. The definition, not the role, says who may approve: see `ReviewService`. */
export function reviewsAccess(
  services: { readonly reviewService: ReviewService; readonly runs: RunIdLookup },
  principal: Principal,
) {
  const resolveRunId = async (text: string): Promise<string> => (await getVisibleRun(services, principal, text)).id;
  const { name, kind, subject, from } = principal;
  const author: Reviewer = { name, kind, subject, from };
  return {
    /**
     * The review of a run, with what the principal may do in it. Null for a run without a review. Throws `archive.*`.
     */
    review: async (id: string): Promise<ReviewView | null> =>
      (await services.reviewService.view(await resolveRunId(id), author)) ?? null,

    /** A file of the content under review. Throws `request.not_found`. */
    reviewFile: async (id: string, name: string): Promise<RunFile> => {
      const file = await services.reviewService.file(await resolveRunId(id), name);
      if (file === undefined) throw notFoundError();
      return file;
    },

    /** The e-mail of the content under review, in the form of `preview`. Throws `request.not_found`. */
    reviewPreview: async (id: string, body?: string): Promise<string> => {
      const html = await services.reviewService.preview(await resolveRunId(id), body);
      if (html === undefined) throw notFoundError();
      return html;
    },

    /**
     * Writes a comment, or withdraws it. Needs the role operator. Throws `run.conflict`, `review.comment_invalid`,
     * `approval.unreachable`.
     *
     * @param section null: the comment is on the whole report
     * @param text null: withdraws the comment
     * @param value for a report with `split`: the comment appears only in the pack of this value
     */
    comment: async (
      id: string,
      section: string | null,
      text: string | null,
      value?: string,
    ): Promise<{ readonly view: ReviewView; readonly warnings: readonly CommentWarning[] }> => {
      const run = await resolveRunId(id);
      assertOperator(principal);
      return services.reviewService.comment(run, section, text, author, value);
    },

    /**
     * Approves exactly this content. The definition names who may, which can include viewers. This and `reject` throw
     * `run.conflict`, `review.content_changed`, `review.not_allowed`; `approve` throws `already_delivered`.
     *
     * @param content SHA-256 (hex) of the reviewed content, or a prefix of at least eight digits
     * @param again approves even if the period was already delivered
     */
    approve: async (id: string, content: string, reason: string, again = false): Promise<ReviewView> =>
      services.reviewService.approve(await resolveRunId(id), content, reason, author, again),

    /**
     * Names a deputy. Only the approver or somebody in `approval.may_delegate` may. Throws `run.conflict`,
     * `review.not_allowed`.
     */
    delegate: async (id: string, request: DelegationRequest): Promise<ReviewView> =>
      services.reviewService.delegate(await resolveRunId(id), request, author),

    reject: async (
      id: string,
      content: string,
      decision: { readonly reason: string; readonly refetch: boolean },
    ): Promise<ReviewView> => services.reviewService.reject(await resolveRunId(id), content, decision, author),
  };
}
