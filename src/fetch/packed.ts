import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { z } from 'zod';

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** Below this many bytes compressing costs more than it spares. */
const SMALL = 2_048;

/** A value as Redis keeps it: JSON, gzipped unless it is small. */
export async function pack(value: unknown): Promise<Buffer> {
  const text = Buffer.from(JSON.stringify(value));
  return text.length < SMALL ? text : zip(text);
}

const isZipped = (packed: Buffer): boolean => packed[0] === 0x1f && packed[1] === 0x8b;

/** What was packed; undefined for what is damaged, or was written by a version of Docket that meant something else. */
export async function unpack<Schema extends z.ZodType>(
  packed: Buffer,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  try {
    return schema.safeParse(JSON.parse((isZipped(packed) ? await unzip(packed) : packed).toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
