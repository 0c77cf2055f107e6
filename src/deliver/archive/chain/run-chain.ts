import { z } from 'zod';
import type { Clock } from '../../../base/clock.ts';
import { sha256 } from '../../../base/sha256.ts';
import { archiveCorrupt } from '../archive-errors.ts';
import { eventSigning } from '../events/event-signing.ts';
import { readManifest, readMetadataFile, sha256OfRunFile } from '../run-folder/run-metadata.ts';
import {
  type ArchiveStorage,
  isMetadataFile,
  isMutable,
  type RunFiles,
  type RunRef,
} from '../storage/archive-storage.ts';
import { openChain, readEntries } from './chain.ts';
import { chainIndex } from './chain-index.ts';
import { type ChainEntry, type ChainFile, entrySchema, verifyDocument } from './signed-document.ts';
import type { SigningKey } from './signing-key.ts';

/** Name of the file with the sequence of the run's chain entry. Only a shortcut: it proves nothing by itself. */
export const CHAIN_POINTER = 'chain.json';
const pointerSchema = z.looseObject({ sequence: z.int().positive() });

/** Does not parse the manifest: the chain signs its bytes. */
const manifestSha256 = async (files: RunFiles): Promise<string> => {
  const found = await sha256OfRunFile(files, 'manifest.json');
  if (found === undefined) throw archiveCorrupt(files.location, 'manifest.json is missing');
  return found;
};

const isEntryOf = (entry: ChainEntry, { id, report }: RunRef): boolean => entry.run === id && entry.report === report;

/** Records the runs of an archive in the signed chain of their organization. */
export function runChain(storage: ArchiveStorage, readKey: () => Promise<SigningKey>, clock: Clock) {
  const index = chainIndex(storage);
  const chain = openChain(storage, readKey, clock, retiredEntries(storage, index));
  const deferred = new Map<string, readonly ChainFile[]>();
  /** By run: the last call of `record` that has not ended. */
  const turns = new Map<string, Promise<void>>();
  const runFields = ({ id, report }: RunRef) => ({ run: id, report });

  const recordManifest = async (run: RunRef, late: boolean): Promise<void> => {
    const runFiles = storage.runFiles(run);
    const files = [{ name: 'manifest.json', sha256: await manifestSha256(runFiles) }];
    const sequence = await chain.append(run.org, {
      kind: 'sealed',
      ...runFields(run),
      files,
      ...(late ? { late } : {}),
    });
    await runFiles.put(CHAIN_POINTER, `${JSON.stringify({ sequence })}\n`);
  };

  /**
   * Finds the run's entry, by the index if the pointer is missing or wrong: deleting the pointer must not hide a
   * changed manifest.
   */
  const manifestEntry = async (run: RunRef, files: RunFiles): Promise<ChainEntry | undefined> => {
    const pointer = await readMetadataFile(files, CHAIN_POINTER, pointerSchema).catch(() => undefined);
    const pointed = pointer === undefined ? undefined : await chain.entry(run.org, pointer.sequence);
    if (pointed?.kind === 'sealed' && isEntryOf(pointed, run)) return pointed;
    const { published } = await index.find(run, 1);
    for await (const entry of chain.entries(run.org, published)) {
      if (entry.kind === 'sealed' && isEntryOf(entry, run)) return entry;
    }
    return undefined;
  };
  const verify = async (run: RunRef): Promise<ChainEntry | undefined> => {
    const files = storage.runFiles(run);
    const entry = await manifestEntry(run, files);
    if (entry === undefined) return undefined;
    const [expected, got] = [entry.files[0]?.sha256, await manifestSha256(files)];
    if (expected === got) return entry;
    throw archiveCorrupt(files.location, 'manifest.json has changed', {
      expected: `SHA-256 ${expected}, as in entry ${entry.sequence} of the chain`,
      got,
    });
  };

  /** All hashes that were ever recorded for the run's files, by file name. */
  const recordedHashes = async (run: RunRef, from: number): Promise<ReadonlyMap<string, ReadonlySet<string>>> => {
    const recorded = new Map<string, Set<string>>();
    const { all } = await index.find(run, from);
    for await (const each of chain.entries(run.org, all)) {
      if (!isEntryOf(each, run)) continue;
      for (const { name, sha256 } of each.files) {
        recorded.set(name, (recorded.get(name) ?? new Set()).add(sha256));
      }
    }
    return recorded;
  };
  /** Whether the run's last retention entry says that the run could not be deleted. */
  const isDeletionBlocked = async (run: RunRef): Promise<boolean> => {
    const first = await manifestEntry(run, storage.runFiles(run)).catch(() => undefined);
    const { all } = await index.find(run, first?.sequence ?? 1);
    for await (const entry of chain.entries(run.org, [...all].reverse())) {
      if (isEntryOf(entry, run) && (entry.kind === 'removed' || entry.kind === 'kept')) return entry.kind === 'kept';
    }
    return false;
  };

  const defer = (run: RunRef, files: readonly ChainFile[]): void => {
    deferred.set(run.id, [...(deferred.get(run.id) ?? []), ...files]);
  };
  const appendDeferred = async (run: RunRef): Promise<void> => {
    const files = [...(deferred.get(run.id) ?? [])];
    deferred.delete(run.id);
    // The previous turn has already recorded them.
    if (files.length === 0) return;
    try {
      await chain.append(run.org, { kind: 'papers', ...runFields(run), files });
    } catch (error) {
      deferred.set(run.id, [...files, ...(deferred.get(run.id) ?? [])]);
      throw error;
    }
  };

  return {
    ready: chain.ready,
    assertUsable: chain.assertUsable,
    /** Records a run that was just published. */
    recordPublished: (run: RunRef) => recordManifest(run, false),
    /**
     * Compares a run's manifest with its entry. False if there is no entry. Throws `archive.corrupt` when they differ.
     */
    verifyManifest: async (run: RunRef): Promise<boolean> => (await verify(run)) !== undefined,
    /** Records files that a process wrote, but could not record before it died. @returns their number */
    recordMissing: async (run: RunRef): Promise<number> => {
      const runFiles = storage.runFiles(run);
      const entry = await verify(run);
      if (entry === undefined) {
        const manifest = await readManifest(runFiles);
        const first = await chain.entry(run.org, 1);
        // Runs older than the chain stay unsigned.
        if (manifest === undefined || first === undefined || manifest.made_at < first.at) return 0;
        await recordManifest(run, true);
      }
      const recorded = await recordedHashes(run, entry?.sequence ?? 1);
      const files: ChainFile[] = [];
      for (const name of await runFiles.list()) {
        const known = recorded.get(name);
        if (!isMetadataFile(name) || name === CHAIN_POINTER || (known !== undefined && !isMutable(name))) continue;
        const found = await sha256OfRunFile(runFiles, name);
        // An earlier version of an overwritten file is not recorded again: it may have been restored to hide a change.
        if (found !== undefined && !known?.has(found)) files.push({ name, sha256: found });
      }
      if (files.length > 0) await chain.append(run.org, { kind: 'papers', ...runFields(run), files, late: true });
      return files.length + (entry === undefined ? 1 : 0);
    },
    /** Records files of a run together with the next call of `record`. */
    defer,
    /**
     * Records files of a run that were just written, together with the deferred ones. Callers that wait for a turn
     * share one entry.
     */
    record: async (run: RunRef, written: readonly ChainFile[]): Promise<void> => {
      defer(run, written);
      const turn = (turns.get(run.id) ?? Promise.resolve()).then(
        () => appendDeferred(run),
        // A failed turn has deferred its files again. No message may leave before they are recorded.
        () => appendDeferred(run),
      );
      turns.set(run.id, turn);
      try {
        await turn;
      } finally {
        if (turns.get(run.id) === turn) turns.delete(run.id);
      }
    },
    isDeletionBlocked,
    /** Records that retention deletes the run, or could not delete it. */
    recordRemoval: async (run: RunRef, kind: 'removed' | 'kept', why: string): Promise<void> => {
      await chain.append(run.org, { kind, ...runFields(run), files: [], why });
    },
    checkpoint: chain.checkpoint,
    /** The events of reviews and corrections. */
    events: eventSigning(storage, chain, index),
  };
}
export type RunChain = ReturnType<typeof runChain>;

