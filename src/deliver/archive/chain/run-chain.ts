import { z } from 'zod';
import type { Clock } from '../../../base/clock.ts';
import { type Chain, openChain } from './chain.ts';
import { chainIndex } from './chain-index.ts';
import { readManifest, readMetadataFile, sha256OfRunFile } from '../run-metadata.ts';
import { archiveCorrupt } from '../run-folder.ts';
import { type ArchiveStorage, isMetadataFile, isMutable, type RunFiles, type RunRef } from '../storage/archive-storage.ts';
import { type ChainEntry, type ChainFile, type Checkpoint, sha256 } from './signed-document.ts';
import type { SigningKey } from './signing-key.ts';

/** Says where in the chain a run's manifest was entered, so that nobody has to look for it. It proves nothing by itself. */
export const CHAIN_POINTER = 'chain.json';
const pointerSchema = z.looseObject({ sequence: z.int().positive() });

/** The runs of the archive in the signed chain of their organization. */
export interface RunChain {
  /** Throws `config.secret_missing`, `config.invalid`. */
  ready(): Promise<void>;
  /** Enters a run that was sealed just now. */
  recordPublished(run: RunRef): Promise<void>;
  /**
   * Compares a run's manifest with what was entered. False for a run that the chain does not have. Throws
   * `archive.corrupt` when it is another.
   */
  verifyManifest(run: RunRef): Promise<boolean>;
  /** Enters what a process that died has left unentered of a run. @returns how many files */
  recordMissing(run: RunRef): Promise<number>;
  /** Remembers files of a run, to be entered with the next ones. */
  defer(run: RunRef, files: readonly ChainFile[]): void;
  /** Enters files of a run that were written just now, and what was noted. */
  record(run: RunRef, files: readonly ChainFile[]): Promise<void>;
  /** Whether the last that retention entered of the run is that it could not take it away. */
  isDeletionBlocked(run: RunRef): Promise<boolean>;
  /** Retention takes the run away, or could not. */
  recordRemoval(run: RunRef, kind: 'removed' | 'kept', why: string): Promise<void>;
  checkpoint(org: string): Promise<{ readonly text: string; readonly body: Checkpoint } | undefined>;
}

/** Also of files that a reader would not understand: what is signed is what stands there. */
const manifestDigest = async (box: RunFiles): Promise<string> => {
  const found = await sha256OfRunFile(box, 'manifest.json');
  if (found === undefined) throw archiveCorrupt(box.location, 'manifest.json is missing', {});
  return found;
};

const isEntryOf = (entry: ChainEntry, { id, report }: RunRef): boolean => entry.run === id && entry.report === report;

