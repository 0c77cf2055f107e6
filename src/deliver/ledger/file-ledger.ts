import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { epochMsSchema } from '../../base/time.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import { type FindArchivedRuns, isSamePeriodDays } from '../archive/archived-runs.ts';
import { archiveCorrupt, requirePathName } from '../archive/run-folder.ts';
import type { ArchiveStorage, RunRef } from '../archive/storage/archive-storage.ts';
import { DELIVERY_STATES, type DeliveryRow, type Ledger } from './ledger.ts';
import { beginRow, openRow, resolveRow, selectUnknown, settleRow } from './ledger-transitions.ts';

/** The run whose deliveries a file ledger keeps. */
export interface LedgerRun {
  readonly id: string;
  readonly org: string;
  readonly report: string;
  readonly period: { readonly from: string; readonly to: string; readonly timezone: string; readonly label: string };
}

/** Where the ledgers of runs without Redis are, in the archive's folder or bucket. */
const LEDGER_FOLDER = '.ledger';
/** Says of which run and period a ledger is. */
const RUN_FILE = 'run.json';
/** `<delivery>.<version>.json`, the version with as many digits that names sort as numbers do. */
const ROW_FILE = /^([0-9a-f]{32})\.(\d{6})\.json$/;
/** Times that a row is read anew when another process has changed it in between. */
const MAX_CONFLICTS = 10;

const runSchema = z.looseObject({
  run: z.string(),
  org: z.string(),
  report: z.string(),
  period: z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() }),
  at: epochMsSchema,
});
const rowSchema = z.object({
  id: z.string(),
  run: z.string(),
  org: z.string(),
  report: z.string(),
  target: z.string(),
  recipient: z.string(),
  state: z.enum(DELIVERY_STATES),
  epoch: z.int().nonnegative(),
  detail: z.string().nullable(),
  at: epochMsSchema,
  decisions: z.array(
    z.object({ to: z.enum(['sent', 'pending']), by: z.string(), reason: z.string(), at: epochMsSchema }),
  ),
});
const storedSchema = z.object({ nth: z.int(), row: rowSchema });
/** A row with its place in the order of opening. */
type StoredRow = z.infer<typeof storedSchema>;

type MetadataStore = ArchiveStorage['metadata'];

const folderOfReport = (org: string, report: string): string =>
  `${LEDGER_FOLDER}/${requirePathName(org, 'organization')}/${requirePathName(report, 'report')}`;
const rowFileName = (delivery: string, version: number): string =>
  `${requirePathName(delivery, 'delivery')}.${String(version).padStart(6, '0')}.json`;

async function readLedgerFile<T>(
  notes: MetadataStore,
  place: string,
  name: string,
  schema: z.ZodType<T>,
): Promise<T | undefined> {
  const bytes = await notes.get(name);
  if (bytes === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    throw archiveCorrupt(place, `${name} cannot be read`, { cause });
  }
}

/** The last version of each row that these files of a ledger's folder tell of. */
function latestVersions(names: readonly string[]): ReadonlyMap<string, number> {
  const last = new Map<string, number>();
  for (const name of names) {
    const [, delivery, digits] = ROW_FILE.exec(name) ?? [];
    if (delivery !== undefined) last.set(delivery, Math.max(last.get(delivery) ?? 0, Number(digits)));
  }
  return last;
}

async function readRows(notes: MetadataStore, place: string, folder: string): Promise<readonly StoredRow[]> {
  const versions = [...latestVersions(await notes.list(folder))];
  const rows = await Promise.all(
    versions.map(([delivery, version]) =>
      readLedgerFile(notes, place, `${folder}/${rowFileName(delivery, version)}`, storedSchema),
    ),
  );
  return rows.flatMap((row) => row ?? []).sort((one, other) => one.nth - other.nth);
}

/**
 * The ledger of one run without Redis, in the archive: `.ledger/<org>/<report>/<run>/` with `run.json`, and a file for each
 * version of each row. A version is written where none is yet, whole and durable, so that of two processes one gets it and
 * the other looks again. Throws `archive.unwritable`, `archive.unreachable`, `archive.corrupt`.
 */
