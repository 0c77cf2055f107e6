import { z } from 'zod';
import { DocketError } from '../../../base/error.ts';
import { renderNonEmptySubject, renderSubject } from '../../../base/text/email-subject.ts';
import { canonicalAddress, recipientRefusal } from '../../../definitions/allow-lists/recipients.ts';
import { templateDiagnostics } from '../../../definitions/diagnostics/delivery-diagnostics.ts';
import { keepsFiguresInside } from '../../../definitions/diagnostics/protection-diagnostics.ts';
import { shortPeriod } from '../../../definitions/periods/period.ts';
import { TO_SPLIT } from '../../../definitions/schema/split.ts';
import { subjectSchema } from '../../../definitions/schema/template-fields.ts';
import { lineSchema, sizeSchema, toBytes } from '../../../definitions/schema/values/primitives.ts';
import {
  type Artifact,
  findMailBody,
  MAIL_BODIES,
  type MailBody,
  type MailBodyName,
  mailAttachments,
} from '../../../render/artifact.ts';
import { archiveCorrupt } from '../../archive/archive-errors.ts';
import type { AttemptResult, SendFn } from '../../attempt.ts';
import type { Fence } from '../../internal/fence.ts';
import { assertSameEmail } from '../../internal/resend-check.ts';
import { deliveryId, type NewDelivery } from '../../ledger/ledger.ts';
import { recipientKey } from '../../send-decision.ts';
import { type DeliveryContext, defineTarget, newRow, type SendContext, templateVariables } from '../target.ts';
import { buildEmail, buildMessageId, type EmailMessage, encodedLength, MAX_ATTACHMENT_BYTES } from './email-message.ts';
import { findFileLinks, withFileLinks } from './file-links.ts';
import type { Mailer } from './smtp/smtp-mailer.ts';
import type { SendResult } from './smtp/smtp-replies.ts';

const emailSchema = (formats: readonly string[]) =>
  z.strictObject({
    to: z
      .union([z.literal(TO_SPLIT), z.array(lineSchema(320)).min(1).max(100)], {
        error: 'a list of addresses, or "split" in a report with `split`',
      })
      .describe("Recipients; each must match the organization's `recipients`. `split`: those of each value."),
    subject: subjectSchema
      .optional()
      .describe('Defaults to the title, the period and the first headline: `<title>, <period>: <first headline>`.'),
    subject_figures: z
      .boolean()
      .optional()
      .describe(
        'Whether headlines, and so figures, may be in the subject, `{{ headline }}` included: servers log it, and phones show it while locked. Default: true; false with a `classification` or a `password`.',
      ),
    body: z
      .enum(MAIL_BODIES)
      .optional()
      .describe(
        'full: headlines, tiles, charts and short tables, the default; summary: only headlines and tiles; notice: that the report is ready, without figures.',
      ),
    list_in_body: z
      .boolean()
      .optional()
      .describe(
        'true: the first rows of `list` sections are in the body, with whatever personal data they have. Only with `body: full`. Default: false.',
      ),
    attach: z.array(z.enum(formats)).max(formats.length).default([]).describe('Which of the outputs to attach.'),
    together: z
      .boolean()
      .optional()
      .describe(
        'true: one message that shows all recipients; each still has its own delivery. Default: one message for each recipient.',
      ),
    max_attachment: sizeSchema
      .optional()
      .describe(
        'Files and pictures of a message together as they are sent: base64, a third more than the files. 10MB by default. Larger files, and a message above the size that the mail server announces, become links to an S3 or SFTP delivery of the report or to an archive in a bucket; without one the e-mail is refused.',
      ),
  });
type EmailSpec = z.infer<ReturnType<typeof emailSchema>>;

/** The recipients. With `split`, each value's definition has its own. */
const selectAddresses = ({ to }: Pick<EmailSpec, 'to'>): readonly string[] => (to === TO_SPLIT ? [] : to);

const NO_MAIL_SERVER = 'No mail server is configured (SMTP_URL and MAIL_FROM, or smtp in org.yaml).';

