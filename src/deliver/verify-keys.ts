import { toDocketError } from '../base/error.ts';
import { KEYS_FOLDER } from './chain.ts';
import { type ArchiveFinding, fault, remark } from './finding.ts';
import type { Shelf } from './shelf.ts';
import { type PublicKeys, readPublicKeys } from './signing-key.ts';

/** The keys that a verification goes by. */
export interface VerifyKeys {
  /** Given from outside; those of the archive itself where none are. */
  readonly trusted: PublicKeys;
  /** These and the archive's: a signature of one that is not trusted counts where a trusted one stands after it. */
  readonly known: PublicKeys;
  /** Ids of those that the archive has. */
  readonly archived: ReadonlySet<string>;
  readonly findings: readonly ArchiveFinding[];
}

/** @param given from outside the archive */
export async function readVerifyKeys({ notes }: Pick<Shelf, 'notes'>, given?: PublicKeys): Promise<VerifyKeys> {
  const findings: ArchiveFinding[] = [];
  const archived = new Map<string, PublicKeys extends ReadonlyMap<string, infer Key> ? Key : never>();
  for (const name of await notes.names(KEYS_FOLDER)) {
    const path = `${KEYS_FOLDER}/${name}`;
    const [, id] = /^([0-9a-f]{16})\.pem$/.exec(name) ?? [];
    const text = (await notes.read(path))?.toString('utf8') ?? '';
    try {
      const keys = readPublicKeys(text, path);
      const key = id === undefined ? undefined : keys.get(id);
      if (key === undefined || keys.size !== 1 || text !== key.export({ type: 'spki', format: 'pem' })) throw path;
      archived.set(id ?? '', key);
    } catch (error) {
      if (toDocketError(error).code === 'archive.unreachable') throw error;
      findings.push(fault('key.changed', path, 'is not the public key that its name says'));
    }
  }
  if (given === undefined && archived.size > 0) {
    const what = 'are what the signatures were checked with: they prove nothing to who does not trust the archive';
    findings.push(remark('key.own', KEYS_FOLDER, what));
  }
  const known = new Map([...archived, ...(given ?? [])]);
  return { trusted: given ?? archived, known, archived: new Set(archived.keys()), findings };
}
