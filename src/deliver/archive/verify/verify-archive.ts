import { toDocketError } from '../../../base/error.ts';
import { KEYS_FOLDER } from '../chain/chain.ts';
import { CHAIN_POINTER } from '../chain/run-chain.ts';
import { type ArchiveFinding, errorFinding, noteFinding } from './finding.ts';
import { readManifest, sha256OfRunFile } from '../run-metadata.ts';
import { type ArchiveStorage, isMetadataFile, isMutable, type StoredRun } from '../storage/archive-storage.ts';
import type { ChainEntry } from '../chain/signed-document.ts';
import type { PublicKeys } from '../chain/signing-key.ts';
import { verifyRunFiles } from './verify-run.ts';
import { type ChainedRunEntries, type VerifiedChain, verifyChain } from './verify-chain.ts';
import { readVerifyKeys, type VerifyKeys } from './verify-keys.ts';

export interface VerifyInput {
  /** Only this organization. */
  readonly org?: string | undefined;
  /** From outside the archive; its own are used where none are given. */
  readonly keys?: PublicKeys | undefined;
  /** Texts of checkpoints that were kept elsewhere. */
  readonly checkpoints?: readonly string[];
  /** Organizations that these are of. */
  readonly checkpointOrgs?: readonly string[];
  /** Epoch ms. */
  readonly now: number;
}

/** What is said of one run, or of the archive itself. */
export type VerificationReport =
  | {
      readonly kind: 'run';
      readonly run: StoredRun;
      readonly signed: boolean;
      readonly findings: readonly ArchiveFinding[];
    }
  | { readonly kind: 'archive'; readonly findings: readonly ArchiveFinding[] };

/** A process needs seconds from a file to its entry, and a retry after a crash minutes: what is older was left or added. */
const PENDING_WINDOW_MS = 3_600_000;

/**
 * Verifies run after run, then what belongs to no run. Holds one run's files in memory, and of the others a line and the
 * numbers of their entries. Needs no private key. Throws `archive.unreachable`.
 */
export async function* verifyArchive(shelf: ArchiveStorage, input: VerifyInput): AsyncGenerator<VerificationReport> {
  const keys = await readVerifyKeys(shelf, input.keys);
  const chains = new Map<string, VerifiedChain>();
  const seen = new Map<string, Set<string>>();
  const chainOf = async (org: string): Promise<VerifiedChain> => {
    const found = chains.get(org) ?? (await verifyChain(shelf, org, keys, input.checkpoints));
    chains.set(org, found);
    return found;
  };
  for await (const run of shelf.listRuns(input.org)) {
    if (run.unpublishedAt !== undefined) continue;
    const chain = await chainOf(run.org);
    const of = `${run.report}/${run.id}`;
    const ids = seen.get(run.org) ?? new Set<string>();
    seen.set(run.org, ids.add(of));
    const findings = await verifyRun(run, chain, input.now);
    yield { kind: 'run', run, signed: chain.run(run.report, run.id) !== undefined, findings };
  }
  // Of some nothing but the chain may be left, or a checkpoint that was kept elsewhere.
  const others = input.org === undefined ? [...(await shelf.listOrgs()), ...(input.checkpointOrgs ?? [])] : [input.org];
  for (const org of others) await chainOf(org);
  const findings: ArchiveFinding[] = [...keys.findings];
  for (const [org, chain] of chains) {
    findings.push(...(await missingRuns(shelf, org, chain, seen.get(org) ?? new Set())), ...chain.findings());
  }
  if ([...chains.values()].some(({ begins }) => begins !== undefined)) {
    for (const name of await shelf.listForeignFiles(input.org))
      findings.push(errorFinding('archive.file_added', name, 'is none of ours'));
  }
  if (input.org === undefined) findings.push(...unusedKeys(keys, chains));
  yield { kind: 'archive', findings };
}

function unusedKeys({ archived }: VerifyKeys, chains: ReadonlyMap<string, VerifiedChain>): ArchiveFinding[] {
  const used = new Set([...chains.values()].flatMap(({ signers }) => [...signers]));
  return [...archived]
    .filter((id) => !used.has(id))
    .map((id) => errorFinding('key.added', `${KEYS_FOLDER}/${id}.pem`, 'has signed nothing'));
}

/** Runs that the chain knows and nobody has taken away. */
async function missingRuns(
  shelf: ArchiveStorage,
  org: string,
  chain: VerifiedChain,
  seen: ReadonlySet<string>,
): Promise<readonly ArchiveFinding[]> {
  const findings: ArchiveFinding[] = [];
  for (const { run: id, report, removed } of chain.runs()) {
    if (removed !== undefined || seen.has(`${report}/${id}`)) continue;
    // Sealed since the listing.
    if ((await shelf.runFiles({ id, org, report }).get('manifest.json')) !== undefined) continue;
    const what = 'is missing: it was removed, and not by retention';
    findings.push(errorFinding('run.missing', `${org}/${report}/${id}`, what));
  }
  return findings;
}

async function verifyRun(run: StoredRun, chain: VerifiedChain, now: number): Promise<readonly ArchiveFinding[]> {
  const found = await verifyOnce(run, chain, now);
  if (found.every(({ note }) => note)) return found;
  // A run that is being delivered may have changed since the chain was read.
  await chain.extend();
  return verifyOnce(run, chain, now);
}

