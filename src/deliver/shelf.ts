import type { Artifact } from '../render/artifact.ts';
import type { Manifest } from './archive.ts';

/** What tells a run from all others, and where it stands. */
export interface RunName {
  readonly id: string;
  readonly org: string;
  readonly report: string;
}

export interface Paper {
  readonly name: string;
  readonly bytes: string | Uint8Array;
}

/** One run's papers and files, each by its name in the run's folder, with `/`: `manifest.json`, `files/KPIs.xlsx`. */
export interface RunBox {
  /** For people: a folder, or an `s3:` URL. */
  readonly place: string;
  /** Undefined when it is not there. */
  read(name: string): Promise<Buffer | undefined>;
  /** For what memory need not hold; undefined when it is not there. */
  pieces(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Whole or not at all, in place of what stands there; it survives a power cut once the promise has resolved. */
  put(name: string, bytes: string | Uint8Array): Promise<void>;
  /** Papers that belong together, as `put`: whoever finds the second finds the first. Both in one folder. */
  putTwo(first: Paper, second: Paper): Promise<void>;
  /** All that is there, in order. */
  names(): Promise<readonly string[]>;
}

export interface Shelved extends RunName {
  readonly box: RunBox;
  /** Epoch ms, where listing tells. */
  readonly sealedAt?: number;
  /** Epoch ms: it was sealed then or before. Only in the listing of one report. */
  readonly sealedBy?: number;
  /** Files of a seal that never came to its end, and which nobody has ever seen as a run: when the last was written, epoch ms. */
  readonly halfMadeAt?: number;
}

/** A link that opens for whoever has it. */
export interface SharedLink {
  readonly url: string;
  /** Epoch ms; null: as long as what it points to. */
  readonly until: number | null;
}

/** What holds the archive: a directory or a bucket. Throws `archive.unwritable`, `archive.unreachable`. */
export interface Shelf {
  /** For people. */
  readonly place: string;
  /** A private, empty folder of this machine in which to make a run's files; for a directory on its own file system. */
  stage(run: string): Promise<string>;
  box(run: RunName): RunBox;
  /** Every run, by organization and report, one after the other; of one organization or one of its reports when named. */
  runs(org?: string, report?: string): AsyncGenerator<Shelved>;
  /** Every organization, also one whose runs are all gone. */
  orgs(): Promise<readonly string[]>;
  /** A run of which nothing but its id is known; undefined when it is not there. */
  find(id: string): Promise<Shelved | undefined>;
  /**
   * Publishes an assembled folder: its run is there whole from one moment on, and of many who do so the first stays.
   * Takes the folder away.
   * @returns a folder of this machine with the files of the caller; undefined when somebody else's run stands there
   */
  publish(
    run: RunName,
    staged: string,
    manifest: Manifest,
    artifacts: readonly Artifact[],
  ): Promise<string | undefined>;
  /** A folder of this machine with these files of the run: its own, or a private copy. What is missing there is missing. */
  bring(run: RunName, names: readonly string[]): Promise<string>;
  /** Throws a private copy away; what is the run's own stays. */
  letGo(folder: string): Promise<void>;
  /**
   * Takes a run away. Harmless twice at once, and when it is interrupted; false when somebody else has taken it. Throws
   * `archive.locked` where the store does not let it go.
   * @param leaving called when the store lets the first file go, while the run is still in sight
   */
  remove(run: RunName, leaving?: () => Promise<void>): Promise<boolean>;
  /** Why the store lets nobody remove the run now; undefined where it does. Absent where nothing is ever locked. */
  readonly locked?: (run: RunName, now: number) => Promise<string | undefined>;
  /** Files beside the runs' folders that are none of ours, by names with `/`. */
  strays(org?: string): Promise<readonly string[]>;
  /** What the archive keeps beside its runs, under names with a dot in front. */
  readonly notes: ShelfNotes;
  /** Tries what the archive needs, and leaves nothing there. @returns what was found, for people */
  probe(): Promise<{ readonly ok: boolean; readonly detail: string }>;
  /** A link to a file of a run, as `Archive.link`. */
  readonly link?: (run: RunName, name: string, times: LinkTimes) => Promise<SharedLink | undefined>;
  close(): void;
}

/** Files of the archive that are no run's, by names with `/`. */
export interface ShelfNotes extends Pick<RunBox, 'read' | 'put'> {
  /** As `put`, where nothing is yet: false when something is. */
  putNew(name: string, bytes: string): Promise<boolean>;
  /** All that is below a folder, named from there, in order. */
  names(folder: string): Promise<readonly string[]>;
  /** Removes all that is below a folder; harmless when nothing is. */
  remove(folder: string): Promise<void>;
}

export interface LinkTimes {
  readonly now: number;
  /** Epoch ms at which the files were made. */
  readonly madeAt: number;
}

/** Files of the archive itself, at its root. */
const OWN_FILES: readonly string[] = ['docket-archive.json'];

/** Whether a file beside the runs' folders is none of ours. */
export const isStray = (name: string): boolean =>
  !OWN_FILES.includes(name) && !name.split('/').some((step) => step.startsWith('.'));

/** Papers that are written over. All others are written once. */
export const isRewritten = (name: string): boolean => name === 'receipts.json';

/** Papers that are written when a run is sealed already. Everything else of a run is sealed. */
export const isPaper = (name: string): boolean =>
  ['receipts.json', 'release.json', 'chain.json'].includes(name) || /^(messages|attempts)\//.test(name);
