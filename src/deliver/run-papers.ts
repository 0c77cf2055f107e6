import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { Manifest } from './archive.ts';
import { manifestSchema } from './manifest.ts';
import { corrupt } from './sealed-folder.ts';
import type { RunBox } from './shelf.ts';

/** One of a run's papers, read; undefined when it is not there. Throws `archive.corrupt` when it cannot be understood. */
export async function readPaper<T>(box: RunBox, name: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const bytes = await box.read(name);
  if (bytes === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    throw corrupt(box.place, `${name} cannot be read`, { cause });
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
