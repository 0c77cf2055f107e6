import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { Zip, ZipDeflate, ZipPassThrough } from 'fflate';
import { writeChunks } from '../format.ts';

/** The limit of the original zip format. Not every mail program and phone supports Zip64. */
export const MAX_ZIP_BYTES = 0xffff_ffff;

/** The days that a zip can store. Others, e.g. of a machine whose clock is not set, are moved to the nearest one. */
const FIRST_DAY = Date.UTC(1980, 0, 1);
const LAST_DAY = Date.UTC(2099, 11, 31);

/**
 * Times in a zip have no time zone. Noon UTC is on the same day in almost every zone, so the bytes do not depend on the
 * local one.
 */
const noonUtcDay = (at: number): Date => {
  const date = new Date(Math.min(Math.max(at, FIRST_DAY), LAST_DAY));
  return new Date(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), 12);
};

interface ZipEntry {
  readonly name: string;
  /** The content is already compressed. */
  readonly isCompressed?: boolean;
  readonly open: () => Readable | Promise<Readable>;
}

/**
 * Writes files as one zip, in chunks. Each entry has the day of `at` (epoch ms). The same files and day give the same
 * bytes everywhere.
 */
export async function* zipChunks(files: readonly ZipEntry[], at: number): AsyncGenerator<Uint8Array, void> {
  const chunks: Uint8Array[] = [];
  const zip = new Zip((error, chunk) => {
    if (error !== null) throw error;
    chunks.push(chunk);
  });
  const drain = (): Uint8Array[] => chunks.splice(0);
  for (const { name, isCompressed, open } of files) {
    const content = await open();
    try {
      const entry = isCompressed ? new ZipPassThrough(name) : new ZipDeflate(name, { level: 6 });
      entry.mtime = noonUtcDay(at);
      zip.add(entry);
      for await (const chunk of content) {
        entry.push(chunk);
        yield* drain();
      }
      entry.push(new Uint8Array(0), true);
      yield* drain();
    } finally {
      content.destroy();
    }
  }
  zip.end();
  yield* drain();
}

/**
 * Writes files to one zip, sorted by name, as a stream. Each entry has the day of `at` (epoch ms). They may have
 * `MAX_ZIP_BYTES` together. `path` must not exist.
 */
export function writeZip(
  path: string,
  files: readonly { readonly name: string; readonly path: string }[],
  at: number,
  signal: AbortSignal,
): Promise<void> {
  const sorted = files.toSorted((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
  const entries = sorted.map(({ name, path: file }) => ({ name, open: () => createReadStream(file) }));
  return writeChunks(path, zipChunks(entries, at), signal);
}
