import type { ErrorJson } from '../../base/error.ts';
import { toSingleLine } from '../../base/text/bidi.ts';
import { messagesFor, type Words } from '../../i18n/messages.ts';
import type { Receipt } from '../ledger/ledger.ts';

/** The run and problem that a notice is about. */
export interface NoticeContent {
  readonly order: {
    readonly id: string;
    readonly org: string;
    readonly report: string;
    readonly slot: string;
    readonly period: { readonly label: string };
  };
  readonly definition: { readonly title: string };
  /** The report's language, BCP 47; English when absent. */
  readonly locale?: string | undefined;
  /** The organization's name. Absent: its id is used. */
  readonly organization?: string | undefined;
  /** URL of the run's page; absent without a public URL. */
  readonly pageUrl?: string | undefined;
  /** Why the run failed, or what is wrong with its figures. Null when the run was delivered partially. */
  readonly error: ErrorJson | null;
  readonly receipts: readonly Receipt[];
}

export type NoticeKind = 'failed' | 'held' | 'partial' | 'wrong_figures' | 'denied';

export function noticeKind({ error, receipts }: Pick<NoticeContent, 'error' | 'receipts'>): NoticeKind {
  if (error === null) return 'partial';
  if (isHeld(error)) return 'held';
  if (error.code === 'deliver.recipient_denied') return 'denied';
  // A run that fails because of its figures delivers nothing, so it has no receipts.
  return error.code === 'run.incomplete' && receipts.length > 0 ? 'wrong_figures' : 'failed';
}

const isHeld = ({ code }: ErrorJson): boolean => code === 'run.held' || code === 'run.comments_missing';

export function noticeSubject(content: NoticeContent): string {
  const { order, definition, locale } = content;
  return `${messagesFor(locale).notice.subjects[noticeKind(content)]}: ${definition.title} ${order.period.label}`;
}

/** A line of a notice: a list item, a sentence, or a command to type. Texts from outside may span several lines. */
export type NoticeLine =
  | { readonly kind: 'item' | 'text'; readonly text: string }
  /** `of`: the command belongs to the sentence before it. */
  | { readonly kind: 'command'; readonly text: string; readonly of?: 'text' };

export interface NoticeGroup {
  readonly heading: string;
  readonly lines: readonly NoticeLine[];
}

/** A notice as data: `groups` in order, followed by the facts. */
export interface Notice {
  /** BCP 47; undefined: English. */
  readonly locale: string | undefined;
  readonly subject: string;
  /** The organization's name. */
  readonly organization: string;
  /** The period's label. If the subject ends with it, it does not break at its hyphen there. */
  readonly label: string;
  /** URL of the run's page; undefined without a public URL. */
  readonly pageUrl: string | undefined;
  readonly lead: string;
  readonly groups: readonly NoticeGroup[];
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly closing: string;
}

export const command = (text: string, of?: 'text'): NoticeLine => ({
  kind: 'command',
  text: `docket ${text}`,
  ...(of === undefined ? {} : { of }),
});
export const sentence = (text: string): NoticeLine => ({ kind: 'text', text });

/** A group with the deliveries in these states, and what to do about them. */
function deliveryGroup(
  heading: string,
  states: readonly Receipt['state'][],
  receipts: readonly Receipt[],
  instructions: (found: readonly Receipt[]) => readonly NoticeLine[] = () => [],
): NoticeGroup[] {
  const found = receipts.filter(({ state }) => states.includes(state));
  if (found.length === 0) return [];
  const items = found.map(
    ({ recipient, target, detail }): NoticeLine => ({
      kind: 'item',
      text: `${toSingleLine(recipient)} (${target})${detail === null ? '' : `: ${cleanLines(detail)}`}`,
    }),
  );
  return [{ heading, lines: [...items, ...instructions(found)] }];
}

