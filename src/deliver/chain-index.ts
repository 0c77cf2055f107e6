import { lastSequence, range, readEntries } from './chain.ts';
import type { RunName, Shelf } from './shelf.ts';
import { claimOf, entrySchema } from './signed-document.ts';

/** Numbers of the entries that say to be of a run, in their order. Nothing of it is proved: read and check them. */
export interface IndexedRun {
  readonly sealed: readonly number[];
  readonly all: readonly number[];
}

interface Index {
  /** It knows the entries from here to there. */
  from: number;
  to: number;
  readonly runs: Map<string, { readonly sealed: number[]; readonly all: number[] }>;
  /** One reads at a time. */
  turn: Promise<unknown>;
}

const NONE: IndexedRun = { sealed: [], all: [] };

/**
 * Where in the chain of its organization a run is. Each entry is read once, those that are asked for and those after them;
 * ids and numbers alone are kept.
 */
export function chainIndex({ notes }: Pick<Shelf, 'notes'>) {
  const indexes = new Map<string, Index>();

  const add = ({ runs }: Index, org: string, sequence: number, text: string): void => {
    const { success, data } = entrySchema.safeParse(claimOf(text)?.body);
    if (!success || data.run === undefined || data.org !== org || data.sequence !== sequence) return;
    const name = `${data.report}/${data.run}`;
    const known = runs.get(name) ?? { sealed: [], all: [] };
    known.all.push(sequence);
    if (data.kind === 'sealed') known.sealed.push(sequence);
    runs.set(name, known);
  };
  const read = async (index: Index, org: string, sequences: readonly number[], done: (sequence: number) => void) => {
    for await (const { sequence, text } of readEntries({ notes }, org, sequences)) {
      if (text !== undefined) add(index, org, sequence, text);
      done(sequence);
    }
  };
  const extend = async (index: Index, org: string, from: number): Promise<void> => {
    const last = await lastSequence({ notes }, org, index.to);
    await read(index, org, range(index.to + 1, last), (sequence) => {
      index.to = sequence;
    });
    // Backwards, so that what is known has no gap when it breaks off.
    await read(index, org, range(from, index.from - 1).reverse(), (sequence) => {
      index.from = sequence;
    });
  };

  return {
    /** What is known of a run from this entry on, and maybe before. */
    find: async ({ id, org, report }: RunName, from: number): Promise<IndexedRun> => {
      const index = indexes.get(org) ?? { from, to: from - 1, runs: new Map(), turn: Promise.resolve() };
      indexes.set(org, index);
      const work = () => extend(index, org, from);
      const turn = index.turn.then(work, work);
      index.turn = turn;
      await turn;
      const { sealed, all } = index.runs.get(`${report}/${id}`) ?? NONE;
      const sorted = (numbers: readonly number[]) => [...numbers].sort((one, other) => one - other);
      return { sealed: sorted(sealed), all: sorted(all) };
    },
  };
}
