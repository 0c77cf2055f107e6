import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { mapWithConcurrency, splitBatches } from '../../../base/concurrency.ts';
import { DocketError } from '../../../base/error.ts';
import { archiveCorrupt } from '../archive-errors.ts';
import { eventLog, type StoredEvent } from '../events/event-log.ts';
import type { EventSigning } from '../events/event-signing.ts';
import { requireArtifactName, requirePathName } from '../path-names.ts';
import { parseMetadata } from '../run-folder/run-metadata.ts';
import type { ArchiveStorage, RunRef } from '../storage/archive-storage.ts';
import { REVIEWS_FOLDER, type ReviewArchive } from './review-archive.ts';

/** Folder of the open reviews. Its leading dot distinguishes it from the folders of organizations. */
export const OPEN_FOLDER = `${REVIEWS_FOLDER}/.open`;
const OPEN_FILE = 'order.json';
const MAX_EVENTS = 999_999;
const CONCURRENCY = 8;

const openSchema = z.object({ org: z.string(), report: z.string(), run: z.string(), order: z.string() });

/** The folder of a run's review. */
export const reviewFolder = ({ org, report, id }: RunRef): string =>
  `${REVIEWS_FOLDER}/${requirePathName(org, 'organization')}/${requirePathName(report, 'report')}/${requirePathName(id, 'run')}`;

const openFolder = (run: string): string => `${OPEN_FOLDER}/${requirePathName(run, 'run')}`;
const eventFile = (seq: number): string => `${String(seq).padStart(6, '0')}.json`;

const isMark = ({ bytes }: StoredEvent): boolean => {
  try {
    return z.object({ type: z.literal('signed') }).safeParse(JSON.parse(bytes.toString('utf8'))).success;
  } catch {
    return false;
  }
};

/**
 * An event before the first signed one, which readers skip. A version that does not know signed events fails to read
 * it, so it treats nothing in this review as approved.
 */
const markAt = (at: number) => ({
  textOf: (seq: number): string => `${JSON.stringify({ seq, at, type: 'signed', id: randomUUID() })}\n`,
  isMark,
});

/** The path of a review's file. Throws `archive.unwritable` for a name that would leave the review's folder. */
function fileName(run: RunRef, name: string): string {
  const steps = name.split('/');
  const file = steps.pop() ?? '';
  // A review may have its own manifest.json and the like, so reserved names are allowed here.
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(file)) requireArtifactName(file);
  return [reviewFolder(run), ...steps.map((step) => requirePathName(step, 'folder')), file].join('/');
}

/**
 * Opens the reviews of an archive.
 *
 * @param eventSchema parses a stored event, which has `seq`
 * @param signing absent without a signing key
 */
export function createReviewArchive<Event extends { readonly seq: number; readonly at: number }>(
  storage: ArchiveStorage,
  eventSchema: z.ZodType<Event>,
  signing?: EventSigning,
): ReviewArchive<Event> {
  const { metadata, location } = storage;
  const log = eventLog(storage, 'A review', signing);
  const assertUsable = ({ org }: RunRef) => log.assertUsable(org);
  const parseEvent = (run: RunRef, { seq, bytes }: StoredEvent): Event => {
    const name = `${reviewFolder(run)}/events/${eventFile(seq)}`;
    const event = parseMetadata(location, name, bytes, eventSchema);
    if (event.seq === seq) return event;
    throw archiveCorrupt(location, `${name} is another event`, { expected: `number ${seq}`, got: String(event.seq) });
  };
  return {
    assertUsable,
    events: async (run) =>
      (await log.events(run.org, reviewFolder(run)))
        .filter((event) => !isMark(event))
        .map((event) => parseEvent(run, event)),
    append: async (run, seq, event) => {
      if (event.seq !== seq || !Number.isInteger(seq) || seq < 1 || seq > MAX_EVENTS)
        throw new DocketError('internal.defect', `An event of a review has the number ${event.seq}, not ${seq}.`);
      await assertUsable(run);
      // The id distinguishes two equal events, even if the store's reply is lost.
      const id = randomUUID();
      const serializeEvent = (number: number) => `${JSON.stringify({ ...event, seq: number, id })}\n`;
      return log.append(run.org, reviewFolder(run), seq - 1, serializeEvent, markAt(event.at));
    },
    put: async (run, name, bytes) => metadata.put(fileName(run, name), bytes),
    get: async (run, name) => metadata.get(fileName(run, name)),
    list: async (run, folder) =>
      metadata.list(
        `${reviewFolder(run)}/${folder
          .split('/')
          .map((step) => requirePathName(step, 'folder'))
          .join('/')}`,
      ),
    open: async (run, order) => {
      await assertUsable(run);
      await metadata.put(
        `${openFolder(run.id)}/${OPEN_FILE}`,
        `${JSON.stringify({ org: run.org, report: run.report, run: run.id, order })}\n`,
      );
    },
    async *listOpen() {
      const unreadable: unknown[] = [];
      const names = (await metadata.list(OPEN_FOLDER)).filter((name) => name.endsWith(`/${OPEN_FILE}`));
      for (const batch of splitBatches(names, CONCURRENCY)) {
        const files = await mapWithConcurrency(batch, CONCURRENCY, (name) => metadata.get(`${OPEN_FOLDER}/${name}`));
        for (const [index, bytes] of files.entries()) {
          // The review was closed after the listing.
          if (bytes === undefined) continue;
          let opened: z.infer<typeof openSchema>;
          try {
            opened = parseMetadata(location, `${OPEN_FOLDER}/${batch[index]}`, bytes, openSchema);
          } catch (error) {
            unreadable.push(error);
            continue;
          }
          const { org, report, run, order } = opened;
          yield { run: { id: run, org, report }, order };
        }
      }
      // Thrown at the end: one unreadable review must not hide the others.
      if (unreadable.length > 0) throw unreadable[0];
    },
    markSigned: (run, at) => log.putMark(run.org, reviewFolder(run), markAt(at)),
    close: async (run) => metadata.deleteAll(openFolder(run.id)),
  };
}
