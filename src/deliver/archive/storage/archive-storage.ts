import type { Artifact } from '../../../render/artifact.ts';
import type { Manifest } from '../archive.ts';

/** What tells a run from all others, and where it stands. */
export interface RunRef {
  readonly id: string;
  readonly org: string;
  readonly report: string;
}

export interface MetadataFile {
  readonly name: string;
  readonly bytes: string | Uint8Array;
}

/** One run's papers and files, each by its name in the run's folder, with `/`: `manifest.json`, `files/KPIs.xlsx`. */
export interface RunFiles {
  /** For people: a folder, or an `s3:` URL. */
  readonly location: string;
  /** Undefined when it is not there. */
  get(name: string): Promise<Buffer | undefined>;
  /** For what memory need not hold; undefined when it is not there. */
  stream(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Whole or not at all, in place of what stands there; it survives a power cut once the promise has resolved. */
  put(name: string, bytes: string | Uint8Array): Promise<void>;
  /** Papers that belong together, as `put`: whoever finds the second finds the first. Both in one folder. */
  putPair(first: MetadataFile, second: MetadataFile): Promise<void>;
  /** All that is there, in order. */
  list(): Promise<readonly string[]>;
}

export interface StoredRun extends RunRef {
  readonly files: RunFiles;
  /** Epoch ms, where listing tells. */
  readonly publishedAt?: number;
  /** Epoch ms: it was sealed then or before. Only in the listing of one report. */
  readonly publishedBefore?: number;
  /** Files of a seal that never came to its end, and which nobody has ever seen as a run: when the last was written, epoch ms. */
  readonly unpublishedAt?: number;
}

/** A link that opens for whoever has it. */
export interface SharedLink {
  readonly url: string;
  /** Epoch ms; null: as long as what it points to. */
  readonly until: number | null;
}

/** What holds the archive: a directory or a bucket. Throws `archive.unwritable`, `archive.unreachable`. */
export interface ArchiveStorage {
  /** For people. */
  readonly location: string;
  /** A private, empty folder of this machine in which to make a run's files; for a directory on its own file system. */
  stage(run: string): Promise<string>;
  runFiles(run: RunRef): RunFiles;
  /** Every run, by organization and report, one after the other; of one organization or one of its reports when named. */
  listRuns(org?: string, report?: string): AsyncGenerator<StoredRun>;
  /** Every organization, also one whose runs are all gone. */
  listOrgs(): Promise<readonly string[]>;
  /** A run of which nothing but its id is known; undefined when it is not there. */
  find(id: string): Promise<StoredRun | undefined>;
  /**
   * Publishes an assembled folder: its run is there whole from one moment on, and of many who do so the first stays.
   * Takes the folder away.
   * @returns a folder of this machine with the files of the caller; undefined when somebody else's run stands there
   */
  publish(run: RunRef, staged: string, manifest: Manifest, artifacts: readonly Artifact[]): Promise<string | undefined>;
  /** A folder of this machine with these files of the run: its own, or a private copy. What is missing there is missing. */
  checkout(run: RunRef, names: readonly string[]): Promise<string>;
  /** Throws a private copy away; what is the run's own stays. */
  discardCheckout(folder: string): Promise<void>;
  /**
   * Takes a run away. Harmless twice at once, and when it is interrupted; false when somebody else has taken it. Throws
   * `archive.locked` where the store does not let it go.
   * @param leaving called when the store lets the first file go, while the run is still in sight
   */
  delete(run: RunRef, leaving?: () => Promise<void>): Promise<boolean>;
  /** Why the store lets nobody remove the run now; undefined where it does. Absent where nothing is ever locked. */
  readonly lockReason?: (run: RunRef, now: number) => Promise<string | undefined>;
  /** Files beside the runs' folders that are none of ours, by names with `/`. */
  listForeignFiles(org?: string): Promise<readonly string[]>;
  /** What the archive keeps beside its runs, under names with a dot in front. */
  readonly metadata: ArchiveMetadata;
  /** Tries what the archive needs, and leaves nothing there. @returns what was found, for people */
  probe(): Promise<{ readonly ok: boolean; readonly detail: string }>;
  /** A link to a file of a run, as `Archive.link`. */
  readonly link?: (run: RunRef, name: string, times: LinkTimes) => Promise<SharedLink | undefined>;
  close(): void;
}

/** Files of the archive that are no run's, by names with `/`. */
export interface ArchiveMetadata extends Pick<RunFiles, 'get' | 'put'> {
  /** As `put`, where nothing is yet: false when something is. */
  putIfAbsent(name: string, bytes: string): Promise<boolean>;
  /** All that is below a folder, named from there, in order. */
  list(folder: string): Promise<readonly string[]>;
  /** Removes all that is below a folder; harmless when nothing is. */
  deleteAll(folder: string): Promise<void>;
}

export interface LinkTimes {
  readonly now: number;
  /** Epoch ms at which the files were made. */
  readonly madeAt: number;
}

/** Files of the archive itself, at its root. */
const ARCHIVE_FILES: readonly string[] = ['docket-archive.json'];

/** Whether a file beside the runs' folders is none of ours. */
export const isForeignFile = (name: string): boolean =>
  !ARCHIVE_FILES.includes(name) && !name.split('/').some((step) => step.startsWith('.'));

/** Papers that are written over. All others are written once. */
export const isMutable = (name: string): boolean => name === 'receipts.json';

/** Papers that are written when a run is sealed already. Everything else of a run is sealed. */
export const isMetadataFile = (name: string): boolean =>
  ['receipts.json', 'release.json', 'chain.json'].includes(name) || /^(messages|attempts)\//.test(name);