/** E-mail. Each mailbox is a separate delivery, even if one message names them all: the results may differ. */
export const emailTarget = defineTarget({
  kind: 'email',
  label: 'E-mail',
  audience: { one: 'person', many: 'people', people: true },
  messageType: 'eml',
  usesMailServer: true,
  attachField: 'attach',
  schema: emailSchema,
  diagnostics: ({ subject, body = 'full', list_in_body: lists }, { variables }) => [
    ...templateDiagnostics(['subject'], subject, (text) => renderNonEmptySubject(text, variables(''), 'the subject')),
    ...(lists && body !== 'full'
      ? [
          {
            path: ['list_in_body'],
            expected: 'body: full, the only body that shows rows',
            got: `body: ${body}`,
            next: 'remove list_in_body, or set body: full',
          },
        ]
      : []),
  ],
  describe: (spec) => ({
    addresses: selectAddresses(spec),
    ...(spec.to === TO_SPLIT ? { labels: ['the recipients of each value'] } : {}),
    mailboxes: selectAddresses(spec).map((address, index) => ({ address, path: ['to', index] })),
    attach: spec.attach,
    body: selectBodyName(spec),
    ...(spec.subject_figures === undefined && hasHeadline(spec) ? { undecidedSubject: true } : {}),
    shows: {
      formats: spec.attach,
      parts: [
        ...(spec.body === 'notice' ? [] : ['the body']),
        // These parts matter only if a workbook has a password. The subject then has no figures by default.
        ...(spec.subject_figures === true && hasHeadline(spec) ? ['the subject'] : []),
      ],
    },
  }),
  addressedTo: ({ together: _, ...spec }, to) => ({ ...spec, to: [...to] }),
  list: (target, spec, context) => {
    const { published, mail, settings } = context;
    const byMailbox = new Map(selectAddresses(spec).map((recipient) => [recipientKey(recipient), recipient] as const));
    return [...byMailbox].map(([mailbox, recipient]) => {
      const row = newRow(published, target, canonicalAddress(recipient) ?? recipient, mailbox);
      return {
        row,
        service: mail?.service ?? 'mail',
        messageId:
          mail === undefined ? null : buildMessageId(spec.together ? sharedMessageKey(row) : row.id, mail.from),
        recipientRefusal: () => recipientRefusal(row.recipient, settings.recipients),
        // It may link to files of other deliveries, which must be `sent` first. The server's limit is not known yet.
        ...(exceedsLimit(spec, context) || (mail?.mailer.announcedSize && attachesFiles(spec, context))
          ? { phase: 1 as const }
          : {}),
      };
    });
  },
  send: async ({ row }, spec, context, previousEpoch) => {
    const { settings, published, archive, mail, denyList } = context;
    assertAllowed(row.recipient, settings.recipients, {
      shown: JSON.stringify(row.recipient),
      next: 'Correct the recipient, or allow it in org.yaml.',
    });
    if (mail === undefined) return async () => ({ state: 'pending', detail: NO_MAIL_SERVER });
    const attached = selectAttachments(spec, published.artifacts);
    const rendered = requireBody(spec, context);
    const { manifest } = published;
    const date = await firstAttemptDate(row, spec, context, previousEpoch);
    const visibleRecipients = (): readonly string[] =>
      uniqueMailboxes(
        selectAddresses(spec).flatMap((recipient) =>
          recipientRefusal(recipient, settings.recipients) === undefined && denyList?.find(recipient) === undefined
            ? (canonicalAddress(recipient) ?? [])
            : [],
        ),
      );
    const build = async (body: Pick<MailBody, 'html' | 'text'>, files: readonly Artifact[]) =>
      buildEmail({
        delivery: row.id,
        run: manifest.run,
        from: mail.from,
        fromName: mail.fromName,
        list: manifest,
        to: row.recipient,
        ...(spec.together ? { visibleRecipients: visibleRecipients(), sharedKey: sharedMessageKey(row) } : {}),
        ...(canonicalAddress(manifest.owner) === undefined ? {} : { replyTo: manifest.owner }),
        subject: formatSubject(spec, context),
        text: body.text,
        html: body.html,
        pictures: rendered.pictures,
        attachments: await Promise.all(
          files.map(async (artifact) => ({
            name: artifact.name,
            mediaType: artifact.mediaType,
            content: await context.files.bytesOf(artifact),
          })),
        ),
        date,
        maxBytes: attachmentLimit(spec),
        dkim: mail.dkim,
        encode: context.files.encode,
      });
    const tooLarge = exceedsLimit(spec, context);
    const { size: announced, failure } =
      tooLarge || attached.length === 0 ? {} : await context.files.announcedSize(mail.mailer);
    let message = tooLarge ? undefined : await build(rendered, attached);
    const linked = message === undefined || (announced !== undefined && message.raw.length > announced);
    if (message === undefined || linked) {
      const body = await bodyWithLinks(row, spec, rendered, context, announced);
      if ('waitsFor' in body) {
        const detail = `The files are too large to attach. Waits for their delivery to ${body.waitsFor}.`;
        return async () => ({ state: 'pending', detail });
      }
      message = await build(body, []);
    }
    // Checks the finished envelope again, however it was built.
    assertAllowed(message.envelope.to, settings.recipients, { shown: message.envelope.to });
    // Links change from day to day, so only messages without links are compared.
    if (!linked && previousEpoch > 0) await assertSameEmail(archive, published, row.id, message, attached.length > 0);
    const { confirmsFirst } = mail.mailer;
    const mailer =
      failure === undefined ? mail.mailer : { ...(confirmsFirst ? { confirmsFirst } : {}), send: async () => failure };
    return emailSender(mailer, message, await archive.putMessage(published, row.id, message.raw));
  },
});

