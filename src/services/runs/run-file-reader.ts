import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { DocketError } from '../../base/error.ts';
import { sha256 as sha256Of } from '../../base/sha256.ts';
import type { Manifest } from '../../deliver/archive/archive.ts';
import { archiveCorrupt } from '../../deliver/archive/archive-errors.ts';
import type { RunChain } from '../../deliver/archive/chain/run-chain.ts';
import { isPackFile } from '../../deliver/archive/path-names.ts';
import { mailBodyFiles, mailFiles } from '../../deliver/archive/run-folder/mail-files.ts';
import { isReportFile } from '../../deliver/archive/run-folder/pack-files.ts';
import { readManifest } from '../../deliver/archive/run-folder/run-metadata.ts';
import type { ArchiveStorage, RunFiles, RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { artifactKind, type FilledWorkbook, MAIL_MEDIA_TYPES } from '../../render/artifact.ts';
import { MAX_ZIP_BYTES, zipChunks } from '../../render/formats/csv/zip.ts';

export { MAIL_BODY_NAMES } from '../../render/artifact.ts';

/** A file of a run, as its manifest names it. */
export interface FileEntry {
  readonly name: string;
  /** `mail`: the e-mail's HTML and text bodies. `picture`: an image that the HTML shows as `cid:`. */
  readonly kind: 'file' | 'mail' | 'picture';
  /** Media type. */
  readonly type: string;
  /** Null for parts of the e-mail: the manifest has no size for them. */
  readonly bytes: number | null;
  /** Hex. Null for e-mails of runs that older versions published. */
  readonly sha256: string | null;
  /** What was filled in a template. Absent if the file is not made from one. */
  readonly workbook?: FilledWorkbook;
  /** Label of the value whose pack has the file. Absent for files outside packs. */
  readonly pack?: string;
}

export interface RunFile extends FileEntry {
  readonly bytes: number;
  /**
   * The caller closes the stream. Rejects with `archive.corrupt`: at once for a missing file, at the last chunk for a
   * changed one.
   */
  open(): Promise<Readable>;
}

export type RunFileReader = ReturnType<typeof createRunFileReader>;

/**
 * Reads the archived files of runs. Verifies its results against the manifest's hashes, and the manifest against the
 * signed chain if there is one. Throws `archive.unreachable`, `archive.corrupt`.
 */
export function createRunFileReader(storage: Pick<ArchiveStorage, 'runFiles'>, signing?: RunChain) {
  const loadManifest = async (run: RunRef, runFiles: RunFiles): Promise<Manifest | undefined> => {
    const manifest = await readManifest(runFiles);
    if (manifest !== undefined) await signing?.verifyManifest(run);
    return manifest;
  };
  const readEntries = async (run: RunRef, runFiles: RunFiles): Promise<readonly FileEntry[] | undefined> => {
    const manifest = await loadManifest(run, runFiles);
    // A manifest written by an attacker must not give access to other files.
    if (manifest?.files.some(({ name }) => /[/\\]/.test(name) && !isPackFile(name))) {
      throw archiveCorrupt(runFiles.location, 'manifest.json names a file outside the run', {});
    }
    return manifest && [...fileEntries(manifest), ...mailEntries(manifest)];
  };
  return {
    /** Undefined if the run's files are not there yet, or no longer. */
    files: (run: RunRef) => readEntries(run, storage.runFiles(run)),

    /** Undefined for a name that `files` does not list. */
    file: async (run: RunRef, name: string): Promise<RunFile | undefined> => {
      const runFiles = storage.runFiles(run);
      const entry = (await readEntries(run, runFiles))?.find((one) => one.name === name);
      if (entry === undefined) return undefined;
      const { bytes } = entry;
      if (bytes !== null) return { ...entry, bytes, open: () => openVerified(runFiles, { ...entry, bytes }) };
      const whole = await readMailPart(runFiles, entry.name, entry.sha256);
      return { ...entry, bytes: whole.byteLength, open: async () => Readable.from([whole], { objectMode: false }) };
    },

    /** All files of `kind: 'file'`, in the manifest's order. Undefined as for `files`. */
    outputs: async (run: RunRef): Promise<readonly RunFile[] | undefined> => {
      const runFiles = storage.runFiles(run);
      return (await readEntries(run, runFiles))?.flatMap((entry) => {
        const { bytes } = entry;
        if (entry.kind !== 'file' || bytes === null) return [];
        return [{ ...entry, bytes, open: () => openVerified(runFiles, { ...entry, bytes }) }];
      });
    },

    /**
     * A body of the e-mail with embedded pictures; undefined without an e-mail.
     * @param body absent: the first body
     */
    preview: async (run: RunRef, body?: string) => {
      const runFiles = storage.runFiles(run);
      const manifest = await loadManifest(run, runFiles);
      if (manifest === undefined) return undefined;
      const bodies = mailBodyFiles(manifest.mail);
      const files = body === undefined ? bodies[0] : bodies.find((each) => (each.body ?? 'full') === body);
      if (files === undefined) return undefined;
      let html = (await readMailPart(runFiles, files.html.name, files.html.sha256 ?? null)).toString('utf8');
      for (const { name, cid, sha256 } of files.pictures) {
        const picture = await readMailPart(runFiles, name, sha256 ?? null);
        html = html.replaceAll(`cid:${cid}`, `data:image/png;base64,${picture.toString('base64')}`);
      }
      return html;
    },
  };
}

const fileEntry = (file: Manifest['files'][number]): FileEntry => {
  const { name, bytes, sha256, workbook } = file;
  const type = artifactKind(file).mediaType;
  // A pack's e-mail is a file of the pack.
  const kind = isReportFile(file) ? 'file' : type.startsWith('image/') ? 'picture' : 'mail';
  return { name, kind, type, bytes, sha256, ...(workbook === undefined ? {} : { workbook }) };
};

function fileEntries({ files, packs = [] }: Manifest): readonly FileEntry[] {
  const labels = new Map(packs.map(({ slug, label }) => [slug, label]));
  return files.map((file) => {
    const pack = labels.get(file.name.split('/', 1)[0] ?? '');
    return { ...fileEntry(file), ...(pack === undefined ? {} : { pack }) };
  });
}

const MAIL_FILE_TYPES = { html: MAIL_MEDIA_TYPES.html, text: MAIL_MEDIA_TYPES.text, picture: 'image/png' } as const;

const mailEntries = ({ mail }: Manifest): readonly FileEntry[] =>
  mailFiles(mail).map(({ name, kind, sha256 = null }) => ({
    name,
    kind: kind === 'picture' ? 'picture' : 'mail',
    type: MAIL_FILE_TYPES[kind],
    bytes: null,
    sha256,
  }));

/** Reads a part of the e-mail into memory; such parts are small. */
async function readMailPart(runFiles: RunFiles, name: string, sha256: string | null): Promise<Buffer> {
  const bytes = await runFiles.get(name);
  if (bytes === undefined) throw archiveCorrupt(runFiles.location, `${name} is missing`, {});
  if (sha256 !== null && sha256Of(bytes) !== sha256) {
    throw archiveCorrupt(runFiles.location, `${name} has changed`, {});
  }
  return bytes;
}

/**
 * Reads the first chunk before the response starts, so that a missing file, or a small changed one, becomes an error
 * response.
 */
async function openVerified(runFiles: RunFiles, entry: FileEntry & { readonly bytes: number }): Promise<Readable> {
  const found = await runFiles.stream(`files/${entry.name}`);
  if (found === undefined) throw archiveCorrupt(runFiles.location, `${entry.name} is missing`, {});
  return primedStream(verifiedChunks(found, entry, runFiles.location));
}

/** Withholds the last chunk until the hash is verified, so that a changed file is never complete. */
async function* verifiedChunks(
  chunks: AsyncIterable<Uint8Array>,
  { name, bytes, sha256 }: FileEntry & { readonly bytes: number },
  location: string,
): AsyncGenerator<Uint8Array, void> {
  const hash = createHash('sha256');
  let last: Uint8Array | undefined;
  let size = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    size += chunk.byteLength;
    if (size > bytes) break;
    if (last !== undefined) yield last;
    last = chunk;
  }
  if (size !== bytes || hash.digest('hex') !== sha256) throw archiveCorrupt(location, `${name} has changed`, {});
  if (last !== undefined) yield last;
}

