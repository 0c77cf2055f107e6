import { z } from 'zod';
import { mapWithConcurrency } from '../../base/concurrency.ts';
import { toDocketError } from '../../base/error.ts';
import { DAY_MS } from '../../base/time.ts';
import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import { type DeliveryState, noticeId } from '../ledger/ledger.ts';
import { kindOfMessage } from '../targets/registry.ts';
import { archivedMessages, readAttempts, readReceipts } from './attempt-log.ts';
import { readMetadataFile } from './run-folder/run-metadata.ts';
import type { ArchiveStorage, StoredRun } from './storage/archive-storage.ts';

/** The days and time zone of a period, which identify it. */
export interface PeriodDays {
  readonly from: string;
  readonly to: string;
  readonly timezone: string;
}

/** One delivery as the archive knows it, without the ledger. */
export interface ArchivedDelivery {
  /**
   * Position and kind in the definition. Only the kind (`email`, `webhook`) if nothing but an archived message shows
   * the delivery; null if even that is unknown.
   */
  readonly target: string | null;
  /** The recipient; the delivery's id if the archive does not name the recipient. */
  readonly recipient: string;
  readonly state: DeliveryState;
  /** Epoch ms. */
  readonly at: number;
}

/** An archived run of a period. */
export interface ArchivedRun {
  readonly run: string;
  readonly deliveries: readonly ArchivedDelivery[];
}

export interface ArchivedRunsQuery {
  readonly org: string;
  readonly report: string;
  readonly period: PeriodDays;
}

/** The archived runs of one report and period, newest first. */
export type FindArchivedRuns = (query: ArchivedRunsQuery) => AsyncGenerator<ArchivedRun>;

/** Only the fields that are read here. Loose: the manifest of a newer version may have other fields. */
const manifestSchema = z.looseObject({
  owner: z.string(),
  period: z.object({ from: z.string(), to: z.string(), timezone: z.string() }),
  made_at: z.string(),
});
type ManifestSummary = z.infer<typeof manifestSchema>;

/** Manifests read at the same time. */
const CONCURRENCY = 16;
/** Manifests kept in the cache. A manifest never changes. */
const CACHE_SIZE = 20_000;
/** Covers time zones, in which a period begins up to a day earlier or later, and clocks that disagree. */
const MARGIN_MS = 2 * DAY_MS;

/**
 * Finds archived runs by report and period. Lists the runs of that report and opens those published since the period
 * began. Reports unreadable files to `onUnreadable`: a run without a readable manifest is skipped, and a run without
 * readable attempts yields one delivery in state `unknown`. Throws `archive.unreachable`.
 */
export function findArchivedRuns(
  storage: ArchiveStorage,
  onUnreadable: (run: StoredRun, error: unknown) => void,
): FindArchivedRuns {
  const cache = new Map<string, ManifestSummary>();
  const loadManifest = async (run: StoredRun): Promise<ManifestSummary | undefined> => {
    const cached = cache.get(run.id);
    if (cached !== undefined) return cached;
    const manifest = await readMetadataFile(run.files, 'manifest.json', manifestSchema);
    if (manifest === undefined) return undefined;
    const { owner, period, made_at } = manifest;
    cache.set(run.id, { owner, period, made_at });
    const [oldest] = cache.size > CACHE_SIZE ? cache.keys() : [];
    if (oldest !== undefined) cache.delete(oldest);
    return manifest;
  };
  return async function* ({ org, report, period }) {
    const start = Date.parse(period.from) - MARGIN_MS;
    const candidates: StoredRun[] = [];
    for await (const run of storage.listRuns(org, report)) {
      if (run.unpublishedAt === undefined && (run.publishedBefore ?? start) >= start) candidates.push(run);
    }
    candidates.sort((one, other) => (other.publishedBefore ?? 0) - (one.publishedBefore ?? 0));
    for (let from = 0; from < candidates.length; from += CONCURRENCY) {
      const batch = candidates.slice(from, from + CONCURRENCY);
      const manifests = await mapWithConcurrency(batch, CONCURRENCY, (run) =>
        ifReadable(() => loadManifest(run), run, onUnreadable),
      );
      for (const [index, run] of batch.entries()) {
        const manifest = manifests[index];
        if (manifest === undefined || !isSamePeriodDays(manifest.period, period)) continue;
        const deliveries = await ifReadable(() => archivedDeliveries(run, manifest), run, onUnreadable);
        const at = Date.parse(manifest.made_at);
        yield { run: run.id, deliveries: deliveries ?? [{ target: null, recipient: run.id, state: 'unknown', at }] };
      }
    }
  };
}

/** The result of `read`; undefined, after a report to `onUnreadable`, for a corrupt file of the run. */
export async function ifReadable<T, Run>(
  read: () => Promise<T>,
  run: Run,
  onUnreadable: (run: Run, error: unknown) => void,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (toDocketError(error).code !== 'archive.corrupt') throw error;
    onUnreadable(run, error);
    return undefined;
  }
}

/** Whether two periods have the same days, whatever their labels. */
export const isSamePeriodDays = (one: PeriodDays, other: PeriodDays): boolean =>
  one.from === other.from && one.to === other.to && one.timezone === other.timezone;

/**
 * The state of each delivery, from the first of these that exists: its latest attempt, `receipts.json`, or, in a run
 * without attempts, an archived message. Leaves out notices to the owner, which are not deliveries of the report.
 */
async function archivedDeliveries(
  { id, files }: StoredRun,
  { owner, made_at }: ManifestSummary,
): Promise<readonly ArchivedDelivery[]> {
  const [names, receipts, attempts] = [await files.list(), await readReceipts(files), await readAttempts(files)];
  const madeAt = Date.parse(made_at);
  const found = new Map<string, ArchivedDelivery>();
  // `readArchivedStates` treats messages in the same way.
  for (const { name, delivery } of attempts.length === 0 ? archivedMessages(names) : []) {
    const target = kindOfMessage(name);
    found.set(delivery, { target, recipient: delivery, state: 'sending', at: madeAt });
  }
  for (const { delivery, target, recipient, state } of receipts) {
    if (state === 'skipped') found.delete(delivery);
    else found.set(delivery, { target, recipient, state, at: madeAt });
  }
  for (const { delivery, target, state, at } of attempts) {
    const { target: known = null, recipient = delivery } = found.get(delivery) ?? {};
    found.set(delivery, { target: target ?? known, recipient, state, at });
  }
  for (const held of [true, false]) found.delete(noticeId(id, canonicalAddress(owner) ?? owner, held));
  return [...found.values()];
}
