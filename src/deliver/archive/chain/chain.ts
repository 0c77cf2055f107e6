import type { Clock } from '../../../base/clock.ts';
import { mapWithConcurrency } from '../../../base/concurrency.ts';
import { DocketError } from '../../../base/error.ts';
import { sha256 } from '../../../base/sha256.ts';
import { requirePathName } from '../path-names.ts';
import type { ArchiveStorage } from '../storage/archive-storage.ts';
import { requireConditionalWrites } from '../storage/conditional-writes.ts';
import { HAND_OVERS_FOLDER, keyBreakEntry } from './hand-over.ts';
import {
  type ChainEntry,
  type ChainEvent,
  type Checkpoint,
  entrySchema,
  type SignedDocument,
  signDocument,
  unverifiedClaim,
  verifyDocument,
} from './signed-document.ts';
import type { SigningKey } from './signing-key.ts';

type ChainStorage = ArchiveStorage;

/**
 * Folder in the archive with the public keys of all signers. A convenience: inside a tampered archive they prove
 * nothing.
 */
export const KEYS_FOLDER = '.keys';
export const chainFolder = (org: string): string => `${requirePathName(org, 'organization')}/.chain`;
export const checkpointFolder = (org: string): string => `${requirePathName(org, 'organization')}/.checkpoints`;
/** The sequence is padded, so that names sort as numbers do. */
export const entryFile = (sequence: number): string => `${String(sequence).padStart(9, '0')}.json`;

/** Entries read at the same time. */
const CONCURRENCY = 16;

/** The texts of these entries in the given order, read ahead in batches; undefined for absent entries. */
export async function* readEntries(
  { metadata }: Pick<ChainStorage, 'metadata'>,
  org: string,
  sequences: readonly number[],
): AsyncGenerator<{ readonly sequence: number; readonly text: string | undefined }> {
  for (let from = 0; from < sequences.length; from += CONCURRENCY) {
    yield* await mapWithConcurrency(sequences.slice(from, from + CONCURRENCY), CONCURRENCY, async (sequence) => ({
      sequence,
      text: (await metadata.get(`${chainFolder(org)}/${entryFile(sequence)}`))?.toString('utf8'),
    }));
  }
}

export const sequenceRange = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);

/** Sequence of the last entry. Searches exponentially from a known entry, then binary. */
export async function lastSequence(
  { metadata }: Pick<ChainStorage, 'metadata'>,
  org: string,
  known: number,
): Promise<number> {
  const exists = async (sequence: number) =>
    (await metadata.get(`${chainFolder(org)}/${entryFile(sequence)}`)) !== undefined;
  let low = known;
  let step = 1;
  while (await exists(low + step)) {
    low += step;
    step *= 2;
  }
  let high = low + step;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await exists(middle)) low = middle;
    else high = middle;
  }
  return low;
}

interface Head {
  /** 0 before the first entry. */
  readonly sequence: number;
  readonly sha256: string | null;
  /** Id of the key that signed it. */
  readonly signer?: string;
}

/**
 * The signed hash chain of each organization: `<org>/.chain/<sequence>.json`, each entry with the hash of the previous
 * one.
 * @param readKey called once, and again after it threw or when an entry has an unknown key
 * @param isRetired whether the signer of an entry was retired before it, seen from the current key
 */
