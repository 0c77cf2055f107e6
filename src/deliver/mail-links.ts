import { DocketError } from '../base/error.ts';
import { type Artifact, type ArtifactFormat, folderFiles, type MailBody } from '../render/artifact.ts';
import type { Delivery } from './delivery.ts';
import type { DeliveryRow } from './ledger.ts';

/** A file that is too large for an e-mail, and where it is. */
export interface FileLink {
  readonly name: string;
  readonly bytes: number;
  readonly url: string;
}

const URL_LIKE = /^[a-z][a-z0-9]*:\/\//;

/**
 * Where the files of these formats are, by what other deliveries of the run say of themselves; or the one that has yet
 * to happen. Throws `deliver.target_refused` when there is none: a mail without its files says nothing.
 */
export function linksTo(
  formats: readonly ArtifactFormat[],
  artifacts: readonly Artifact[],
  deliveries: readonly Delivery[],
  rows: readonly DeliveryRow[],
): readonly FileLink[] | { readonly waitsFor: string } {
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  const wanted: readonly ArtifactFormat[] = formats.includes('csv') ? [...formats, 'schema'] : formats;
  const files = folderFiles(artifacts).filter(({ format }) => wanted.includes(format));
  const linking = deliveries.filter(({ links }) => links !== undefined);
  const known = new Map(
    linking
      .filter(({ row }) => states.get(row.id) === 'sent')
      .flatMap(({ links }) => [...(links?.() ?? [])])
      .filter(([, url]) => URL_LIKE.test(url)),
  );
  const found = files.flatMap(({ name, bytes }): FileLink[] => {
    const url = known.get(name);
    return url === undefined ? [] : [{ name, bytes, url }];
  });
  if (files.length > 0 && found.length === files.length) return found;
  const waited = linking.find(({ row }) => states.get(row.id) === 'pending' && /-(s3|sftp)$/.test(row.target));
  if (waited !== undefined) return { waitsFor: waited.row.recipient };
  throw new DocketError('deliver.target_refused', 'The attachments are too large for an e-mail.', {
    expected: 'files within max_attachment, or an S3 or SFTP delivery of the report that has them',
    got: artifacts.map(({ name, bytes }) => `${name} (${bytes})`).join(', '),
    next: 'Attach fewer files, narrow the report, raise max_attachment, or add an S3 or SFTP delivery: the mail then links to it.',
  });
}

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => HTML[character] ?? '');
const megabytes = (bytes: number): string => `${(bytes / (1024 * 1024)).toFixed(1)} MB`;

/** The mail with the links in front, in both its forms. */
export function linkedBody(
  { html, text }: Pick<MailBody, 'html' | 'text'>,
  links: readonly FileLink[],
  limit: number,
): Pick<MailBody, 'html' | 'text'> {
  const lead = `The files are larger than ${megabytes(limit)} and are not attached. They are here:`;
  const items = links.map(
    ({ name, bytes, url }) =>
      `<li><a href="${escaped(url)}">${escaped(name)}</a> (${megabytes(bytes)})<br>${escaped(url)}</li>`,
  );
  const block = `<div style="padding:16px;font-family:Arial,sans-serif;font-size:14px;line-height:1.5">${lead}<ul>${items.join('')}</ul></div>`;
  const body = /<body\b[^>]*>/i.exec(html);
  const at = body === null ? 0 : body.index + body[0].length;
  const doctype = body === null ? (/^\s*<!doctype[^>]*>/i.exec(html)?.[0].length ?? 0) : at;
  const lines = links.map(({ name, bytes, url }) => `  ${name} (${megabytes(bytes)}): ${url}`);
  return {
    html: html.slice(0, doctype) + block + html.slice(doctype),
    text: `${lead}\n${lines.join('\n')}\n\n${text}`,
  };
}
