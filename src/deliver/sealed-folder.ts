import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { diskFacts } from '../base/disk-error.ts';
import { diskFaultOf } from '../base/disk-fault.ts';
import { DocketError } from '../base/error.ts';
import { ARTIFACT_FORMATS, type Artifact, type MailBody, MEDIA_TYPES, type Picture } from '../render/artifact.ts';
import type { Manifest, Sealed } from './archive.ts';
import { syncPath, writeSynced } from './durable-file.ts';
import { PICTURE_NAME } from './manifest.ts';

/** Names that a run's folder has for itself; no artifact may have one of them. */
export const OWN_NAMES = [
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

/** What may be an organization, a report or a run: others' folders and objects may share the place of an archive. */
export const isName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(name);

/** A name of ours in a path: one plain component, so that nothing can be written outside the archive. */
export function pathName(name: string, what: string): string {
  if (isName(name)) return name;
  throw new DocketError('archive.unwritable', `The archive cannot use this ${what} as a folder name.`, {
    expected: 'letters, digits, ".", "_" and "-"',
    got: `"${name}"`,
    retryable: false,
  });
}

function artifactName(name: string): string {
  const own: readonly string[] = OWN_NAMES;
  const safe = name.length > 0 && !name.startsWith('.') && !/[/\\\p{Cc}]/u.test(name);
  if (safe && !own.includes(name.toLowerCase())) return name;
  throw new DocketError('archive.unwritable', 'The archive cannot keep a file of this name.', {
    expected: `a plain file name that is none of ${OWN_NAMES.join(', ')}`,
    got: `"${name}"`,
    retryable: false,
  });
}

/** Pictures stand beside `mail.html`, where no artifact can: those have other endings. */
function pictureName(name: string): string {
  if (PICTURE_NAME.test(name)) return name;
  throw new DocketError('archive.unwritable', 'The archive cannot keep a picture of this name.', {
    expected: 'mail-<section>.png',
    got: `"${name}"`,
    retryable: false,
  });
}

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** SHA-256 of a file, hex. */
export async function fileDigest(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

async function sameFileSystemMove(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    // A renderer may have made the file elsewhere; the staged folder must still end up with bytes of its own.
    if (!isCode(error, 'EXDEV')) throw error;
    await copyFile(from, to);
  }
}

/** Whether a failure of the file system has this code, e.g. `ENOENT`. */
export const isCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);

/**
 * Brings a staged folder into its final form, all of it synced: `<files>/<artifact>`, `mail.html`, `mail.txt`,
 * the mail's pictures, `manifest.json`, and nothing else (what a renderer left behind goes).
 * @param files folder of the artifacts inside the run's folder: `files`, or `.`
 * @returns the names at the top of the folder, and the manifest as it was written
 */
export async function assemble(
  staged: string,
  files: string,
  manifest: Manifest,
  artifacts: readonly Artifact[],
  mail: MailBody,
): Promise<{ readonly names: readonly string[]; readonly manifest: Manifest }> {
  await mkdir(join(staged, files), { recursive: true });
  for (const artifact of artifacts) {
    const place = join(staged, files, artifactName(artifact.name));
    if (resolve(artifact.path) !== resolve(place)) await sameFileSystemMove(artifact.path, place);
    await syncPath(place);
  }
  const sealed: Manifest = {
    ...manifest,
    mail: {
      html_sha256: sha256(mail.html),
      text_sha256: sha256(mail.text),
      pictures: mail.pictures.map(({ name, cid, bytes }) => ({ name, cid, sha256: sha256(bytes) })),
    },
  };
  const own = new Map<string, string | Uint8Array>([
    ...mail.pictures.map(({ name, bytes }) => [pictureName(name), bytes] as const),
    ['mail.html', mail.html],
    ['mail.txt', mail.text],
    ['manifest.json', `${JSON.stringify(sealed, null, 2)}\n`],
  ]);
  const listed = files === '.' ? artifacts.map((artifact) => artifact.name) : [files];
  for (const name of await readdir(staged)) {
    if (!listed.includes(name)) await rm(join(staged, name), { recursive: true, force: true });
  }
  for (const [name, content] of own) await writeSynced(join(staged, name), content);
  await syncPath(join(staged, files));
  await syncPath(staged);
  return { names: [...listed, ...own.keys()], manifest: sealed };
}

/** The sealed files of a run, by their names in its folder: all that a delivery needs. Throws for names that no run has. */
export const sealedNames = ({ files, mail }: Manifest): readonly string[] => [
  ...files.map(({ name }) => `files/${artifactName(name)}`),
  'mail.html',
  'mail.txt',
  ...(mail?.pictures ?? []).map(({ name }) => pictureName(name)),
];

/** An `archive.corrupt` that names the run's place and what is wrong with it. */
export const corrupt = (place: string, what: string, detail: { expected?: string; got?: string; cause?: unknown }) =>
  new DocketError('archive.corrupt', `The archived run in ${place} is not what was sealed: ${what}.`, {
    ...detail,
    where: place,
    next: 'Nothing of it is sent. Restore it from a backup, or remove it and run the report again.',
  });

/**
 * For a file that could not be read: throws `archive.corrupt`, or `archive.unreachable` where the disk is to blame or all of
 * `folder` is gone, as when an archive is unmounted while a run is delivered.
 * @param place as `folder`, for people
 */
