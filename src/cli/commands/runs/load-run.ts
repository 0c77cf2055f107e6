import { type HeldRun, loadTimeline, type RunTimeline } from '../../../admin/access/runs.ts';
import type { AppContext } from '../../../base/context.ts';
import { DocketError, isRedisOutage, toDocketError } from '../../../base/error.ts';
import { withArchive } from '../../../compose/archive.ts';
import { loadDefinitions } from '../../../compose/built-in-kinds.ts';
import { type DecisionContext, withDecisions } from '../../../compose/decisions.ts';
import type { Manifest } from '../../../deliver/archive/archive.ts';
import { archiveCorrupt } from '../../../deliver/archive/archive-errors.ts';
import {
  type AttemptRecord,
  type Release,
  readAttempts,
  readReceipts,
  readRelease,
} from '../../../deliver/archive/attempt-log.ts';
import { readManifest } from '../../../deliver/archive/run-folder/run-metadata.ts';
import type { Receipt } from '../../../deliver/ledger/ledger.ts';
import { redisProcessRegistry } from '../../../queue/process-registry.ts';
import { redisLiveProgress } from '../../../queue/runs/live-progress.ts';
import { type RunRecord, WAITING_STATES } from '../../../run/run-record.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { ReviewView } from '../../../services/reviews/review-service.ts';
import { findDeliveredInRecords } from '../../../services/runs/already-delivered.ts';
import { loadReleasePreview } from '../../../services/runs/release-preview.ts';
import { loadRunHistory, NO_HISTORY } from '../../../services/runs/run-history.ts';
import type { CommandIo } from '../../io.ts';
import { findRunId } from '../../options/run-id.ts';
import { createPrinter } from '../../terminal/print.ts';

/** A run, with its data from Redis and from the archive. */
export interface LoadedRun {
  readonly id: string;
  /** Undefined if Redis has lost it or cannot be reached. */
  readonly record: RunRecord | undefined;
  /** The ledger's rows; empty if Redis has lost them or cannot be reached. */
  readonly rows: readonly DeliveryRow[];
  /** For a held run: missing figures, and who would receive it. */
  readonly held: Omit<HeldRun, 'error'> | undefined;
  /** For a run that is reviewed before its delivery. */
  readonly review: ReviewView | undefined;
  /** Its steps, and what it waits for. Undefined if there is no record. */
  readonly timeline: RunTimeline | undefined;
  /** Undefined if the run created no files, or they are no longer in the archive. */
  readonly archived: ArchivedRunDetails | undefined;
  /** The error, if the archive cannot be read now. What it has of this run is then unknown. */
  readonly archiveError: DocketError | undefined;
}

export interface ArchivedRunDetails {
  /** A folder or an `s3:` URL. */
  readonly location: string;
  readonly manifest: Manifest;
  readonly receipts: readonly Receipt[];
  readonly attempts: readonly AttemptRecord[];
  readonly release: Release | undefined;
}

/**
 * Loads a run's record, its archived metadata, or both. Throws `run.not_found` if neither exists, `archive.corrupt` if the
 * archived metadata is damaged, the error of the archive if nothing else knows the run.
 */
export async function loadRunWithArchive(context: AppContext, text: string, io: CommandIo): Promise<LoadedRun> {
  const id = await findRunId(context, text);
  const recorded = id === undefined ? undefined : await loadRecordedRun(context, id, io);
  const { value: archived, outage: archiveError } =
    id === undefined
      ? { value: undefined, outage: undefined }
      : await withoutArchiveOutage(undefined, () => loadArchivedRun(context, id));
  if (recorded?.record === undefined && archiveError !== undefined) throw archiveError;
  if (id === undefined || (recorded?.record === undefined && archived === undefined)) {
    throw new DocketError(
      'run.not_found',
      `There is neither a record of run ${JSON.stringify(text)} nor archived files.`,
      {
        expected: 'the id of a run, or its first 8 digits or more',
        next: '`docket runs` lists the recorded runs.',
      },
    );
  }
  return {
    id,
    record: recorded?.record,
    rows: recorded?.rows ?? [],
    held: recorded?.held,
    review: recorded?.review,
    timeline: recorded?.timeline,
    archived,
    archiveError,
  };
}

const loadRecordedRun = (context: AppContext, id: string, io: CommandIo) =>
  withDecisions(context, async (opened) => {
    const record = await opened.runs.get(id);
    const rows = await opened.decisions.list({ orgs: '*', run: id, limit: 1 });
    const timeline = record === undefined ? undefined : await loadRunTimeline(record, opened);
    const { value: held } = await withoutArchiveOutage(undefined, () => loadHeldRun(record, opened));
    const { value: review } = await withoutArchiveOutage(undefined, async () =>
      record?.deliver === true ? opened.reviewService.view(id, undefined) : undefined,
    );
    return { record, rows, held, review, timeline };
  }).catch((thrown: unknown) => {
    const error = toDocketError(thrown);
    if (!isRedisOutage(error)) throw error;
    createPrinter(io).printStatus(`${error.message} (${error.got ?? error.code}) Only the archive is shown.`);
    return undefined;
  });

/** Errors of an archive that may be available again later, or that belongs to another Redis. */
const ARCHIVE_OUTAGES: readonly DocketError['code'][] = [
  'archive.unreachable',
  'archive.marker_missing',
  'archive.marker_changed',
  'deployment.conflict',
];

/**
 * Reads from the archive. If it is unavailable, returns `otherwise` and the error, because the record is useful without
 * it.
 */
async function withoutArchiveOutage<Value>(
  otherwise: Value,
  read: () => Promise<Value>,
): Promise<{ readonly value: Value; readonly outage: DocketError | undefined }> {
  try {
    return { value: await read(), outage: undefined };
  } catch (thrown) {
    const outage = toDocketError(thrown);
    if (ARCHIVE_OUTAGES.includes(outage.code)) return { value: otherwise, outage };
    throw thrown;
  }
}

function loadRunTimeline(record: RunRecord, deployment: DecisionContext): Promise<RunTimeline> {
  const { decisions, pauses, redis, prefix } = deployment;
  const processes = redisProcessRegistry(redis, { prefix, self: 'reader' });
  const ports = {
    decisions,
    pauses,
    live: redisLiveProgress(redis, { prefix }),
    runHistory: async (run: RunRecord, rows: readonly DeliveryRow[]) => {
      const { value } = await withoutArchiveOutage(NO_HISTORY, () => loadRunHistory(run, rows, deployment));
      return value;
    },
    earlierDelivery: findDeliveredInRecords(deployment),
    countWorkers: async () => (await processes.countByRole()).get('worker') ?? 0,
  };
  return loadTimeline(ports, record);
}

/** Undefined if the run does not wait for people, or has no files to review. */
async function loadHeldRun(
  run: RunRecord | undefined,
  deployment: DecisionContext,
): Promise<Omit<HeldRun, 'error'> | undefined> {
  if (run === undefined || !WAITING_STATES.has(run.state)) return undefined;
  // If this machine has no definitions, the settings stored with the run apply.
  const orgs = await loadDefinitions(deployment.config.DOCKET_JOBS).then(
    ({ orgs }) => orgs,
    () => new Map(),
  );
  return loadReleasePreview(run, { ...deployment, orgs: () => orgs });
}

const loadArchivedRun = (context: AppContext, id: string): Promise<ArchivedRunDetails | undefined> =>
  withArchive(context, async ({ storage, signing }) => {
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
