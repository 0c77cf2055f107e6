import { toDocketError } from '../../../base/error.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../base/time.ts';
import { extractProblem } from '../archive-errors.ts';
import { KEYS_FOLDER } from '../chain/chain.ts';
import type { HandOver } from '../chain/hand-over.ts';
import { CHAIN_POINTER } from '../chain/run-chain.ts';
import type { ChainEntry } from '../chain/signed-document.ts';
import type { PublicKeys } from '../chain/signing-key.ts';
import type { EventRecord } from '../events/event-record.ts';
import { parseReading, parseReadingName, READINGS_FOLDER } from '../readings/reading-archive.ts';
import { readManifest, sha256OfRunFile } from '../run-folder/run-metadata.ts';
import { type ArchiveStorage, isMetadataFile, isMutable, type StoredRun } from '../storage/archive-storage.ts';
import { type ChainedRunEntries, type VerifiedChain, verifyChain } from './verify-chain.ts';
import { readVerifyKeys, type VerifyKeys } from './verify-keys.ts';
import { type ExpectedRecords, verifyRecords } from './verify-records.ts';
import { type ArchiveFinding, errorFinding, noteFinding, verifyRunFiles } from './verify-run.ts';

export interface VerifyInput {
  /** Verify only this organization. */
  readonly org?: string | undefined;
  /** Verify only this run, with its organization's chain. */
  readonly run?: StoredRun | undefined;
  /** Trusted keys from outside the archive. Absent: the archive's own keys. */
  readonly keys?: PublicKeys | undefined;
  /** Hand-overs between keys from outside the archive, in addition to those in it. */
  readonly handOvers?: readonly HandOver[];
  /** Texts of checkpoints from outside the archive. */
  readonly checkpoints?: readonly string[];
  /** The organizations of these checkpoints. */
  readonly checkpointOrgs?: readonly string[];
  /** Epoch ms. */
  readonly now: number;
}

/** What verification found about one run, or about the archive itself. */
export type VerificationReport =
  | {
      readonly kind: 'run';
      readonly run: StoredRun;
      readonly signed: boolean;
      readonly findings: readonly ArchiveFinding[];
    }
  | { readonly kind: 'archive'; readonly findings: readonly ArchiveFinding[] };

/**
 * The chain records a file within seconds, after a crash within minutes. An older file without an entry is an error.
 */
const PENDING_WINDOW_MS = HOUR_MS;
/** Retention completes an interrupted deletion the next day. */
const REMOVAL_WINDOW_MS = 2 * DAY_MS;

/**
 * Verifies each run, then the files that belong to no run. Needs no private key. Keeps in memory one run's files, the
 * sequences of all chain entries, and the manifests' reviews. Throws `archive.unreachable`.
 */
export async function* verifyArchive(storage: ArchiveStorage, input: VerifyInput): AsyncGenerator<VerificationReport> {
  const keys = await readVerifyKeys(storage, input.keys, input.handOvers);
  const chains = new Map<string, VerifiedChain>();
  const seen = new Map<string, Set<string>>();
  const loadChain = async (org: string): Promise<VerifiedChain> => {
    const found = chains.get(org) ?? (await verifyChain(storage, org, keys, input.checkpoints));
    chains.set(org, found);
    return found;
  };
  if (input.run !== undefined) {
    const { run } = input;
    const chain = await loadChain(run.org);
    const findings = await verifyRun(run, chain, input.now);
    yield { kind: 'run', run, signed: chain.run(run.report, run.id) !== undefined, findings };
    const readEvents = () => extendedEvents(new Map([[run.org, chain]]));
    const records = await verifyRecords(storage, await readExpectedRecords(run), { run }, readEvents);
    yield { kind: 'archive', findings: [...keys.findings, ...chain.findings(), ...records] };
    return;
  }
  const expected: ExpectedRecords[] = [];
  for await (const run of storage.listRuns(input.org)) {
    if (run.unpublishedAt !== undefined) continue;
    expected.push(...(await readExpectedRecords(run)));
    const chain = await loadChain(run.org);
    const ids = seen.get(run.org) ?? new Set<string>();
    seen.set(run.org, ids.add(`${run.report}/${run.id}`));
    const findings = await verifyRun(run, chain, input.now);
    yield { kind: 'run', run, signed: chain.run(run.report, run.id) !== undefined, findings };
  }
  // An organization may have a chain or an outside checkpoint, but no runs.
  const others =
    input.org === undefined ? [...(await storage.listOrgs()), ...(input.checkpointOrgs ?? [])] : [input.org];
  for (const org of others) await loadChain(org);
  const findings: ArchiveFinding[] = [...keys.findings];
  for (const [org, chain] of chains) {
    findings.push(...(await missingRuns(storage, org, chain, seen.get(org) ?? new Set())), ...chain.findings());
  }
  if ([...chains.values()].some(({ begins }) => begins !== undefined)) {
    for (const name of await storage.listForeignFiles(input.org))
      findings.push(errorFinding('archive.file_added', name, 'is not part of the archive'));
  }
  if (input.org === undefined) findings.push(...unusedKeys(keys, chains));
  findings.push(...(await verifyReadings(storage, input.org)));
  findings.push(...(await verifyRecords(storage, expected, { org: input.org }, () => extendedEvents(chains))));
  yield { kind: 'archive', findings };
}