/** The header `Date` of an archived message; undefined without one. */
function parseMessageDate(message: Uint8Array | undefined): Date | undefined {
  const head = message === undefined ? '' : Buffer.from(message).toString('latin1').split('\r\n\r\n', 1)[0];
  const at = Date.parse(/^Date: (.+)$/im.exec(head ?? '')?.[1] ?? '');
  return Number.isNaN(at) ? undefined : new Date(at);
}

/** When the first attempt began, from the archived message that all attempts repeat. A shared message has one date. */
async function firstAttemptDate(
  row: NewDelivery,
  { together }: EmailSpec,
  { archive, published, ledger, clock, files }: SendContext,
  previousEpoch: number,
): Promise<Date> {
  const find = async (): Promise<Date> => {
    const rows = together ? (await ledger.list(row.run)).filter(({ target }) => target === row.target) : [];
    const begun = previousEpoch > 0 ? [row.id] : rows.flatMap(({ id, epoch }) => (epoch > 0 ? [id] : []));
    for (const id of begun) {
      const date = parseMessageDate(await archive.getMessage(published, id));
      if (date !== undefined) return date;
    }
    return new Date(clock.now());
  };
  return together ? files.dateOf(sharedMessageKey(row), find) : find();
}

/** Throws `deliver.recipient_refused`. */
function assertAllowed(
  address: string,
  recipients: DeliveryContext['settings']['recipients'],
  { shown, ...hint }: { readonly shown: string; readonly next?: string },
): void {
  const refusal = recipientRefusal(address, recipients);
  if (refusal !== undefined) throw new DocketError('deliver.recipient_refused', `${shown} ${refusal}.`, hint);
}

/** The key of one message to all recipients; no mailbox has the same key. */
const sharedMessageKey = ({ run, target }: NewDelivery): string => deliveryId(run, target, '');

const attachmentLimit = ({ max_attachment }: EmailSpec): number =>
  max_attachment === undefined ? MAX_ATTACHMENT_BYTES : toBytes(max_attachment);

/** Name of the body that the delivery uses. */
const selectBodyName = ({ body = 'full', list_in_body: lists }: EmailSpec): MailBodyName =>
  body === 'full' && lists ? 'full-lists' : body;

/** The body that the delivery uses. Throws `archive.corrupt` if the run lacks it. */
function requireBody(spec: EmailSpec, { published: { mail, manifest } }: DeliveryContext): MailBody {
  const name = selectBodyName(spec);
  const body = findMailBody(mail, name);
  if (body !== undefined) return body;
  throw archiveCorrupt(`${manifest.org}/${manifest.report}/${manifest.run}`, `it has no e-mail body "${name}"`);
}

/**
 * The subject: the definition's own, or title, period and first headline. In a corrected edition or repeated copy it
 * begins with a mark.
 */
