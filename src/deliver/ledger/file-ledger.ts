import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import { epochMsSchema } from '../../base/time.ts';
import { type FindArchivedRuns, ifReadable, isSamePeriodDays } from '../archive/archived-runs.ts';
import { requirePathName } from '../archive/path-names.ts';
import { parseMetadata } from '../archive/run-folder/run-metadata.ts';
import type { ArchiveStorage, RunRef } from '../archive/storage/archive-storage.ts';
import { DELIVERY_STATES, type DeliveryRow, type Ledger, newDeliverySchema, resolutionSchema } from './ledger.ts';
import { beginRow, openRow, resolveRow, selectUnknown, settleRow } from './memory-ledger.ts';

/** The run of a file ledger. */
export interface LedgerRun {
  readonly id: string;
  readonly org: string;
  readonly report: string;
  readonly period: { readonly from: string; readonly to: string; readonly timezone: string; readonly label: string };
}

/** Folder in the archive for the ledgers of runs without Redis. */
const LEDGER_FOLDER = '.ledger';
/** Names the run and period of a ledger. */
const RUN_FILE = 'run.json';
/** `<delivery>.<version>.json`; the version is padded, so that names sort as numbers do. */
const ROW_FILE = /^([0-9a-f]{32})\.(\d{6})\.json$/;
/** Attempts at a row that other processes change at the same time. */
const MAX_ATTEMPTS = 10;

const runSchema = z.looseObject({
  run: z.string(),
  org: z.string(),
  report: z.string(),
  period: z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() }),
  at: epochMsSchema,
});
const rowSchema = newDeliverySchema.extend({
  state: z.enum(DELIVERY_STATES),
  epoch: z.int().nonnegative(),
  detail: z.string().nullable(),
  at: epochMsSchema,
  decisions: z.array(resolutionSchema),
});
const storedSchema = z.object({ nth: z.int(), row: rowSchema });
/** A row with its position in the order of opening. */
type StoredRow = z.infer<typeof storedSchema>;

type MetadataStore = ArchiveStorage['metadata'];

const folderOfReport = (org: string, report: string): string =>
  `${LEDGER_FOLDER}/${requirePathName(org, 'organization')}/${requirePathName(report, 'report')}`;
const rowFileName = (delivery: string, version: number): string =>
  `${requirePathName(delivery, 'delivery')}.${String(version).padStart(6, '0')}.json`;

async function readLedgerFile<T>(
  metadata: MetadataStore,
  location: string,
  name: string,
  schema: z.ZodType<T>,
): Promise<T | undefined> {
  const bytes = await metadata.get(name);
  return bytes === undefined ? undefined : parseMetadata(location, name, bytes, schema);
}

/** The latest version of each delivery, from the names of a ledger's files. */
function latestVersions(names: readonly string[]): ReadonlyMap<string, number> {
  const latest = new Map<string, number>();
  for (const name of names) {
    const [, delivery, digits] = ROW_FILE.exec(name) ?? [];
    if (delivery !== undefined) latest.set(delivery, Math.max(latest.get(delivery) ?? 0, Number(digits)));
  }
  return latest;
}

async function readRows(metadata: MetadataStore, location: string, folder: string): Promise<readonly StoredRow[]> {
  const versions = [...latestVersions(await metadata.list(folder))];
  const rows = await Promise.all(
    versions.map(([delivery, version]) =>
      readLedgerFile(metadata, location, `${folder}/${rowFileName(delivery, version)}`, storedSchema),
    ),
  );
  return rows.flatMap((row) => row ?? []).sort((one, other) => one.nth - other.nth);
}

/**
 * The ledger of one run without Redis, in the archive: `.ledger/<org>/<report>/<run>/` with `run.json` and one file per
 * version of each row. A version is written only where none exists: of two concurrent writers one succeeds and the other
 * reads the row again. Throws `archive.unwritable`, `archive.unreachable`, `archive.corrupt`.
 */
