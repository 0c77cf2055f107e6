import { z } from 'zod';
import type { Archive, Sealed } from './archive.ts';
import type { Message } from './message.ts';
import { corrupt } from './sealed-folder.ts';

type Kept = Pick<Archive, 'message'>;

/** What is sent again must be what was archived when it was sent before. */
const changed = (sealed: Sealed, what: string): Error =>
  corrupt(`${sealed.manifest.org}/${sealed.manifest.report}/${sealed.manifest.run}`, what, {
    expected: 'the texts and files of the message that an earlier attempt has sent',
    got: 'others, in files and a manifest that agree with each other',
  });

/** Refuses a mail with other texts, files or pictures than the one that an earlier attempt sent. Throws `archive.corrupt`. */
export async function assertSameMail(
  archive: Kept,
  sealed: Sealed,
  delivery: string,
  { boundary }: Pick<Message, 'boundary'>,
): Promise<void> {
  const kept = await archive.message(sealed, delivery);
  if (kept === undefined || Buffer.from(kept).includes(boundary)) return;
  throw changed(sealed, 'its e-mail is not the one that was sent before');
}

const filesSchema = z.object({
  data: z.object({ files: z.array(z.object({ name: z.string(), sha256: z.string() })) }),
});
const filesOf = (body: string): string => JSON.stringify(filesSchema.parse(JSON.parse(body)).data.files);

/** As `assertSameMail`, of what a webhook is told: the same files, wherever they are by now. */
export async function assertSameFiles(archive: Kept, sealed: Sealed, delivery: string, body: string): Promise<void> {
  const kept = await archive.message(sealed, delivery, 'json');
  if (kept === undefined || filesOf(Buffer.from(kept).toString('utf8')) === filesOf(body)) return;
  throw changed(sealed, 'its files are not those that the webhook was told of before');
}