async function verifyOnce(run: StoredRun, chain: VerifiedChain, now: number): Promise<readonly ArchiveFinding[]> {
  const own = await verifyRunFiles(run);
  if (chain.begins === undefined) return [...own, ...(await orphanedPointer(run))];
  const known = chain.run(run.report, run.id);
  if (known === undefined) return [...own, await unsignedFinding(run, chain.begins, now)];
  const named = new Set(own.map(({ path }) => path));
  const signed = await compareWithChain(run, known, await chain.entriesOf(known), now);
  return [...own, ...signed.filter(({ path }) => !named.has(path))];
}

/** A run that was entered somewhere, in an archive without a chain. */
async function orphanedPointer({ files }: StoredRun): Promise<readonly ArchiveFinding[]> {
  if ((await files.get(CHAIN_POINTER)) === undefined) return [];
  return [
    errorFinding(
      'chain.missing',
      CHAIN_POINTER,
      'says that the run is in the chain of its organization, which is gone',
    ),
  ];
}

async function unsignedFinding(
  { files, org, report, id }: StoredRun,
  begins: string,
  now: number,
): Promise<ArchiveFinding> {
  const manifest = await readManifest(files).catch((error: unknown) => {
    if (toDocketError(error).code === 'archive.unreachable') throw error;
    return undefined;
  });
  const path = `${org}/${report}/${id}`;
  const at = Date.parse(manifest?.made_at ?? '');
  if (at < Date.parse(begins))
    return noteFinding('run.unsigned', path, 'was made before the chain began, and is not signed');
  const age = Math.round((now - at) / 60_000);
  const what = `is sealed, but not yet in the chain, ${Number.isNaN(age) ? 'for an unknown time' : `for ${age} minutes`}`;
  return Math.abs(now - at) <= PENDING_WINDOW_MS
    ? noteFinding('run.pending', path, what)
    : errorFinding('run.unchained', path, what);
}

async function compareWithChain(
  run: StoredRun,
  { removed, last }: ChainedRunEntries,
  entries: readonly ChainEntry[],
  now: number,
): Promise<readonly ArchiveFinding[]> {
  const { files } = run;
  const expected = new Map<string, { readonly sha256: string; readonly late: boolean }>();
  const seen = new Map<string, Set<string>>();
  const findings: ArchiveFinding[] = [];
  for (const { kind, files, late = false, sequence, at } of entries) {
    for (const { name, sha256 } of files) {
      const before = expected.get(name);
      const had = seen.get(name)?.has(sha256) ?? false;
      seen.set(name, (seen.get(name) ?? new Set()).add(sha256));
      // Whoever completes an entry has not seen what was written: it takes the place of what is written over, and never
      // puts back what was so before.
      if (late && before !== undefined && (had || !isMutable(name))) continue;
      if (kind === 'sealed' && before !== undefined && before.sha256 !== sha256) continue;
      expected.set(name, { sha256, late });
      if (late)
        findings.push(noteFinding('paper.late', name, `was signed later than it was written, at ${at} (${sequence})`));
    }
  }
  if (removed !== undefined) {
    const path = `${run.org}/${run.report}/${run.id}`;
    const what = `was removed by retention at ${new Date(removed).toISOString()}, and stands there`;
    // A sweep that was interrupted goes on the next day.
    return [
      now - removed < 2 * 86_400_000
        ? noteFinding('run.leaving', path, what)
        : errorFinding('run.restored', path, what),
    ];
  }
  for (const [name, { sha256 }] of expected) {
    const found = await sha256OfRunFile(files, name);
    if (found === sha256) continue;
    const code = name === 'manifest.json' ? 'manifest' : name.startsWith('messages/') ? 'message' : 'paper';
    findings.push(
      found === undefined
        ? errorFinding(`${code}.missing`, name, 'is missing: the chain says that it was written')
        : errorFinding(
            `${code}.changed`,
            name,
            `has changed: SHA-256 ${found} instead of ${sha256}, as the chain says`,
          ),
    );
  }
  const isSigned = expected.has('manifest.json');
  for (const name of await files.list()) {
    if (expected.has(name) || name === CHAIN_POINTER || !isMetadataFile(name) || !isSigned) continue;
    const what = `is not in the chain, whose last entry of this run is of ${new Date(last).toISOString()}`;
    const recent = now - last <= PENDING_WINDOW_MS && now >= last;
    findings.push(recent ? noteFinding('paper.pending', name, what) : errorFinding('paper.added', name, what));
  }
  if (!isSigned) {
    findings.push(noteFinding('run.unsigned', 'manifest.json', 'was made before the chain began, and is not signed'));
  } else findings.push(...(await pointerFindings(run, entries)));
  return findings;
}

async function pointerFindings(
  { files }: StoredRun,
  entries: readonly ChainEntry[],
): Promise<readonly ArchiveFinding[]> {
  const text = (await files.get(CHAIN_POINTER))?.toString('utf8');
  const places = entries
    .filter(({ kind }) => kind === 'sealed')
    .map(({ sequence }) => `${JSON.stringify({ sequence })}\n`);
  if (text !== undefined && places.includes(text)) return [];
  if (text === undefined)
    return [errorFinding('paper.missing', CHAIN_POINTER, 'is missing: it says where in the chain the run is')];
  return [errorFinding('paper.changed', CHAIN_POINTER, 'does not say where in the chain the run is')];
}
