import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { DocketError, errorMessage } from '../../base/error.ts';
import { epochMsSchema } from '../../base/time.ts';
import { LAST_SWEEP_FILE } from './retention.ts';
import { readManifest } from './run-folder/run-metadata.ts';
import type { ArchiveMetadata, ArchiveStorage, RunRef } from './storage/archive-storage.ts';

/**
 * Name of the marker file at the root of the archive. Its id identifies the archive, wherever it is mounted or moved
 * to.
 */
export const ARCHIVE_MARKER = 'docket-archive.json';

/** The marker holds no path or host: both may change when the archive moves. */
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
    /** Whether any Redis has stored the id. Until then, a Redis without the id has lost nothing. */
    deployed: deployed !== false,
  }));

export type ArchiveMarker = Readonly<z.infer<typeof markerSchema>>;

/** The part of an archive that holds the marker. */
export interface MarkedArchive {
  readonly location: string;
  readonly metadata: ArchiveMetadata;
}

export const newArchiveId = (): string => randomBytes(16).toString('hex');

/**
 * Reads the marker; undefined when the archive has none. Throws `archive.corrupt` for an invalid marker,
 * `archive.unreachable`.
 */
export async function readMarker({ location, metadata }: MarkedArchive): Promise<ArchiveMarker | undefined> {
  const bytes = await metadata.get(ARCHIVE_MARKER).catch((cause: unknown) => {
    if (cause instanceof DocketError) throw cause;
    throw new DocketError('archive.unreachable', `The marker of the archive cannot be read: ${errorMessage(cause)}.`, {
      where: location,
      next: 'Check the folder, its permissions and its disk.',
      cause,
    });
  });
  if (bytes === undefined) return undefined;
  try {
    return markerSchema.parse(JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    throw new DocketError('archive.corrupt', `The marker of the archive, ${ARCHIVE_MARKER}, cannot be read.`, {
      where: location,
      expected: '{ "docket_archive": 1, "id": "<32 hex digits>", "created_at": "<UTC instant>" }',
      next: `Restore ${ARCHIVE_MARKER} from a backup, or remove it and run docket start --adopt.`,
      cause,
    });
  }
}

/**
 * Writes the marker if it is missing, as not yet registered in Redis, and returns the stored marker. The first of
 * several concurrent writers wins. Throws `archive.unwritable`, `archive.unreachable`, `archive.corrupt`.
 *
 * @param now epoch ms
 */
export async function createMarker(archive: MarkedArchive, id: string, now: number): Promise<ArchiveMarker> {
  const text = markerText({ id, createdAt: new Date(now).toISOString(), deployed: false });
  await archive.metadata.putIfAbsent(ARCHIVE_MARKER, text);
  const written = await readMarker(archive);
  if (written !== undefined) return written;
  throw new DocketError(
    'archive.unwritable',
    `The marker of the archive, ${ARCHIVE_MARKER}, was written and has disappeared.`,
    {
      where: archive.location,
      next: 'Find out which other program writes to the archive or mounts over it.',
    },
  );
}

/** Marks the archive's id as registered in Redis. Throws `archive.unwritable`. */
export const markDeployed = ({ metadata }: MarkedArchive, marker: ArchiveMarker): Promise<void> =>
  metadata.put(ARCHIVE_MARKER, markerText({ ...marker, deployed: true }));

const markerText = ({ id, createdAt, deployed }: ArchiveMarker): string => {
  const marker = { docket_archive: 1, id, created_at: createdAt, ...(deployed ? {} : { deployed }) };
  return `${JSON.stringify(marker, null, 2)}\n`;
};

/** Name of the file with the newest archived run. A Redis that does not know this run was rolled back. */
const NEWEST_RUN_FILE = '.newest';

const newestSchema = z.object({ run: z.string(), at: epochMsSchema });

export type NewestRun = Readonly<z.infer<typeof newestSchema>>;

/** Records the newest run. Best effort: a failure does not fail the run. @param at epoch ms */
export async function putNewestRun(metadata: ArchiveMetadata, { id }: RunRef, at: number): Promise<void> {
  await metadata.put(NEWEST_RUN_FILE, `${JSON.stringify({ run: id, at } satisfies NewestRun)}\n`).catch(() => {});
}

/** Reads the newest run; undefined before the first run, and for an invalid file. */
export async function readNewestRun(metadata: ArchiveMetadata): Promise<NewestRun | undefined> {
  const bytes = await metadata.get(NEWEST_RUN_FILE);
  try {
    return bytes === undefined ? undefined : newestSchema.parse(JSON.parse(bytes.toString('utf8')));
  } catch {
    return undefined;
  }
}

/** Bounds the search in a folder that holds many foreign folders. */
const MAX_INSPECTED_RUNS = 200;

/** Whether Docket has used this archive: some run has a readable manifest, or retention has run. */
export async function hasArchivedRuns({ listRuns, metadata }: ArchiveStorage): Promise<boolean> {
  if ((await metadata.get(LAST_SWEEP_FILE)) !== undefined) return true;
  let inspected = 0;
  for await (const { files } of listRuns()) {
    if ((await readManifest(files).catch(() => undefined)) !== undefined) return true;
    inspected += 1;
    if (inspected === MAX_INSPECTED_RUNS) return false;
  }
  return false;
}
