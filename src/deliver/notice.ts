import type { Clock } from '../base/clock.ts';
import { DocketError, type ErrorJson } from '../base/error.ts';
import { singleLine } from '../base/single-line.ts';
import { canonicalAddress } from '../define/recipients.ts';
import type { Archive, AttemptRecord, SealedRun } from './archive.ts';
import { attempt, type Leave, reconcile } from './attempt.ts';
import type { Circuit } from './circuit.ts';
import type { DeliveredEvent } from './deliver.ts';
import { DEAD_MS, type Ledger, type NewDelivery, NOTICE_TARGET, noticeId } from './ledger.ts';
import { buildMessage, messageIdOf } from './message.ts';
import type { Receipt } from './receipt.ts';
import { sendMessage } from './send-message.ts';
import type { MailRoute } from './targets.ts';

/** Ms before each further try: nobody will call again for a notice that a busy server put off. */
const PAUSES = [2_000, 8_000, 20_000] as const;

export interface NoticeInput {
  readonly order: {
    readonly id: string;
    readonly org: string;
    readonly report: string;
    readonly slot: string;
    readonly period: { readonly label: string };
    /** Epoch ms. */
    readonly createdAt: number;
  };
  readonly definition: { readonly title: string; readonly owner: string };
  /** Why the run failed; null when it ran and was delivered in part only. */
  readonly error: ErrorJson | null;
  readonly receipts: readonly Receipt[];
  /** Undefined when the run failed before its files were sealed: the notice is then not archived. */
  readonly sealed: SealedRun | undefined;
  readonly mail: MailRoute | undefined;
  readonly ledger: Ledger;
  readonly archive: Archive;
  /** What is known of the mail server; absent where nobody shares it. */
  readonly circuit?: Circuit | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly observe: (event: DeliveredEvent) => void;
}

/**
 * Tells the definition's owner that a run has failed for good or was delivered in part only: what failed, for whom,
 * what was delivered, what to do. Call it when no further try will follow. A delivery like any other, with a ledger row
 * of its own (target `notice`), so it goes out once however often it is called; its receipt says what became of it. A
 * definite deferral is tried again a few times, as long as the signal lasts.
 *
 * The owner need not be among the organization's recipients: a notice carries no figures and no files, and it must
 * arrive just when the recipients are what is wrong. It is still one plain address and nothing else.
 */
export async function notifyOwner(input: NoticeInput): Promise<Receipt> {
  const { order, definition, mail, ledger, clock, signal, observe } = input;
  const recipient = canonicalAddress(definition.owner) ?? definition.owner;
  const id = noticeId(order.id, recipient, kindOf(input.error) === 'held');
  const { org, report } = order;
  const row: NewDelivery = { id, run: order.id, org, report, target: NOTICE_TARGET, recipient };
  const { sealed, archive, circuit } = input;
  const evidence = sealed === undefined ? undefined : (await archive.evidence(sealed)).get(id);
  const found = await ledger.open(row, clock.now(), evidence);
  // Whoever else looks what is owed comes upon a notice that is leaving at this moment: it is not his to judge.
  if (found.state !== 'sending' || clock.now() - found.at >= DEAD_MS) await reconcile(ledger, found, clock);
  const keep = sealed === undefined ? {} : { keep: (record: AttemptRecord) => archive.keepAttempt(sealed, record) };
  const service = mail?.service ?? 'mail';
  for (const pause of [0, ...PAUSES]) {
    const { state, decisions } = await ledger.open(row, clock.now());
    if (state !== 'pending' || !(await waited(pause, clock, signal))) break;
    if ((await circuit?.ask(service)) !== undefined) break;
    const ending = await attempt(row, () => prepare(row, input, decisions.length > 0), {
      ledger,
      clock,
      signal,
      ...keep,
    });
    if (ending === undefined) break;
    if (ending.targetDown) await circuit?.failed(service, ending.detail);
    else if (ending.state === 'sent') await circuit?.answered(service);
    observe({ type: 'delivered', target: NOTICE_TARGET, recipient, state: ending.state, detail: ending.detail });
  }
  const { state, detail } = await ledger.open(row, clock.now());
  const messageId = mail === undefined || state === 'pending' ? null : messageIdOf(id, mail.from);
  return Object.freeze({ delivery: id, target: NOTICE_TARGET, recipient, state, detail, messageId });
}

/** False when there is no time left: the notice then stays `pending`, and says so. */
async function waited(ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (ms > 0) await clock.sleep(ms, signal).catch(() => {});
  return !signal.aborted;
}