export function openChain(
  storage: ChainStorage,
  readKey: () => Promise<SigningKey>,
  clock: Clock,
  isRetired: (org: string, sequence: number, signer: string, current: SigningKey) => Promise<boolean>,
) {
  const { metadata, location } = storage;
  let opening: Promise<SigningKey> | undefined;
  let publishedKey: string | undefined;
  const heads = new Map<string, Head>();
  const lastWrites = new Map<string, Promise<unknown>>();

  const openKey = (): Promise<SigningKey> => {
    opening ??= readKey().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  /** Reads the key again. Returns the given key if that fails. */
  const reloadKey = async (key: SigningKey): Promise<SigningKey> => {
    const current = await openKey();
    // Another call has already reloaded it.
    if (current !== key) return current;
    opening = readKey().catch(() => key);
    return opening;
  };
  const publishKey = async ({ id, publicPem, handOvers }: SigningKey): Promise<void> => {
    if (publishedKey === id) return;
    await metadata.putIfAbsent(`${KEYS_FOLDER}/${id}.pem`, publicPem);
    for (const { from, to, text } of handOvers)
      await metadata.putIfAbsent(`${HAND_OVERS_FOLDER}/${from}-${to}.json`, text.endsWith('\n') ? text : `${text}\n`);
    publishedKey = id;
  };
  const nameOf = (org: string, sequence: number): string => `${chainFolder(org)}/${entryFile(sequence)}`;
  const readEntryText = async (org: string, sequence: number): Promise<string | undefined> =>
    (await metadata.get(nameOf(org, sequence)))?.toString('utf8');

  /** A key that trusts the signer of this entry: another process may already sign with a newer key. */
  const keyTrusting = async (org: string, sequence: number, text: string): Promise<SigningKey> => {
    const key = await openKey();
    const signer = unverifiedClaim(text)?.key;
    if (signer === undefined || key.trusted.has(signer)) return key;
    const next = await reloadKey(key);
    if (next.trusted.has(signer)) return next;
    throw new DocketError(
      'archive.key_unknown',
      `An entry of the archive's chain is signed with an unknown key: ${signer}.`,
      {
        where: `${location}/${nameOf(org, sequence)}`,
        expected: `a key in the file of DOCKET_SIGNING_KEY: ${[...next.trusted.keys()].join(', ')}`,
        got: signer,
        next: 'Give every process the new key, whose file contains the old public keys. If no key was changed, run `docket archive verify`.',
      },
    );
  };
  const verifyEntry = async (org: string, sequence: number, text: string): Promise<SignedDocument<ChainEntry>> => {
    const { trusted: keys } = await keyTrusting(org, sequence, text);
    const read = verifyDocument('chain entry', text, entrySchema, keys);
    const why = typeof read === 'string' ? read : 'it belongs to another sequence or organization';
    if (typeof read !== 'string' && read.body.org === org && read.body.sequence === sequence) return read;
    throw new DocketError('archive.corrupt', `An entry of the archive's chain cannot be trusted: ${why}.`, {
      where: `${location}/${nameOf(org, sequence)}`,
      expected: 'an entry signed with the key of DOCKET_SIGNING_KEY or an earlier one',
      next: 'Run `docket archive verify`. After a change of keys, the file of the new key must contain the old public key.',
    });
  };

  const readHead = async (org: string): Promise<Head> => {
    const known = heads.get(org) ?? { sequence: 0, sha256: null };
    const sequence = await lastSequence({ metadata }, org, known.sequence);
    const text = sequence === known.sequence ? undefined : await readEntryText(org, sequence);
    // A new entry vouches for the previous one, so the previous one must be verified.
    const verified = text === undefined ? undefined : await verifyEntry(org, sequence, text);
    const head = verified === undefined ? known : { sequence, sha256: verified.sha256, signer: verified.key };
    heads.set(org, head);
    return head;
  };

  const write = async (org: string, event: ChainEvent): Promise<number> => {
    await requireConditionalWrites(storage, 'Signing');
    for (;;) {
      const head = await readHead(org);
      // The key is opened after the head is read, because that may have reloaded it.
      const key = await openKey();
      await publishKey(key);
      const sequence = head.sequence + 1;
      const { signer } = head;
      const breaks = key.handOvers.filter(
        ({ lost, to }) => lost !== undefined && signer !== undefined && key.ageOf(to) < key.ageOf(signer),
      );
      const content = breaks.length > 0 ? keyBreakEntry(breaks) : event;
      const at = new Date(clock.now()).toISOString();
      const text = signDocument(
        'chain entry',
        { version: 1, org, sequence, previous: head.sha256, at, ...content },
        key,
      );
      if (!(await metadata.putIfAbsent(nameOf(org, sequence), text))) continue;
      heads.set(org, { sequence, sha256: sha256(text), signer: key.id });
      if (content === event) return sequence;
    }
  };
  /** Serializes the writes of this process: in parallel they would only compete for the same sequence. */
  const serialize = <T>(org: string, work: () => Promise<T>): Promise<T> => {
    const result = (lastWrites.get(org) ?? Promise.resolve()).then(work, work);
    lastWrites.set(org, result);
    return result;
  };

  const checkpoint = async (org: string): Promise<{ readonly text: string; readonly body: Checkpoint } | undefined> => {
    const { sequence, sha256: head } = await readHead(org);
    if (head === null) return undefined;
    const key = await openKey();
    const at = new Date(clock.now()).toISOString();
    const body: Checkpoint = { version: 1, org, day: at.slice(0, 10), sequence, head, at };
    const text = signDocument('checkpoint', body, key);
    if (!(await metadata.putIfAbsent(`${checkpointFolder(org)}/${body.day}.json`, text))) return undefined;
    const files = [{ name: `.checkpoints/${body.day}.json`, sha256: sha256(text) }];
    await write(org, { kind: 'checkpoint', files });
    return { text, body };
  };

  return {
    /** Reads the key. Throws `config.secret_missing`, `config.invalid`. */
    ready: async (): Promise<void> => {
      await openKey();
    },
    /**
     * Opens the key, and checks that the store has conditional writes. Throws `archive.unconditional`, `archive.unreachable`,
     * `archive.unwritable`.
     */
    assertUsable: async (): Promise<void> => {
      await openKey();
      await requireConditionalWrites(storage, 'Signing');
    },
    /** Appends an entry. Concurrent writers get different sequences. @returns the sequence */
    append: (org: string, event: ChainEvent): Promise<number> =>
      serialize(org, async () => {
        const sequence = await write(org, event);
        // From here on, a deleted chain is detected. Older runs count as unsigned.
        if (sequence === 1) await checkpoint(org);
        return sequence;
      }),
    /** Signs the current end of the chain, once a day. Undefined if today's checkpoint exists or there is no chain. */
    checkpoint: (org: string) => serialize(org, () => checkpoint(org)),
    /**
     * The entry with this sequence; undefined when it is absent or its key was retired before. Throws `archive.corrupt`
     * for an invalid signature, and `archive.key_unknown` for an entry whose key this process does not have (yet).
     */
    entry: async (org: string, sequence: number): Promise<ChainEntry | undefined> => {
      const text = await readEntryText(org, sequence);
      if (text === undefined) return undefined;
      const { body, key } = await verifyEntry(org, sequence, text);
      return (await isRetired(org, sequence, key, await openKey())) ? undefined : body;
    },
    /** Entries with these sequences, except invalid ones and those of retired keys. Throws `archive.key_unknown`. */
    entries: async function* (org: string, sequences: readonly number[]): AsyncGenerator<ChainEntry> {
      for await (const { sequence, text } of readEntries({ metadata }, org, sequences)) {
        if (text === undefined) continue;
        const current = await keyTrusting(org, sequence, text);
        const read = verifyDocument('chain entry', text, entrySchema, current.trusted);
        if (typeof read === 'string' || read.body.org !== org || read.body.sequence !== sequence) continue;
        if (!(await isRetired(org, sequence, read.key, current))) yield read.body;
      }
    },
  };
}

/** The text of the newest checkpoint of each organization. */
export async function newestCheckpoints({ metadata, listOrgs }: ArchiveStorage, org?: string): Promise<string[]> {
  const texts: string[] = [];
  for (const each of org === undefined ? await listOrgs() : [org]) {
    const names = (await metadata.list(checkpointFolder(each))).filter((name) => /^\d{4}-\d\d-\d\d\.json$/.test(name));
    const last = names.at(-1);
    const text = last === undefined ? undefined : await metadata.get(`${checkpointFolder(each)}/${last}`);
    if (text !== undefined) texts.push(text.toString('utf8'));
  }
  return texts;
}
