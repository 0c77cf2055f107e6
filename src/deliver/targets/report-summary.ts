import { z } from 'zod';
import { runPageUrl } from '../../base/config/public-url.ts';
import { toSingleLine } from '../../base/text/bidi.ts';
import { cutAtWord } from '../../base/text/cut-text.ts';
import { shortPeriod } from '../../definitions/periods/period.ts';
import { DEFAULT_LOCALE, messagesFor } from '../../i18n/messages.ts';
import type { DeliveryContext } from './target.ts';

/** People read channel messages at a glance. The page and the files have the rest. */
const MAX_LINES = 10;
/** In UTF-16 units. Ten lines of any script stay far below every limit of Slack and Teams. */
const MAX_LINE_LENGTH = 280;
const MAX_TITLE_LENGTH = 140;

/** The field `body`, for targets that post a summary into a channel. */
export const summaryBodySchema = z
  .enum(['summary', 'notice'])
  .default('summary')
  .describe('summary: headlines with their statuses, at most ten lines; notice: that the report is ready, no figures.');
type SummaryBody = z.infer<typeof summaryBodySchema>;

/** Which parts of the message contain figures, for the rule about passwords. */
export const summaryParts = (body: SummaryBody): readonly string[] => (body === 'notice' ? [] : ['the summary']);

/** A report's summary for a channel, in the report's language. Each text is one line. */
export interface ReportSummary {
  readonly title: string;
  readonly lines: readonly string[];
  /** The run's page; absent without DOCKET_PUBLIC_URL. */
  readonly page?: { readonly url: string; readonly label: string };
}

/** Makes the summary: title and period, the split value, what is missing, and the headlines, most important first. */
export function reportSummary(
  body: SummaryBody,
  { definition, settings, published: { manifest }, publicUrl }: DeliveryContext,
): ReportSummary {
  const locale = definition.locale ?? settings.locale ?? DEFAULT_LOCALE;
  const { mail } = messagesFor(locale);
  const { run, title, organization, period, corrects, incomplete, headlines = [] } = manifest;
  const words = shortPeriod(period, locale);
  const corrected = corrects?.subject === undefined ? '' : `${corrects.subject}: `;
  const classification = definition.classification ?? settings.classification;
  const head = [
    [organization, ...(classification === undefined ? [] : [classification])].join(' · '),
    ...(incomplete.length === 0 ? [] : [`${mail.template.incomplete}: ${mail.thingsToKnow(incomplete.length)}`]),
  ];
  const url = runPageUrl(publicUrl, run);
  return {
    title: toLine(`${corrected}${title}, ${words}`, MAX_TITLE_LENGTH),
    lines: [...head, ...(body === 'notice' ? [mail.ready(words)] : listed(headlines))].map((line) => toLine(line)),
    ...(url === undefined ? {} : { page: { url, label: mail.template.open_page } }),
  };

  function listed(sentences: readonly string[]): readonly string[] {
    const room = MAX_LINES - head.length;
    if (sentences.length <= room) return sentences.map((sentence) => `• ${sentence}`);
    const shown = sentences.slice(0, room - 1);
    const rest = mail.moreFigures(sentences.length - shown.length, mail.leftOut);
    return [...shown.map((sentence) => `• ${sentence}`), rest];
  }
}

const toLine = (text: string, max = MAX_LINE_LENGTH): string => cutAtWord(toSingleLine(text), max);
