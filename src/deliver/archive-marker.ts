import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { DocketError, wordsOf } from '../base/error.ts';
import type { ShelfNotes } from './shelf.ts';

/** At the root of the archive. Its id tells this archive from all others, wherever it is mounted or moved to. */
export const ARCHIVE_MARKER = 'docket-archive.json';

/** Never a path or a host: releases move them. */
const markerSchema = z
  .looseObject({
    docket_archive: z.literal(1),
    id: z.string().regex(/^[0-9a-f]{32}$/),
    created_at: z.iso.datetime(),
    deployed: z.literal(false).optional(),
  })
  .transform(({ id, created_at, deployed }) => ({
    id,
    createdAt: created_at,
    /** Whether a Redis was told of the id. Until then one that does not know it has forgotten nothing. */
    deployed: deployed !== false,
  }));

/** Which archive this is. */
export type ArchiveMarker = Readonly<z.infer<typeof markerSchema>>;

/** What the marker is read from and written to: `shelf.notes`, with the archive's name for people. */
export interface MarkedArchive {
  readonly place: string;
  readonly notes: Pick<ShelfNotes, 'read' | 'put' | 'putNew'>;
}

export const newArchiveId = (): string => randomBytes(16).toString('hex');

/** Undefined when the archive has none. Throws `archive.corrupt` for one that cannot be read, `archive.unreachable`. */
export async function readMarker({ place, notes }: MarkedArchive): Promise<ArchiveMarker | undefined> {
  const bytes = await notes.read(ARCHIVE_MARKER).catch((cause: unknown) => {
    if (cause instanceof DocketError) throw cause;
    throw new DocketError('archive.unreachable', `The marker of the archive cannot be read: ${wordsOf(cause)}.`, {
      where: place,
      next: 'Look at the folder, its permissions and its disk.',
      cause,
    });
  });
  if (bytes === undefined) return undefined;
  try {
    return markerSchema.parse(JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    throw new DocketError('archive.corrupt', `The marker of the archive, ${ARCHIVE_MARKER}, cannot be read.`, {
      where: place,
      expected: '{ "docket_archive": 1, "id": "<32 hex digits>", "created_at": "<UTC instant>" }',
      next: `Restore ${ARCHIVE_MARKER} from a backup, or remove it and run docket start --adopt.`,
      cause,
    });
  }
}

/**
 * Writes the marker where there is none, as of no Redis yet, and returns the one that is there then: of several that create it at once the
 * first wins. Throws `archive.unwritable`, `archive.unreachable`, `archive.corrupt`.
 *
 * @param now epoch ms
 */
export async function createMarker(archive: MarkedArchive, id: string, now: number): Promise<ArchiveMarker> {
  const text = textOf({ id, createdAt: new Date(now).toISOString(), deployed: false });
  await archive.notes.putNew(ARCHIVE_MARKER, text);
  const written = await readMarker(archive);
  if (written !== undefined) return written;
  throw new DocketError(
    'archive.unwritable',
    `The marker of the archive, ${ARCHIVE_MARKER}, was written and is gone.`,
    {
      where: archive.place,
      next: 'Look at what else writes to or mounts over the archive.',
    },
  );
}

/** Says in the marker that a Redis was told of its id. Throws `archive.unwritable`. */
export const markDeployed = ({ notes }: MarkedArchive, marker: ArchiveMarker): Promise<void> =>
  notes.put(ARCHIVE_MARKER, textOf({ ...marker, deployed: true }));

const textOf = ({ id, createdAt, deployed }: ArchiveMarker): string => {
  const marker = { docket_archive: 1, id, created_at: createdAt, ...(deployed ? {} : { deployed }) };
  return `${JSON.stringify(marker, null, 2)}\n`;
};
