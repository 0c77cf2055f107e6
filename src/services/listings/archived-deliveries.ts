import { mapWithConcurrency, splitBatches } from '../../base/concurrency.ts';
import { type ErrorJson, toDocketError } from '../../base/error.ts';
import { addressKey, recipientSearchText } from '../../definitions/allow-lists/recipients.ts';
import type { Period } from '../../definitions/periods/period.ts';
import { readArchivedStates, readAttempts, readReceipts } from '../../deliver/archive/attempt-log.ts';
import { readManifest } from '../../deliver/archive/run-folder/run-metadata.ts';
import type { StoredRun } from '../../deliver/archive/storage/archive-storage.ts';
import type { DeliveryRow } from '../../deliver/ledger/ledger.ts';
import { namedDeliveries } from '../../deliver/ledger/ledger-recovery.ts';
import type { RunCursor } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { type ArchivedDeliveries, type ReceivedDelivery, recipientTerm } from './received.ts';

/** What a manifest says about its run. It never changes. */
interface Summary {
  readonly title: string;
  readonly period: Period;
  /** When the files were made, epoch ms. */
  readonly madeAt: number;
}

/** Runs read at the same time. */
const CONCURRENCY = 16;
/** Summaries kept in memory: enough for the runs of some years. */
const CACHE_SIZE = 50_000;
/** How many runs' deliveries to read for one page. */
const MAX_READ = 2_000;

export function createArchivedDeliveries({
  storage,
  runs,
  log,
}: Pick<Deployment, 'storage' | 'runs' | 'log'>): ArchivedDeliveries {
  const cache = new Map<string, Summary>();
  const loadSummary = async (run: StoredRun): Promise<Summary | undefined> => {
    const cached = cache.get(run.id);
    if (cached !== undefined) return cached;
    const manifest = await readManifest(run.files);
    if (manifest === undefined) return undefined;
    const { title, period, made_at } = manifest;
    const summary = { title, period, madeAt: Date.parse(made_at) };
    cache.set(run.id, summary);
    const [oldest] = cache.size > CACHE_SIZE ? cache.keys() : [];
    if (oldest !== undefined) cache.delete(oldest);
    return summary;
  };
  return {
    list: async ({ orgs, to, begins, report, reports, state, after, limit }) => {
      let error: ErrorJson | undefined;
      /** An unreadable run must not hide the others. Its name is reported. */
      const ifReadable = async <T>(run: StoredRun, read: () => Promise<T>): Promise<T | undefined> =>
        read().catch((thrown: unknown) => {
          const found = toDocketError(thrown);
          if (found.code !== 'archive.corrupt') throw thrown;
          error = found.toJSON();
          log.warn('Deliveries of an archived run are unreadable', { run: run.id, org: run.org, error });
          return undefined;
        });
      const stored: StoredRun[] = [];
      for (const listing of orgs === '*' ? [storage.listRuns()] : orgs.map((org) => storage.listRuns(org, report))) {
        for await (const run of listing) {
          const isNamed = report === undefined || run.report === report;
          const isMatch = reports?.includes(`${run.org}/${run.report}`) ?? true;
          if (run.unpublishedAt === undefined && isNamed && isMatch) stored.push(run);
        }
      }
      const summaries = await mapWithConcurrency(stored, CONCURRENCY, (run) => ifReadable(run, () => loadSummary(run)));
      const candidates = stored
        .flatMap((run, index) => {
          const summary = summaries[index];
          return summary === undefined ? [] : [{ run, ...summary }];
        })
        .filter(({ period: { from } }) => begins === undefined || (from >= begins.from && from <= begins.to))
        .filter(({ run, madeAt }) => after === undefined || isOlder({ createdAt: madeAt, id: run.id }, after))
        .sort((one, other) => other.madeAt - one.madeAt || (other.run.id < one.run.id ? -1 : 1));
      const isWanted = matcher(to);
      const deliveries: ReceivedDelivery[] = [];
      let matched = 0;
      let read = 0;
      for (const batch of splitBatches(candidates, CONCURRENCY)) {
        const found = await mapWithConcurrency(batch, CONCURRENCY, async ({ run, madeAt }) =>
          // A run with a record was already listed.
          (await runs.get(run.id)) === undefined ? ifReadable(run, () => archivedRows(run, madeAt)) : [],
        );
        for (const [index, { run, title, period, madeAt }] of batch.entries()) {
          const rows = (found[index] ?? []).filter(
            (row) => (state === undefined || row.state === state) && isWanted(row.recipient),
          );
          deliveries.push(...rows.map((row) => ({ row, period, title, content: null, archived: true as const })));
          matched += rows.length === 0 ? 0 : 1;
          read += 1;
          const isLast = read === candidates.length;
          if (!isLast && (matched >= limit || read >= MAX_READ))
            return { deliveries, next: { createdAt: madeAt, id: run.id }, error };
        }
      }
      return { deliveries, next: null, error };
    },
  };
}

const isOlder = (one: RunCursor, other: RunCursor): boolean =>
  one.createdAt < other.createdAt || (one.createdAt === other.createdAt && one.id < other.id);

/** A complete address matches only itself. */
function matcher(to: string | undefined): (recipient: string) => boolean {
  if (to === undefined) return () => true;
  const key = addressKey(to.trim());
  const part = recipientSearchText(to.trim());
  return (recipient) =>
    key === undefined ? recipientTerm(recipient).includes(part) : recipientTerm(recipient) === key;
}

/** A run's deliveries as its archive names them, with the last reply of each server. */
async function archivedRows({ files }: StoredRun, madeAt: number): Promise<readonly DeliveryRow[]> {
  const [manifest, archivedStates, receipts, attempts] = await Promise.all([
    readManifest(files),
    readArchivedStates(files),
    readReceipts(files),
    readAttempts(files),
  ]);
  if (manifest === undefined) return [];
  return namedDeliveries({ manifest, archivedStates, receipts }).flatMap((row) => {
    const archived = archivedStates.get(row.id);
    if (archived === undefined) return [];
    const ownAttempts = attempts.filter(({ delivery }) => delivery === row.id);
    const decisions = ownAttempts.flatMap(({ decision }) => decision ?? []);
    // An attempt without a result was interrupted.
    const state = archived.state === 'sending' ? 'unknown' : archived.state;
    const { epoch, detail } = archived;
    return [{ ...row, epoch, detail, state, at: ownAttempts.at(-1)?.at ?? madeAt, decisions }];
  });
}
