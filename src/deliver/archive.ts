import type { Period } from '../define/period.ts';
import type { CallRecord, Note } from '../fetch/dataset.ts';
import type { Artifact, MailBody } from '../render/artifact.ts';
import type { Decision } from './decision.ts';
import type { DeliveryRow, DeliveryState, Evidence, Resolution } from './ledger.ts';
import type { Receipt } from './receipt.ts';
import type { RunName, SharedLink } from './shelf.ts';

/** What a run made and from what, kept beside the bytes that were sent. Written once, when the files are complete. */
export interface Manifest {
  readonly version: 1;
  readonly run: string;
  readonly org: string;
  readonly organization: string;
  readonly report: string;
  readonly title: string;
  readonly owner: string;
  /** ISO instant of the schedule, or the trigger's id. */
  readonly slot: string;
  readonly digest: string;
  readonly period: Period;
  readonly registry_version: number;
  readonly calls: readonly CallRecord[];
  readonly incomplete: readonly (Note & { readonly section: string })[];
  readonly files: readonly {
    readonly name: string;
    readonly format: string;
    readonly bytes: number;
    readonly sha256: string;
  }[];
  /** Hashes (hex) of `mail.html`, `mail.txt` and the pictures that the HTML shows; the archive writes them when it seals. */
  readonly mail?:
    | {
        readonly html_sha256: string;
        readonly text_sha256: string;
        readonly pictures?:
          | readonly { readonly name: string; readonly cid: string; readonly sha256: string }[]
          | undefined;
      }
    | undefined;
  readonly recipients: readonly string[];
  /**
   * SHA-256 (hex) over the values of every table: two runs with one show the same figures. Absent where no delivery has a
   * condition.
   */
  readonly figures?: string | undefined;
  /** Of deliveries with `send_if`. */
  readonly conditions?: readonly Decision[] | undefined;
  /** ISO instant at which the files were made. */
  readonly made_at: string;
  /** In a bucket: the folder beside the manifest that holds the sealed files of whoever sealed first. */
  readonly stored?: string | undefined;
}

/** A run's sealed folder: everything that deliveries need, so that a retry neither fetches nor renders again. */
export interface Sealed {
  /** Absolute path of the files' folder on this machine: the archive's own, or a copy that goes with `letGo`. */
  readonly folder: string;
  readonly manifest: Manifest;
  readonly artifacts: readonly Artifact[];
  readonly mail: MailBody;
}

/** One attempt at a delivery: written when it begins, before anything leaves, and again when its end is known. */
export interface AttemptRecord {
  /** The ledger row's id. */
  readonly delivery: string;
  /** Position and kind in the definition, e.g. `0-email`. Absent in older attempts and in those of notices. */
  readonly target?: string | undefined;
  /** The row's epoch that this attempt has; with a decision, the one that it made. */
  readonly epoch: number;
  readonly state: DeliveryState;
  readonly detail: string | null;
  /** Epoch ms. */
  readonly at: number;
  /** SHA-256 (hex) of the exact message that it sends, which `keepMessage` has kept; absent where it sends none. */
  readonly message?: string | undefined;
  /** Somebody's decision brought the row here, not an attempt. */
  readonly decision?: Resolution | undefined;
}

/** A decision that was carried out, as the archive keeps it: it counts like the end of an attempt. */
export const decidedAttempt = (row: DeliveryRow, decision: Resolution): AttemptRecord => ({
  delivery: row.id,
  target: row.target,
  epoch: row.epoch,
  state: row.state,
  detail: row.detail,
  at: decision.at,
  decision,
});

/** Who let a held pack go out as it is, and why. */
export interface Release {
  readonly by: string;
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
}

/** What the archive needs to know of a run whose papers it keeps. */
export type SealedRun = Pick<Sealed, 'manifest'>;

/** Where the exact bytes are kept. A run appears whole or not at all. */
export interface Archive {
  /** A private, empty folder of this machine in which to make the run's files. */
  stage(run: string): Promise<string>;
  /** Publishes the staged folder with its manifest in one step. Sealing a run that is sealed already returns the first. */
  seal(staged: string, manifest: Manifest, artifacts: readonly Artifact[], mail: MailBody): Promise<Sealed>;
  /**
   * The sealed run, its files read and compared with the manifest's hashes. Undefined when it is not sealed.
   * Throws `archive.corrupt` when something is missing or has changed: then nothing of it may be sent.
   */
  find(run: RunName): Promise<Sealed | undefined>;
  /** Whether the run is sealed, and as what; its files are not looked at. Throws `archive.corrupt`. */
  peek(run: RunName): Promise<SealedRun | undefined>;
  /** The caller needs the files of what `seal` or `find` gave it no more. */
  letGo(sealed: Pick<Sealed, 'folder'>): Promise<void>;
  /**
   * Keeps the exact message, and its hash beside it, before it leaves: an e-mail, or what a webhook is told. Under a name
   * of its own bytes, so that what a later or a stale attempt has made of the delivery replaces nothing that has left.
   * Returns its SHA-256, hex.
   */
  keepMessage(sealed: SealedRun, delivery: string, message: Uint8Array, kind?: 'eml' | 'json'): Promise<string>;
  /** The message of the delivery's last attempt; undefined when it sent none. Throws `archive.corrupt` when it is another. */
  message(sealed: SealedRun, delivery: string, kind?: 'eml' | 'json'): Promise<Uint8Array | undefined>;
  /** Writes `receipts.json` anew. */
  keepReceipts(sealed: SealedRun, receipts: readonly Receipt[]): Promise<void>;
  /** What `keepReceipts` wrote last; empty while nothing was delivered. */
  receipts(sealed: SealedRun): Promise<readonly Receipt[]>;
  /** Keeps what an attempt is about to do, or has done. An attempt of another epoch is not touched. */
  keepAttempt(sealed: SealedRun, attempt: AttemptRecord): Promise<void>;
  /** What the archive knows of each delivery, by its id: for a ledger that was lost or rolled back. */
  evidence(sealed: SealedRun): Promise<ReadonlyMap<string, Evidence>>;
  keepRelease(sealed: SealedRun, release: Release): Promise<void>;
  /** Throws a staged folder away; harmless when it is gone. */
  discard(staged: string): Promise<void>;
  /**
   * A link to a file that opens for whoever has it, for a day at least; the same for a day, so that a retry sends the same
   * bytes. Undefined when none can be made; absent where the archive never has one to give.
   */
  readonly link?: (sealed: SealedRun, name: string) => Promise<SharedLink | undefined>;
}
