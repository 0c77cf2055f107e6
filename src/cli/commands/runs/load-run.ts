import type { HeldRun } from '../../../admin/access/access.ts';
import type { AppContext } from '../../../base/context.ts';
import type { AttemptRecord, Manifest, Release } from '../../../deliver/archive/archive.ts';
import type { Receipt } from '../../../deliver/ledger/ledger.ts';
import type { RunRecord } from '../../../run/run-record.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';

/** What is left of a run, wherever it is kept. */
export interface LoadedRun {
  readonly id: string;
  /** Undefined when Redis has lost it or cannot be asked. */
  readonly record: RunRecord | undefined;
  /** The ledger's rows; empty when Redis has lost them or cannot be asked. */
  readonly rows: readonly DeliveryRow[];
  /** Of a run that is held: what is missing in its files, and who would receive them. */
  readonly held: Omit<HeldRun, 'error'> | undefined;
  /** Undefined when the run made no files, or they have left the archive. */
  readonly archived: ArchivedRunDetails | undefined;
}

export interface ArchivedRunDetails {
  /** A folder, or an `s3:` URL. */
  readonly location: string;
  readonly manifest: Manifest;
  readonly receipts: readonly Receipt[];
  readonly attempts: readonly AttemptRecord[];
  readonly release: Release | undefined;
}

/**
 * A run's record and its archive; either alone will do. Throws `run.not_found` when there is neither, `archive.corrupt`
 * when its papers in the archive cannot be read.
 */
export async function loadRunWithArchive(around: AppContext, text: string): Promise<LoadedRun> {
  const [
    { DocketError, isRedisOutage, toDocketError },
    { openDecisions },
    { printStatus },
    { findRunId },
    { loadHeldRun },
  ] = await Promise.all([
    import('../../../base/error.ts'),
    import('../../../compose/decisions.ts'),
    import('../../terminal/print.ts'),
    import('../../options/run-id.ts'),
    import('./load-held-run.ts'),
  ]);
  const id = await findRunId(around, text);
  const asked =
    id !== undefined
      ? await openDecisions(around)
          .then(async (desk) => {
            try {
              const record = await desk.runs.get(id);
              const rows = await desk.decisions.list({ orgs: '*', run: id, limit: 1 });
              return { record, rows, held: await loadHeldRun(record, desk, around) };
            } finally {
              await desk.scope.close();
            }
          })
          .catch((thrown: unknown) => {
            const error = toDocketError(thrown);
            if (!isRedisOutage(error)) throw error;
            printStatus(`${error.message} (${error.got ?? error.code}) The archive alone is shown.`);
            return undefined;
          })
      : undefined;
  const archived = id === undefined ? undefined : await loadArchivedRun(around, id);
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

async function loadArchivedRun(around: AppContext, id: string): Promise<ArchivedRunDetails | undefined> {
  const [{ withArchive }, { readAttempts, readReceipts, readRelease }, { readManifest }, { archiveCorrupt }] =
    await Promise.all([
      import('../../../compose/archive.ts'),
      import('../../../deliver/archive/attempt-log.ts'),
      import('../../../deliver/archive/run-metadata.ts'),
      import('../../../deliver/archive/archive-errors.ts'),
    ]);
  return withArchive(around, async ({ storage, signing }) => {
    const found = await storage.find(id);
    if (found === undefined) return undefined;
    const { files } = found;
    const manifest = await readManifest(files);
    if (manifest === undefined) throw archiveCorrupt(files.location, 'manifest.json is missing', {});
    await signing?.verifyManifest(found);
    const [receipts, attempts, release] = await Promise.all([
      readReceipts(files),
      readAttempts(files),
      readRelease(files),
    ]);
    return { location: files.location, manifest, receipts, attempts, release };
  });
}
