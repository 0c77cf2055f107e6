import { sha256 } from '../../../base/sha256.ts';
import { archiveCorrupt } from '../archive-errors.ts';
import { eventLog } from '../events/event-log.ts';
import { eventPath } from '../events/event-record.ts';
import type { EventSigning } from '../events/event-signing.ts';
import { requirePathName } from '../path-names.ts';
import { parseMetadata } from '../run-folder/run-metadata.ts';
import type { ArchiveStorage, RunRef } from '../storage/archive-storage.ts';
import { type CorrectionEvent, correctionEventSchema } from './correction-event.ts';

/**
 * Folder in the archive: `<org>/<report>/<run>/` with `figures/<sha256>.json`, `events/<number>.json`, and
 * `files/<sha256>`, from which outputs were made.
 */
export const CORRECTIONS_FOLDER = '.corrections';

const FIGURES_FILE = /^figures\/([0-9a-f]{64})\.json$/;
const EVENT_FILE = /^events\/(\d{6})\.json$/;

/** A run that has files here. */
export interface WatchedRun {
  readonly run: RunRef;
  /** SHA-256 (hex) of its stored figures. If the run is published, its manifest names one of them. */
  readonly figures: readonly string[];
  /** Number of its last event; 0 before the first. */
  readonly lastEvent: number;
}

/**
 * Stores the figures of delivered editions, and what was found and decided about them. Files are written once. Throws
 * `archive.unwritable`, `archive.unreachable`, `archive.corrupt`.
 */
export type CorrectionArchive = ReturnType<typeof correctionArchive>;

export const correctionFolder = ({ org, report, id }: RunRef): string =>
  [
    CORRECTIONS_FOLDER,
    requirePathName(org, 'organization'),
    requirePathName(report, 'report'),
    requirePathName(id, 'run'),
  ].join('/');

/** @param signing absent without a signing key */
export function correctionArchive(storage: ArchiveStorage, signing?: EventSigning) {
  const { metadata, location } = storage;
  const log = eventLog(storage, 'A correction', signing);
  return {
    /** Stores the figures of a run that is about to be published. @returns their SHA-256, for the manifest */
    putFigures: async (run: RunRef, text: string): Promise<string> => {
      // Otherwise nobody could correct the run later.
      await log.assertUsable(run.org);
      const hash = sha256(text);
      await metadata.putIfAbsent(`${correctionFolder(run)}/figures/${hash}.json`, text);
      return hash;
    },
    /** The stored figures; undefined if there are none. Throws `archive.corrupt` if they have changed. */
    getFigures: async (run: RunRef, hash: string): Promise<Buffer | undefined> => {
      const name = `${correctionFolder(run)}/figures/${hash}.json`;
      const bytes = await metadata.get(name);
      if (bytes === undefined) return undefined;
      const got = sha256(bytes);
      if (got !== hash) throw archiveCorrupt(location, `${name} has changed`, { expected: `SHA-256 ${hash}`, got });
      return bytes;
    },
    /** Stores a file from which an output of the run is made. @returns its SHA-256 */
    putFile: async (run: RunRef, bytes: Uint8Array): Promise<string> => {
      const hash = sha256(bytes);
      await metadata.put(`${correctionFolder(run)}/files/${hash}`, bytes);
      return hash;
    },
    /** Reads such a file. Throws `archive.corrupt` if it is missing or has changed. */
    getFile: async (run: RunRef, hash: string): Promise<Buffer> => {
      const name = `${correctionFolder(run)}/files/${hash}`;
      const bytes = await metadata.get(name);
      if (bytes === undefined) throw archiveCorrupt(location, `${name} is missing`);
      const got = sha256(bytes);
      if (got !== hash) throw archiveCorrupt(location, `${name} has changed`, { expected: `SHA-256 ${hash}`, got });
      return bytes;
    },
    /** All events of a run, in order. */
    events: async (run: RunRef): Promise<readonly CorrectionEvent[]> =>
      (await log.events(run.org, correctionFolder(run))).map(({ seq, bytes }) =>
        parseMetadata(location, eventPath(correctionFolder(run), seq), bytes, correctionEventSchema),
      ),
    /**
     * Appends an event under number `seq`, the last number + 1. If events are signed, it may get a higher number. Only
     * one of several processes succeeds.
     * @returns false when another event has this number
     */
    append: async (run: RunRef, event: CorrectionEvent): Promise<boolean> => {
      await log.assertUsable(run.org);
      const serializeEvent = (seq: number) => `${JSON.stringify({ ...event, seq })}\n`;
      return log.append(run.org, correctionFolder(run), event.seq - 1, serializeEvent);
    },
    /** All runs with files here. Costs one listing. */
    list: async (): Promise<readonly WatchedRun[]> => {
      const runs = new Map<string, { run: RunRef; figures: string[]; lastEvent: number }>();
      for (const name of await metadata.list(CORRECTIONS_FOLDER)) {
        const [org = '', report = '', id = '', ...rest] = name.split('/');
        const file = rest.join('/');
        const [, hash] = FIGURES_FILE.exec(file) ?? [];
        const [, number] = EVENT_FILE.exec(file) ?? [];
        if (hash === undefined && number === undefined) continue;
        const entry = runs.get(id) ?? { run: { org, report, id }, figures: [], lastEvent: 0 };
        if (hash !== undefined) entry.figures.push(hash);
        if (number !== undefined) entry.lastEvent = Math.max(entry.lastEvent, Number(number));
        runs.set(id, entry);
      }
      return [...runs.values()];
    },
    /** Deletes everything stored for a run. */
    delete: (run: RunRef): Promise<void> => metadata.deleteAll(correctionFolder(run)),
  };
}