/**
 * Makes a stream whose first chunk is already read: early failures then happen here, and not in the middle of a
 * response. Destroying the stream closes the generator, even if nothing was read from it.
 */
export async function primedStream(chunks: AsyncGenerator<Uint8Array, void>): Promise<Readable> {
  let first: Promise<IteratorResult<Uint8Array, void>> | undefined = Promise.resolve(await chunks.next());
  const next = () => {
    const one = first ?? chunks.next();
    first = undefined;
    return one;
  };
  const iterator = { next, return: () => chunks.return() };
  return Readable.from({ [Symbol.asyncIterator]: () => iterator }, { objectMode: false });
}

/** Space per file for its name and its directory entry. */
const ENTRY_BYTES = 1_024;

/**
 * Yields a run's files as one zip, in chunks, with their names in the archive. Compresses texts; workbooks and PDFs are
 * compressed already. Throws `archive.corrupt` for a missing or changed file, so that the chunks yielded before form an
 * incomplete zip. Throws `usage.invalid` before the first chunk for files of more than 4 GB.
 *
 * @param at epoch ms; its day is the date of each file
 */
export async function* zipRunFiles(
  files: readonly Pick<RunFile, 'name' | 'type' | 'bytes' | 'open'>[],
  at: number,
): AsyncGenerator<Uint8Array, void> {
  assertFits(files);
  yield* zipChunks(
    files.map(({ name, type, open }) => ({ name, open, isCompressed: !type.startsWith('text/') })),
    at,
  );
}

function assertFits(files: readonly Pick<RunFile, 'bytes'>[]): void {
  const bytes = files.reduce((sum, file) => sum + file.bytes + ENTRY_BYTES, 0);
  if (bytes <= MAX_ZIP_BYTES) return;
  throw new DocketError('usage.invalid', 'The files of the run are too large for one zip.', {
    expected: `at most ${MAX_ZIP_BYTES} bytes together`,
    got: `${bytes} bytes`,
    next: 'Download them one by one.',
  });
}