export function runChain(
  shelf: Pick<ArchiveStorage, 'metadata' | 'location' | 'runFiles'>,
  readKey: () => Promise<SigningKey>,
  clock: Clock,
): RunChain {
  const chain: Chain = openChain(shelf, readKey, clock);
  const index = chainIndex(shelf);
  const noted = new Map<string, readonly ChainFile[]>();
  const of = ({ id, report }: RunRef) => ({ run: id, report });

  const sealed = async (run: RunRef, late: boolean): Promise<void> => {
    const box = shelf.runFiles(run);
    const files = [{ name: 'manifest.json', sha256: await manifestDigest(box) }];
    const sequence = await chain.append(run.org, { kind: 'sealed', ...of(run), files, ...(late ? { late } : {}) });
    await box.put(CHAIN_POINTER, `${JSON.stringify({ sequence })}\n`);
  };

  /** Where the pointer leads elsewhere or nowhere, the index of the whole chain is asked: its absence must not hide a change. */
  const sealedEntry = async (run: RunRef, box: RunFiles): Promise<ChainEntry | undefined> => {
    const pointer = await readMetadataFile(box, CHAIN_POINTER, pointerSchema).catch(() => undefined);
    const pointed = pointer === undefined ? undefined : await chain.entry(run.org, pointer.sequence);
    if (pointed?.kind === 'sealed' && isEntryOf(pointed, run)) return pointed;
    const { sealed } = await index.find(run, 1);
    for await (const entry of chain.entries(run.org, sealed)) {
      if (entry.kind === 'sealed' && isEntryOf(entry, run)) return entry;
    }
    return undefined;
  };
  const check = async (run: RunRef): Promise<ChainEntry | undefined> => {
    const box = shelf.runFiles(run);
    const entry = await sealedEntry(run, box);
    if (entry === undefined) return undefined;
    const [expected, got] = [entry.files[0]?.sha256, await manifestDigest(box)];
    if (expected === got) return entry;
    throw archiveCorrupt(box.location, 'manifest.json has changed', {
      expected: `SHA-256 ${expected}, as entry ${entry.sequence} of the chain says`,
      got,
    });
  };

  /** SHA-256 of all that was ever entered of a run's files, by their names. */
  const enteredOf = async (run: RunRef, from: number): Promise<ReadonlyMap<string, ReadonlySet<string>>> => {
    const entered = new Map<string, Set<string>>();
    const { all } = await index.find(run, from);
    for await (const each of chain.entries(run.org, all)) {
      if (!isEntryOf(each, run)) continue;
      for (const { name, sha256 } of each.files) {
        entered.set(name, (entered.get(name) ?? new Set()).add(sha256));
      }
    }
    return entered;
  };
  const isDeletionBlocked = async (run: RunRef): Promise<boolean> => {
    const sealedAt = await sealedEntry(run, shelf.runFiles(run)).catch(() => undefined);
    const { all } = await index.find(run, sealedAt?.sequence ?? 1);
    for await (const entry of chain.entries(run.org, [...all].reverse())) {
      if (isEntryOf(entry, run) && (entry.kind === 'removed' || entry.kind === 'kept')) return entry.kind === 'kept';
    }
    return false;
  };

  return {
    ready: chain.ready,
    recordPublished: (run) => sealed(run, false),
    verifyManifest: async (run) => (await check(run)) !== undefined,
    recordMissing: async (run) => {
      const box = shelf.runFiles(run);
      const entry = await check(run);
      if (entry === undefined) {
        const manifest = await readManifest(box);
        const first = await chain.entry(run.org, 1);
        // Older than the chain: unsigned, and it stays so.
        if (manifest === undefined || first === undefined || manifest.made_at < first.at) return 0;
        await sealed(run, true);
      }
      const entered = await enteredOf(run, entry?.sequence ?? 1);
      const files: ChainFile[] = [];
      for (const name of await box.list()) {
        const known = entered.get(name);
        if (!isMetadataFile(name) || name === CHAIN_POINTER || (known !== undefined && !isMutable(name))) continue;
        const found = await sha256OfRunFile(box, name);
        // What was so once and was written over is not entered again: somebody may have put it back.
        if (found !== undefined && !known?.has(found)) files.push({ name, sha256: found });
      }
      if (files.length > 0) await chain.append(run.org, { kind: 'papers', ...of(run), files, late: true });
      return files.length + (entry === undefined ? 1 : 0);
    },
    defer: (run, files) => {
      noted.set(run.id, [...(noted.get(run.id) ?? []), ...files]);
    },
    record: async (run, given) => {
      const files = [...(noted.get(run.id) ?? []), ...given];
      noted.delete(run.id);
      try {
        await chain.append(run.org, { kind: 'papers', ...of(run), files });
      } catch (error) {
        noted.set(run.id, [...files, ...(noted.get(run.id) ?? [])]);
        throw error;
      }
    },
    isDeletionBlocked,
    recordRemoval: async (run, kind, why) => {
      await chain.append(run.org, { kind, ...of(run), files: [], why });
    },
    checkpoint: chain.checkpoint,
  };
}

/** A file as the chain has it. */
export const toChainFile = (name: string, bytes: string | Uint8Array): ChainFile => ({ name, sha256: sha256(bytes) });
