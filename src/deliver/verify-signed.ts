import { toDocketError } from '../base/error.ts';
import { KEYS_FOLDER } from './chain.ts';
import { POINTER } from './chained-runs.ts';
import { type ArchiveFinding, fault, remark } from './finding.ts';
import { digestOf, readManifest } from './run-papers.ts';
import { isPaper, isRewritten, type Shelf, type Shelved } from './shelf.ts';
import type { ChainEntry } from './signed-document.ts';
import type { PublicKeys } from './signing-key.ts';
import { inspectRun } from './verify-archive.ts';
import { type ChainedRun, type VerifiedChain, verifyChain } from './verify-chain.ts';
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
export type Verified =
  | {
      readonly kind: 'run';
      readonly run: Shelved;
      readonly signed: boolean;
      readonly findings: readonly ArchiveFinding[];
    }
  | { readonly kind: 'archive'; readonly findings: readonly ArchiveFinding[] };

/** A process needs seconds from a file to its entry, and a retry after a crash minutes: what is older was left or added. */
const PENDING_MS = 3_600_000;

/**
 * Verifies run after run, then what belongs to no run. Holds one run's files in memory, and of the others a line and the
 * numbers of their entries. Needs no private key. Throws `archive.unreachable`.
 */
export async function* verifyArchive(shelf: Shelf, input: VerifyInput): AsyncGenerator<Verified> {
  const keys = await readVerifyKeys(shelf, input.keys);
  const chains = new Map<string, VerifiedChain>();
  const seen = new Map<string, Set<string>>();
  const chainOf = async (org: string): Promise<VerifiedChain> => {
    const found = chains.get(org) ?? (await verifyChain(shelf, org, keys, input.checkpoints));
    chains.set(org, found);
    return found;
  };
  for await (const run of shelf.runs(input.org)) {
    if (run.halfMadeAt !== undefined) continue;
    const chain = await chainOf(run.org);
    const of = `${run.report}/${run.id}`;
    const ids = seen.get(run.org) ?? new Set<string>();
    seen.set(run.org, ids.add(of));
    const findings = await verifyRun(run, chain, input.now);
    yield { kind: 'run', run, signed: chain.run(run.report, run.id) !== undefined, findings };
  }
  // Of some nothing but the chain may be left, or a checkpoint that was kept elsewhere.
  const others = input.org === undefined ? [...(await shelf.orgs()), ...(input.checkpointOrgs ?? [])] : [input.org];
  for (const org of others) await chainOf(org);
  const findings: ArchiveFinding[] = [...keys.findings];
  for (const [org, chain] of chains) {
    findings.push(...(await missingRuns(shelf, org, chain, seen.get(org) ?? new Set())), ...chain.findings());
  }
  if ([...chains.values()].some(({ begins }) => begins !== undefined)) {
    for (const name of await shelf.strays(input.org))
      findings.push(fault('archive.file_added', name, 'is none of ours'));
  }
  if (input.org === undefined) findings.push(...unusedKeys(keys, chains));
  yield { kind: 'archive', findings };
}

function unusedKeys({ archived }: VerifyKeys, chains: ReadonlyMap<string, VerifiedChain>): ArchiveFinding[] {
  const used = new Set([...chains.values()].flatMap(({ signers }) => [...signers]));
  return [...archived]
    .filter((id) => !used.has(id))
    .map((id) => fault('key.added', `${KEYS_FOLDER}/${id}.pem`, 'has signed nothing'));
}

/** Runs that the chain knows and nobody has taken away. */
async function missingRuns(
  shelf: Shelf,
  org: string,
  chain: VerifiedChain,
  seen: ReadonlySet<string>,
): Promise<readonly ArchiveFinding[]> {
  const findings: ArchiveFinding[] = [];
  for (const { run: id, report, removed } of chain.runs()) {
    if (removed !== undefined || seen.has(`${report}/${id}`)) continue;
    // Sealed since the listing.
    if ((await shelf.box({ id, org, report }).read('manifest.json')) !== undefined) continue;
    const what = 'is missing: it was removed, and not by retention';
    findings.push(fault('run.missing', `${org}/${report}/${id}`, what));
  }
  return findings;
}

async function verifyRun(run: Shelved, chain: VerifiedChain, now: number): Promise<readonly ArchiveFinding[]> {
  const found = await inspectOnce(run, chain, now);
  if (found.every(({ note }) => note)) return found;
  // A run that is being delivered may have changed since the chain was read.
  await chain.extend();
  return inspectOnce(run, chain, now);
}

