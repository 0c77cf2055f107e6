import type { Artifact } from '../../../render/artifact.ts';
import type { Manifest } from '../manifest.ts';

/** Identifies a run and its place in the archive. */
export interface RunRef {
  readonly id: string;
  readonly org: string;
  readonly report: string;
}

export interface MetadataFile {
  readonly name: string;
  readonly bytes: string | Uint8Array;
}

/** The files of one run. Names are relative to the run's folder and contain `/`: `manifest.json`, `files/KPIs.xlsx`. */
export interface RunFiles {
  /** A folder or an `s3:` URL, for messages. */
  readonly location: string;
  /** Undefined when the file is absent. */
  get(name: string): Promise<Buffer | undefined>;
  /** Streams a file that should not be held in memory; undefined when it is absent. */
  stream(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Creates or replaces a file, whole or not at all. The file is durable once the promise has resolved. */
  put(name: string, bytes: string | Uint8Array): Promise<void>;
  /** Creates or replaces two files of one folder. The second never exists without the first. */
  putPair(first: MetadataFile, second: MetadataFile): Promise<void>;
  /** All names, sorted. */
  list(): Promise<readonly string[]>;
}

export interface StoredRun extends RunRef {
  readonly files: RunFiles;
  /** Epoch ms, if the listing shows it. */
  readonly publishedAt?: number;
  /** Epoch ms; the run was published then or earlier. Set only when one report is listed. */
  readonly publishedBefore?: number;
  /** For an incomplete upload, which was never visible as a run: when its last file was written, epoch ms. */
  readonly unpublishedAt?: number;
}

/** A link that opens without a login. */
export interface SharedLink {
  readonly url: string;
  /** Epoch ms; null: no expiry. */
  readonly until: number | null;
}

/** Where an archive is stored: a directory or a bucket. Throws `archive.unwritable`, `archive.unreachable`. */
export interface ArchiveStorage {
  /** A folder or an `s3:` URL, for messages. */
  readonly location: string;
  /** Creates a private, empty local folder for a run's files. A directory archive creates it on its own file system. */
  stage(run: string): Promise<string>;
  runFiles(run: RunRef): RunFiles;
  /** All runs, sorted by organization and report. With arguments, only those of one organization or report. */
  listRuns(org?: string, report?: string): AsyncGenerator<StoredRun>;
  /** All organizations, including those without runs. */
  listOrgs(): Promise<readonly string[]>;
  /** Finds a run by only its id; undefined if it does not exist. */
  find(id: string): Promise<StoredRun | undefined>;
  /**
   * Publishes an assembled folder atomically, and removes the folder. The first of several publishers of one run wins.
   * @returns a local folder with the caller's files; undefined if another publisher was first
   */
  publish(run: RunRef, staged: string, manifest: Manifest, artifacts: readonly Artifact[]): Promise<string | undefined>;
  /** Returns a local folder with these files of the run: its own folder, or a private copy. Skips absent files. */
  checkout(run: RunRef, names: readonly string[]): Promise<string>;
  /** Removes a private copy; the run's own folder stays. */
  discardCheckout(folder: string): Promise<void>;
  /**
   * Deletes a run. Safe to repeat after an interruption and to run in two processes at once; false when the run is
   * already deleted. Throws `archive.locked` if the store refuses.
   * @param onFirstDelete called after the first file is deleted, while the run is still listed
   */
  delete(run: RunRef, onFirstDelete?: () => Promise<void>): Promise<boolean>;
  /** Why the store refuses to delete the run now; undefined if it does not refuse. Absent for storage without locks. */
  readonly lockReason?: (run: RunRef, now: number) => Promise<string | undefined>;
  /** Names, with `/`, of files beside the runs' folders that are not Docket's. */
  listForeignFiles(org?: string): Promise<readonly string[]>;
  /** Files of the archive itself, under names that start with a dot. */
  readonly metadata: ArchiveMetadata;
  /** Tries every operation that the archive needs, and leaves nothing behind. @returns the result as a sentence */
  probe(): Promise<{ readonly ok: boolean; readonly detail: string }>;
  /** Makes a link to a file of a run; see `Archive.link`. */
  readonly link?: (run: RunRef, name: string, times: LinkTimes) => Promise<SharedLink | undefined>;
  close(): void;
}

/** The archive's files that belong to no run. Names contain `/`. */
export interface ArchiveMetadata extends Pick<RunFiles, 'get' | 'put'> {
  /** Creates a file. Resolves to false, and changes nothing, if the file exists. */
  putIfAbsent(name: string, bytes: string): Promise<boolean>;
  /**
   * A value that changes when the file is replaced or written; undefined if unknown. Cheaper than `get`. Absent for
   * buckets.
   */
  readonly identity?: (name: string) => Promise<string | undefined>;
  /**
   * Whether the store honours the condition of `putIfAbsent`. Call `honoursConditions` instead. Tests it once, on the
   * existing marker. Absent if the storage always honours it.
   */
  readonly conditionalWrites?: () => Promise<boolean>;
  /** All names below a folder, relative to it, sorted. */
  list(folder: string): Promise<readonly string[]>;
  /** Deletes everything below a folder. Does nothing for an empty one. */
  deleteAll(folder: string): Promise<void>;
}

/** Epoch ms. */
export interface LinkTimes {
  readonly now: number;
  /** When the files were made. */
  readonly madeAt: number;
}

/** Files of the archive itself, at its root. */
const ARCHIVE_FILES: readonly string[] = ['docket-archive.json'];

/** Whether a file beside the runs' folders is not one of Docket's. */
export const isForeignFile = (name: string): boolean =>
  !ARCHIVE_FILES.includes(name) && !name.split('/').some((step) => step.startsWith('.'));

/** Whether a file of a run may be overwritten. All other files are written once. */
export const isMutable = (name: string): boolean => name === 'receipts.json';

/** Whether a file is written after the run was published. All other files belong to the published content. */
export const isMetadataFile = (name: string): boolean =>
  ['receipts.json', 'release.json', 'chain.json'].includes(name) || /^(messages|attempts)\//.test(name);
