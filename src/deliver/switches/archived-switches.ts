import type { ArchiveStorage } from '../archive/storage/archive-storage.ts';
import { type ArchivedDocument, archivedDocument } from '../documents/archived-document.ts';
import { NO_SWITCHES, type SwitchState, switchStateSchema } from './switches.ts';

export const SWITCHES_FOLDER = '.switches';

/** The switches in the archive. While they are unreadable, nothing may be sent or deleted. */
export const archivedSwitches = (
  storage: Pick<ArchiveStorage, 'metadata' | 'location'>,
): ArchivedDocument<SwitchState> =>
  archivedDocument(storage, {
    folder: SWITCHES_FOLDER,
    schema: switchStateSchema,
    empty: NO_SWITCHES,
    unreadable: {
      message: 'Stops and legal holds cannot be read.',
      next: 'Nothing is sent or deleted until then.',
    },
  });
