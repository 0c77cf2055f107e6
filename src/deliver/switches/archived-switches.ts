import { DocketError, toDocketError } from '../../base/error.ts';
import { parseMetadata } from '../archive/run-folder/run-metadata.ts';
import type { ArchiveStorage } from '../archive/storage/archive-storage.ts';
import { NO_SWITCHES, type SwitchState, switchStateSchema } from './switches.ts';

/** Folder in the archive, with a file for each version. */
export const SWITCHES_FOLDER = '.switches';
/** The version is padded, so that names sort as numbers do. */
const VERSION_FILE = /^(\d{6})\.json$/;

const fileOf = (version: number): string => `${SWITCHES_FOLDER}/${String(version).padStart(6, '0')}.json`;

/** The switches in the archive, which survive a loss of Redis and hold for everybody who shares the archive. */
export interface ArchivedSwitches {
  /** The newest version. Throws `switch.unreadable`: then nothing may be sent or deleted. */
  read(): Promise<SwitchState>;
  /**
   * Writes a new version; false where another process has written this version. Throws `archive.unwritable`,
   * `archive.unreachable`.
   */
  write(state: SwitchState): Promise<boolean>;
}

/** Each version is a file of its own, which is created only if it does not exist: of two writers one succeeds. */
export function archivedSwitches({
  metadata,
  location,
}: Pick<ArchiveStorage, 'metadata' | 'location'>): ArchivedSwitches {
  const readNewest = async (): Promise<SwitchState> => {
    const newest = (await metadata.list(SWITCHES_FOLDER)).findLast((name) => VERSION_FILE.test(name));
    if (newest === undefined) return NO_SWITCHES;
    const name = `${SWITCHES_FOLDER}/${newest}`;
    const bytes = await metadata.get(name);
    if (bytes === undefined) throw unreadable(location, `${name} has disappeared`);
    return parseMetadata(location, name, bytes, switchStateSchema);
  };
  return {
    read: () =>
      readNewest().catch((thrown: unknown) => {
        const { code, message, got } = toDocketError(thrown);
        if (code === 'switch.unreadable') throw thrown;
        // The sentence about a run that `archive.corrupt` has does not fit here.
        const why = code === 'archive.corrupt' ? `a file in ${SWITCHES_FOLDER}/ is damaged` : message;
        throw unreadable(location, got === undefined ? why : `${why} (${got})`, thrown);
      }),
    write: async (state) => {
      const text = `${JSON.stringify(state, null, 2)}\n`;
      if (!(await metadata.putIfAbsent(fileOf(state.version), text))) return false;
      // A store without conditional writes may have replaced what another process wrote in the same moment.
      return (await metadata.get(fileOf(state.version)))?.toString('utf8') === text;
    },
  };
}

const unreadable = (location: string, got: string, cause?: unknown): DocketError =>
  new DocketError(
    'switch.unreadable',
    'It cannot be read whether deliveries are stopped or a legal hold is in force.',
    {
      where: location,
      expected: `readable files in ${SWITCHES_FOLDER}/ of the archive`,
      got: got.replace(/\.$/, ''),
      next: `Nothing is sent or deleted until then. Mount the archive or start its store; restore a damaged file of ${SWITCHES_FOLDER}/ from a backup.`,
      // The run waits, and spends no attempt.
      transient: true,
      cause,
    },
  );
