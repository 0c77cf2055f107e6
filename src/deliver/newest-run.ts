import { z } from 'zod';
import { epochMsSchema } from '../base/instant.ts';
import type { ArchiveMetadata, RunRef } from './shelf.ts';

/** The run that was archived last: a Redis that does not know it was set back to before it. */
const NEWEST_RUN_FILE = '.newest';

const newestSchema = z.object({ run: z.string(), at: epochMsSchema });

export type NewestRun = Readonly<z.infer<typeof newestSchema>>;

/** Notes that a run was archived. A hint: the run is archived all the same when it cannot be written. @param at epoch ms */
export async function putNewestRun(notes: Pick<ArchiveMetadata, 'put'>, { id }: RunRef, at: number): Promise<void> {
  await notes.put(NEWEST_RUN_FILE, `${JSON.stringify({ run: id, at } satisfies NewestRun)}\n`).catch(() => {});
}

/** Undefined before the first, and for what cannot be read. */
export async function readNewestRun(notes: Pick<ArchiveMetadata, 'get'>): Promise<NewestRun | undefined> {
  const bytes = await notes.get(NEWEST_RUN_FILE);
  try {
    return bytes === undefined ? undefined : newestSchema.parse(JSON.parse(bytes.toString('utf8')));
  } catch {
    return undefined;
  }
}
