import { DocketError } from '../../../base/error.ts';
import { messagesFor } from '../../../i18n/messages.ts';
import { type Artifact, individualFiles, type MailBody, outputFormatOf } from '../../../render/artifact.ts';
import type { Archive, PublishedRun } from '../../archive/archive.ts';
import type { SharedLink } from '../../archive/storage/archive-storage.ts';
import type { DeliveryRow } from '../../ledger/ledger.ts';
import { escapeHtml } from '../../notices/notice-html.ts';
import type { Delivery } from '../target.ts';

/** A link to a file that is too large for an e-mail. */
export interface FileLink extends SharedLink {
  readonly name: string;
  readonly bytes: number;
}

const URL_LIKE = /^[a-z][a-z0-9]*:\/\//;

interface LinkInput {
  readonly formats: readonly string[];
  readonly published: PublishedRun;
  readonly deliveries: readonly Delivery[];
  readonly rows: readonly DeliveryRow[];
  readonly archive: Archive;
  /** The mail server's limit for a message, in bytes; undefined if the server does not announce one. */
  readonly announcedSize?: number | undefined;
}

/**
 * Links to the files of these formats, from the first source that has all of them: an S3 delivery of the run, the
 * archive, or the locations of other deliveries. If a pending delivery will have them, returns its recipient instead.
 * Throws `deliver.target_refused` when there is no source.
 */
export async function findFileLinks(input: LinkInput): Promise<readonly FileLink[] | { readonly waitsFor: string }> {
  const { formats, published, deliveries, rows } = input;
  const files = individualFiles(published.artifacts).filter((artifact) => formats.includes(outputFormatOf(artifact)));
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  const sent = deliveries.filter(({ row }) => states.get(row.id) === 'sent');
  for await (const source of linkSources(input, sent, files)) {
    const found = files.flatMap(({ name, bytes }): FileLink[] => {
      const link = source.get(name);
      return link === undefined ? [] : [{ name, bytes, ...link }];
    });
    if (files.length > 0 && found.length === files.length) return found;
  }
  const pending = deliveries.find(({ row, linkable }) => linkable === true && states.get(row.id) === 'pending');
  if (pending !== undefined) return { waitsFor: pending.row.recipient };
  throw new DocketError('deliver.target_refused', 'The attachments are too large for an e-mail.', {
    expected:
      'files whose base64 form fits max_attachment and the SIZE of the mail server, or an S3 or SFTP delivery of the report or an archive in a bucket to link to',
    got: `${published.artifacts.map(({ name, bytes }) => `${name} (${bytes})`).join(', ')}${input.announcedSize === undefined ? '' : `; the mail server announces SIZE ${input.announcedSize}`}`,
    next:
      input.archive.link === undefined
        ? 'Attach fewer files, narrow the report, raise max_attachment, or add an S3 or SFTP delivery, to which the e-mail then links. An archive in a bucket can be linked to as well, an archive in a directory cannot.'
        : 'The credentials of the archive expire within a day, and its links would expire with them. Add an S3 delivery with a public_url or its own credentials, or use credentials without expiry for the archive.',
  });
}

/**
 * Links by file name from each source, best source first. Lazy: a source is used only if the earlier ones lack a file.
 */
async function* linkSources(
  { published, archive }: LinkInput,
  sent: readonly Delivery[],
  files: readonly Artifact[],
): AsyncGenerator<ReadonlyMap<string, SharedLink>> {
  for (const { sharedLinks } of sent) if (sharedLinks !== undefined) yield await sharedLinks();
  if (archive.link !== undefined) {
    const links = new Map<string, SharedLink>();
    for (const { name } of files) {
      const link = await archive.link(published, name);
      if (link !== undefined) links.set(name, link);
    }
    yield links;
  }
  yield new Map(
    sent
      .flatMap(({ fileLocations }) => [...(fileLocations?.() ?? [])])
      .filter(([, url]) => URL_LIKE.test(url))
      .map(([name, url]) => [name, { url, until: null }]),
  );
}

const MEGABYTE = 1024 * 1024;
/** E.g. `3.0 MB`; at least `1 kB`. */
const sizeText = (bytes: number): string =>
  bytes < MEGABYTE / 10 ? `${Math.max(1, Math.round(bytes / 1024))} kB` : `${(bytes / MEGABYTE).toFixed(1)} MB`;

/** When the first of the links expires; undefined if none does. The links need no login. */
function expiryText(links: readonly FileLink[]): string | undefined {
  const ends = links.flatMap(({ until }) => until ?? []);
  if (ends.length === 0) return undefined;
  const first = new Date(Math.min(...ends)).toISOString();
  return `${first.slice(0, 10)} ${first.slice(11, 16)} UTC`;
}

/**
 * The e-mail with the links at the top of its HTML and its text. @param locale the report's locale; English by default
 */
export function withFileLinks(
  { html, text }: Pick<MailBody, 'html' | 'text'>,
  links: readonly FileLink[],
  locale?: string,
): Pick<MailBody, 'html' | 'text'> {
  const lead = messagesFor(locale).notice.fileLinks(expiryText(links));
  const items = links.map(
    ({ name, bytes, url }) =>
      // Mail programs may not open other schemes such as sftp, so the URL is shown as text.
      `<li><a href="${escapeHtml(url)}">${escapeHtml(name)}</a> (${sizeText(bytes)})${/^https?:/.test(url) ? '' : `<br>${escapeHtml(url)}`}</li>`,
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
