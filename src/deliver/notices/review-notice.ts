import { DateTime } from 'luxon';
import { toSingleLine } from '../../base/text/bidi.ts';
import {
  cleanLines,
  command,
  type Notice,
  type NoticeContent,
  type NoticeGroup,
  noticeFacts,
  sentence,
} from './notice-text.ts';

/** What a notice about a review says. It has no figures, and nothing in it decides anything. */
export type ReviewNews =
  /** To the owner. `sections`: ids of those that need a comment. */
  | { readonly kind: 'comments'; readonly sections: readonly string[] }
  /** To the owner: incomplete figures wait for a release or an approval. */
  | { readonly kind: 'incomplete' }
  /** To an approver. `due`: epoch ms; null without a limit. */
  | { readonly kind: 'approval'; readonly need: number; readonly due: number | null }
  /** To an approver, after `due`. */
  | { readonly kind: 'reminder'; readonly need: number; readonly due: number }
  /** To the owner and to who triggered the run. */
  | { readonly kind: 'rejected'; readonly by: string; readonly reason: string; readonly refetch: boolean }
  /** To the owner: Docket has cancelled the run, because it was not approved in time. */
  | { readonly kind: 'cancelled'; readonly reason: string };

export interface ReviewNoticeContent extends Pick<NoticeContent, 'order' | 'definition' | 'organization' | 'pageUrl'> {
  /** IANA zone of the organization. */
  readonly timezone: string;
}

interface Text {
  readonly subject: string;
  /** What follows the title and the period. */
  readonly lead: string;
  readonly groups: readonly NoticeGroup[];
}

/** The notice about a review as data. */
export function buildReviewNotice(content: ReviewNoticeContent, news: ReviewNews): Notice {
  const { order, definition, organization = order.org, pageUrl } = content;
  const { subject, lead, groups } = textOf(news, content);
  const isForApprover = news.kind === 'approval' || news.kind === 'reminder';
  return {
    subject: `${subject}: ${definition.title} ${order.period.label}`,
    organization,
    label: order.period.label,
    pageUrl,
    lead: `"${toSingleLine(definition.title)}" for ${order.period.label} ${lead}`,
    groups,
    facts: noticeFacts(order),
    closing: isForApprover
      ? 'You receive this message because you may approve the report. It decides nothing: sign in to approve or reject.'
      : 'You receive this message because you own or triggered the report.',
  };
}

function textOf(news: ReviewNews, { order, pageUrl, timezone }: ReviewNoticeContent): Text {
  const instant = (at: number): string => formatInstant(at, timezone);
  switch (news.kind) {
    case 'comments':
      return {
        subject: 'Comments needed',
        lead: 'was made and waits for comments. Nothing was sent.',
        groups: [
          {
            heading: 'Sections that need a comment:',
            lines: news.sections.map((id) => ({ kind: 'item', text: toSingleLine(id) })),
          },
          {
            heading: pageUrl === undefined ? 'To write one:' : 'Write them on the page, or with:',
            lines: news.sections
              .slice(0, 1)
              .map((id) => command(`comment ${order.id} --section ${toSingleLine(id)} --file note.md`)),
          },
        ],
      };
    case 'incomplete':
      return {
        subject: 'Held',
        lead: 'was made and is held, because its figures are incomplete. Nothing was sent.',
        groups: [
          howToReview(order.id, pageUrl),
          { heading: 'To accept them as they are:', lines: [command(`runs release ${order.id} --reason "..."`)] },
        ],
      };
    case 'approval':
      return {
        subject: 'Approval needed',
        lead: `waits for ${approvals(news.need)}. Nothing was sent.`,
        groups: [
          ...(news.due === null ? [] : [{ heading: 'Please decide by:', lines: [sentence(instant(news.due))] }]),
          howToReview(order.id, pageUrl),
        ],
      };
    case 'reminder':
      return {
        subject: 'Reminder, approval needed',
        lead: `still waits for ${approvals(news.need)}. Nothing was sent.`,
        groups: [
          { heading: 'The deadline was:', lines: [sentence(instant(news.due))] },
          howToReview(order.id, pageUrl),
        ],
      };
    case 'rejected':
      return {
        subject: 'Rejected',
        lead: `was rejected by ${toSingleLine(news.by)}. Nothing was sent.`,
        groups: [
          { heading: 'Reason:', lines: [sentence(cleanLines(news.reason))] },
          news.refetch
            ? { heading: 'Its figures are fetched again, and the report is reviewed again.', lines: [] }
            : { heading: 'To make the report again, once the cause is corrected:', lines: [command(runAgain(order))] },
        ],
      };
    case 'cancelled':
      return {
        subject: 'Cancelled',
        lead: 'was cancelled. Nothing was sent.',
        groups: [
          { heading: 'Reason:', lines: [sentence(cleanLines(news.reason))] },
          { heading: 'To make the report again:', lines: [command(runAgain(order))] },
        ],
      };
  }
}

const approvals = (need: number): string => (need === 1 ? 'approval' : `the approval of ${need} people`);
const runAgain = ({ org, report }: NoticeContent['order']): string => `run ${org}/${report}`;

const howToReview = (run: string, pageUrl: string | undefined): NoticeGroup => ({
  heading: pageUrl === undefined ? 'To see what waits:' : 'The files are on the page. In a terminal:',
  lines: [command(`runs show ${run}`)],
});

/** In English, as all of the notice. Midnight is the end of the day before. */
function formatInstant(at: number, zone: string): string {
  const time = DateTime.fromMillis(at, { zone, locale: 'en-GB' });
  const ended = time.minus({ milliseconds: 1 });
  const text = time.hasSame(ended, 'day')
    ? time.toFormat('cccc d LLLL yyyy, HH:mm')
    : `the end of ${ended.toFormat('cccc d LLLL yyyy')}`;
  return `${text} (${zone})`;
}
