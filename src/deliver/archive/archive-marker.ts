import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { DocketError, errorMessage } from '../../base/error.ts';
import type { ArchiveMetadata, RunRef, ArchiveStorage } from './storage/archive-storage.ts';
import { epochMsSchema } from '../../base/epoch.ts';
import { LAST_SWEEP_FILE } from './retention.ts';
import { readManifest } from './run-metadata.ts';

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
  readonly location: string;
  readonly metadata: Pick<ArchiveMetadata, 'get' | 'put' | 'putIfAbsent'>;
}

export const newArchiveId = (): string => randomBytes(16).toString('hex');

/** Undefined when the archive has none. Throws `archive.corrupt` for one that cannot be read, `archive.unreachable`. */
export async function readMarker({ location, metadata }: MarkedArchive): Promise<ArchiveMarker | undefined> {
  const bytes = await metadata.get(ARCHIVE_MARKER).catch((cause: unknown) => {
    if (cause instanceof DocketError) throw cause;
    throw new DocketError('archive.unreachable', `The marker of the archive cannot be read: ${errorMessage(cause)}.`, {
      where: location,
      next: 'Look at the folder, its permissions and its disk.',
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
 * Writes the marker where there is none, as of no Redis yet, and returns the one that is there then: of several that create it at once the
 * first wins. Throws `archive.unwritable`, `archive.unreachable`, `archive.corrupt`.
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
    `The marker of the archive, ${ARCHIVE_MARKER}, was written and is gone.`,
    {
      where: archive.location,
      next: 'Look at what else writes to or mounts over the archive.',
    },
  );
}

/** Says in the marker that a Redis was told of its id. Throws `archive.unwritable`. */
export const markDeployed = ({ metadata }: MarkedArchive, marker: ArchiveMarker): Promise<void> =>
  metadata.put(ARCHIVE_MARKER, markerText({ ...marker, deployed: true }));

const markerText = ({ id, createdAt, deployed }: ArchiveMarker): string => {
  const marker = { docket_archive: 1, id, created_at: createdAt, ...(deployed ? {} : { deployed }) };
  return `${JSON.stringify(marker, null, 2)}\n`;
};

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

/** Folders that are looked into: what is no run of ours may be there in any number. */
const MAX_INSPECTED_RUNS = 200;

/** Whether Docket has archived anything here: a run whose manifest can be read, or it was swept. */
export async function hasArchivedRuns({
  listRuns,
  metadata,
}: Pick<ArchiveStorage, 'listRuns' | 'metadata'>): Promise<boolean> {
  if ((await metadata.get(LAST_SWEEP_FILE)) !== undefined) return true;
  let looked = 0;
  for await (const { files } of listRuns()) {
    if ((await readManifest(files).catch(() => undefined)) !== undefined) return true;
    looked += 1;
    if (looked === MAX_INSPECTED_RUNS) return false;
  }
  return false;
}
