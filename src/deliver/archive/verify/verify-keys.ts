import { toDocketError } from '../../../base/error.ts';
import { KEYS_FOLDER } from '../chain/chain.ts';
import { HAND_OVERS_FOLDER, type HandOver, keyLineage, parseHandOver } from '../chain/hand-over.ts';
import { type PublicKeys, parsePublicKeys } from '../chain/signing-key.ts';
import type { ArchiveStorage } from '../storage/archive-storage.ts';
import { type ArchiveFinding, errorFinding, noteFinding } from './verify-run.ts';

/** The keys of a verification. */
export interface VerifyKeys {
  /** The given keys; the archive's own if none are given. */
  readonly trusted: PublicKeys;
  /**
   * The trusted keys and the archive's own. An entry with an untrusted key counts if a trusted key has signed a later
   * entry.
   */
  readonly known: PublicKeys;
  /** Ids of the archive's own keys. */
  readonly archived: ReadonlySet<string>;
  /** How many keys have followed this key by hand-overs; Infinity for an untrusted key. */
  readonly ageOf: (id: string) => number;
  readonly findings: readonly ArchiveFinding[];
}

/**
 * @param given keys from outside the archive. The current one is enough: it vouches for those that handed over to it
 * @param handOvers from outside the archive, in addition to those in it
 */
export async function readVerifyKeys(
  { metadata }: ArchiveStorage,
  given?: PublicKeys,
  handOvers: readonly HandOver[] = [],
): Promise<VerifyKeys> {
  const findings: ArchiveFinding[] = [];
  const archived = new Map<string, PublicKeys extends ReadonlyMap<string, infer Key> ? Key : never>();
  for (const name of await metadata.list(KEYS_FOLDER)) {
    const path = `${KEYS_FOLDER}/${name}`;
    const [, id] = /^([0-9a-f]{16})\.pem$/.exec(name) ?? [];
    const text = (await metadata.get(path))?.toString('utf8') ?? '';
    try {
      const keys = parsePublicKeys(text, path);
      const key = id === undefined ? undefined : keys.get(id);
      if (key === undefined || keys.size !== 1 || text !== key.export({ type: 'spki', format: 'pem' })) throw path;
      archived.set(id ?? '', key);
    } catch (error) {
      if (toDocketError(error).code === 'archive.unreachable') throw error;
      findings.push(errorFinding('key.changed', path, 'is not the public key of its name'));
    }
  }
  if (given === undefined && archived.size > 0) {
    const fact = 'holds the keys that verified the signatures: they prove nothing if the archive was tampered with';
    findings.push(noteFinding('key.own', KEYS_FOLDER, fact));
  }
  const all = [...handOvers];
  for (const name of await metadata.list(HAND_OVERS_FOLDER)) {
    const path = `${HAND_OVERS_FOLDER}/${name}`;
    const text = (await metadata.get(path))?.toString('utf8') ?? '';
    const read = parseHandOver(text, (pem) => parsePublicKeys(pem, path));
    if (read !== undefined && name === `${read.from}-${read.to}.json`) all.push(read);
    else findings.push(errorFinding('key.hand_over_changed', path, 'is not a hand-over with valid signatures'));
  }
  const { trusted, ageOf, successorOf } = keyLineage(given ?? archived, all);
  const breaks = new Map(all.flatMap((each) => (each.lost === undefined ? [] : [[`${each.from}-${each.to}`, each]])));
  for (const [name, { from, to, lost }] of breaks) {
    const path = `${HAND_OVERS_FOLDER}/${name}.json`;
    findings.push(
      successorOf(from) === to
        ? noteFinding('key.break', path, `records that the key ${from} is lost, and ${to} follows: ${lost}`)
        : errorFinding('key.hand_over_changed', path, 'is signed with an untrusted or an earlier key'),
    );
  }
  const known = new Map([...archived, ...trusted]);
  return { trusted, known, archived: new Set(archived.keys()), ageOf, findings };
}