/** Makes the content of a notice, for its HTML and text bodies. */
export function buildNotice(content: NoticeContent): Notice {
  const { order, definition, organization = order.org, pageUrl, locale, error, receipts } = content;
  const { notice } = messagesFor(locale);
  const kind = noticeKind(content);
  const retry = (of?: 'text') => command(`runs retry ${order.id} --reason "..."`, of);
  return {
    locale,
    subject: noticeSubject(content),
    organization,
    label: order.period.label,
    pageUrl,
    lead: `${notice.report(toSingleLine(definition.title), order.period.label)} ${notice.leads[kind]}`,
    groups: [
      ...(error === null ? [] : [{ heading: notice.error, lines: errorLines(error, notice) }]),
      ...deliveryGroup(notice.notDelivered, ['refused', 'pending'], receipts, () => [
        sentence(notice.retryDeliveries),
        retry('text'),
      ]),
      ...deliveryGroup(notice.uncertain, ['unknown', 'sending'], receipts, (found) => [
        sentence(notice.askRecipients),
        ...found.map(({ delivery }) => command(`deliveries resolve ${delivery} --sent --reason "..."`, 'text')),
        sentence(notice.resendOthers),
        ...found.map(({ delivery }) => command(`deliveries resolve ${delivery} --resend --reason "..."`, 'text')),
        ...(found.length === 1
          ? []
          : [
              sentence(notice.decideAll),
              command(`deliveries resolve --run ${order.id} --sent --reason "..."`, 'text'),
            ]),
      ]),
      ...deliveryGroup(notice.delivered, ['sent'], receipts),
      ...(receipts.length === 0 && error !== null ? [{ heading: notice.nothingDelivered, lines: [] }] : []),
      ...(error?.code === 'run.comments_missing'
        ? [{ heading: notice.writeComment, lines: [command(`comment ${order.id} --section <id> --file note.md`)] }]
        : kind === 'held'
          ? [{ heading: notice.release, lines: [command(`runs release ${order.id} --reason "..."`)] }]
          : kind === 'failed' && receipts.length === 0
            ? [{ heading: notice.retry, lines: [retry()] }]
            : []),
    ],
    facts: noticeFacts(order, notice),
    closing: notice.closings.owner,
  };
}

/** The facts that identify the run. */
export const noticeFacts = (
  { org, report, id, slot }: NoticeContent['order'],
  { facts }: Words['notice'],
): Notice['facts'] => [
  [facts.report, `${org}/${report}`],
  [facts.run, id],
  [facts.slot, slot],
];

const MIN_NAME_WIDTH = 9;

/** The notice as plain text with CRLF line breaks. */
export function noticeText({ locale, lead, groups, facts, closing, pageUrl }: Notice): string {
  const width = Math.max(MIN_NAME_WIDTH, ...facts.map(([name]) => name.length + 2));
  return [
    lead,
    ...(pageUrl === undefined ? [] : ['', messagesFor(locale).notice.onPage, `  ${pageUrl}`]),
    ...groups.flatMap(({ heading, lines }) => ['', heading, ...lines.map(textLine)]),
    '',
    ...facts.map(([name, value]) => `${`${name}:`.padEnd(width)}${value}`),
    '',
    closing,
    '',
  ].join('\r\n');
}

/** Further lines of text from outside are indented, so that none of them looks like a line of the notice. */
function textLine(line: NoticeLine): string {
  const text = line.text.replaceAll('\n', '\r\n      ');
  if (line.kind === 'item') return `  - ${text}`;
  return line.kind === 'command' && line.of === 'text' ? `    ${text}` : `  ${text}`;
}

/** Text from outside, line by line, without control characters. */
export const cleanLines = (text: string): string =>
  text
    .split(/\r\n|[\r\n\p{Zl}\p{Zp}]/u)
    .map(toSingleLine)
    .join('\n');

function errorLines(error: ErrorJson, { errorLines: names }: Words['notice']): NoticeLine[] {
  const { message, code, where, expected, got, next, correlation_id: correlation } = error;
  const line = (name: string, value: string | undefined): NoticeLine[] =>
    value === undefined ? [] : [sentence(`${name}: ${cleanLines(value)}`)];
  return [
    sentence(`${cleanLines(message)} [${code}]`),
    ...line(names.where, where),
    ...line(names.expected, expected),
    ...line(names.got, got),
    ...line('correlation_id', correlation),
    ...line(names.next, next),
  ];
}
