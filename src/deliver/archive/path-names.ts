import { DocketError } from '../../base/error.ts';
import { type Manifest, PICTURE_NAME } from './manifest.ts';
import { mailFiles } from './run-folder/mail-files.ts';

/** Names in a run's folder that artifacts must not have. */
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

/** Files of an e-mail's further bodies. */
const BODY_FILE = /^mail-[a-z-]+\.(html|txt)$/i;

/** Whether a name can be that of an organization, report or run. Files with other names are foreign to the archive. */
export const isPathName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(name);

const invalidName = (message: string, expected: string, name: string): DocketError =>
  new DocketError('archive.unwritable', message, { expected, got: `"${name}"`, retryable: false });

/**
 * Returns a name that is one plain path component, so that no path leaves the archive. Throws `archive.unwritable` for
 * others.
 */
export function requirePathName(name: string, what: string): string {
  if (isPathName(name)) return name;
  throw invalidName(`The archive cannot use this ${what} as a folder name.`, 'letters, digits, ".", "_" and "-"', name);
}

const isPlainName = (name: string): boolean => name.length > 0 && !name.startsWith('.') && !/[/\\\p{Cc}]/u.test(name);

/** The path of a file in a pack's folder. Names of e-mail files are not reserved there. */
const PACK_FILE = /^(?:[a-z0-9-]{1,40}-)?[0-9a-f]{10}\/(.+)$/s;

/** Whether a file is in the folder of a pack. */
export const isPackFile = (name: string): boolean => {
  const [, file] = PACK_FILE.exec(name) ?? [];
  return file !== undefined && isPlainName(file);
};

/** Throws `archive.unwritable` if an artifact's name is reserved or not plain. */
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

/**
 * Checks a picture's name. Pictures lie beside `mail.html`; artifacts cannot have the same name, because their endings
 * differ. Throws `archive.unwritable`.
 */
export function requirePictureName(name: string): string {
  if (PICTURE_NAME.test(name)) return name;
  throw invalidName('The archive cannot store a picture of this name.', 'mail-<section>.png', name);
}

/** Names of all published files that deliveries need, relative to the run's folder. Throws `archive.unwritable`. */
export const publishedNames = ({ files, mail }: Manifest): readonly string[] => [
  ...files.map(({ name }) => `files/${requireArtifactName(name)}`),
  ...mailFiles(mail).map(({ name, kind }) => (kind === 'picture' ? requirePictureName(name) : name)),
];
