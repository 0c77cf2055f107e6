import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import { pathName } from './sealed-folder.ts';
import type { Shelf } from './shelf.ts';
import {
  type ChainEntry,
  type ChainEvent,
  type Checkpoint,
  claimOf,
  entrySchema,
  readDocument,
  type SignedDocument,
  sha256,
  signDocument,
} from './signed-document.ts';
import type { SigningKey } from './signing-key.ts';

type Place = Pick<Shelf, 'notes' | 'place'>;

/** Public keys of all who signed, in the archive itself: a copy for people, which proves nothing to who does not trust it. */
export const KEYS_FOLDER = '.keys';
export const chainFolder = (org: string): string => `${pathName(org, 'organization')}/.chain`;
export const checkpointFolder = (org: string): string => `${pathName(org, 'organization')}/.checkpoints`;
/** With as many digits that names sort as numbers do. */
export const entryFile = (sequence: number): string => `${String(sequence).padStart(9, '0')}.json`;

/** Entries that are read at the same time. */
const CONCURRENCY = 16;

/** The texts of these entries, in this order, some read ahead; undefined where none stands. */
export async function* readEntries(
  { notes }: Pick<Place, 'notes'>,
  org: string,
  sequences: readonly number[],
): AsyncGenerator<{ readonly sequence: number; readonly text: string | undefined }> {
  for (let at = 0; at < sequences.length; at += CONCURRENCY) {
    const batch = sequences.slice(at, at + CONCURRENCY);
    const texts = await Promise.all(
      batch.map(async (sequence) => ({
        sequence,
        text: (await notes.read(`${chainFolder(org)}/${entryFile(sequence)}`))?.toString('utf8'),
      })),
    );
    yield* texts;
  }
}

export const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);

/** The last entry, looked for from one that is known on: in steps that double, then in between. */
export async function lastSequence({ notes }: Pick<Place, 'notes'>, org: string, known: number): Promise<number> {
  const stands = async (sequence: number) =>
    (await notes.read(`${chainFolder(org)}/${entryFile(sequence)}`)) !== undefined;
  let low = known;
  let step = 1;
  while (await stands(low + step)) {
    low += step;
    step *= 2;
  }
  let high = low + step;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await stands(middle)) low = middle;
    else high = middle;
  }
  return low;
}

interface Head {
  /** 0 where there is no chain yet. */
  readonly sequence: number;
  readonly sha256: string | null;
}

/** The signed chain of each organization's archive: `<org>/.chain/<sequence>.json`, each entry naming the one before. */
export interface Chain {
  /** Reads the key. Throws `config.secret_missing`, `config.invalid`. */
  ready(): Promise<void>;
  /** Adds an entry at the end; of many who do so at once each gets a place of its own. @returns its sequence */
  append(org: string, event: ChainEvent): Promise<number>;
  /** Signs how far the chain goes, once a day; undefined where that was done today, or there is no chain. */
  checkpoint(org: string): Promise<{ readonly text: string; readonly body: Checkpoint } | undefined>;
  /**
   * The entry with this number. Throws `archive.corrupt` when it is not one that a trusted key has signed, and
   * `archive.key_unknown` when it says to be of a key that this process does not know (yet).
   */
  entry(org: string, sequence: number): Promise<ChainEntry | undefined>;
  /** Entries with these numbers, those that cannot be trusted left out. Throws `archive.key_unknown`. */
  entries(org: string, sequences: readonly number[]): AsyncGenerator<ChainEntry>;
}

