import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Manifest } from './archive.ts';
import { manifestSchema } from './manifest.ts';
import { corrupt } from './sealed-folder.ts';
import type { RunBox } from './shelf.ts';

/** Above the largest manifest that a run can have. */
const MAX_PAPER_BYTES = 64 * 1024 * 1024;
const MAX_GOT = 300;

/** All bytes under this name; undefined when it is not there. Reads no further than it may. Throws `archive.corrupt`. */
async function readBounded(box: RunBox, name: string): Promise<Buffer | undefined> {
  const pieces = await box.pieces(name);
  if (pieces === undefined) return undefined;
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > MAX_PAPER_BYTES) {
      throw corrupt(box.place, `${name} is too large`, {
        expected: `at most ${MAX_PAPER_BYTES} bytes`,
        got: 'more than that',
      });
    }
    read.push(piece);
  }
  return Buffer.concat(read);
}

/** One of a run's papers, read; undefined when it is not there. Throws `archive.corrupt` when it cannot be understood. */
export async function readPaper<T>(box: RunBox, name: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const bytes = await readBounded(box, name);
  if (bytes === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    const [issue] = cause instanceof z.ZodError ? cause.issues : [];
    const got = issue === undefined ? {} : { got: `${issue.path.join('.')}: ${issue.message}`.slice(0, MAX_GOT) };
    throw corrupt(box.place, `${name} cannot be read`, { ...got, cause });
  }
}

/** Undefined when the run is not sealed. Throws `archive.corrupt`. */
export const readManifest = (box: RunBox): Promise<Manifest | undefined> =>
  readPaper(box, 'manifest.json', manifestSchema);

/** SHA-256 of what stands under this name, hex; undefined when nothing does. */
export async function digestOf(box: RunBox, name: string): Promise<string | undefined> {
  const pieces = await box.pieces(name);
  if (pieces === undefined) return undefined;
  const hash = createHash('sha256');
  for await (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}
