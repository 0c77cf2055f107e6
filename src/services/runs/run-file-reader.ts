import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Manifest } from '../../deliver/archive/archive.ts';
import { archiveCorrupt } from '../../deliver/archive/archive-errors.ts';
import type { RunChain } from '../../deliver/archive/chain/run-chain.ts';
import { readManifest } from '../../deliver/archive/run-metadata.ts';
import type { ArchiveStorage, RunFiles, RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { artifactKind, MAIL_MEDIA_TYPES } from '../../render/artifact.ts';

/** A file of a run, as its manifest names it. */
export interface FileEntry {
  readonly name: string;
  /** `mail`: `mail.html` and `mail.txt`; `picture`: what the HTML shows as `cid:`. */
  readonly kind: 'file' | 'mail' | 'picture';
  /** Media type. */
  readonly type: string;
  /** Null for parts of the mail, whose manifest notes none. */
  readonly bytes: number | null;
  /** Hex. Null for the mail of runs that older versions have sealed. */
  readonly sha256: string | null;
}

export interface RunFile extends FileEntry {
  readonly bytes: number;
  /** Rejects at once for a file that is missing, at the last piece for one that was changed: `archive.corrupt`. Whoever opens it closes it. */
  open(): Promise<Readable>;
}

/** What the archive keeps of runs, for people to look at. Throws `archive.unreachable`, `archive.corrupt`. */
export interface RunFileReader {
  /** Undefined: the run's files are not there (yet, or any more). */
  files(run: RunRef): Promise<readonly FileEntry[] | undefined>;
  /** Undefined for a name that `files` does not list. */
  file(run: RunRef, name: string): Promise<RunFile | undefined>;
  /** The e-mail with its pictures inside; undefined where there is none. */
  preview(run: RunRef): Promise<string | undefined>;
}

/**
 * Packs as they stand on a shelf. What leaves is compared with the hashes of its manifest, and that with the signed chain
 * where there is one.
 */
export function createRunFileReader(
  shelf: Pick<ArchiveStorage, 'runFiles'>,
  signing?: Pick<RunChain, 'verifyManifest'>,
): RunFileReader {
  const manifestOf = async (run: RunRef, box: RunFiles): Promise<Manifest | undefined> => {
    const manifest = await readManifest(box);
    if (manifest !== undefined) await signing?.verifyManifest(run);
    return manifest;
  };
  const entriesOf = async (run: RunRef, box: RunFiles): Promise<readonly FileEntry[] | undefined> => {
    const manifest = await manifestOf(run, box);
    // Nobody but us writes manifests, as a rule; one of whoever else can write there must not open other files.
    if (manifest?.files.some(({ name }) => /[/\\]/.test(name))) {
      throw archiveCorrupt(box.location, 'manifest.json names a file outside of the run', {});
    }
    return manifest && [...manifest.files.map(fileEntry), ...mailEntries(manifest)];
  };
  return {
    files: (run) => entriesOf(run, shelf.runFiles(run)),

    file: async (run: RunRef, name: string): Promise<RunFile | undefined> => {
      const box = shelf.runFiles(run);
      const entry = (await entriesOf(run, box))?.find((one) => one.name === name);
      if (entry === undefined) return undefined;
      const { bytes } = entry;
      if (bytes !== null) return { ...entry, bytes, open: () => openVerified(box, { ...entry, bytes }) };
      const whole = await readMailPart(box, entry.name, entry.sha256);
      return { ...entry, bytes: whole.byteLength, open: async () => Readable.from([whole], { objectMode: false }) };
    },

    preview: async (run) => {
      const box = shelf.runFiles(run);
      const manifest = await manifestOf(run, box);
      if (manifest === undefined) return undefined;
      let html = (await readMailPart(box, 'mail.html', manifest.mail?.html_sha256 ?? null)).toString('utf8');
      for (const { name, cid, sha256 } of manifest.mail?.pictures ?? []) {
        const picture = await readMailPart(box, name, sha256);
        html = html.replaceAll(`cid:${cid}`, `data:image/png;base64,${picture.toString('base64')}`);
      }
      return html;
    },
  };
}

const fileEntry = (file: Manifest['files'][number]): FileEntry => {
  const { name, bytes, sha256 } = file;
  return { name, kind: 'file', type: artifactKind(file).mediaType, bytes, sha256 };
};

const mailEntries = ({ mail }: Manifest): readonly FileEntry[] => [
  { name: 'mail.html', kind: 'mail', type: MAIL_MEDIA_TYPES.html, bytes: null, sha256: mail?.html_sha256 ?? null },
  { name: 'mail.txt', kind: 'mail', type: MAIL_MEDIA_TYPES.text, bytes: null, sha256: mail?.text_sha256 ?? null },
  ...(mail?.pictures ?? []).map(
    ({ name, sha256 }): FileEntry => ({ name, kind: 'picture', type: 'image/png', bytes: null, sha256 }),
  ),
];

/** A part of the mail, whole: they are small. */
async function readMailPart(box: RunFiles, name: string, sha256: string | null): Promise<Buffer> {
  const bytes = await box.get(name);
  if (bytes === undefined) throw archiveCorrupt(box.location, `${name} is missing`, {});
  if (sha256 !== null && createHash('sha256').update(bytes).digest('hex') !== sha256) {
    throw archiveCorrupt(box.location, `${name} has changed`, {});
  }
  return bytes;
}

/** The first piece is read before anything is answered: what is missing, or small and changed, is told as an error. */
async function openVerified(box: RunFiles, entry: FileEntry & { readonly bytes: number }): Promise<Readable> {
  const found = await box.stream(`files/${entry.name}`);
  if (found === undefined) throw archiveCorrupt(box.location, `${entry.name} is missing`, {});
  const pieces = verifiedChunks(found, entry, box.location);
  let first: Promise<IteratorResult<Uint8Array, void>> | undefined = Promise.resolve(await pieces.next());
  const next = () => {
    const one = first ?? pieces.next();
    first = undefined;
    return one;
  };
  const iterator = { next, return: () => pieces.return() };
  return Readable.from({ [Symbol.asyncIterator]: () => iterator }, { objectMode: false });
}

/** Holds the last piece back until all of it is known to be what was sealed: nobody gets a whole file that is another. */
async function* verifiedChunks(
  pieces: AsyncIterable<Uint8Array>,
  { name, bytes, sha256 }: FileEntry & { readonly bytes: number },
  place: string,
): AsyncGenerator<Uint8Array, void> {
  const hash = createHash('sha256');
  let held: Uint8Array | undefined;
  let size = 0;
  for await (const piece of pieces) {
    hash.update(piece);
    size += piece.byteLength;
    if (size > bytes) break;
    if (held !== undefined) yield held;
    held = piece;
  }
  if (size !== bytes || hash.digest('hex') !== sha256) throw archiveCorrupt(place, `${name} has changed`, {});
  if (held !== undefined) yield held;
}