/** @param readKey asked once, and again after it threw or where the chain has a key that it does not know */
export function chainOn({ notes, place }: Place, readKey: () => Promise<SigningKey>, clock: Clock): Chain {
  let opening: Promise<SigningKey> | undefined;
  let published: string | undefined;
  const heads = new Map<string, Head>();
  const turns = new Map<string, Promise<unknown>>();

  const openKey = (): Promise<SigningKey> => {
    opening ??= readKey().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  /** The key that stands in place of this one now; this one where that cannot be read. */
  const keyAfter = async (key: SigningKey): Promise<SigningKey> => {
    const current = await openKey();
    // Somebody has asked meanwhile.
    if (current !== key) return current;
    opening = readKey().catch(() => key);
    return opening;
  };
  const publish = async ({ id, publicPem }: SigningKey): Promise<void> => {
    if (published === id) return;
    await notes.putNew(`${KEYS_FOLDER}/${id}.pem`, publicPem);
    published = id;
  };
  const nameOf = (org: string, sequence: number): string => `${chainFolder(org)}/${entryFile(sequence)}`;
  const textOf = async (org: string, sequence: number): Promise<string | undefined> =>
    (await notes.read(nameOf(org, sequence)))?.toString('utf8');

  /** A key that was replaced while this process runs: whoever has the new one has signed on with it. */
  const keyKnowing = async (org: string, sequence: number, text: string): Promise<SigningKey> => {
    const key = await openKey();
    const signer = claimOf(text)?.key;
    if (signer === undefined || key.trusted.has(signer)) return key;
    const next = await keyAfter(key);
    if (next.trusted.has(signer)) return next;
    throw new DocketError(
      'archive.key_unknown',
      `An entry of the archive's chain is signed with another key: ${signer}.`,
      {
        where: `${place}/${nameOf(org, sequence)}`,
        expected: `a key that DOCKET_SIGNING_KEY names: ${[...next.trusted.keys()].join(', ')}`,
        got: signer,
        next: 'Give every process the new key, whose file names the old public ones. Where no key was changed, run `docket archive verify`.',
      },
    );
  };
  const trusted = async (org: string, sequence: number, text: string): Promise<SignedDocument<ChainEntry>> => {
    const { trusted: keys } = await keyKnowing(org, sequence, text);
    const read = readDocument('chain entry', text, entrySchema, keys);
    const why = typeof read === 'string' ? read : 'it is of another place';
    if (typeof read !== 'string' && read.body.org === org && read.body.sequence === sequence) return read;
    throw new DocketError('archive.corrupt', `An entry of the archive's chain cannot be trusted: ${why}.`, {
      where: `${place}/${nameOf(org, sequence)}`,
      expected: 'an entry that the key of DOCKET_SIGNING_KEY has signed, or one before it',
      next: 'Run `docket archive verify`. After a change of keys, the file of the new key names the old public one.',
    });
  };

  const headOf = async (org: string): Promise<Head> => {
    const known = heads.get(org) ?? { sequence: 0, sha256: null };
    const sequence = await lastSequence({ notes }, org, known.sequence);
    const text = sequence === known.sequence ? undefined : await textOf(org, sequence);
    // What is added vouches for what stands before it: never for what somebody else has put there.
    const head = text === undefined ? known : { sequence, sha256: (await trusted(org, sequence, text)).sha256 };
    heads.set(org, head);
    return head;
  };

  const write = async (org: string, event: ChainEvent): Promise<number> => {
    for (;;) {
      const head = await headOf(org);
      // After the head: it may be of a key that has come since.
      const key = await openKey();
      await publish(key);
      const sequence = head.sequence + 1;
      const at = new Date(clock.now()).toISOString();
      const text = signDocument('chain entry', { version: 1, org, sequence, previous: head.sha256, at, ...event }, key);
      if (!(await notes.putNew(nameOf(org, sequence), text))) continue;
      heads.set(org, { sequence, sha256: sha256(text) });
      return sequence;
    }
  };
  /** One after the other in this process: they would only take each other's place. */
  const inTurn = <T>(org: string, work: () => Promise<T>): Promise<T> => {
    const done = (turns.get(org) ?? Promise.resolve()).then(work, work);
    turns.set(org, done);
    return done;
  };

  const checkpoint: Chain['checkpoint'] = async (org) => {
    const { sequence, sha256: head } = await headOf(org);
    if (head === null) return undefined;
    const key = await openKey();
    const at = new Date(clock.now()).toISOString();
    const body: Checkpoint = { version: 1, org, day: at.slice(0, 10), sequence, head, at };
    const text = signDocument('checkpoint', body, key);
    if (!(await notes.putNew(`${checkpointFolder(org)}/${body.day}.json`, text))) return undefined;
    const files = [{ name: `.checkpoints/${body.day}.json`, sha256: sha256(text) }];
    await write(org, { kind: 'checkpoint', files });
    return { text, body };
  };

  return {
    ready: async () => {
      await openKey();
    },
    append: (org, event) =>
      inTurn(org, async () => {
        const sequence = await write(org, event);
        // From here on a chain that is gone shows; what was archived before counts as unsigned.
        if (sequence === 1) await checkpoint(org);
        return sequence;
      }),
    checkpoint: (org) => inTurn(org, () => checkpoint(org)),
    entry: async (org, sequence) => {
      const text = await textOf(org, sequence);
      return text === undefined ? undefined : (await trusted(org, sequence, text)).body;
    },
    entries: async function* (org, sequences) {
      for await (const { sequence, text } of readEntries({ notes }, org, sequences)) {
        if (text === undefined) continue;
        const { trusted: keys } = await keyKnowing(org, sequence, text);
        const read = readDocument('chain entry', text, entrySchema, keys);
        if (typeof read !== 'string' && read.body.org === org && read.body.sequence === sequence) yield read.body;
      }
    },
  };
}

/** The newest checkpoint of each organization, as its file has it. */
export async function newestCheckpoints(
  { notes, orgs }: Pick<Shelf, 'notes' | 'orgs'>,
  org?: string,
): Promise<string[]> {
  const texts: string[] = [];
  for (const each of org === undefined ? await orgs() : [org]) {
    const names = (await notes.names(checkpointFolder(each))).filter((name) => /^\d{4}-\d\d-\d\d\.json$/.test(name));
    const last = names.at(-1);
    const text = last === undefined ? undefined : await notes.read(`${checkpointFolder(each)}/${last}`);
    if (text !== undefined) texts.push(text.toString('utf8'));
  }
  return texts;
}