export function fileLedger(
  { metadata, location }: Pick<ArchiveStorage, 'metadata' | 'location'>,
  run: LedgerRun,
): Ledger {
  const folder = `${folderOfReport(run.org, run.report)}/${requirePathName(run.id, 'run')}`;

  const readLatest = async (
    delivery: string,
  ): Promise<{ version: number; stored: StoredRow | undefined; rowCount: number }> => {
    const versions = latestVersions(await metadata.list(folder));
    const version = versions.get(delivery) ?? 0;
    const name = `${folder}/${rowFileName(delivery, version)}`;
    const stored = version === 0 ? undefined : await readLedgerFile(metadata, location, name, storedSchema);
    return { version, stored, rowCount: versions.size };
  };

  /** Writes the row's next version; undefined when the transition is refused. */
  const update = async (
    delivery: string,
    transition: (row: DeliveryRow | undefined) => DeliveryRow | undefined,
  ): Promise<DeliveryRow | undefined> => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const { version, stored, rowCount } = await readLatest(delivery);
      const row = transition(stored?.row);
      if (row === undefined || row === stored?.row) return row;
      const next: StoredRow = { nth: stored?.nth ?? rowCount + 1, row: { ...row, decisions: [...row.decisions] } };
      // Identifies this write: after a lost reply the content shows whose version the store has.
      const text = `${JSON.stringify({ ...next, by: randomUUID() })}\n`;
      if (await metadata.putIfAbsent(`${folder}/${rowFileName(delivery, version + 1)}`, text)) return row;
    }
    throw new DocketError('archive.unwritable', 'Too many concurrent writes to a delivery in the ledger.', {
      where: `${location}/${folder}`,
      next: 'Find out which other processes deliver this run.',
    });
  };

  return {
    open: async (delivery, at, archived) => {
      const { id, org, report, period } = run;
      await metadata.putIfAbsent(`${folder}/${RUN_FILE}`, `${JSON.stringify({ run: id, org, report, period, at })}\n`);
      const row = await update(delivery.id, (found) => openRow(found, delivery, at, archived));
      // Opening is never refused.
      return row ?? openRow(undefined, delivery, at, archived);
    },
    begin: async (id, at) => (await update(id, (row) => beginRow(row, at)))?.epoch,
    settle: async (id, epoch, to, detail, at) =>
      (await update(id, (row) => settleRow(row, epoch, to, detail, at))) !== undefined,
    resolve: (id, epoch, decision) => update(id, (row) => resolveRow(row, epoch, decision)),
    find: async (id) => (await readLatest(id)).stored?.row,
    list: async (id) => (id === run.id ? (await readRows(metadata, location, folder)).map(({ row }) => row) : []),
    listUnknown: async (limit, after) =>
      selectUnknown(
        (await readRows(metadata, location, folder)).map(({ row }) => row),
        limit,
        after,
      ),
  };
}

/**
 * The runs of a report and period in file ledgers, newest first. As `findArchivedRuns`: reports what cannot be read to
 * `onUnreadable`.
 */
export function findLedgerRuns(
  { metadata, location }: Pick<ArchiveStorage, 'metadata' | 'location'>,
  onUnreadable: (run: RunRef, error: unknown) => void,
): FindArchivedRuns {
  return async function* ({ org, report, period }) {
    const folder = folderOfReport(org, report);
    const ifRunReadable = <T>(id: string, read: () => Promise<T>) =>
      ifReadable(read, { id, org, report }, onUnreadable);
    const found: z.infer<typeof runSchema>[] = [];
    for (const name of await metadata.list(folder)) {
      if (!name.endsWith(`/${RUN_FILE}`)) continue;
      const run = await ifRunReadable(name, () => readLedgerFile(metadata, location, `${folder}/${name}`, runSchema));
      if (run !== undefined && isSamePeriodDays(run.period, period)) found.push(run);
    }
    for (const { run, at } of found.sort((one, other) => other.at - one.at)) {
      const rows = await ifRunReadable(run, () => readRows(metadata, location, `${folder}/${run}`));
      const deliveries = rows?.map(({ row }) => row) ?? [
        { target: null, recipient: run, state: 'unknown' as const, at },
      ];
      yield { run, deliveries };
    }
  };
}

/**
 * Deletes the ledgers of runs that are older than the retention of their organization and have no open delivery. Reports a
 * ledger that cannot be read to `onUnreadable` and keeps it.
 * @param retainedSince epoch ms; undefined: no limit
 * @returns the number of deleted ledgers
 */
export async function deleteExpiredLedgers(
  { metadata, location }: Pick<ArchiveStorage, 'metadata' | 'location'>,
  retainedSince: (org: string) => number | undefined,
  onUnreadable: (name: string, error: unknown) => void,
): Promise<number> {
  const isExpired = async (name: string, folder: string): Promise<boolean> => {
    const run = await readLedgerFile(metadata, location, `${LEDGER_FOLDER}/${name}`, runSchema);
    const since = run === undefined ? undefined : retainedSince(run.org);
    if (run === undefined || since === undefined || run.at >= since) return false;
    const rows = await readRows(metadata, location, folder);
    return !rows.some(({ row: { state } }) => state === 'unknown' || state === 'sending');
  };
  let deleted = 0;
  for (const name of await metadata.list(LEDGER_FOLDER)) {
    if (!name.endsWith(`/${RUN_FILE}`)) continue;
    const folder = `${LEDGER_FOLDER}/${name.slice(0, -`/${RUN_FILE}`.length)}`;
    try {
      if (!(await isExpired(name, folder))) continue;
      await metadata.deleteAll(folder);
      deleted += 1;
    } catch (error) {
      onUnreadable(name, error);
    }
  }
  return deleted;
}
