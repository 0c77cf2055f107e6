import { z } from 'zod';
import type { EventSigning } from '../events/event-signing.ts';
import type { RetainedSince } from '../held-storage.ts';
import { parseMetadata } from '../run-folder/run-metadata.ts';
import type { ArchiveStorage, RunRef } from '../storage/archive-storage.ts';
import { OPEN_FOLDER, reviewFolder } from './create-review-archive.ts';
import { REVIEWS_FOLDER } from './review-archive.ts';

/** `<org>/<report>/<run>/…`. Does not match the folder of open reviews, which begins with a dot. */
const REVIEW_FILE = /^([^/.][^/]*)\/([^/]+)\/([^/]+)\/(?:events\/(\d{6})\.json$)?/;

const eventSchema = z.object({ at: z.number() });

interface FoundReview {
  readonly run: RunRef;
  readonly lastEvent: number;
}

/**
 * Deletes reviews that ended longer ago than their organization's retention, once their run is no longer in the
 * archive. Safe to interrupt and to run in two processes at once.
 *
 * @param retainedSince epoch ms; undefined: no limit
 * @param signing records each deletion first
 * @returns the number of deleted reviews
 */
export async function deleteExpiredReviews(
  storage: ArchiveStorage,
  retainedSince: RetainedSince,
  onFailure: (folder: string, error: unknown) => void,
  signing?: Pick<EventSigning, 'recordDeletion'>,
): Promise<number> {
  const { metadata } = storage;
  const names = await metadata.list(REVIEWS_FOLDER);
  // Listed after the files: a review is marked as open before it has any other file.
  const open = new Set((await metadata.list(OPEN_FOLDER)).map((name) => name.slice(0, name.indexOf('/'))));
  let deleted = 0;
  for (const { run, lastEvent } of reviewsIn(names)) {
    const since = await retainedSince(run.org);
    if (since === undefined || open.has(run.id)) continue;
    const folder = reviewFolder(run);
    try {
      if ((await storage.runFiles(run).get('manifest.json')) !== undefined) continue;
      if (lastEvent > 0 && (await timeOf(folder, lastEvent, storage)) >= since) continue;
      await signing?.recordDeletion(run.org, folder);
      await metadata.deleteAll(folder);
      deleted += 1;
    } catch (error) {
      onFailure(folder, error);
    }
  }
  return deleted;
}

function reviewsIn(names: readonly string[]): Iterable<FoundReview> {
  const found = new Map<string, FoundReview>();
  for (const name of names) {
    const [, org, report, id, seq = '0'] = REVIEW_FILE.exec(name) ?? [];
    if (org === undefined || report === undefined || id === undefined) continue;
    const lastEvent = Math.max(Number(seq), found.get(id)?.lastEvent ?? 0);
    found.set(id, { run: { id, org, report }, lastEvent });
  }
  return found.values();
}

/** When an event happened, epoch ms. Throws `archive.corrupt`. */
async function timeOf(folder: string, seq: number, { metadata, location }: ArchiveStorage): Promise<number> {
  const name = `${folder}/events/${String(seq).padStart(6, '0')}.json`;
  const bytes = await metadata.get(name);
  // Another process is deleting it.
  return bytes === undefined ? 0 : parseMetadata(location, name, bytes, eventSchema).at;
}