async function inspectOnce(run: Shelved, chain: VerifiedChain, now: number): Promise<readonly ArchiveFinding[]> {
  const own = await inspectRun(run);
  if (chain.begins === undefined) return [...own, ...(await leftPointer(run))];
  const known = chain.run(run.report, run.id);
  if (known === undefined) return [...own, await unchained(run, chain.begins, now)];
  const named = new Set(own.map(({ path }) => path));
  const signed = await againstChain(run, known, await chain.entriesOf(known), now);
  return [...own, ...signed.filter(({ path }) => !named.has(path))];
}

/** A run that was entered somewhere, in an archive without a chain. */
async function leftPointer({ box }: Shelved): Promise<readonly ArchiveFinding[]> {
  if ((await box.read(POINTER)) === undefined) return [];
  return [fault('chain.missing', POINTER, 'says that the run is in the chain of its organization, which is gone')];
}

async function unchained({ box, org, report, id }: Shelved, begins: string, now: number): Promise<ArchiveFinding> {
  const manifest = await readManifest(box).catch((error: unknown) => {
    if (toDocketError(error).code === 'archive.unreachable') throw error;
    return undefined;
  });
  const path = `${org}/${report}/${id}`;
  const at = Date.parse(manifest?.made_at ?? '');
  if (at < Date.parse(begins))
    return remark('run.unsigned', path, 'was made before the chain began, and is not signed');
  const age = Math.round((now - at) / 60_000);
  const what = `is sealed, but not yet in the chain, ${Number.isNaN(age) ? 'for an unknown time' : `for ${age} minutes`}`;
  return Math.abs(now - at) <= PENDING_MS ? remark('run.pending', path, what) : fault('run.unchained', path, what);
}

async function againstChain(
  run: Shelved,
  { removed, last }: ChainedRun,
  entries: readonly ChainEntry[],
  now: number,
): Promise<readonly ArchiveFinding[]> {
  const { box } = run;
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
      if (late && before !== undefined && (had || !isRewritten(name))) continue;
      if (kind === 'sealed' && before !== undefined && before.sha256 !== sha256) continue;
      expected.set(name, { sha256, late });
      if (late)
        findings.push(remark('paper.late', name, `was signed later than it was written, at ${at} (${sequence})`));
    }
  }
  if (removed !== undefined) {
    const path = `${run.org}/${run.report}/${run.id}`;
    const what = `was removed by retention at ${new Date(removed).toISOString()}, and stands there`;
    // A sweep that was interrupted goes on the next day.
    return [now - removed < 2 * 86_400_000 ? remark('run.leaving', path, what) : fault('run.restored', path, what)];
  }
  for (const [name, { sha256 }] of expected) {
    const found = await digestOf(box, name);
    if (found === sha256) continue;
    const code = name === 'manifest.json' ? 'manifest' : name.startsWith('messages/') ? 'message' : 'paper';
    findings.push(
      found === undefined
        ? fault(`${code}.missing`, name, 'is missing: the chain says that it was written')
        : fault(`${code}.changed`, name, `has changed: SHA-256 ${found} instead of ${sha256}, as the chain says`),
    );
  }
  const isSigned = expected.has('manifest.json');
  for (const name of await box.names()) {
    if (expected.has(name) || name === POINTER || !isPaper(name) || !isSigned) continue;
    const what = `is not in the chain, whose last entry of this run is of ${new Date(last).toISOString()}`;
    const recent = now - last <= PENDING_MS && now >= last;
    findings.push(recent ? remark('paper.pending', name, what) : fault('paper.added', name, what));
  }
  if (!isSigned) {
    findings.push(remark('run.unsigned', 'manifest.json', 'was made before the chain began, and is not signed'));
  } else findings.push(...(await pointerFaults(run, entries)));
  return findings;
}

async function pointerFaults({ box }: Shelved, entries: readonly ChainEntry[]): Promise<readonly ArchiveFinding[]> {
  const text = (await box.read(POINTER))?.toString('utf8');
  const places = entries
    .filter(({ kind }) => kind === 'sealed')
    .map(({ sequence }) => `${JSON.stringify({ sequence })}\n`);
  if (text !== undefined && places.includes(text)) return [];
  if (text === undefined) return [fault('paper.missing', POINTER, 'is missing: it says where in the chain the run is')];
  return [fault('paper.changed', POINTER, 'does not say where in the chain the run is')];
}