function formatSubject(
  { subject, subject_figures }: EmailSpec,
  { published: { manifest }, definition, settings }: DeliveryContext,
): string {
  const figures = subject_figures ?? !keepsFiguresInside(definition, settings);
  const headlines = figures ? (manifest.headlines ?? []) : [];
  const text = renderSubject(subject, templateVariables({ ...manifest, headlines }), 'deliveries[].email.subject', {
    title: manifest.title,
    period: shortPeriod(manifest.period, definition.locale ?? settings.locale),
    headline: headlines[0] ?? '',
  });
  const { subject: mark } = manifest.corrects ?? manifest.repeats ?? {};
  return mark === undefined ? text : `${mark}: ${text}`;
}

/** Whether the subject may contain a headline: the default subject, or one with `{{ headline }}`. */
const hasHeadline = ({ subject = 'headline' }: EmailSpec): boolean => subject.includes('headline');

const attachesFiles = ({ attach }: EmailSpec, { published }: DeliveryContext): boolean =>
  mailAttachments(published.artifacts, attach).length > 0;

/** Judged by the sizes in the archive, before any file is read. */
function exceedsLimit(spec: EmailSpec, context: DeliveryContext): boolean {
  const files = mailAttachments(context.published.artifacts, spec.attach).reduce(
    (sum, { bytes }) => sum + encodedLength(bytes),
    0,
  );
  const body = findMailBody(context.published.mail, selectBodyName(spec));
  const pictures = (body?.pictures ?? []).reduce((sum, { bytes }) => sum + encodedLength(bytes.length), 0);
  return files > 0 && files + pictures > attachmentLimit(spec);
}

/** The body with links to the files, or the delivery that has to happen first. */
async function bodyWithLinks(
  row: NewDelivery,
  spec: EmailSpec,
  body: MailBody,
  { published, deliveries, ledger, archive, definition, settings }: SendContext,
  announcedSize: number | undefined,
): Promise<Pick<MailBody, 'html' | 'text'> | { readonly waitsFor: string }> {
  const rows = await ledger.list(row.run);
  const found = await findFileLinks({ formats: spec.attach, published, deliveries, rows, archive, announcedSize });
  return 'waitsFor' in found ? found : withFileLinks(body, found, definition.locale ?? settings.locale);
}

const uniqueMailboxes = (addresses: readonly string[]): readonly string[] => [
  ...new Map(addresses.map((address) => [recipientKey(address), address] as const)).values(),
];

/** The files to attach. Throws `deliver.target_refused` if the run has no file of a format. */
function selectAttachments(spec: EmailSpec, artifacts: readonly Artifact[]): readonly Artifact[] {
  const missing = spec.attach.find((format) => !artifacts.some((artifact) => artifact.format === format));
  if (missing !== undefined) {
    throw new DocketError('deliver.target_refused', `The run created no ${missing} file to attach.`, {
      expected: `a file of each format in attach: ${spec.attach.join(', ')}`,
      got: artifacts.map(({ name }) => name).join(', ') || 'no files',
    });
  }
  return mailAttachments(artifacts, spec.attach);
}

/**
 * Sends a finished message. The server's reply becomes the state in the ledger.
 * @param archivedHash SHA-256 (hex) of the archived message
 */
export function emailSender(
  mailer: Pick<Mailer, 'send' | 'confirmsFirst'>,
  message: EmailMessage,
  archivedHash?: string,
): SendFn {
  const send = async (signal: AbortSignal, fence?: Fence): Promise<AttemptResult> =>
    toAttemptResult(await mailer.send(message.envelope, message.raw, signal, fence));
  const archived = archivedHash === undefined ? {} : { message: archivedHash };
  return Object.assign(send, mailer.confirmsFirst ? { confirmsFirst: mailer.confirmsFirst } : {}, archived);
}

function toAttemptResult(result: SendResult): AttemptResult {
  switch (result.kind) {
    case 'accepted':
      return { state: 'sent', detail: result.response };
    case 'refused':
      return { state: 'refused', detail: result.response };
    case 'deferred':
      return { state: 'pending', detail: result.response, targetDown: result.server };
    case 'unknown':
      return { state: 'unknown', detail: result.why };
  }
}
