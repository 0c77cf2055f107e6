import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DocketError, toDocketError } from '../base/error.ts';
import { instantSchema } from '../base/instant.ts';
import { type ArchivedRuns, sameDays } from './archived-deliveries.ts';
import { DELIVERY_STATES, type DeliveryRow, type Ledger } from './ledger.ts';
import { beginRow, openRow, resolveRow, settleRow, unknownAmong } from './ledger-rules.ts';
import { corrupt, pathName } from './sealed-folder.ts';
import type { RunName, Shelf } from './shelf.ts';

/** The run whose deliveries a file ledger keeps. */
export interface LedgerRun {
  readonly id: string;
  readonly org: string;
  readonly report: string;
  readonly period: { readonly from: string; readonly to: string; readonly timezone: string; readonly label: string };
}

/** Where the ledgers of runs without Redis are, in the archive's folder or bucket. */
const FOLDER = '.ledger';
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
  at: instantSchema,
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
  at: instantSchema,
  decisions: z.array(
    z.object({ to: z.enum(['sent', 'pending']), by: z.string(), reason: z.string(), at: instantSchema }),
  ),
});
const storedSchema = z.object({ nth: z.int(), row: rowSchema });
/** A row with its place in the order of opening. */
type Stored = z.infer<typeof storedSchema>;

type Notes = Shelf['notes'];

const folderOfReport = (org: string, report: string): string =>
  `${FOLDER}/${pathName(org, 'organization')}/${pathName(report, 'report')}`;
const fileOf = (delivery: string, version: number): string =>
  `${pathName(delivery, 'delivery')}.${String(version).padStart(6, '0')}.json`;

async function readNote<T>(notes: Notes, place: string, name: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const bytes = await notes.read(name);
  if (bytes === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    throw corrupt(place, `${name} cannot be read`, { cause });
  }
}

/** The last version of each row that these files of a ledger's folder tell of. */
function lastVersions(names: readonly string[]): ReadonlyMap<string, number> {
  const last = new Map<string, number>();
  for (const name of names) {
    const [, delivery, digits] = ROW_FILE.exec(name) ?? [];
    if (delivery !== undefined) last.set(delivery, Math.max(last.get(delivery) ?? 0, Number(digits)));
  }
  return last;
}

async function readRows(notes: Notes, place: string, folder: string): Promise<readonly Stored[]> {
  const versions = [...lastVersions(await notes.names(folder))];
  const rows = await Promise.all(
    versions.map(([delivery, version]) =>
      readNote(notes, place, `${folder}/${fileOf(delivery, version)}`, storedSchema),
    ),
  );
  return rows.flatMap((row) => row ?? []).sort((one, other) => one.nth - other.nth);
}

/**
 * The ledger of one run without Redis, in the archive: `.ledger/<org>/<report>/<run>/` with `run.json`, and a file for each
 * version of each row. A version is written where none is yet, whole and durable, so that of two processes one gets it and
 * the other looks again. Throws `archive.unwritable`, `archive.unreachable`, `archive.corrupt`.
 */
export function fileLedger({ notes, place }: Pick<Shelf, 'notes' | 'place'>, run: LedgerRun): Ledger {
  const folder = `${folderOfReport(run.org, run.report)}/${pathName(run.id, 'run')}`;

  const latest = async (delivery: string): Promise<{ version: number; stored: Stored | undefined; known: number }> => {
    const versions = lastVersions(await notes.names(folder));
    const version = versions.get(delivery) ?? 0;
    const name = `${folder}/${fileOf(delivery, version)}`;
    const stored = version === 0 ? undefined : await readNote(notes, place, name, storedSchema);
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
      const next: Stored = { nth: stored?.nth ?? known + 1, row: { ...row, decisions: [...row.decisions] } };
      // Names this one write: a store whose answer was lost is asked whose version it has.
      const text = `${JSON.stringify({ ...next, by: randomUUID() })}\n`;
      if (await notes.putNew(`${folder}/${fileOf(delivery, version + 1)}`, text)) return row;
    }
    throw new DocketError('archive.unwritable', 'A delivery in the ledger is being changed by others all the time.', {
      where: `${place}/${folder}`,
      next: 'Find out which other process delivers this run.',
    });
  };

  return {
    open: async (delivery, at, evidence) => {
      const { id, org, report, period } = run;
      await notes.putNew(`${folder}/${RUN_FILE}`, `${JSON.stringify({ run: id, org, report, period, at })}\n`);
      const row = await change(delivery.id, (found) => openRow(found, delivery, at, evidence));
      // Opening is never refused.
      return row ?? openRow(undefined, delivery, at, evidence);
    },
    begin: async (id, at) => (await change(id, (row) => beginRow(row, at)))?.epoch,
    settle: async (id, epoch, to, detail, at) =>
      (await change(id, (row) => settleRow(row, epoch, to, detail, at))) !== undefined,
    resolve: (id, epoch, decision) => change(id, (row) => resolveRow(row, epoch, decision)),
    find: async (id) => (await latest(id)).stored?.row,
    list: async (of) => (of === run.id ? (await readRows(notes, place, folder)).map(({ row }) => row) : []),
    unknown: async (limit, after) =>
      unknownAmong(
        (await readRows(notes, place, folder)).map(({ row }) => row),
        limit,
        after,
      ),
  };
}

/**
 * What file ledgers know of the runs of a report and period, newest first: as `archivedRuns`, and `unreadable` is told likewise.
 */
export function ledgerRuns(
  { notes, place }: Pick<Shelf, 'notes' | 'place'>,
  unreadable: (run: RunName, error: unknown) => void,
): ArchivedRuns {
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
    for (const name of await notes.names(folder)) {
      if (!name.endsWith(`/${RUN_FILE}`)) continue;
      const run = await ifReadable(name, () => readNote(notes, place, `${folder}/${name}`, runSchema));
      if (run !== undefined && sameDays(run.period, period)) found.push(run);
    }
    for (const { run, at } of found.sort((one, other) => other.at - one.at)) {
      const rows = await ifReadable(run, () => readRows(notes, place, `${folder}/${run}`));
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
export async function sweepLedgers(
  { notes, place }: Pick<Shelf, 'notes' | 'place'>,
  keptSince: (org: string) => number | undefined,
  unreadable: (name: string, error: unknown) => void,
): Promise<number> {
  const isOver = async (name: string, folder: string): Promise<boolean> => {
    const run = await readNote(notes, place, `${FOLDER}/${name}`, runSchema);
    const since = run === undefined ? undefined : keptSince(run.org);
    if (run === undefined || since === undefined || run.at >= since) return false;
    const rows = await readRows(notes, place, folder);
    return !rows.some(({ row: { state } }) => state === 'unknown' || state === 'sending');
  };
  let removed = 0;
  for (const name of await notes.names(FOLDER)) {
    if (!name.endsWith(`/${RUN_FILE}`)) continue;
    const folder = `${FOLDER}/${name.slice(0, -`/${RUN_FILE}`.length)}`;
    try {
      if (!(await isOver(name, folder))) continue;
      await notes.remove(folder);
      removed += 1;
    } catch (error) {
      unreadable(name, error);
    }
  }
  return removed;
}
