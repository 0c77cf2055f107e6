import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import type { AuditLog } from '../../services/audit-log.ts';
import { approveRun, commentRun, type ReviewAuthor, rejectRun } from '../../services/reviews/audited-reviews.ts';
import type { ReviewService } from '../../services/reviews/review-service.ts';
import type { Principal } from '../auth/tokens.ts';
import { type Access, assertOperator, notFoundError } from './access.ts';
import { getVisibleRun } from './runs.ts';

export interface ReviewsPorts {
  readonly reviews: ReviewService;
  readonly runs: RunIdLookup;
  readonly audit: Pick<AuditLog, 'record'>;
}

/** Reviews of runs. Who may approve is a matter of the definition, not of the role: see `ReviewService`. */
export function reviewsAccess(
  ports: ReviewsPorts,
  principal: Principal,
): Pick<Access, 'review' | 'reviewFile' | 'reviewPreview' | 'comment' | 'approve' | 'reject'> {
  const idOf = async (text: string): Promise<string> => (await getVisibleRun(ports, principal, text)).id;
  const author = reviewAuthor(principal);
  return {
    review: async (id) => (await ports.reviews.view(await idOf(id), author)) ?? null,

    reviewFile: async (id, name) => {
      const file = await ports.reviews.file(await idOf(id), name);
      if (file === undefined) throw notFoundError();
      return file;
    },

    reviewPreview: async (id, body) => {
      const html = await ports.reviews.preview(await idOf(id), body);
      if (html === undefined) throw notFoundError();
      return html;
    },

    comment: async (id, section, text) => {
      const run = await idOf(id);
      assertOperator(principal);
      return commentRun(run, { section, text }, author, ports);
    },

    approve: async (id, content, reason, again = false) =>
      approveRun(await idOf(id), { content, reason, again }, author, ports),

    reject: async (id, content, decision) => rejectRun(await idOf(id), { content, ...decision }, author, ports),
  };
}

/** The principal as reviews and the audit log know it. */
const reviewAuthor = ({ name, kind, subject, from }: Principal): ReviewAuthor => ({ name, kind, subject, from });
