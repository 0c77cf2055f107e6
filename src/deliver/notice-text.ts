import type { ErrorJson } from '../base/error.ts';
import { toSingleLine } from '../base/text/bidi.ts';
import type { Receipt } from './ledger/ledger.ts';

/** What a notice is about. */
export interface NoticeContent {
  readonly order: {
    readonly id: string;
    readonly org: string;
    readonly report: string;
    readonly slot: string;
    readonly period: { readonly label: string };
  };
  readonly definition: { readonly title: string };
  /** Why the run failed; null when it was delivered partially. */
  readonly error: ErrorJson | null;
  readonly receipts: readonly Receipt[];
}

export type NoticeKind = 'failed' | 'held' | 'partial';

export const noticeKind = (error: ErrorJson | null): NoticeKind =>
  error === null ? 'partial' : error.code === 'run.held' ? 'held' : 'failed';

const HEADLINES: Readonly<Record<NoticeKind, { readonly subject: string; readonly text: string }>> = {
  failed: { subject: 'Failed', text: 'failed. It is not retried automatically.' },
  held: { subject: 'Held', text: 'was made and is held. Nothing was sent.' },
  partial: { subject: 'Partially delivered', text: 'was made, but not delivered to everyone.' },
};

export const noticeSubject = ({ order, definition, error }: NoticeContent): string =>
  `${HEADLINES[noticeKind(error)].subject}: ${definition.title} ${order.period.label}`;

/** The notice as plain text with CRLF. */
export function noticeText({ order, definition, error, receipts }: NoticeContent): string {
  const group = (
    heading: string,
    states: readonly Receipt['state'][],
    instructions: (found: readonly Receipt[]) => readonly string[] = () => [],
  ): string[] => {
    const found = receipts.filter(({ state }) => states.includes(state));
    const lines = found.map(
      ({ recipient, target, detail }) =>
        `  - ${toSingleLine(recipient)} (${target})${detail === null ? '' : `: ${indent(detail)}`}`,
    );
    return lines.length === 0 ? [] : ['', heading, ...lines, ...instructions(found)];
  };
  const kind = noticeKind(error);
  return [
    `"${toSingleLine(definition.title)}" for ${order.period.label} ${HEADLINES[kind].text}`,
    ...(error === null ? [] : ['', 'Reason:', ...errorLines(error)]),
    ...group('Not delivered:', ['refused', 'pending'], () => [
      '  To retry these deliveries only, with the same files:',
      `    docket runs retry ${order.id} --reason "..."`,
    ]),
    ...group('Delivery uncertain:', ['unknown', 'sending'], (found) => [
      '  Docket does not send these again by itself, because they may have arrived. Ask the recipients, then confirm the',
      '  delivery or send it again:',
      ...found.map(({ delivery }) => `    docket deliveries resolve ${delivery} --sent|--resend --reason "..."`),
    ]),
    ...group('Delivered:', ['sent']),
    ...(receipts.length === 0 && error !== null ? ['', 'Nothing was delivered.'] : []),
    ...(kind === 'held'
      ? ['', 'To send it as it is:', `  docket runs release ${order.id} --reason "..."`]
      : kind === 'failed' && receipts.length === 0
        ? ['', 'To retry after the cause is fixed:', `  docket runs retry ${order.id} --reason "..."`]
        : []),
    '',
    `Report:  ${order.org}/${order.report}`,
    `Run:     ${order.id}`,
    `Slot:    ${order.slot}`,
    '',
    'You receive this message once, as the owner of the report.',
    '',
  ].join('\r\n');
}

/** Indents the further lines of foreign text, so that none of them looks like a line of the notice. */
const indent = (text: string): string =>
  text
    .split(/\r\n|[\r\n\p{Zl}\p{Zp}]/u)
    .map(toSingleLine)
    .join('\r\n      ');

function errorLines(error: ErrorJson): string[] {
  const { message, code, where, expected, got, next, correlation_id: correlation } = error;
  const line = (name: string, value: string | undefined): string[] =>
    value === undefined ? [] : [`  ${name}: ${indent(value)}`];
  return [
    `  ${indent(message)} [${code}]`,
    ...line('where', where),
    ...line('expected', expected),
    ...line('got', got),
    ...line('correlation_id', correlation),
    ...line('what to do', next),
  ];
}
