import { z } from 'zod';
import { epochMsSchema } from '../../base/time.ts';
import type { Archive } from '../archive/archive.ts';
import { type FindArchivedRuns, ifReadable, isSamePeriodDays } from '../archive/archived-runs.ts';
import type { RetainedSince } from '../archive/held-storage.ts';
import { requirePathName } from '../archive/path-names.ts';
import { parseMetadata } from '../archive/run-folder/run-metadata.ts';
import type { ArchiveStorage, RunRef } from '../archive/storage/archive-storage.ts';
import { DELIVERY_STATES, type Ledger, newDeliverySchema, resolutionSchema } from './ledger.ts';

/** A run whose deliveries are recorded here. */
export interface LedgerRun extends RunRef {
  readonly period: { readonly from: string; readonly to: string; readonly timezone: string; readonly label: string };
  /** Epoch ms. */
  readonly createdAt: number;
}

/** Folder in the archive for deliveries of runs that are published elsewhere. */
const LEDGER_FOLDER = '.ledger';
/** File that names the run and its period. */
const RUN_FILE = 'run.json';
/** File of a row: `<delivery>.<version>.json`. The version is padded, so that names sort as numbers do. */
const ROW_FILE = /^([0-9a-f]{32})\.(\d{6})\.json$/;

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
/** A row with its position in the order in which rows were opened. */
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

/** The latest version of each delivery, judging by the file names of a ledger. */
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
 * Wraps a run's archive `out` so that the deployment's archive records the attempts as well:
 * `.ledger/<org>/<report>/<run>/` has `run.json` and one file per delivery and epoch. This shows another Redis what was
 * sent. Throws `archive.unwritable`, `archive.unreachable`.
 *
 * @param stores the run's ledger, and the deployment's archive
 */
export function withArchivedLedger(
  out: Archive,
  { id, org, report, period, createdAt: at }: LedgerRun,
  { ledger, metadata }: { readonly ledger: Ledger; readonly metadata: Pick<MetadataStore, 'put'> },
): Archive {
  const folder = `${folderOfReport(org, report)}/${requirePathName(id, 'run')}`;
  const put = (name: string, content: unknown) => metadata.put(`${folder}/${name}`, `${JSON.stringify(content)}\n`);
  const begin = async () => {
    await put(RUN_FILE, { run: id, org, report, period, at });
    // All rows are open before the first attempt.
    return ledger.list(id);
  };
  let begun: ReturnType<typeof begin> | undefined;
  const forgetFailure = (error: unknown): never => {
    begun = undefined;
    throw error;
  };
  return {
    ...out,
    putAttempt: async (published, attempt) => {
      begun ??= begin().catch(forgetFailure);
      const rows = await begun;
      const nth = rows.findIndex((row) => row.id === attempt.delivery);
      const { delivery, epoch, state, detail } = attempt;
      await put(rowFileName(delivery, epoch), { nth, row: { ...rows[nth], epoch, state, detail, at: attempt.at } });
      await out.putAttempt(published, attempt);
    },
  };
}

/**
 * The runs of a report and period that `withArchivedLedger` has recorded, newest first. Reports unreadable files to
 * `onUnreadable`, like `findArchivedRuns`.
 */
export function findLedgerRuns(
  { metadata, location }: ArchiveStorage,
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
 * Deletes ledgers older than their organization's retention, unless the run has an open delivery. Keeps an unreadable
 * ledger, and reports it to `onUnreadable`.
 * @param retainedSince epoch ms; undefined: no limit
 * @returns the number of deleted ledgers
 */
export async function deleteExpiredLedgers(
  { metadata, location }: ArchiveStorage,
  retainedSince: RetainedSince,
  onUnreadable: (name: string, error: unknown) => void,
): Promise<number> {
  const isExpired = async (name: string, folder: string): Promise<boolean> => {
    const run = await readLedgerFile(metadata, location, `${LEDGER_FOLDER}/${name}`, runSchema);
    const since = run === undefined ? undefined : await retainedSince(run.org);
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
