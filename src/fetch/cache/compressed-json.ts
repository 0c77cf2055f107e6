import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { z } from 'zod';

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** Smaller values are stored uncompressed. */
const MIN_COMPRESS_BYTES = 2_048;

/** Writes JSON for Redis, gzipped unless it is small. */
export async function compressJson(value: unknown): Promise<Buffer> {
  const text = Buffer.from(JSON.stringify(value));
  return text.length < MIN_COMPRESS_BYTES ? text : zip(text);
}

const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

/**
 * Reads what `compressJson` wrote. Undefined if it is damaged, or if another version of Docket wrote it with another
 * schema.
 */
export async function decompressJson<Schema extends z.ZodType>(
  bytes: Buffer,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  try {
    return schema.safeParse(JSON.parse((isGzip(bytes) ? await unzip(bytes) : bytes).toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