export const toChainFile = (name: string, bytes: string | Uint8Array): ChainFile => ({ name, sha256: sha256(bytes) });

/**
 * The periods of keys: in each chain, the period of a key ends with the first entry of a later key. Entries that the
 * key signs afterwards do not count, so that a stolen old key is worthless.
 */
function retiredEntries(storage: ArchiveStorage, index: Pick<ReturnType<typeof chainIndex>, 'findSigned'>) {
  /** Sequence of each key's first entry, by organization and key. */
  const begins = new Map<string, number>();

  const firstSigned = async (org: string, key: string, { trusted }: SigningKey): Promise<number> => {
    const name = `${org}/${key}`;
    const known = begins.get(name);
    if (known !== undefined) return known;
    for await (const { sequence, text } of readEntries(storage, org, await index.findSigned(org, key))) {
      // The index does not verify, and anyone can write an entry that names the key.
      const read = text === undefined ? 'missing' : verifyDocument('chain entry', text, entrySchema, trusted);
      if (typeof read === 'string' || read.body.org !== org || read.body.sequence !== sequence) continue;
      begins.set(name, sequence);
      return sequence;
    }
    return Number.POSITIVE_INFINITY;
  };

  /** Whether an entry was signed after the period of its key had ended, seen from the current key. */
  return async (org: string, sequence: number, signer: string, current: SigningKey): Promise<boolean> => {
    const age = current.ageOf(signer);
    for (const id of current.trusted.keys())
      if (current.ageOf(id) < age && (await firstSigned(org, id, current)) < sequence) return true;
    return false;
  };
}
