import { z } from 'zod';
import { sha256OfStream } from '../../../base/sha256.ts';
import { archiveCorrupt } from '../archive-errors.ts';
import { type Manifest, manifestSchema } from '../manifest.ts';
import type { RunFiles } from '../storage/archive-storage.ts';

/** More than the largest manifest that a run can have. */
const MAX_METADATA_BYTES = 64 * 1024 * 1024;
const MAX_ISSUE_LENGTH = 300;

/** Reads a whole file, up to the limit; undefined when it is absent. Throws `archive.corrupt`. */
async function readBounded(files: RunFiles, name: string): Promise<Buffer | undefined> {
  const stream = await files.stream(name);
  if (stream === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > MAX_METADATA_BYTES) {
      throw archiveCorrupt(files.location, `${name} is too large`, {
        expected: `at most ${MAX_METADATA_BYTES} bytes`,
        got: 'more than that',
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Reads and parses a JSON file of a run; undefined when it is absent. Throws `archive.corrupt`, `archive.unreachable`. */
export async function readMetadataFile<T>(files: RunFiles, name: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const bytes = await readBounded(files, name);
  return bytes === undefined ? undefined : parseMetadata(files.location, name, bytes, schema);
}

/** Throws `archive.corrupt` for invalid JSON, or JSON that does not match the schema. */
export function parseMetadata<T>(location: string, name: string, bytes: Buffer, schema: z.ZodType<T>): T {
  try {
    return schema.parse(JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    const [issue] = cause instanceof z.ZodError ? cause.issues : [];
    const got =
      issue === undefined ? {} : { got: `${issue.path.join('.')}: ${issue.message}`.slice(0, MAX_ISSUE_LENGTH) };
    throw archiveCorrupt(location, `${name} cannot be read`, { ...got, cause });
  }
}

/** Reads the manifest; undefined when the run is not published. Throws `archive.corrupt`, `archive.unreachable`. */
export const readManifest = (files: RunFiles): Promise<Manifest | undefined> =>
  readMetadataFile(files, 'manifest.json', manifestSchema);

/** SHA-256 of a file of a run, hex; undefined when it is absent. */
export async function sha256OfRunFile(files: RunFiles, name: string): Promise<string | undefined> {
  const stream = await files.stream(name);
  return stream === undefined ? undefined : sha256OfStream(stream);
}
