import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { z } from 'zod';

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** A value as Redis keeps it: gzipped JSON. */
export const pack = (value: unknown): Promise<Buffer> => zip(JSON.stringify(value));

/** What was packed; undefined for what is damaged, or was written by a version of Docket that meant something else. */
export async function unpack<Schema extends z.ZodType>(
  packed: Buffer,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  try {
    return schema.safeParse(JSON.parse((await unzip(packed)).toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
