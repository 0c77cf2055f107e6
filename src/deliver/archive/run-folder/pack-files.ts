import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256 } from '../../../base/sha256.ts';
import type { Desk } from '../../../definitions/schema/split.ts';
import { splitSlug } from '../../../definitions/split.ts';
import { type Artifact, artifactKind, MAIL_MEDIA_TYPES, type RunMail } from '../../../render/artifact.ts';
import type { PublishedRun } from '../archive.ts';
import { archiveCorrupt } from '../archive-errors.ts';
import type { Manifest, PackRecord } from '../manifest.ts';
import { mailContents, mailHashes, readMail } from './run-folder.ts';

/** Format of the files that make up a pack's e-mail. */
const MAIL_FORMAT = 'mail';

/** Format, in the run's manifest, of files without the mark of a corrected edition. */
export const UNMARKED = 'unmarked';
/** Slug of the folder with the unmarked files. @param desk the value of a pack */
export const unmarkedSlug = (desk?: Pick<Desk, 'slug'>): string =>
  splitSlug(desk === undefined ? UNMARKED : `${UNMARKED} ${desk.slug}`);

/** Whether a file is an output of the report, as opposed to part of a pack's e-mail. */
export const isReportFile = ({ format }: Pick<Artifact, 'format'>): boolean => format !== MAIL_FORMAT;

const toMediaType = (name: string): string =>
  name.endsWith('.html') ? MAIL_MEDIA_TYPES.html : name.endsWith('.txt') ? MAIL_MEDIA_TYPES.text : 'image/png';

/**
 * Writes a pack's e-mail beside its files. Returns all files of the pack with their names in the run, and the e-mail's
 * entry for the pack's manifest.
 * @param folder the folder of the pack's files
 */
export async function writePackFiles(
  folder: string,
  slug: string,
  artifacts: readonly Artifact[],
  mail: RunMail,
): Promise<{ readonly files: readonly Artifact[]; readonly mail: NonNullable<Manifest['mail']> }> {
  const written: Artifact[] = [];
  for (const [name, content] of mailContents(mail)) {
    const path = join(folder, name);
    const bytes = Buffer.from(content);
    await writeFile(path, bytes);
    written.push({
      name,
      format: MAIL_FORMAT,
      mediaType: toMediaType(name),
      path,
      bytes: bytes.length,
      sha256: sha256(bytes),
    });
  }
  const files = [...new Map([...artifacts, ...written].map((artifact) => [artifact.name, artifact])).values()];
  return { files: files.map((file) => ({ ...file, name: `${slug}/${file.name}` })), mail: mailHashes(mail) };
}

/**
 * Reads one pack as if it were a run, with its own manifest, files and e-mail and nothing of other packs. Throws
 * `archive.corrupt`.
 */
export async function readPack(
  { artifacts, manifest: { org, report, run } }: PublishedRun,
  { slug, manifest }: Pick<PackRecord, 'slug' | 'manifest'>,
): Promise<PublishedRun> {
  const location = `${org}/${report}/${run}/${slug}`;
  if (manifest === undefined) throw archiveCorrupt(location, 'it has no manifest');
  const prefix = `${slug}/`;
  const own = new Map(
    artifacts.flatMap((artifact) =>
      artifact.name.startsWith(prefix) ? [[artifact.name.slice(prefix.length), artifact] as const] : [],
    ),
  );
  const find = (name: string): Artifact => {
    const artifact = own.get(name);
    if (artifact === undefined) throw archiveCorrupt(location, `${name} is missing`);
    return artifact;
  };
  const folder = dirname(find('mail.html').path);
  return Object.freeze({
    folder,
    manifest,
    artifacts: manifest.files.map((file) => {
      const { name, format, sha256: expected } = file;
      const artifact = find(name);
      if (artifact.sha256 !== expected) throw archiveCorrupt(location, `${name} is of another pack`);
      return Object.freeze({ ...artifact, name, format, ...artifactKind(file) });
    }),
    mail: await readMail(folder, manifest, location),
  });
}

/** Reads a run's file set with the correction mark, and its file set without it. Throws `archive.corrupt`. */
export async function readFileSets(
  published: PublishedRun,
): Promise<{ readonly marked: PublishedRun; readonly unmarked: PublishedRun | undefined }> {
  const { unmarked } = published.manifest;
  if (unmarked === undefined) return { marked: published, unmarked };
  const artifacts = published.artifacts.filter(({ name }) => !name.startsWith(`${unmarked.slug}/`));
  return { marked: Object.freeze({ ...published, artifacts }), unmarked: await readPack(published, unmarked) };
}