/** The events in the chains, including those appended since the chains were read. */
async function extendedEvents(chains: ReadonlyMap<string, VerifiedChain>): Promise<Map<string, EventRecord>> {
  for (const chain of chains.values()) await chain.extend();
  return new Map([...chains].map(([org, { events }]) => [org, events]));
}

/** What the manifest says about figures and review; empty if it is unreadable or says nothing. */
async function readExpectedRecords({ files, id, org, report }: StoredRun): Promise<readonly ExpectedRecords[]> {
  const manifest = await readManifest(files).catch((error: unknown) => {
    if (toDocketError(error).code === 'archive.unreachable') throw error;
    return undefined;
  });
  if (manifest?.edition_figures === undefined && manifest?.review === undefined) return [];
  const { edition_figures, review } = manifest;
  return [{ run: { id, org, report }, manifest: { edition_figures, review } }];
}

function unusedKeys({ archived }: VerifyKeys, chains: ReadonlyMap<string, VerifiedChain>): ArchiveFinding[] {
  const used = new Set([...chains.values()].flatMap(({ signers }) => [...signers]));
  return [...archived]
    .filter((id) => !used.has(id))
    .map((id) => errorFinding('key.added', `${KEYS_FOLDER}/${id}.pem`, 'has signed nothing'));
}

/** Runs that the chain names, but that are neither listed nor removed by retention. */
async function missingRuns(
  storage: ArchiveStorage,
  org: string,
  chain: VerifiedChain,
  seen: ReadonlySet<string>,
): Promise<readonly ArchiveFinding[]> {
  const findings: ArchiveFinding[] = [];
  for (const { run: id, report, removed } of chain.runs()) {
    if (removed !== undefined || seen.has(`${report}/${id}`)) continue;
    // The run was published after the listing.
    if ((await storage.runFiles({ id, org, report }).get('manifest.json')) !== undefined) continue;
    const problem = 'is missing, and was not removed by retention';
    findings.push(errorFinding('run.missing', `${org}/${report}/${id}`, problem));
  }
  return findings;
}

async function verifyRun(run: StoredRun, chain: VerifiedChain, now: number): Promise<readonly ArchiveFinding[]> {
  const findings = await verifyOnce(run, chain, now);
  if (findings.every(({ note }) => note)) return findings;
  // A delivery may have written files after the chain was read.
  await chain.extend();
  return verifyOnce(run, chain, now);
}

async function verifyOnce(run: StoredRun, chain: VerifiedChain, now: number): Promise<readonly ArchiveFinding[]> {
  const findings = await verifyRunFiles(run);
  if (chain.begins === undefined) return [...findings, ...(await orphanedPointer(run))];
  const known = chain.run(run.report, run.id);
  if (known === undefined) return [...findings, await unsignedFinding(run, chain.begins, now)];
  const reported = new Set(findings.map(({ path }) => path));
  const chainFindings = await compareWithChain(run, known, await chain.readEntries(known), now);
  return [...findings, ...chainFindings.filter(({ path }) => !reported.has(path))];
}

