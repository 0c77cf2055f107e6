import type { ChainEntry, ChainFile } from '../chain/signed-document.ts';

/** An event as the chain records it. */
export interface RecordedEvent {
  readonly seq: number;
  /** SHA-256 of its file, hex. */
  readonly sha256: string;
}

/** Path of an event's file: `.reviews/<org>/<report>/<run>/events/000001.json`, or the same below `.corrections/`. */
const EVENT_PATH = /^(\.(?:reviews|corrections)\/[^/]+\/[^/]+\/[^/]+)\/events\/(\d{6})\.json$/;
const CUT_OVER = /^events before the cut-over: \d+$/;
const APPENDED = /^event after (\d+)$/;
const DELETED = /^deleted (\.(?:reviews|corrections)\/\S+)$/;

export const eventPath = (folder: string, seq: number): string =>
  `${folder}/events/${String(seq).padStart(6, '0')}.json`;

/** Folder and number of an event's file; undefined for any other file. */
export function parseEventPath(name: string): { readonly folder: string; readonly seq: number } | undefined {
  const [, folder, digits] = EVENT_PATH.exec(name) ?? [];
  return folder === undefined ? undefined : { folder, seq: Number(digits) };
}

/**
 * The chain entry that begins the record of events. Such entries name no run: older versions take them for files of the
 * organization and ignore them.
 */
export const cutOverEntry = (files: readonly ChainFile[]) => ({
  kind: 'papers' as const,
  files: [...files],
  why: `events before the cut-over: ${files.length}`,
});
/** The chain entry for an appended event. @param after number of the event that it follows; 0: none */
export const appendedEntry = (file: ChainFile, after: number) => ({
  kind: 'papers' as const,
  files: [file],
  why: `event after ${after}`,
});
export const deletedEntry = (folder: string) => ({ kind: 'papers' as const, files: [], why: `deleted ${folder}` });

type EventEntry = Pick<ChainEntry, 'kind' | 'run' | 'files' | 'why'>;

/** The folders that an entry is about; `cutOver` for the entry that begins the record. */
export function parseSubjects({ kind, run, files, why = '' }: EventEntry): 'cutOver' | readonly string[] {
  if (kind !== 'papers' || run !== undefined) return [];
  if (CUT_OVER.test(why)) return 'cutOver';
  const deleted = DELETED.exec(why)?.[1];
  if (deleted !== undefined) return [deleted];
  return APPENDED.test(why) ? files.flatMap(({ name }) => parseEventPath(name)?.folder ?? []) : [];
}

/**
 * Works out the events of an organization that count, from its chain entries in order. Before the first cut-over entry,
 * no event is recorded. Later, an event counts if it follows the last one that counts: when two processes decide at
 * once, only one decision counts.
 */
export function createEventRecord() {
  const folders = new Map<string, RecordedEvent[]>();
  let isCutOver = false;
  const push = (folder: string, event: RecordedEvent): void => {
    folders.set(folder, [...(folders.get(folder) ?? []), event]);
  };
  return {
    add: (entry: EventEntry): void => {
      const subjects = parseSubjects(entry);
      if (subjects === 'cutOver') {
        if (isCutOver) return;
        isCutOver = true;
        for (const { name, sha256 } of [...entry.files].sort((one, other) => (one.name < other.name ? -1 : 1))) {
          const path = parseEventPath(name);
          if (path !== undefined) push(path.folder, { seq: path.seq, sha256 });
        }
        return;
      }
      if (!isCutOver) return;
      const after = APPENDED.exec(entry.why ?? '')?.[1];
      if (after === undefined) {
        for (const folder of subjects) folders.delete(folder);
        return;
      }
      const [file] = entry.files;
      const path = file === undefined ? undefined : parseEventPath(file.name);
      if (file === undefined || path === undefined) return;
      const last = folders.get(path.folder)?.at(-1)?.seq ?? 0;
      if (Number(after) === last && path.seq > last) push(path.folder, { seq: path.seq, sha256: file.sha256 });
    },
    get isCutOver(): boolean {
      return isCutOver;
    },
    of: (folder: string): readonly RecordedEvent[] => folders.get(folder) ?? [],
    folders: (): Iterable<string> => folders.keys(),
  };
}
export type EventRecord = ReturnType<typeof createEventRecord>;
