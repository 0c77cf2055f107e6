import { z } from 'zod';
import type { Archive, PublishedRun } from '../archive/archive.ts';
import { archiveCorrupt } from '../archive/archive-errors.ts';
import type { EmailMessage } from '../targets/email/email-message.ts';

type MessageArchive = Archive;

/** The error when a resent message differs from the archived one. */
const messageChanged = ({ manifest }: PublishedRun, problem: string): Error =>
  archiveCorrupt(`${manifest.org}/${manifest.report}/${manifest.run}`, problem, {
    expected: 'the texts and files of the message of an earlier attempt',
    got: 'other texts or files, with a consistent manifest',
  });

/** Whether files are attached. Inline pictures do not count. */
const hasAttachments = (message: Uint8Array): boolean =>
  /^Content-Disposition: attachment/im.test(Buffer.from(message).toString('latin1'));

/** Throws `archive.corrupt` for an e-mail whose texts, files or pictures differ from those of an earlier attempt. */
export async function assertSameEmail(
  archive: MessageArchive,
  published: PublishedRun,
  delivery: string,
  { boundary }: Pick<EmailMessage, 'boundary'>,
  attaches: boolean,
): Promise<void> {
  const archived = await archive.getMessage(published, delivery);
  if (archived === undefined || Buffer.from(archived).includes(boundary)) return;
  // An earlier attempt linked to the files, because the mail server accepted only smaller messages then.
  if (attaches && !hasAttachments(archived)) return;
  throw messageChanged(published, 'its e-mail differs from the one that was sent before');
}

const filesSchema = z.object({
  data: z.object({ files: z.array(z.object({ name: z.string(), sha256: z.string() })) }),
});
const parseFiles = (body: string): string => JSON.stringify(filesSchema.parse(JSON.parse(body)).data.files);

/**
 * Throws `archive.corrupt` for a webhook body whose files differ from those of an earlier attempt. Links may differ.
 */
export async function assertSameFiles(
  archive: MessageArchive,
  published: PublishedRun,
  delivery: string,
  body: string,
): Promise<void> {
  const archived = await archive.getMessage(published, delivery, 'json');
  if (archived === undefined || parseFiles(Buffer.from(archived).toString('utf8')) === parseFiles(body)) return;
  throw messageChanged(published, 'its files differ from those that the webhook received before');
}
