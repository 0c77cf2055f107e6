import { DocketError } from '../../base/error.ts';
import { type Manifest, PICTURE_NAME } from './manifest.ts';
import { mailFiles } from './run-folder/mail-files.ts';

/** Names in a run's folder that no artifact may have. */
export const RESERVED_NAMES = [
  'mail.html',
  'mail.txt',
  'manifest.json',
  'receipts.json',
  'release.json',
  'chain.json',
  'messages',
  'attempts',
  'files',
] as const;

/** Files of further bodies of the e-mail. */
const BODY_FILE = /^mail-[a-z-]+\.(html|txt)$/i;

/** Whether a name may be that of an organization, a report or a run. Other names in the archive are foreign. */
export const isPathName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(name);

const invalidName = (message: string, expected: string, name: string): DocketError =>
  new DocketError('archive.unwritable', message, { expected, got: `"${name}"`, retryable: false });

/** A name as one plain path component, so that no path leaves the archive. Throws `archive.unwritable`. */
export function requirePathName(name: string, what: string): string {
  if (isPathName(name)) return name;
  throw invalidName(`The archive cannot use this ${what} as a folder name.`, 'letters, digits, ".", "_" and "-"', name);
}

const isPlainName = (name: string): boolean => name.length > 0 && !name.startsWith('.') && !/[/\\\p{Cc}]/u.test(name);

/** The folder of a pack of a report with `split`, and the file in it. There, the e-mail is a file like others. */
const PACK_FILE = /^(?:[a-z0-9-]{1,40}-)?[0-9a-f]{10}\/(.+)$/s;

/** Whether a file is in the folder of a pack. */
export const isPackFile = (name: string): boolean => {
  const [, file] = PACK_FILE.exec(name) ?? [];
  return file !== undefined && isPlainName(file);
};

/** Throws `archive.unwritable` for an artifact's name that is reserved or not plain. */
export function requireArtifactName(name: string): string {
  if (isPackFile(name)) return name;
  const reserved: readonly string[] = RESERVED_NAMES;
  const isPlain = isPlainName(name);
  if (isPlain && !reserved.includes(name.toLowerCase()) && !BODY_FILE.test(name)) return name;
  throw invalidName(
    'The archive cannot store a file of this name.',
    `a plain file name other than ${RESERVED_NAMES.join(', ')}`,
    name,
  );
}

/** Pictures are beside `mail.html`. No artifact has their name: artifacts have other endings. Throws `archive.unwritable`. */
export function requirePictureName(name: string): string {
  if (PICTURE_NAME.test(name)) return name;
  throw invalidName('The archive cannot store a picture of this name.', 'mail-<section>.png', name);
}

/** Names of all published files that a delivery needs, relative to the run's folder. Throws `archive.unwritable`. */
export const publishedNames = ({ files, mail }: Manifest): readonly string[] => [
  ...files.map(({ name }) => `files/${requireArtifactName(name)}`),
  ...mailFiles(mail).map(({ name, kind }) => (kind === 'picture' ? requirePictureName(name) : name)),
];
