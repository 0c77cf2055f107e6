import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { PackOf, Packs } from '../admin/access/files.ts';
import type { FileEntry, RunFile } from '../admin/access.ts';
import type { Manifest } from '../deliver/archive.ts';
import type { ChainedRuns } from '../deliver/chained-runs.ts';
import { readManifest } from '../deliver/run-papers.ts';
import { corrupt } from '../deliver/sealed-folder.ts';
import type { RunBox, Shelf } from '../deliver/shelf.ts';
import { ARTIFACT_FORMATS, MEDIA_TYPES } from '../render/artifact.ts';

/**
 * Packs as they stand on a shelf. What leaves is compared with the hashes of its manifest, and that with the signed chain
 * where there is one.
 */
export function packsOf(shelf: Pick<Shelf, 'box'>, signing?: Pick<ChainedRuns, 'check'>): Packs {
  const manifestOf = async (run: PackOf, box: RunBox): Promise<Manifest | undefined> => {
    const manifest = await readManifest(box);
    if (manifest !== undefined) await signing?.check(run);
    return manifest;
  };
  const entriesOf = async (run: PackOf, box: RunBox): Promise<readonly FileEntry[] | undefined> => {
    const manifest = await manifestOf(run, box);
    // Nobody but us writes manifests, as a rule; one of whoever else can write there must not open other files.
    if (manifest?.files.some(({ name }) => /[/\\]/.test(name))) {
      throw corrupt(box.place, 'manifest.json names a file outside of the run', {});
    }
    return manifest && [...manifest.files.map(artifactEntry), ...mailEntries(manifest)];
  };
  return {
    files: (run) => entriesOf(run, shelf.box(run)),

    file: async (run: PackOf, name: string): Promise<RunFile | undefined> => {
      const box = shelf.box(run);
      const entry = (await entriesOf(run, box))?.find((one) => one.name === name);
      if (entry === undefined) return undefined;
      const { bytes } = entry;
      if (bytes !== null) return { ...entry, bytes, open: () => opened(box, { ...entry, bytes }) };
      const whole = await paper(box, entry.name, entry.sha256);
      return { ...entry, bytes: whole.byteLength, open: async () => Readable.from([whole], { objectMode: false }) };
    },

    preview: async (run) => {
      const box = shelf.box(run);
      const manifest = await manifestOf(run, box);
      if (manifest === undefined) return undefined;
      let html = (await paper(box, 'mail.html', manifest.mail?.html_sha256 ?? null)).toString('utf8');
      for (const { name, cid, sha256 } of manifest.mail?.pictures ?? []) {
        const picture = await paper(box, name, sha256);
        html = html.replaceAll(`cid:${cid}`, `data:image/png;base64,${picture.toString('base64')}`);
      }
      return html;
    },
  };
}

const artifactEntry = ({ name, format, bytes, sha256 }: Manifest['files'][number]): FileEntry => {
  const known = ARTIFACT_FORMATS.find((one) => one === format);
  const type = known === undefined ? 'application/octet-stream' : MEDIA_TYPES[known];
  return { name, kind: 'file', type, bytes, sha256 };
};

const mailEntries = ({ mail }: Manifest): readonly FileEntry[] => [
  { name: 'mail.html', kind: 'mail', type: MEDIA_TYPES.html, bytes: null, sha256: mail?.html_sha256 ?? null },
  { name: 'mail.txt', kind: 'mail', type: MEDIA_TYPES.text, bytes: null, sha256: mail?.text_sha256 ?? null },
  ...(mail?.pictures ?? []).map(
    ({ name, sha256 }): FileEntry => ({ name, kind: 'picture', type: 'image/png', bytes: null, sha256 }),
  ),
];

/** A part of the mail, whole: they are small. */
async function paper(box: RunBox, name: string, sha256: string | null): Promise<Buffer> {
  const bytes = await box.read(name);
  if (bytes === undefined) throw corrupt(box.place, `${name} is missing`, {});
  if (sha256 !== null && createHash('sha256').update(bytes).digest('hex') !== sha256) {
    throw corrupt(box.place, `${name} has changed`, {});
  }
  return bytes;
}

/** The first piece is read before anything is answered: what is missing, or small and changed, is told as an error. */
async function opened(box: RunBox, entry: FileEntry & { readonly bytes: number }): Promise<Readable> {
  const found = await box.pieces(`files/${entry.name}`);
  if (found === undefined) throw corrupt(box.place, `${entry.name} is missing`, {});
  const pieces = compared(found, entry, box.place);
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
async function* compared(
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
  if (size !== bytes || hash.digest('hex') !== sha256) throw corrupt(place, `${name} has changed`, {});
  if (held !== undefined) yield held;
}
