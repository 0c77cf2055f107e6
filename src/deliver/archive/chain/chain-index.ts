import type { ArchiveStorage, RunRef } from '../storage/archive-storage.ts';
import { lastSequence, readEntries, sequenceRange } from './chain.ts';
import { entrySchema, unverifiedClaim } from './signed-document.ts';

/** Sequences of the entries that name a run, ascending. Unverified: read and verify the entries. */
export interface IndexedRun {
  readonly published: readonly number[];
  readonly all: readonly number[];
}

interface Index {
  /** The range of indexed entries. */
  from: number;
  to: number;
  readonly runs: Map<string, { readonly published: number[]; readonly all: number[] }>;
  /** Serializes reads. */
  lastRead: Promise<unknown>;
}

const NONE: IndexedRun = { published: [], all: [] };

/**
 * An in-memory index of the chain entries of each run. Reads each entry at most once, from the first one requested to the
 * end of the chain, and keeps only run ids and sequences.
 */
export function chainIndex({ metadata }: Pick<ArchiveStorage, 'metadata'>) {
  const indexes = new Map<string, Index>();

  const add = ({ runs }: Index, org: string, sequence: number, text: string): void => {
    const { success, data } = entrySchema.safeParse(unverifiedClaim(text)?.body);
    if (!success || data.run === undefined || data.org !== org || data.sequence !== sequence) return;
    const name = `${data.report}/${data.run}`;
    const known = runs.get(name) ?? { published: [], all: [] };
    known.all.push(sequence);
    if (data.kind === 'sealed') known.published.push(sequence);
    runs.set(name, known);
  };
  const readInto = async (
    index: Index,
    org: string,
    sequences: readonly number[],
    onRead: (sequence: number) => void,
  ) => {
    for await (const { sequence, text } of readEntries({ metadata }, org, sequences)) {
      if (text !== undefined) add(index, org, sequence, text);
      onRead(sequence);
    }
  };
  const extend = async (index: Index, org: string, from: number): Promise<void> => {
    const last = await lastSequence({ metadata }, org, index.to);
    await readInto(index, org, sequenceRange(index.to + 1, last), (sequence) => {
      index.to = sequence;
    });
    // Backwards, so that the range has no gap after an interruption.
    await readInto(index, org, sequenceRange(from, index.from - 1).reverse(), (sequence) => {
      index.from = sequence;
    });
  };

  return {
    /** The entries of a run from `from` on, and possibly earlier ones. */
    find: async ({ id, org, report }: RunRef, from: number): Promise<IndexedRun> => {
      const index = indexes.get(org) ?? { from, to: from - 1, runs: new Map(), lastRead: Promise.resolve() };
      indexes.set(org, index);
      const work = () => extend(index, org, from);
      const read = index.lastRead.then(work, work);
      index.lastRead = read;
      await read;
      const { published, all } = index.runs.get(`${report}/${id}`) ?? NONE;
      const sorted = (numbers: readonly number[]) => [...numbers].sort((one, other) => one - other);
      return { published: sorted(published), all: sorted(all) };
    },
  };
}
