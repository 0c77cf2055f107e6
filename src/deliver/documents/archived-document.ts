import type { z } from 'zod';
import { DocketError, toDocketError } from '../../base/error.ts';
import { parseMetadata } from '../archive/run-folder/run-metadata.ts';
import type { ArchiveStorage } from '../archive/storage/archive-storage.ts';

/** A document of the deployment that gets a new version with each change. */
export interface Versioned {
  readonly version: number;
}

export interface DocumentKind<T extends Versioned> {
  /** Folder in the archive, with one file per version. */
  readonly folder: string;
  readonly schema: z.ZodType<T>;
  /** The document before the first change. */
  readonly empty: T;
  /** For the error while the document is unreadable: what is unknown, and what does not happen until then. */
  readonly unreadable: { readonly message: string; readonly next: string };
}

/** A document in the archive. It survives a loss of Redis and applies to everybody who shares the archive. */
export interface ArchivedDocument<T extends Versioned> {
  /** The newest version. Throws `switch.unreadable`. */
  read(): Promise<T>;
  /**
   * Writes a new version. Returns false if another process has already written this version. Throws
   * `archive.unwritable`, `archive.unreachable`.
   */
  write(state: T): Promise<boolean>;
}

/** The version is padded, so that names sort as numbers do. */
const VERSION_FILE = /^(\d{6})\.json$/;

/**
 * Opens a document. Each version is a separate file that is created only if it does not exist, so only one of two
 * writers succeeds.
 */
export function archivedDocument<T extends Versioned>(
  { metadata, location }: Pick<ArchiveStorage, 'metadata' | 'location'>,
  { folder, schema, empty, unreadable }: DocumentKind<T>,
): ArchivedDocument<T> {
  const fileOf = (version: number): string => `${folder}/${String(version).padStart(6, '0')}.json`;
  const failure = (got: string, cause?: unknown): DocketError =>
    new DocketError('switch.unreadable', unreadable.message, {
      where: location,
      expected: `readable files in ${folder}/ of the archive`,
      got: got.replace(/\.$/, ''),
      next: `${unreadable.next} Mount the archive or start its store; restore a damaged file of ${folder}/ from a backup.`,
      // The run waits, and uses no attempt.
      transient: true,
      cause,
    });
  const readNewest = async (): Promise<T> => {
    const newest = (await metadata.list(folder)).findLast((name) => VERSION_FILE.test(name));
    if (newest === undefined) return empty;
    const name = `${folder}/${newest}`;
    const bytes = await metadata.get(name);
    if (bytes === undefined) throw failure(`${name} has disappeared`);
    return parseMetadata(location, name, bytes, schema);
  };
  return {
    read: () =>
      readNewest().catch((thrown: unknown) => {
        const { code, message, got } = toDocketError(thrown);
        if (code === 'switch.unreadable') throw thrown;
        // `archive.corrupt` describes a damaged run, so its sentence does not fit here.
        const why = code === 'archive.corrupt' ? `a file in ${folder}/ is damaged` : message;
        throw failure(got === undefined ? why : `${why} (${got})`, thrown);
      }),
    write: async (state) => {
      const text = `${JSON.stringify(state, null, 2)}\n`;
      if (!(await metadata.putIfAbsent(fileOf(state.version), text))) return false;
      // A store without conditional writes may have overwritten what another process wrote at the same moment.
      return (await metadata.get(fileOf(state.version)))?.toString('utf8') === text;
    },
  };
}
