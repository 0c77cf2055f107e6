import { z } from 'zod';
import { instantSchema } from '../base/instant.ts';
import type { RunName, ShelfNotes } from './shelf.ts';

/** The run that was archived last: a Redis that does not know it was set back to before it. */
const NEWEST = '.newest';

const newestSchema = z.object({ run: z.string(), at: instantSchema });

export type NewestRun = Readonly<z.infer<typeof newestSchema>>;

/** Notes that a run was archived. A hint: the run is archived all the same when it cannot be written. @param at epoch ms */
export async function noteNewestRun(notes: Pick<ShelfNotes, 'put'>, { id }: RunName, at: number): Promise<void> {
  await notes.put(NEWEST, `${JSON.stringify({ run: id, at } satisfies NewestRun)}\n`).catch(() => {});
}

/** Undefined before the first, and for what cannot be read. */
export async function readNewestRun(notes: Pick<ShelfNotes, 'read'>): Promise<NewestRun | undefined> {
  const bytes = await notes.read(NEWEST);
  try {
    return bytes === undefined ? undefined : newestSchema.parse(JSON.parse(bytes.toString('utf8')));
  } catch {
    return undefined;
  }
}
