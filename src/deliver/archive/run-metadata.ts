import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Manifest } from './archive.ts';
import { manifestSchema } from './manifest.ts';
import { archiveCorrupt } from './run-folder.ts';
import type { RunFiles } from './storage/archive-storage.ts';

/** Above the largest manifest that a run can have. */
const MAX_METADATA_BYTES = 64 * 1024 * 1024;
const MAX_GOT = 300;

/** All bytes under this name; undefined when it is not there. Reads no further than it may. Throws `archive.corrupt`. */
async function readBounded(box: RunFiles, name: string): Promise<Buffer | undefined> {
  const pieces = await box.stream(name);
  if (pieces === undefined) return undefined;
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > MAX_METADATA_BYTES) {
      throw archiveCorrupt(box.location, `${name} is too large`, {
        expected: `at most ${MAX_METADATA_BYTES} bytes`,
        got: 'more than that',
      });
    }
    read.push(piece);
  }
  return Buffer.concat(read);
}

/** One of a run's papers, read; undefined when it is not there. Throws `archive.corrupt` when it cannot be understood. */
export async function readMetadataFile<T>(box: RunFiles, name: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const bytes = await readBounded(box, name);
  if (bytes === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    const [issue] = cause instanceof z.ZodError ? cause.issues : [];
    const got = issue === undefined ? {} : { got: `${issue.path.join('.')}: ${issue.message}`.slice(0, MAX_GOT) };
    throw archiveCorrupt(box.location, `${name} cannot be read`, { ...got, cause });
  }
}

/** Undefined when the run is not sealed. Throws `archive.corrupt`. */
export const readManifest = (box: RunFiles): Promise<Manifest | undefined> =>
  readMetadataFile(box, 'manifest.json', manifestSchema);

/** SHA-256 of what stands under this name, hex; undefined when nothing does. */
export async function sha256OfRunFile(box: RunFiles, name: string): Promise<string | undefined> {
  const pieces = await box.stream(name);
  if (pieces === undefined) return undefined;
  const hash = createHash('sha256');
  for await (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}
