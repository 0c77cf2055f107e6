import { resolve } from 'node:path';
import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { secretSource } from '../base/secret.ts';
import type { Archive } from '../deliver/archive.ts';
import { directoryShelf } from '../deliver/directory-shelf.ts';
import { s3Shelf } from '../deliver/s3-shelf.ts';
import type { Shelf } from '../deliver/shelf.ts';
import { shelfArchive } from '../deliver/shelf-archive.ts';
import { ENDED, type RunStore } from '../run/record.ts';
import type { Surroundings } from './ports.ts';

/** The archive that `DOCKET_ARCHIVE` names, and what it stands on. */
export interface OpenArchive {
  readonly archive: Archive;
  readonly shelf: Shelf;
}

/** Nothing is asked of it yet. @param scope lets go of a store's connections */
export function openArchive({ config, env, clock, learn }: Omit<Surroundings, 'log'>, scope: Scope): OpenArchive {
  const place = config.DOCKET_ARCHIVE ?? { kind: 'directory', folder: resolve('archive') };
  const shelf = place.kind === 'directory' ? directoryShelf(place.folder) : s3Shelf(place, secretSource(env, learn));
  scope.use(shelf, (opened) => opened.close());
  return { shelf, archive: shelfArchive(shelf, clock) };
}

/**
 * Tries a bucket when a worker starts. One that does not answer keeps nobody from starting: runs wait for it. Throws
 * `config.secret_missing`.
 */
export async function tryShelf(shelf: Shelf, log: Log): Promise<void> {
  if (!shelf.place.startsWith('s3:')) return;
  try {
    const { ok, detail } = await shelf.probe();
    if (!ok) log.warn('The archive does not keep what stands there', { why: detail });
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (error.code === 'config.secret_missing') throw error;
    log.error('The archive cannot be used; runs wait until it can', { error: error.toJSON() });
  }
}

/** Whether somebody may need a run's files yet: it goes on, or is held, and somebody decides whether it leaves. */
export const neededIn =
  (runs: Pick<RunStore, 'get'>) =>
  async (id: string): Promise<boolean> => {
    const record = await runs.get(id);
    return record !== undefined && (record.state === 'held' || !ENDED.has(record.state));
  };

/** Gives the archive to a command, and closes it behind it. */
export async function withArchive<T>(
  around: Omit<Surroundings, 'log'>,
  work: (opened: OpenArchive) => Promise<T>,
): Promise<T> {
  const scope = createScope();
  try {
    return await work(openArchive(around, scope));
  } finally {
    await scope.close();
  }
}
