import type { HeldPack } from '../admin/access.ts';
import type { Surroundings } from '../compose/ports.ts';
import type { AttemptRecord, Manifest, Release } from '../deliver/archive.ts';
import type { Receipt } from '../deliver/receipt.ts';
import type { DeliveryRow } from '../queue/decisions.ts';
import type { RunRecord } from '../run/record.ts';

/** What is left of a run, wherever it is kept. */
export interface KeptRun {
  readonly id: string;
  /** Undefined when Redis has lost it or cannot be asked. */
  readonly record: RunRecord | undefined;
  /** The ledger's rows; empty when Redis has lost them or cannot be asked. */
  readonly rows: readonly DeliveryRow[];
  /** Of a run that is held: what is missing in its files, and who would receive them. */
  readonly held: Omit<HeldPack, 'error'> | undefined;
  /** Undefined when the run made no files, or they have left the archive. */
  readonly archived: ArchivedRun | undefined;
}

export interface ArchivedRun {
  /** A folder, or an `s3:` URL. */
  readonly place: string;
  readonly manifest: Manifest;
  readonly receipts: readonly Receipt[];
  readonly attempts: readonly AttemptRecord[];
  readonly release: Release | undefined;
}

/**
 * A run's record and its archive; either alone will do. Throws `run.not_found` when there is neither, `archive.corrupt`
 * when its papers in the archive cannot be read.
 */
export async function keptRun(around: Surroundings, text: string): Promise<KeptRun> {
  const [{ DocketError, isRedisOutage, toDocketError }, { openDesk }, { sayLine }, { keptRunId }, { heldRun }] =
    await Promise.all([
      import('../base/error.ts'),
      import('../compose/decisions.ts'),
      import('./print.ts'),
      import('./run-id.ts'),
      import('./held-run.ts'),
    ]);
  const id = await keptRunId(around, text);
  const asked =
    id !== undefined
      ? await openDesk(around)
          .then(async (desk) => {
            try {
              const record = await desk.runs.get(id);
              const rows = await desk.decisions.list({ orgs: '*', run: id, limit: 1 });
              return { record, rows, held: await heldRun(record, desk, around) };
            } finally {
              await desk.scope.close();
            }
          })
          .catch((thrown: unknown) => {
            const error = toDocketError(thrown);
            if (!isRedisOutage(error)) throw error;
            sayLine(`${error.message} (${error.got ?? error.code}) The archive alone is shown.`);
            return undefined;
          })
      : undefined;
  const archived = id === undefined ? undefined : await archivedRun(around, id);
  if (id === undefined || (asked?.record === undefined && archived === undefined)) {
    throw new DocketError(
      'run.not_found',
      `There is neither a record of run ${JSON.stringify(text)} nor its archive.`,
      {
        expected: 'the id of a run, or its first 8 digits or more',
        next: '`docket runs` lists what is kept.',
      },
    );
  }
  return { id, record: asked?.record, rows: asked?.rows ?? [], held: asked?.held, archived };
}

async function archivedRun(around: Surroundings, id: string): Promise<ArchivedRun | undefined> {
  const [{ withArchive }, { readAttempts, readReceipts, readRelease }, { readManifest }, { corrupt }] =
    await Promise.all([
      import('../compose/archive.ts'),
      import('../deliver/kept-attempts.ts'),
      import('../deliver/run-papers.ts'),
      import('../deliver/sealed-folder.ts'),
    ]);
  return withArchive(around, async ({ shelf, signing }) => {
    const found = await shelf.find(id);
    if (found === undefined) return undefined;
    const { box } = found;
    const manifest = await readManifest(box);
    if (manifest === undefined) throw corrupt(box.place, 'manifest.json is missing', {});
    await signing?.check(found);
    const [receipts, attempts, release] = await Promise.all([readReceipts(box), readAttempts(box), readRelease(box)]);
    return { place: box.place, manifest, receipts, attempts, release };
  });
}
