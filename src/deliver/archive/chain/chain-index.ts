import { parseSubjects } from '../events/event-record.ts';
import type { ArchiveStorage, RunRef } from '../storage/archive-storage.ts';
import { lastSequence, readEntries, sequenceRange } from './chain.ts';
import { entrySchema, unverifiedClaim } from './signed-document.ts';

/** Sequences of the entries that name a run, ascending. They are unverified: read and verify the entries themselves. */
export interface IndexedRun {
  readonly published: readonly number[];
  readonly all: readonly number[];
}

interface Index {
  /** First and last indexed entry. */
  from: number;
  to: number;
  readonly runs: Map<string, { readonly published: number[]; readonly all: number[] }>;
  /** Entries about events of reviews and corrections, by the folder of the events. */
  readonly events: Map<string, number[]>;
  readonly cutOvers: number[];
  /** Entries by the key that they name. */
  readonly signers: Map<string, number[]>;
  /** The last read; the next one waits for it. */
  lastRead: Promise<unknown>;
}

const NONE: IndexedRun = { published: [], all: [] };

/**
 * An in-memory index of each run's chain entries. Reads each entry at most once, from the first one requested to the
 * end of the chain, and keeps only run ids and sequences.
 */
export function chainIndex({ metadata }: ArchiveStorage) {
  const indexes = new Map<string, Index>();

  const add = ({ runs, events, cutOvers, signers }: Index, org: string, sequence: number, text: string): void => {
    const claim = unverifiedClaim(text);
    const { success, data } = entrySchema.safeParse(claim?.body);
    if (claim === undefined || !success || data.org !== org || data.sequence !== sequence) return;
    const signed = signers.get(claim.key);
    if (signed === undefined) signers.set(claim.key, [sequence]);
    else signed.push(sequence);
    const subjects = parseSubjects(data);
    if (subjects === 'cutOver') cutOvers.push(sequence);
    else for (const folder of subjects) events.set(folder, [...(events.get(folder) ?? []), sequence]);
    if (data.run === undefined) return;
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
    // Backwards, so that an interruption leaves no gap in the range.
    await readInto(index, org, sequenceRange(from, index.from - 1).reverse(), (sequence) => {
      index.from = sequence;
    });
  };

  const read = async (org: string, from: number): Promise<Index> => {
    const index = indexes.get(org) ?? {
      from,
      to: from - 1,
      runs: new Map(),
      events: new Map(),
      cutOvers: [],
      signers: new Map(),
      lastRead: Promise.resolve(),
    };
    indexes.set(org, index);
    const work = () => extend(index, org, from);
    const reading = index.lastRead.then(work, work);
    index.lastRead = reading;
    await reading;
    return index;
  };
  const sorted = (numbers: readonly number[] = []) => [...numbers].sort((one, other) => one - other);

  return {
    /** The entries of a run from `from` on. May also return earlier ones. */
    find: async ({ id, org, report }: RunRef, from: number): Promise<IndexedRun> => {
      const { published, all } = (await read(org, from)).runs.get(`${report}/${id}`) ?? NONE;
      return { published: sorted(published), all: sorted(all) };
    },
    /** All entries of an organization that name this key as their signer. */
    findSigned: async (org: string, key: string) => sorted((await read(org, 1)).signers.get(key)),
    /**
     * The cut-over entries, and the entries about the events of a folder, from `from` on. May also return earlier ones.
     */
    findEvents: async (org: string, folder: string, from: number) => {
      const { events, cutOvers } = await read(org, from);
      return { cutOvers: sorted(cutOvers), appended: sorted(events.get(folder)) };
    },
  };
}
