import type { AuditEntry, AuditEvent, AuditLog } from '../audit-log.ts';
import type { Reviewer, ReviewService, ReviewView } from './review-service.ts';

/** Who acts on a review, and from where. */
export interface ReviewAuthor extends Reviewer {
  /** Client address; absent on the command line. */
  readonly from?: string | undefined;
}

interface Ports<Action extends keyof ReviewService> {
  readonly reviews: Pick<ReviewService, Action>;
  readonly audit: AuditLog;
}

/** Digits of a content's hash in the audit log: as many as name it. */
const CONTENT_DIGITS = 16;

/** `ReviewService.comment`, recorded in the audit log without the text. */
export async function commentRun(
  run: string,
  { section, text }: { readonly section: string | null; readonly text: string | null },
  by: ReviewAuthor,
  { reviews, audit }: Ports<'comment'>,
): ReturnType<ReviewService['comment']> {
  const result = await reviews.comment(run, section, text, by);
  const on = section === null ? 'on the whole report' : `on section ${section}`;
  await audit.record(entryOf('run.commented', result.view, by, `${on}${text === null ? ', withdrawn' : ''}`));
  return result;
}

/** `ReviewService.approve`, recorded in the audit log with the approved content. */
export async function approveRun(
  run: string,
  { content, reason, again }: { readonly content: string; readonly reason: string; readonly again: boolean },
  by: ReviewAuthor,
  { reviews, audit }: Ports<'approve'>,
): Promise<ReviewView> {
  const view = await reviews.approve(run, content, reason, by, again);
  const what = `content ${shortContent(view, content)}${again ? ', to be delivered again' : ''}`;
  await audit.record(entryOf('run.approved', view, by, `${what}: ${reason}`));
  return view;
}

/** `ReviewService.reject`, recorded in the audit log. */
export async function rejectRun(
  run: string,
  { content, reason, refetch }: { readonly content: string; readonly reason: string; readonly refetch: boolean },
  by: ReviewAuthor,
  { reviews, audit }: Ports<'reject'>,
): Promise<ReviewView> {
  const view = await reviews.reject(run, content, { reason, refetch }, by);
  const what = `content ${shortContent(view, content)}${refetch ? ', to be fetched again' : ''}`;
  await audit.record(entryOf('run.rejected', view, by, `${what}: ${reason}`));
  return view;
}

/** The decided content; a reviewer may have named it by eight digits. */
const shortContent = ({ state }: ReviewView, named: string): string =>
  (state.content?.startsWith(named) === true ? state.content : named).slice(0, CONTENT_DIGITS);

function entryOf(
  event: AuditEvent,
  { record: { id: run, org, report } }: ReviewView,
  { name: who, kind, subject, from }: ReviewAuthor,
  why: string,
): AuditEntry {
  return { event, who, run, org, report, why, from, ...(kind === 'account' ? { account: subject } : {}) };
}
