import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { type Chain, chainOn } from './chain.ts';
import { chainIndex } from './chain-index.ts';
import { digestOf, readManifest, readPaper } from './run-papers.ts';
import { corrupt } from './sealed-folder.ts';
import { isPaper, isRewritten, type RunBox, type RunName, type Shelf } from './shelf.ts';
import { type ChainEntry, type ChainFile, type Checkpoint, sha256 } from './signed-document.ts';
import type { SigningKey } from './signing-key.ts';

/** Says where in the chain a run's manifest was entered, so that nobody has to look for it. It proves nothing by itself. */
export const POINTER = 'chain.json';
const pointerSchema = z.looseObject({ sequence: z.int().positive() });

/** The runs of the archive in the signed chain of their organization. */
export interface ChainedRuns {
  /** Throws `config.secret_missing`, `config.invalid`. */
  ready(): Promise<void>;
  /** Enters a run that was sealed just now. */
  sealed(run: RunName): Promise<void>;
  /**
   * Compares a run's manifest with what was entered. False for a run that the chain does not have. Throws
   * `archive.corrupt` when it is another.
   */
  check(run: RunName): Promise<boolean>;
  /** Enters what a process that died has left unentered of a run. @returns how many files */
  complete(run: RunName): Promise<number>;
  /** Remembers files of a run, to be entered with the next ones. */
  note(run: RunName, files: readonly ChainFile[]): void;
  /** Enters files of a run that were written just now, and what was noted. */
  enter(run: RunName, files: readonly ChainFile[]): Promise<void>;
  /** Whether the last that retention entered of the run is that it could not take it away. */
  isKept(run: RunName): Promise<boolean>;
  /** Retention takes the run away, or could not. */
  removed(run: RunName, kind: 'removed' | 'kept', why: string): Promise<void>;
  checkpoint(org: string): Promise<{ readonly text: string; readonly body: Checkpoint } | undefined>;
}

/** Also of files that a reader would not understand: what is signed is what stands there. */
const manifestDigest = async (box: RunBox): Promise<string> => {
  const found = await digestOf(box, 'manifest.json');
  if (found === undefined) throw corrupt(box.place, 'manifest.json is missing', {});
  return found;
};

const isOf = (entry: ChainEntry, { id, report }: RunName): boolean => entry.run === id && entry.report === report;

export function chainedRuns(
  shelf: Pick<Shelf, 'notes' | 'place' | 'box'>,
  readKey: () => Promise<SigningKey>,
  clock: Clock,
): ChainedRuns {
  const chain: Chain = chainOn(shelf, readKey, clock);
  const index = chainIndex(shelf);
  const noted = new Map<string, readonly ChainFile[]>();
  const of = ({ id, report }: RunName) => ({ run: id, report });

  const sealed = async (run: RunName, late: boolean): Promise<void> => {
    const box = shelf.box(run);
    const files = [{ name: 'manifest.json', sha256: await manifestDigest(box) }];
    const sequence = await chain.append(run.org, { kind: 'sealed', ...of(run), files, ...(late ? { late } : {}) });
    await box.put(POINTER, `${JSON.stringify({ sequence })}\n`);
  };

  /** Where the pointer leads elsewhere or nowhere, the index of the whole chain is asked: its absence must not hide a change. */
  const sealedEntry = async (run: RunName, box: RunBox): Promise<ChainEntry | undefined> => {
    const pointer = await readPaper(box, POINTER, pointerSchema).catch(() => undefined);
    const pointed = pointer === undefined ? undefined : await chain.entry(run.org, pointer.sequence);
    if (pointed?.kind === 'sealed' && isOf(pointed, run)) return pointed;
    const { sealed } = await index.find(run, 1);
    for await (const entry of chain.entries(run.org, sealed)) {
      if (entry.kind === 'sealed' && isOf(entry, run)) return entry;
    }
    return undefined;
  };
  const check = async (run: RunName): Promise<ChainEntry | undefined> => {
    const box = shelf.box(run);
    const entry = await sealedEntry(run, box);
    if (entry === undefined) return undefined;
    const [expected, got] = [entry.files[0]?.sha256, await manifestDigest(box)];
    if (expected === got) return entry;
    throw corrupt(box.place, 'manifest.json has changed', {
      expected: `SHA-256 ${expected}, as entry ${entry.sequence} of the chain says`,
      got,
    });
  };

  /** SHA-256 of all that was ever entered of a run's files, by their names. */
  const enteredOf = async (run: RunName, from: number): Promise<ReadonlyMap<string, ReadonlySet<string>>> => {
    const entered = new Map<string, Set<string>>();
    const { all } = await index.find(run, from);
    for await (const each of chain.entries(run.org, all)) {
      if (!isOf(each, run)) continue;
      for (const { name, sha256 } of each.files) {
        entered.set(name, (entered.get(name) ?? new Set()).add(sha256));
      }
    }
    return entered;
  };
  const isKept = async (run: RunName): Promise<boolean> => {
    const sealedAt = await sealedEntry(run, shelf.box(run)).catch(() => undefined);
    const { all } = await index.find(run, sealedAt?.sequence ?? 1);
    for await (const entry of chain.entries(run.org, [...all].reverse())) {
      if (isOf(entry, run) && (entry.kind === 'removed' || entry.kind === 'kept')) return entry.kind === 'kept';
    }
    return false;
  };

  return {
    ready: chain.ready,
    sealed: (run) => sealed(run, false),
    check: async (run) => (await check(run)) !== undefined,
    complete: async (run) => {
      const box = shelf.box(run);
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
      for (const name of await box.names()) {
        const known = entered.get(name);
        if (!isPaper(name) || name === POINTER || (known !== undefined && !isRewritten(name))) continue;
        const found = await digestOf(box, name);
        // What was so once and was written over is not entered again: somebody may have put it back.
        if (found !== undefined && !known?.has(found)) files.push({ name, sha256: found });
      }
      if (files.length > 0) await chain.append(run.org, { kind: 'papers', ...of(run), files, late: true });
      return files.length + (entry === undefined ? 1 : 0);
    },
    note: (run, files) => {
      noted.set(run.id, [...(noted.get(run.id) ?? []), ...files]);
    },
    enter: async (run, given) => {
      const files = [...(noted.get(run.id) ?? []), ...given];
      noted.delete(run.id);
      try {
        await chain.append(run.org, { kind: 'papers', ...of(run), files });
      } catch (error) {
        noted.set(run.id, [...files, ...(noted.get(run.id) ?? [])]);
        throw error;
      }
    },
    isKept,
    removed: async (run, kind, why) => {
      await chain.append(run.org, { kind, ...of(run), files: [], why });
    },
    checkpoint: chain.checkpoint,
  };
}

/** A file as the chain has it. */
export const chainFile = (name: string, bytes: string | Uint8Array): ChainFile => ({ name, sha256: sha256(bytes) });