/** @param again somebody has it sent again: then the very bytes of before, where they are kept */
async function prepare(row: NewDelivery, input: NoticeInput, again: boolean): Promise<Leave> {
  const { order, sealed, mail, archive } = input;
  if (mail === undefined) {
    throw new DocketError('deliver.target_refused', 'The owner cannot be told: no mail server is configured.', {
      next: 'Set SMTP_URL and MAIL_FROM, or smtp in org.yaml.',
    });
  }
  const message = await buildMessage({
    delivery: row.id,
    run: order.id,
    from: mail.from,
    to: row.recipient,
    subject: `${HEADLINES[kindOf(input.error)].subject}: ${input.definition.title} ${order.period.label}`,
    text: noticeText(input),
    attachments: [],
    date: new Date(order.createdAt),
    dkim: mail.dkim,
  });
  if (sealed === undefined) return sendMessage(mail.mailer, message);
  const raw = (again ? await archive.message(sealed, row.id) : undefined) ?? message.raw;
  return sendMessage(mail.mailer, { ...message, raw }, await archive.keepMessage(sealed, row.id, raw));
}

const HEADLINES = {
  failed: { subject: 'Failed', text: 'has failed. It will not be tried again by itself.' },
  held: { subject: 'Held', text: 'was made, and is held: nothing was sent.' },
  partly: { subject: 'Delivered in part only', text: 'was made, but did not reach everybody.' },
} as const;

const kindOf = (error: ErrorJson | null): keyof typeof HEADLINES =>
  error === null ? 'partly' : error.code === 'run.held' ? 'held' : 'failed';

/** The notice as plain text: it is read on a phone, at night. */
export function noticeText(input: Pick<NoticeInput, 'order' | 'definition' | 'error' | 'receipts'>): string {
  const { order, definition, error, receipts } = input;
  const group = (
    heading: string,
    states: readonly string[],
    after: (found: readonly Receipt[]) => readonly string[] = () => [],
  ): string[] => {
    const found = receipts.filter(({ state }) => states.includes(state));
    const lines = found.map(
      ({ recipient, target, detail }) =>
        `  - ${singleLine(recipient)} (${target})${detail === null ? '' : `: ${setIn(detail)}`}`,
    );
    return lines.length === 0 ? [] : ['', heading, ...lines, ...after(found)];
  };
  const kind = kindOf(error);
  return [
    `"${singleLine(definition.title)}" for ${order.period.label} ${HEADLINES[kind].text}`,
    ...(error === null ? [] : ['', 'What happened:', ...errorLines(error)]),
    ...group('Not delivered:', ['refused', 'pending'], () => [
      '  These alone are tried again, with the same files, by',
      `    docket runs retry ${order.id} --reason "..."`,
    ]),
    ...group('Perhaps delivered, perhaps not:', ['unknown', 'sending'], (found) => [
      '  Docket does not send these again by itself, because they may have arrived. Please ask the recipients, then',
      '  say so, or have it sent again:',
      ...found.map(({ delivery }) => `    docket deliveries resolve ${delivery} --sent|--resend --reason "..."`),
    ]),
    ...group('Delivered:', ['sent']),
    ...(receipts.length === 0 && error !== null ? ['', 'Nothing was delivered.'] : []),
    ...(kind === 'held'
      ? ['', 'To send it as it is:', `  docket runs release ${order.id} --reason "..."`]
      : kind === 'failed' && receipts.length === 0
        ? ['', 'When the cause is gone:', `  docket runs retry ${order.id} --reason "..."`]
        : []),
    '',
    `Report:  ${order.org}/${order.report}`,
    `Run:     ${order.id}`,
    `Slot:    ${order.slot}`,
    '',
    'You get this once, because you are the owner of the report.',
    '',
  ].join('\r\n');
}

/** Somebody else's words, whose further lines are set in: none of them can pass for a line of ours. */
const setIn = (text: string): string =>
  text
    .split(/\r\n|[\r\n\p{Zl}\p{Zp}]/u)
    .map(singleLine)
    .join('\r\n      ');

function errorLines(error: ErrorJson): string[] {
  const { message, code, where, expected, got, next, correlation_id: correlation } = error;
  const line = (name: string, value: string | undefined): string[] =>
    value === undefined ? [] : [`  ${name}: ${setIn(value)}`];
  return [
    `  ${setIn(message)} [${code}]`,
    ...line('where', where),
    ...line('expected', expected),
    ...line('got', got),
    ...line('correlation_id', correlation),
    ...line('what to do', next),
  ];
}