/** Finds a run that points into the chain, in an archive without a chain. */
async function orphanedPointer({ files }: StoredRun): Promise<readonly ArchiveFinding[]> {
  if ((await files.get(CHAIN_POINTER)) === undefined) return [];
  return [errorFinding('chain.missing', CHAIN_POINTER, 'points into the chain of the organization, which is missing')];
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
  const age = Math.round((now - at) / MINUTE_MS);
  const what = `is published, but not yet in the chain, ${Number.isNaN(age) ? 'for an unknown time' : `for ${age} minutes`}`;
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
  const runFiles = run.files;
  const expected = new Map<string, { readonly sha256: string; readonly late: boolean }>();
  const seen = new Map<string, Set<string>>();
  const findings: ArchiveFinding[] = [];
  for (const { kind, files, late = false, sequence, at } of entries) {
    for (const { name, sha256 } of files) {
      const previous = expected.get(name);
      const isKnown = seen.get(name)?.has(sha256) ?? false;
      seen.set(name, (seen.get(name) ?? new Set()).add(sha256));
      // A late entry was written by another process than the file. It may update a file that is overwritten, but never
      // restores an earlier version of it.
      if (late && previous !== undefined && (isKnown || !isMutable(name))) continue;
      if (kind === 'sealed' && previous !== undefined && previous.sha256 !== sha256) continue;
      expected.set(name, { sha256, late });
      if (late)
        findings.push(
          noteFinding('paper.late', name, `was signed later than it was written, at ${at} (entry ${sequence})`),
        );
    }
  }
  if (removed !== undefined) {
    const path = `${run.org}/${run.report}/${run.id}`;
    const what = `was removed by retention at ${new Date(removed).toISOString()}, but still exists`;
    return [
      now - removed < REMOVAL_WINDOW_MS
        ? noteFinding('run.leaving', path, what)
        : errorFinding('run.restored', path, what),
    ];
  }
  for (const [name, { sha256 }] of expected) {
    const actual = await sha256OfRunFile(runFiles, name);
    if (actual === sha256) continue;
    const code = name === 'manifest.json' ? 'manifest' : name.startsWith('messages/') ? 'message' : 'paper';
    findings.push(
      actual === undefined
        ? errorFinding(`${code}.missing`, name, 'is missing, although the chain records it')
        : errorFinding(`${code}.changed`, name, `has changed: SHA-256 ${actual} instead of ${sha256}, as in the chain`),
    );
  }
  const isSigned = expected.has('manifest.json');
  for (const name of await runFiles.list()) {
    if (expected.has(name) || name === CHAIN_POINTER || !isMetadataFile(name) || !isSigned) continue;
    const what = `is not in the chain, whose last entry for this run is of ${new Date(last).toISOString()}`;
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
  const valid = entries
    .filter(({ kind }) => kind === 'sealed')
    .map(({ sequence }) => `${JSON.stringify({ sequence })}\n`);
  if (text !== undefined && valid.includes(text)) return [];
  if (text === undefined)
    return [errorFinding('paper.missing', CHAIN_POINTER, 'is missing: it points to the entry of the run in the chain')];
  return [errorFinding('paper.changed', CHAIN_POINTER, 'does not point to the entry of the run in the chain')];
}

/**
 * Finds readings that were changed, moved or added. No signed chain records them, so their hashes only reveal
 * accidents.
 * @param org only this organization
 */
async function verifyReadings(
  { metadata, location }: ArchiveStorage,
  org: string | undefined,
): Promise<readonly ArchiveFinding[]> {
  const findings: ArchiveFinding[] = [];
  for (const name of await metadata.list(READINGS_FOLDER)) {
    if (org !== undefined && !name.startsWith(`${org}/`)) continue;
    const path = `${READINGS_FOLDER}/${name}`;
    const ref = parseReadingName(name);
    if (ref === undefined) {
      findings.push(errorFinding('reading.added', path, 'is no reading'));
      continue;
    }
    if (ref.call !== undefined) continue;
    const bytes = await metadata.get(path);
    // The reading expired after the listing.
    if (bytes === undefined) continue;
    try {
      parseReading(location, ref, bytes);
    } catch (thrown) {
      const error = toDocketError(thrown);
      if (error.code !== 'archive.corrupt') throw error;
      findings.push(errorFinding('reading.changed', path, `is damaged: ${extractProblem(error.message)}`));
    }
  }
  return findings;
}
