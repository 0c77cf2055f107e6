import { DocketError } from '../../../base/error.ts';
import { MAIL_BODY_NAMES, type MailBodyName } from '../../../render/artifact.ts';
import type { Manifest } from '../manifest.ts';

type ManifestMail = Manifest['mail'];

/** A file of the archived e-mail. */
export interface MailFile {
  readonly name: string;
  readonly kind: 'html' | 'text' | 'picture';
  /** Hex. Undefined in manifests of versions that stored no hash. */
  readonly sha256: string | undefined;
}

export interface MailBodyFiles {
  /** Undefined in manifests of versions that supported one body only. */
  readonly body: string | undefined;
  readonly html: MailFile;
  readonly text: MailFile;
  readonly pictures: readonly (MailFile & { readonly cid: string })[];
}

/** The name of a further body's file, e.g. `mail-summary.html`. */
export const bodyFileName = (body: string, ending: 'html' | 'txt'): string => `mail-${body}.${ending}`;

/**
 * The files of each body: `mail.html` and `mail.txt` for the first body, `mail-<body>.html` and `mail-<body>.txt` for
 * the others.
 */
export function mailBodyFiles(mail: ManifestMail): readonly MailBodyFiles[] {
  const files = (
    stem: (ending: 'html' | 'txt') => string,
    entry: Omit<NonNullable<ManifestMail>, 'others'> | undefined,
  ): MailBodyFiles => ({
    body: entry?.body,
    html: { name: stem('html'), kind: 'html', sha256: entry?.html_sha256 },
    text: { name: stem('txt'), kind: 'text', sha256: entry?.text_sha256 },
    pictures: (entry?.pictures ?? []).map(({ name, cid, sha256 }) => ({ name, cid, kind: 'picture', sha256 })),
  });
  return [
    files((ending) => `mail.${ending}`, mail),
    ...(mail?.others ?? []).map((entry) => files((ending) => bodyFileName(entry.body, ending), entry)),
  ];
}

/** The files of the e-mail with all its bodies. Each is listed once: bodies share pictures. */
export const mailFiles = (mail: ManifestMail): readonly MailFile[] => [
  ...new Map(
    mailBodyFiles(mail)
      .flatMap(({ html, text, pictures }): MailFile[] => [html, text, ...pictures])
      .map((file) => [file.name, file]),
  ).values(),
];

/**
 * Checks the body's name in a manifest. Throws `archive.corrupt` for a body that only later versions of Docket know.
 */
export function requireBodyName(body: string, location: string): MailBodyName {
  const known = MAIL_BODY_NAMES.find((name) => name === body);
  if (known !== undefined) return known;
  throw new DocketError('archive.corrupt', `The e-mail in ${location} has a body of an unknown kind.`, {
    expected: MAIL_BODY_NAMES.join(', '),
    got: body,
    next: 'Use the version of Docket that made the run, or a later one.',
  });
}
