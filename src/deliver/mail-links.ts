import { DocketError } from '../base/error.ts';
import { type Artifact, type ArtifactFormat, folderFiles, type MailBody } from '../render/artifact.ts';
import type { Archive, Sealed } from './archive.ts';
import type { Delivery } from './delivery.ts';
import type { DeliveryRow } from './ledger.ts';
import type { SharedLink } from './shelf.ts';

/** A file that is too large for an e-mail, and where it is. */
export interface FileLink extends SharedLink {
  readonly name: string;
  readonly bytes: number;
}

const URL_LIKE = /^[a-z][a-z0-9]*:\/\//;

interface LinkInput {
  readonly formats: readonly ArtifactFormat[];
  readonly sealed: Sealed;
  readonly deliveries: readonly Delivery[];
  readonly rows: readonly DeliveryRow[];
  readonly archive: Pick<Archive, 'link'>;
}

/**
 * Where the files of these formats are, from the first that has all of them: a bucket of the report that gives links, the
 * archive if it does, the places that other deliveries of the run name; or the delivery that has yet to happen. Throws
 * `deliver.target_refused` when there is none: a mail without its files says nothing.
 */
export async function linksTo(input: LinkInput): Promise<readonly FileLink[] | { readonly waitsFor: string }> {
  const { formats, sealed, deliveries, rows } = input;
  const wanted: readonly ArtifactFormat[] = formats.includes('csv') ? [...formats, 'schema'] : formats;
  const files = folderFiles(sealed.artifacts).filter(({ format }) => wanted.includes(format));
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  const sent = deliveries.filter(({ row }) => states.get(row.id) === 'sent');
  for await (const known of sources(input, sent, files)) {
    const found = files.flatMap(({ name, bytes }): FileLink[] => {
      const link = known.get(name);
      return link === undefined ? [] : [{ name, bytes, ...link }];
    });
    if (files.length > 0 && found.length === files.length) return found;
  }
  const waited = deliveries.find(({ row }) => states.get(row.id) === 'pending' && /-(s3|sftp)$/.test(row.target));
  if (waited !== undefined) return { waitsFor: waited.row.recipient };
  throw new DocketError('deliver.target_refused', 'The attachments are too large for an e-mail.', {
    expected:
      'files within max_attachment, an S3 or SFTP delivery of the report that has them, or an archive in a bucket',
    got: sealed.artifacts.map(({ name, bytes }) => `${name} (${bytes})`).join(', '),
    next:
      input.archive.link === undefined
        ? 'Attach fewer files, narrow the report, raise max_attachment, or add an S3 or SFTP delivery: the mail then links to it. An archive in a bucket gives links, too; one in a directory has none.'
        : 'The archive’s credentials are of a session and end within a day, and so would a link. Add an S3 delivery with a public_url or credentials of its own, or give the archive credentials that do not end.',
  });
}

/** What each place knows of the files, by their names, the best first; asked one after the other. */
async function* sources(
  { sealed, archive }: LinkInput,
  sent: readonly Delivery[],
  files: readonly Artifact[],
): AsyncGenerator<ReadonlyMap<string, SharedLink>> {
  for (const { shared } of sent) if (shared !== undefined) yield await shared();
  if (archive.link !== undefined) {
    const links = new Map<string, SharedLink>();
    for (const { name } of files) {
      const link = await archive.link(sealed, name);
      if (link !== undefined) links.set(name, link);
    }
    yield links;
  }
  yield new Map(
    sent
      .flatMap(({ links }) => [...(links?.() ?? [])])
      .filter(([, url]) => URL_LIKE.test(url))
      .map(([name, url]) => [name, { url, until: null }]),
  );
}

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => HTML[character] ?? '');
const MEGABYTE = 1024 * 1024;
/** `3.0 MB`, and `1 kB` for a file of some bytes: none is of no size. */
const sizeText = (bytes: number): string =>
  bytes < MEGABYTE / 10 ? `${Math.max(1, Math.round(bytes / 1024))} kB` : `${(bytes / MEGABYTE).toFixed(1)} MB`;

/** Until when all of them open, and that they open for anybody. */
function heldUntil(links: readonly FileLink[]): string {
  const ends = links.flatMap(({ until }) => until ?? []);
  if (ends.length === 0) return '';
  const first = new Date(Math.min(...ends)).toISOString();
  return ` until ${first.slice(0, 10)} ${first.slice(11, 16)} UTC, for anybody who has this mail`;
}

/** The mail with the links in front, in both its forms. */
export function linkedBody(
  { html, text }: Pick<MailBody, 'html' | 'text'>,
  links: readonly FileLink[],
  limit: number,
): Pick<MailBody, 'html' | 'text'> {
  const lead = `The files are larger than ${sizeText(limit)} and are not attached. They are here${heldUntil(links)}:`;
  const items = links.map(
    ({ name, bytes, url }) =>
      // A reader's program may know nothing of sftp: and the like; what it does know would only be long.
      `<li><a href="${escaped(url)}">${escaped(name)}</a> (${sizeText(bytes)})${/^https?:/.test(url) ? '' : `<br>${escaped(url)}`}</li>`,
  );
  const block = `<div style="padding:16px;font-family:Arial,sans-serif;font-size:14px;line-height:1.5">${lead}<ul>${items.join('')}</ul></div>`;
  const body = /<body\b[^>]*>/i.exec(html);
  const at = body === null ? 0 : body.index + body[0].length;
  const doctype = body === null ? (/^\s*<!doctype[^>]*>/i.exec(html)?.[0].length ?? 0) : at;
  const lines = links.map(({ name, bytes, url }) => `  ${name} (${sizeText(bytes)}): ${url}`);
  return {
    html: html.slice(0, doctype) + block + html.slice(doctype),
    text: `${lead}\n${lines.join('\n')}\n\n${text}`,
  };
}
