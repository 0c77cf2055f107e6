import { createReadStream } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { forEachWithConcurrency } from '../../../base/concurrency.ts';
import { isErrno } from '../../../base/errno.ts';
import { syncPath, writeSynced } from '../../../base/files/durable-file.ts';
import { sha256, sha256OfStream } from '../../../base/sha256.ts';
import {
  type Artifact,
  artifactKind,
  type InlineImage,
  type MailBody,
  type RunMail,
} from '../../../render/artifact.ts';
import type { PublishedRun } from '../archive.ts';
import { archiveCorrupt, throwMissingFile } from '../archive-errors.ts';
import type { Manifest } from '../manifest.ts';
import { requireArtifactName, requirePictureName } from '../path-names.ts';
import { bodyFileName, type MailBodyFiles, type MailFile, mailBodyFiles, requireBodyName } from './mail-files.ts';

async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    // The renderer may have written to another file system. The staged folder needs its own copy then.
    if (!isErrno(error, 'EXDEV')) throw error;
    await copyFile(from, to);
  }
}

/** Files synced at the same time. */
const SYNC_CONCURRENCY = 8;

const hashMailBody = ({ html, text, pictures }: MailBody) => ({
  html_sha256: sha256(html),
  text_sha256: sha256(text),
  pictures: pictures.map(({ name, cid, bytes }) => ({ name, cid, sha256: sha256(bytes) })),
});

const toPictureFiles = ({ pictures }: MailBody) =>
  pictures.map(({ name, bytes }) => [requirePictureName(name), bytes] as const);

/** The files of an e-mail with all its bodies, by name. */
export function mailContents(mail: RunMail): readonly (readonly [name: string, content: string | Uint8Array])[] {
  const { others = [] } = mail;
  return [
    ...[mail, ...others].flatMap(toPictureFiles),
    ['mail.html', mail.html],
    ['mail.txt', mail.text],
    ...others.flatMap((each): [string, string][] => [
      [bodyFileName(each.body, 'html'), each.html],
      [bodyFileName(each.body, 'txt'), each.text],
    ]),
  ];
}

/** An e-mail's entry in the manifest. */
export function mailHashes(mail: RunMail): NonNullable<Manifest['mail']> {
  const { body, others = [] } = mail;
  return {
    ...(body === undefined ? {} : { body }),
    ...hashMailBody(mail),
    ...(others.length === 0 ? {} : { others: others.map((each) => ({ body: each.body, ...hashMailBody(each) })) }),
  };
}

/**
 * Brings a staged folder into its final form and syncs it: `<files>/<artifact>`, `mail.html`, `mail.txt`, further
 * bodies as `mail-<body>.html` and `mail-<body>.txt`, their pictures and `manifest.json`. Removes everything else, such
 * as temporary files of a renderer.
 * @param files folder of the artifacts inside the run's folder: `files`, or `.`
 * @returns the names at the top level of the folder, and the written manifest
 */
export async function assembleRunFolder(
  staged: string,
  files: string,
  manifest: Manifest,
  artifacts: readonly Artifact[],
  mail: RunMail,
): Promise<{ readonly names: readonly string[]; readonly manifest: Manifest }> {
  await mkdir(join(staged, files), { recursive: true });
  const paths = artifacts.map(({ name }) => join(staged, files, requireArtifactName(name)));
  const folders = [...new Set(paths.map((path) => dirname(path)))];
  for (const path of folders) await mkdir(path, { recursive: true });
  for (const [index, { path }] of artifacts.entries()) {
    const placed = paths[index] ?? path;
    if (resolve(path) !== resolve(placed)) await move(path, placed);
  }
  const complete: Manifest = { ...manifest, mail: mailHashes(mail) };
  const contents = new Map<string, string | Uint8Array>([
    ...mailContents(mail),
    ['manifest.json', `${JSON.stringify(complete, null, 2)}\n`],
  ]);
  const artifactNames = files === '.' ? artifacts.map((artifact) => artifact.name) : [files];
  const kept = new Set(artifactNames.map((name) => name.split('/')[0]));
  for (const name of await readdir(staged)) {
    if (!kept.has(name)) await rm(join(staged, name), { recursive: true, force: true });
  }
  // Made durable with the rest, so that the first delivery need not do it.
  if (files !== '.') await mkdir(join(staged, 'attempts'));
  // Syncs in parallel, because the file system then makes several files durable at once.
  await forEachWithConcurrency(
    [
      ...paths.map((path) => () => syncPath(path)),
      ...[...contents].map(
        ([name, content]) =>
          () =>
            writeSynced(join(staged, name), content),
      ),
    ],
    SYNC_CONCURRENCY,
    (step) => step(),
  );
  await Promise.all([...new Set([...folders, join(staged, files), staged])].map(syncPath));
  return { names: [...artifactNames, ...contents.keys()], manifest: complete };
}

