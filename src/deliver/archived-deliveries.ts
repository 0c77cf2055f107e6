import { z } from 'zod';
import { toDocketError } from '../base/error.ts';
import { canonicalAddress } from '../define/recipients.ts';
import { eachAtOnce } from './at-once.ts';
import { keptMessages, readAttempts, readReceipts } from './kept-attempts.ts';
import { type DeliveryState, noticeId } from './ledger.ts';
import { readPaper } from './run-papers.ts';
import type { Shelf, Shelved } from './shelf.ts';

/** The days of a period, and the zone in which they are days: what makes two periods the same. */
export interface Days {
  readonly from: string;
  readonly to: string;
  readonly timezone: string;
}

/** One delivery as the archive knows it, without the ledger. */
export interface ArchivedDelivery {
  /** Position and kind in the definition; `email` or `webhook` alone where only the kept message tells; null where nothing does. */
  readonly target: string | null;
  /** The delivery's id where the archive does not name the recipient. */
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
  readonly period: Days;
}

/** The archived runs of one report and period. */
export type ArchivedRuns = (query: ArchivedRunsQuery) => AsyncGenerator<ArchivedRun>;

/** What is read of a manifest: a newer version of Docket may have written more, and other fields may have changed. */
const manifestSchema = z.looseObject({
  owner: z.string(),
  period: z.object({ from: z.string(), to: z.string(), timezone: z.string() }),
  made_at: z.string(),
});
type Read = z.infer<typeof manifestSchema>;

/** Manifests that are read at the same time. */
const CONCURRENCY = 16;
/** Manifests whose period is remembered; they never change. */
const CACHE_SIZE = 20_000;
/** A period begins up to a day earlier or later in another zone; clocks of a store and of a worker may differ as well. */
const MARGIN_MS = 2 * 86_400_000;

/**
 * Finds archived runs by report and period, newest first. Lists the runs of that report alone, and opens only those that were
 * sealed after the period had begun. What cannot be read of a run is told to `unreadable`: without its manifest the run is
 * skipped, without its attempts it has one delivery in state `unknown`. Throws `archive.unreachable`.
 */
export function archivedRuns(
  shelf: Pick<Shelf, 'runs'>,
  unreadable: (run: Shelved, error: unknown) => void,
): ArchivedRuns {
  const cache = new Map<string, Read>();
  const manifestOf = async (run: Shelved): Promise<Read | undefined> => {
    const known = cache.get(run.id);
    if (known !== undefined) return known;
    const read = await readPaper(run.box, 'manifest.json', manifestSchema);
    if (read === undefined) return undefined;
    const { owner, period, made_at } = read;
    cache.set(run.id, { owner, period, made_at });
    const [oldest] = cache.size > CACHE_SIZE ? cache.keys() : [];
    if (oldest !== undefined) cache.delete(oldest);
    return read;
  };
  const ifReadable = async <T>(run: Shelved, read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (toDocketError(error).code !== 'archive.corrupt') throw error;
      unreadable(run, error);
      return undefined;
    }
  };

  return async function* ({ org, report, period }) {
    const begins = Date.parse(period.from) - MARGIN_MS;
    const candidates: Shelved[] = [];
    for await (const run of shelf.runs(org, report)) {
      if (run.halfMadeAt === undefined && (run.sealedBy ?? begins) >= begins) candidates.push(run);
    }
    candidates.sort((one, other) => (other.sealedBy ?? 0) - (one.sealedBy ?? 0));
    for (let at = 0; at < candidates.length; at += CONCURRENCY) {
      const batch = candidates.slice(at, at + CONCURRENCY);
      const manifests = new Map<Shelved, Read | undefined>();
      await eachAtOnce(batch, CONCURRENCY, async (run) => {
        manifests.set(run, await ifReadable(run, () => manifestOf(run)));
      });
      for (const run of batch) {
        const manifest = manifests.get(run);
        if (manifest === undefined || !sameDays(manifest.period, period)) continue;
        const deliveries = await ifReadable(run, () => deliveriesOf(run, manifest));
        const at = Date.parse(manifest.made_at);
        yield { run: run.id, deliveries: deliveries ?? [{ target: null, recipient: run.id, state: 'unknown', at }] };
      }
    }
  };
}

/** Whether two periods are the same days, whatever they are called. */
export const sameDays = (one: Days, other: Days): boolean =>
  one.from === other.from && one.to === other.to && one.timezone === other.timezone;

/**
 * The latest attempt at each delivery is the best witness; `receipts.json`, then a message that was kept, speak where there is
 * none. Notices to the owner are no deliveries of the report.
 */
async function deliveriesOf({ id, box }: Shelved, { owner, made_at }: Read): Promise<readonly ArchivedDelivery[]> {
  const [names, receipts, attempts] = [await box.names(), await readReceipts(box), await readAttempts(box)];
  const madeAt = Date.parse(made_at);
  const found = new Map<string, ArchivedDelivery>();
  for (const { name, delivery } of keptMessages(names)) {
    const target = name.endsWith('.json') ? 'webhook' : 'email';
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