const missing =
  (folder: string, name: string, place = folder) =>
  async (cause: unknown): Promise<never> => {
    const fault = diskFaultOf(cause);
    const gone = fault === undefined && isGone(cause) && (await stat(folder).then(() => false, isGone));
    if (fault === undefined && !gone) throw corrupt(place, `${name} is missing`, { cause });
    const words = fault?.words ?? 'the folder of the run is not there';
    throw new DocketError('archive.unreachable', `${name} of an archived run cannot be read: ${words}.`, {
      where: place,
      got: fault?.code ?? 'ENOENT',
      next:
        fault === undefined
          ? 'Look whether the archive is mounted.'
          : 'Look at the disk of the archive, and at the limit of open files.',
      cause,
    });
  };

const isGone = (error: unknown): boolean => isCode(error, 'ENOENT', 'ENOTDIR');

/**
 * A run's folder with every file compared with its manifest. Throws `archive.corrupt`.
 * @param place where the run is, for people: the folder itself, or what it is a copy of
 */
export async function readSealed(folder: string, files: string, manifest: Manifest, place: string): Promise<Sealed> {
  const artifacts: Artifact[] = [];
  for (const file of manifest.files) {
    const path = join(folder, files, artifactName(file.name));
    const found = await stat(path).then(
      async ({ size }) => ({ size, digest: await fileDigest(path).catch(missing(folder, file.name, place)) }),
      missing(folder, file.name, place),
    );
    if (found.digest !== file.sha256) {
      throw corrupt(place, `${file.name} has changed`, {
        expected: `SHA-256 ${file.sha256}`,
        got: `${found.digest} (${found.size} bytes instead of ${file.bytes})`,
      });
    }
    const { name, bytes } = file;
    const format = formatOf(file.format, place);
    artifacts.push(Object.freeze({ name, format, mediaType: MEDIA_TYPES[format], path, bytes, sha256: file.sha256 }));
  }
  const mail = await readMail(folder, manifest, place);
  if (manifest.mail !== undefined) {
    if (sha256(mail.html) !== manifest.mail.html_sha256) throw corrupt(place, 'mail.html has changed', {});
    if (sha256(mail.text) !== manifest.mail.text_sha256) throw corrupt(place, 'mail.txt has changed', {});
  }
  return Object.freeze({ folder, manifest: Object.freeze(manifest), artifacts: Object.freeze(artifacts), mail });
}

function formatOf(format: string, place: string): Artifact['format'] {
  const known = ARTIFACT_FORMATS.find((one) => one === format);
  if (known !== undefined) return known;
  throw corrupt(place, `"${format}" is not a format of Docket`, {});
}

async function readMail(folder: string, manifest: Manifest, place: string): Promise<MailBody> {
  const [html, text, pictures] = await Promise.all([
    readFile(join(folder, 'mail.html'), 'utf8').catch(missing(folder, 'the e-mail', place)),
    readFile(join(folder, 'mail.txt'), 'utf8').catch(missing(folder, 'the e-mail', place)),
    Promise.all(
      (manifest.mail?.pictures ?? []).map(async ({ name, cid, sha256: expected }): Promise<Picture> => {
        const bytes = await readFile(join(folder, pictureName(name))).catch(missing(folder, name, place));
        if (sha256(bytes) !== expected) throw corrupt(place, `${name} has changed`, {});
        return { name, cid, bytes };
      }),
    ),
  ]);
  return Object.freeze({ html, text, pictures });
}

/** Failures of the file system → `archive.unwritable`, with the path and what to do; others pass. */
export async function writing<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof DocketError || !(cause instanceof Error && 'code' in cause)) throw cause;
    const fault = diskFaultOf(cause);
    throw new DocketError('archive.unwritable', `The archive cannot be written: ${fault?.words ?? cause.message}.`, {
      where: dirname(folder),
      ...(fault === undefined ? {} : { got: await diskFacts(fault.code, dirname(folder)) }),
      next: 'Check the folder, its permissions and the free space of its disk.',
      cause,
    });
  }
}

/** Refuses bytes of another hash than the sealed ones. Throws `archive.corrupt`. */
function requireDigest(artifact: Artifact, digest: string): void {
  if (digest === artifact.sha256) return;
  throw corrupt(dirname(artifact.path), `${artifact.name} has changed`, {
    expected: `SHA-256 ${artifact.sha256}`,
    got: digest,
  });
}

const isMissing = (artifact: Artifact) => missing(dirname(artifact.path), artifact.name);

/** An artifact's bytes, compared with its hash at the moment they are used. Throws `archive.corrupt`. */
export async function artifactBytes(artifact: Artifact): Promise<Buffer> {
  const bytes = await readFile(artifact.path).catch(isMissing(artifact));
  requireDigest(artifact, createHash('sha256').update(bytes).digest('hex'));
  return bytes;
}

const PIECE = 1024 * 1024;

/**
 * An artifact's bytes in pieces of 1 MiB, for files that memory need not hold. Whoever takes them may call the file whole
 * only after the last one: it fails there when they are not the sealed ones (`archive.corrupt`), and earlier when stopped.
 */
export async function* artifactPieces(artifact: Artifact, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  const hash = createHash('sha256');
  const file = await open(artifact.path, 'r').catch(isMissing(artifact));
  try {
    let at = 0;
    // A file that has grown since is not the sealed one either: its hash will say so.
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(PIECE), 0, PIECE, at);
      const last = bytesRead < PIECE;
      const piece = buffer.subarray(0, bytesRead);
      hash.update(piece);
      at += bytesRead;
      if (last) requireDigest(artifact, hash.digest('hex'));
      if (bytesRead > 0) yield piece;
      if (last) return;
    }
  } finally {
    await file.close();
  }
}
