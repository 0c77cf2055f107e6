import { toDocketError } from '../../base/error.ts';
import { readAttemptHistory } from '../../deliver/archive/attempt-log.ts';
import { readManifest } from '../../deliver/archive/run-folder/run-metadata.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import type { DeliveryRow, DeliveryState } from '../../deliver/ledger/ledger.ts';
import type { ReviewEvent } from '../../run/review/review-event.ts';
import { type RunRecord, TERMINAL_STATES } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';

/** The result of one attempt at a delivery. */
export interface DeliveryEvent {
  readonly delivery: string;
  /** `sending`: no result is recorded. */
  readonly state: DeliveryState;
  /** The server's reply. */
  readonly detail: string | null;
  /** Epoch ms. */
  readonly at: number;
}

/** What only the archive knows about a run. */
export interface RunHistory {
  /** When the files were made, epoch ms. Null if the record has it, or if nobody knows. */
  readonly madeAt: number | null;
  /**
   * For deliveries that were attempted or decided more than once, because the ledger keeps only the last result of
   * each. Oldest first.
   */
  readonly events: readonly DeliveryEvent[];
  /** For a run that is reviewed before delivery: the review's events, oldest first. */
  readonly review: readonly ReviewEvent[];
}

export const NO_HISTORY: RunHistory = { madeAt: null, events: [], review: [] };

/** For how many deliveries to read the attempts. Each takes a few small files. */
const MAX_DELIVERIES = 200;

/** Whether the record says that the run waited for people. Other runs have no review, or an empty one. */
const hasReview = ({ state, review, reopened }: RunRecord): boolean =>
  review !== undefined || state === 'awaiting_approval' || reopened.some(({ what }) => what === 'review');

/** Reads as little as the run needs, usually nothing. If the archive is unreadable, the history is empty. */
export async function loadRunHistory(
  record: RunRecord,
  rows: readonly DeliveryRow[],
  { storage, reviews, log }: Deployment,
): Promise<RunHistory> {
  const several = rows.filter(({ epoch, decisions }) => epoch > 1 || decisions.length > 0).slice(0, MAX_DELIVERIES);
  const isOld =
    record.stageEnds === undefined && TERMINAL_STATES.has(record.state) && record.timings.seal !== undefined;
  const isReviewed = hasReview(record);
  if (several.length === 0 && !isOld && !isReviewed) return NO_HISTORY;
  const { id, org, report } = record;
  const run: RunRef = { id, org, report };
  try {
    const files = storage.runFiles(run);
    const [manifest, attempts, review] = await Promise.all([
      isOld ? readManifest(files) : undefined,
      several.length === 0 ? [] : readAttemptHistory(files, new Set(several.map((row) => row.id))),
      isReviewed ? reviews.events(run) : [],
    ]);
    const madeAt = manifest === undefined ? Number.NaN : Date.parse(manifest.made_at);
    return {
      madeAt: Number.isNaN(madeAt) ? null : madeAt,
      events: attempts.flatMap(({ delivery, state, detail, at, decision }) =>
        decision === undefined ? [{ delivery, state, detail, at }] : [],
      ),
      review,
    };
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (!error.code.startsWith('archive.')) throw error;
    log.warn('Attempts of a run could not be read from the archive', { run: id, org, report, error: error.toJSON() });
    return NO_HISTORY;
  }
}
