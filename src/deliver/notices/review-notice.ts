import { DateTime } from 'luxon';
import { toSingleLine } from '../../base/text/bidi.ts';
import { DEFAULT_LOCALE, messagesFor, type Words } from '../../i18n/messages.ts';
import {
  cleanLines,
  command,
  type Notice,
  type NoticeContent,
  type NoticeGroup,
  type NoticeLine,
  noticeFacts,
  sentence,
} from './notice-text.ts';

/** For a deputy: whom they may act for, and why. `until`: epoch ms. */
export interface DeputyNews {
  readonly for: string;
  readonly by: string;
  readonly reason: string;
  readonly until: number | null;
}
interface ForDeputies {
  readonly deputy?: DeputyNews;
}

/** The occasion of a notice about a review. The notice contains no figures, and nobody can decide anything with it. */
export type ReviewNews =
  /** To the owner. `sections`: ids of the sections that need a comment. */
  | { readonly kind: 'comments'; readonly sections: readonly string[] }
  /** To the owner: incomplete figures wait for a release or an approval. */
  | { readonly kind: 'incomplete' }
  /** To an approver. `due`: epoch ms; null without a deadline. */
  | ({ readonly kind: 'approval'; readonly need: number; readonly due: number | null } & ForDeputies)
  /** To an approver, once `due` has passed, or without a deadline after a week. */
  | ({ readonly kind: 'reminder'; readonly need: number; readonly due: number | null } & ForDeputies)
  /** To an approver: somebody wants to send the approved report to another address. */
  | ({
      readonly kind: 'recipient';
      readonly recipient: string;
      readonly by: string;
      readonly reason: string;
    } & ForDeputies)
  /** To the owner, and to the person who triggered the run. */
  | { readonly kind: 'rejected'; readonly by: string; readonly reason: string; readonly refetch: boolean }
  /** To the owner: Docket has cancelled the run. `days`: the business days within which nobody approved it. */
  | { readonly kind: 'cancelled'; readonly reason: string; readonly days?: number | undefined };

export interface ReviewNoticeContent
  extends Pick<NoticeContent, 'order' | 'definition' | 'locale' | 'organization' | 'pageUrl'> {
  /** The organization's IANA time zone. */
  readonly timezone: string;
}

interface Text {
  /** The text after the title and the period. */
  readonly lead: string;
  readonly groups: readonly NoticeGroup[];
}

/** Makes a notice about a review. */
export function buildReviewNotice(content: ReviewNoticeContent, news: ReviewNews): Notice {
  const { order, definition, locale, organization = order.org, pageUrl } = content;
  const { notice } = messagesFor(locale);
  const { lead, groups } = buildText(news, content, notice);
  const isForApprover = news.kind === 'approval' || news.kind === 'reminder' || news.kind === 'recipient';
  return {
    locale,
    subject: `${notice.subjects[news.kind]}: ${definition.title} ${order.period.label}`,
    organization,
    label: order.period.label,
    pageUrl,
    lead: `${notice.report(toSingleLine(definition.title), order.period.label)} ${lead}`,
    groups: [...deputyGroups(news, content, notice), ...groups],
    facts: noticeFacts(order, notice),
    closing: isForApprover ? notice.closings.approver : notice.closings.author,
  };
}

function deputyGroups(news: ReviewNews, content: ReviewNoticeContent, notice: Words['notice']): NoticeGroup[] {
  if (!('deputy' in news) || news.deputy === undefined) return [];
  const { for: approver, by, reason, until } = news.deputy;
  const end = until === null ? undefined : formatInstant(until, content, notice);
  const heading = notice.deputyOf(toSingleLine(approver), toSingleLine(by), end);
  return [{ heading, lines: [sentence(cleanLines(reason))] }];
}

function buildText(news: ReviewNews, content: ReviewNoticeContent, notice: Words['notice']): Text {
  const { order, pageUrl } = content;
  const instant = (at: number): NoticeLine => sentence(formatInstant(at, content, notice));
  const review: NoticeGroup = {
    heading: pageUrl === undefined ? notice.look : notice.lookOnPage,
    lines: [command(`runs show ${order.id}`)],
  };
  const again = command(`run ${order.org}/${order.report}`);
  switch (news.kind) {
    case 'comments':
      return {
        lead: notice.leads.comments,
        groups: [
          {
            heading: notice.missingComments,
            lines: news.sections.map((id) => ({ kind: 'item', text: toSingleLine(id) })),
          },
          {
            heading: pageUrl === undefined ? notice.writeOne : notice.writeOnPage,
            lines: news.sections
              .slice(0, 1)
              .map((id) => command(`comment ${order.id} --section ${toSingleLine(id)} --file note.md`)),
          },
        ],
      };
    case 'incomplete':
      return {
        lead: notice.leads.incomplete,
        groups: [review, { heading: notice.accept, lines: [command(`runs release ${order.id} --reason "..."`)] }],
      };
    case 'approval':
      return {
        lead: notice.waits(news.need),
        groups: [...(news.due === null ? [] : [{ heading: notice.decideBy, lines: [instant(news.due)] }]), review],
      };
    case 'reminder':
      return {
        lead: notice.stillWaits(news.need),
        groups: [...(news.due === null ? [] : [{ heading: notice.deadlineWas, lines: [instant(news.due)] }]), review],
      };
    case 'recipient':
      return {
        lead: notice.recipientAdded(toSingleLine(news.by), toSingleLine(news.recipient)),
        groups: [{ heading: notice.reason, lines: [sentence(cleanLines(news.reason))] }, review],
      };
    case 'rejected':
      return {
        lead: notice.rejectedBy(toSingleLine(news.by)),
        groups: [
          { heading: notice.reason, lines: [sentence(cleanLines(news.reason))] },
          news.refetch
            ? { heading: notice.fetchedAgain, lines: [] }
            : { heading: notice.runAgainCorrected, lines: [again] },
        ],
      };
    case 'cancelled': {
      const reason = news.days === undefined ? news.reason : notice.notApproved(news.days);
      return {
        lead: notice.leads.cancelled,
        groups: [
          {
            heading: news.days === undefined ? notice.error : notice.reason,
            lines: [sentence(cleanLines(reason))],
          },
          { heading: notice.runAgain, lines: [again] },
        ],
      };
    }
  }
}

/** Midnight is written as the end of the previous day. */
function formatInstant(
  at: number,
  { timezone: zone, locale = DEFAULT_LOCALE }: ReviewNoticeContent,
  notice: Words['notice'],
): string {
  const time = DateTime.fromMillis(at, { zone, locale });
  const ended = time.minus({ milliseconds: 1 });
  const text = time.hasSame(ended, 'day')
    ? time.toFormat(notice.timeFormat)
    : notice.endOf(ended.toFormat(notice.dayFormat));
  return `${text} (${zone})`;
}
