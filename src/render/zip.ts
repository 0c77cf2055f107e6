import { createReadStream } from 'node:fs';
import { Zip, ZipDeflate } from 'fflate';
import { writePieces } from './write-file.ts';

/** Of the plain format, which every mail program and phone opens. */
export const MOST_BYTES = 0xffff_ffff;

/** What a zip can say. A machine whose clock is not set makes its reports all the same. */
const FIRST_DAY = Date.UTC(1980, 0, 1);
const LAST_DAY = Date.UTC(2099, 11, 31);

/** Zip times are civil and have no zone. Noon is there on every day in every zone, so the bytes do not depend on ours. */
const noonOf = (at: number): Date => {
  const date = new Date(Math.min(Math.max(at, FIRST_DAY), LAST_DAY));
  return new Date(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), 12);
};

async function* zipped(files: readonly { name: string; path: string }[], at: number): AsyncIterable<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const zip = new Zip((error, piece) => {
    if (error !== null) throw error;
    pieces.push(piece);
  });
  const made = (): Uint8Array[] => pieces.splice(0);
  for (const { name, path } of files) {
    const entry = new ZipDeflate(name, { level: 6 });
    entry.mtime = noonOf(at);
    zip.add(entry);
    for await (const piece of createReadStream(path)) {
      entry.push(piece);
      yield* made();
    }
    entry.push(new Uint8Array(0), true);
    yield* made();
  }
  zip.end();
  yield* made();
}

/**
 * Files as one zip, by name, each dated the day of `at` (epoch ms): the same files and day give the same bytes, on every
 * machine. Streamed. Together at most `MOST_BYTES`; `path` must not exist.
 */
export function writeZip(
  path: string,
  files: readonly { readonly name: string; readonly path: string }[],
  at: number,
  signal: AbortSignal,
): Promise<void> {
  const sorted = files.toSorted((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
  return writePieces(path, zipped(sorted, at), signal);
}