export function fileLedger(
  { metadata, location }: Pick<ArchiveStorage, 'metadata' | 'location'>,
  run: LedgerRun,
): Ledger {
  const folder = `${folderOfReport(run.org, run.report)}/${requirePathName(run.id, 'run')}`;

  const latest = async (
    delivery: string,
  ): Promise<{ version: number; stored: StoredRow | undefined; known: number }> => {
    const versions = latestVersions(await metadata.list(folder));
    const version = versions.get(delivery) ?? 0;
    const name = `${folder}/${rowFileName(delivery, version)}`;
    const stored = version === 0 ? undefined : await readLedgerFile(metadata, location, name, storedSchema);
    return { version, stored, known: versions.size };
  };

  /** Writes what `step` makes of the row as its next version; undefined when the step is refused. */
  const change = async (
    delivery: string,
    step: (row: DeliveryRow | undefined) => DeliveryRow | undefined,
  ): Promise<DeliveryRow | undefined> => {
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const { version, stored, known } = await latest(delivery);
      const row = step(stored?.row);
      if (row === undefined || row === stored?.row) return row;
      const next: StoredRow = { nth: stored?.nth ?? known + 1, row: { ...row, decisions: [...row.decisions] } };
      // Names this one write: a store whose answer was lost is asked whose version it has.
      const text = `${JSON.stringify({ ...next, by: randomUUID() })}\n`;
      if (await metadata.putIfAbsent(`${folder}/${rowFileName(delivery, version + 1)}`, text)) return row;
    }
    throw new DocketError('archive.unwritable', 'A delivery in the ledger is being changed by others all the time.', {
      where: `${location}/${folder}`,
      next: 'Find out which other process delivers this run.',
    });
  };

  return {
    open: async (delivery, at, evidence) => {
      const { id, org, report, period } = run;
      await metadata.putIfAbsent(`${folder}/${RUN_FILE}`, `${JSON.stringify({ run: id, org, report, period, at })}\n`);
      const row = await change(delivery.id, (found) => openRow(found, delivery, at, evidence));
      // Opening is never refused.
      return row ?? openRow(undefined, delivery, at, evidence);
    },
    begin: async (id, at) => (await change(id, (row) => beginRow(row, at)))?.epoch,
    settle: async (id, epoch, to, detail, at) =>
      (await change(id, (row) => settleRow(row, epoch, to, detail, at))) !== undefined,
    resolve: (id, epoch, decision) => change(id, (row) => resolveRow(row, epoch, decision)),
    find: async (id) => (await latest(id)).stored?.row,
    list: async (of) => (of === run.id ? (await readRows(metadata, location, folder)).map(({ row }) => row) : []),
    listUnknown: async (limit, after) =>
      selectUnknown(
        (await readRows(metadata, location, folder)).map(({ row }) => row),
        limit,
        after,
      ),
  };
}

/**
 * What file ledgers know of the runs of a report and period, newest first: as `archivedRuns`, and `unreadable` is told likewise.
 */
export function findLedgerRuns(
  { metadata, location }: Pick<ArchiveStorage, 'metadata' | 'location'>,
  unreadable: (run: RunRef, error: unknown) => void,
): FindArchivedRuns {
  return async function* ({ org, report, period }) {
    const folder = folderOfReport(org, report);
    const ifReadable = async <T>(id: string, read: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await read();
      } catch (error) {
        if (toDocketError(error).code !== 'archive.corrupt') throw error;
        unreadable({ id, org, report }, error);
        return undefined;
      }
    };
    const found: z.infer<typeof runSchema>[] = [];
    for (const name of await metadata.list(folder)) {
      if (!name.endsWith(`/${RUN_FILE}`)) continue;
      const run = await ifReadable(name, () => readLedgerFile(metadata, location, `${folder}/${name}`, runSchema));
      if (run !== undefined && isSamePeriodDays(run.period, period)) found.push(run);
    }
    for (const { run, at } of found.sort((one, other) => other.at - one.at)) {
      const rows = await ifReadable(run, () => readRows(metadata, location, `${folder}/${run}`));
      const deliveries = rows?.map(({ row }) => row) ?? [
        { target: null, recipient: run, state: 'unknown' as const, at },
      ];
      yield { run, deliveries };
    }
  };
}

/**
 * Removes the ledgers of runs that began before their organization keeps anything, but for those with an open delivery. One
 * that cannot be read stays, and is told to `unreadable`.
 */
export async function deleteExpiredLedgers(
  { metadata, location }: Pick<ArchiveStorage, 'metadata' | 'location'>,
  keptSince: (org: string) => number | undefined,
  unreadable: (name: string, error: unknown) => void,
): Promise<number> {
  const isOver = async (name: string, folder: string): Promise<boolean> => {
    const run = await readLedgerFile(metadata, location, `${LEDGER_FOLDER}/${name}`, runSchema);
    const since = run === undefined ? undefined : keptSince(run.org);
    if (run === undefined || since === undefined || run.at >= since) return false;
    const rows = await readRows(metadata, location, folder);
    return !rows.some(({ row: { state } }) => state === 'unknown' || state === 'sending');
  };
  let removed = 0;
  for (const name of await metadata.list(LEDGER_FOLDER)) {
    if (!name.endsWith(`/${RUN_FILE}`)) continue;
    const folder = `${LEDGER_FOLDER}/${name.slice(0, -`/${RUN_FILE}`.length)}`;
    try {
      if (!(await isOver(name, folder))) continue;
      await metadata.deleteAll(folder);
      removed += 1;
    } catch (error) {
      unreadable(name, error);
    }
  }
  return removed;
}