/**
 * The run that this process has just assembled in this folder: the same result as `readPublishedRun`, without reading
 * anything again.
 */
export const assembledRun = (
  folder: string,
  files: string,
  manifest: Manifest,
  artifacts: readonly Artifact[],
  mail: RunMail,
): PublishedRun =>
  Object.freeze({
    folder,
    manifest: Object.freeze(manifest),
    artifacts: Object.freeze(
      artifacts.map((artifact) => Object.freeze({ ...artifact, path: join(folder, files, artifact.name) })),
    ),
    mail: Object.freeze(mail),
  });

/**
 * Reads a run's folder and compares every file with the manifest. Throws `archive.corrupt`, `archive.unreachable`.
 * @param location the run's name in errors: the folder, or the place from which it was copied
 */
export async function readPublishedRun(
  folder: string,
  files: string,
  manifest: Manifest,
  location: string,
): Promise<PublishedRun> {
  const artifacts: Artifact[] = [];
  for (const file of manifest.files) {
    const path = join(folder, files, requireArtifactName(file.name));
    const throwMissing = throwMissingFile(folder, file.name, location);
    const { size } = await stat(path).catch(throwMissing);
    const actual = await sha256OfStream(createReadStream(path)).catch(throwMissing);
    if (actual !== file.sha256) {
      throw archiveCorrupt(location, `${file.name} has changed`, {
        expected: `SHA-256 ${file.sha256}`,
        got: `${actual} (${size} bytes instead of ${file.bytes})`,
      });
    }
    const { name, format, bytes, sha256, workbook } = file;
    const filled = workbook === undefined ? {} : { workbook };
    artifacts.push(Object.freeze({ name, format, ...artifactKind(file), path, bytes, sha256, ...filled }));
  }
  const mail = await readMail(folder, manifest, location);
  return Object.freeze({ folder, manifest: Object.freeze(manifest), artifacts: Object.freeze(artifacts), mail });
}

export async function readMail(folder: string, { mail }: Manifest, location: string): Promise<RunMail> {
  const read = async ({ name, kind, sha256: expected }: MailFile): Promise<Buffer> => {
    const missing = throwMissingFile(folder, kind === 'picture' ? name : 'the e-mail', location);
    const bytes = await readFile(join(folder, name)).catch(missing);
    if (expected !== undefined && sha256(bytes) !== expected) throw archiveCorrupt(location, `${name} has changed`);
    return bytes;
  };
  const readBody = async ({ html, text, pictures }: MailBodyFiles): Promise<MailBody> => ({
    html: (await read(html)).toString('utf8'),
    text: (await read(text)).toString('utf8'),
    pictures: await Promise.all(
      pictures.map(
        async ({ cid, ...file }): Promise<InlineImage> => ({
          name: requirePictureName(file.name),
          cid,
          bytes: await read(file),
        }),
      ),
    ),
  });
  const bodies = await Promise.all(
    mailBodyFiles(mail).map(async (files) => ({
      ...(files.body === undefined ? {} : { body: requireBodyName(files.body, location) }),
      ...(await readBody(files)),
    })),
  );
  const [first, ...others] = bodies;
  if (first === undefined) throw archiveCorrupt(location, 'the e-mail is missing');
  return Object.freeze({
    ...first,
    ...(others.length === 0
      ? {}
      : { others: others.flatMap((each) => (each.body === undefined ? [] : [{ ...each, body: each.body }])) }),
  });
}
