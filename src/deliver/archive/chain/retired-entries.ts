import type { ArchiveStorage } from '../storage/archive-storage.ts';
import { readEntries } from './chain.ts';
import type { chainIndex } from './chain-index.ts';
import { entrySchema, verifyDocument } from './signed-document.ts';
import type { SigningKey } from './signing-key.ts';

/**
 * The periods of keys: in each chain, the period of a key ends with the first entry of a later key. What it signs after that
 * does not count, so that a stolen old key is worth nothing.
 */
export function retiredEntries(storage: ArchiveStorage, index: Pick<ReturnType<typeof chainIndex>, 'findSigned'>) {
  /** Sequences of the first entries, by organization and key. */
  const begins = new Map<string, number>();

  const firstSigned = async (org: string, key: string, { trusted }: SigningKey): Promise<number> => {
    const name = `${org}/${key}`;
    const known = begins.get(name);
    if (known !== undefined) return known;
    for await (const { sequence, text } of readEntries(storage, org, await index.findSigned(org, key))) {
      // The index does not verify: anyone can write an entry that names the key.
      const read = text === undefined ? 'missing' : verifyDocument('chain entry', text, entrySchema, trusted);
      if (typeof read === 'string' || read.body.org !== org || read.body.sequence !== sequence) continue;
      begins.set(name, sequence);
      return sequence;
    }
    return Number.POSITIVE_INFINITY;
  };

  /** Whether an entry was signed after the period of its key, seen from the current key. */
  return async (org: string, sequence: number, signer: string, current: SigningKey): Promise<boolean> => {
    const age = current.ageOf(signer);
    for (const id of current.trusted.keys())
      if (current.ageOf(id) < age && (await firstSigned(org, id, current)) < sequence) return true;
    return false;
  };
}
