import { chainFolder, checkpointFolder, entryFile, readEntries, sequenceRange } from '../chain/chain.ts';
import { parseKeyBreak } from '../chain/hand-over.ts';
import {
  type ChainEntry,
  type Checkpoint,
  checkpointSchema,
  entrySchema,
  type SignedDocument,
  verifyDocument,
} from '../chain/signed-document.ts';
import { createEventRecord } from '../events/event-record.ts';
import type { ArchiveStorage } from '../storage/archive-storage.ts';
import type { VerifyKeys } from './verify-keys.ts';
import { type ArchiveFinding, errorFinding, noteFinding } from './verify-run.ts';

/**
 * A run in the chain. Holds the sequences of its entries instead of the entries, to bound memory. `readEntries` reads the
 * entries.
 */
export interface ChainedRunEntries {
  readonly run: string;
  readonly report: string;
  /** Sequences of its entries. */
  readonly sequences: number[];
  /** Epoch ms of the last entry. */
  last: number;
  /** Epoch ms at which retention removed the run. */
  removed?: number | undefined;
}

interface CheckpointFile {
  readonly path: string;
  readonly checkpoint: SignedDocument<Checkpoint>;
}

/**
 * Reads and verifies the chain of an organization. Throws `archive.unreachable`.
 * @param given texts of checkpoints from outside the archive
 */
export async function verifyChain(
  storage: ArchiveStorage,
  org: string,
  keys: VerifyKeys,
  given: readonly string[] = [],
) {
  const { metadata } = storage;
  const findings: ArchiveFinding[] = [];
  const runs = new Map<string, ChainedRunEntries>();
  const signers = new Set<string>();
  const events = createEventRecord();
  const nameOf = (sequence: number): string => `${chainFolder(org)}/${entryFile(sequence)}`;
  let begins: string | undefined;
  let previous: { readonly sequence: number; readonly sha256: string | undefined } = { sequence: 0, sha256: undefined };
  /** Sequence of the last entry signed with a trusted key; `lastUntrusted` is that of an untrusted one. */
  let lastTrusted = 0;
  /** How many keys have followed the newest key that has signed so far. */
  let newestAge = Number.POSITIVE_INFINITY;
  /** Entries signed after their key's period had ended: sequence and key. */
  const late: (readonly [number, string])[] = [];
  let lastUntrusted = 0;
  /** The last entry signed with an untrusted key before a break. */
  let untrustedBeforeBreak = 0;

  const checkpoints = await readCheckpoints(storage, org, keys, given, findings);
  /** SHA-256 of each checkpoint that the chain records, by file name. */
  const recordedCheckpoints = new Map<string, string>();

  const addText = (sequence: number, text: string): void => {
    const path = nameOf(sequence);
    const read = verifyDocument('chain entry', text, entrySchema, keys.known);
    const misplaced = typeof read !== 'string' && (read.body.org !== org || read.body.sequence !== sequence);
    if (typeof read === 'string' || misplaced) {
      const why = typeof read === 'string' ? read : `entry ${read.body.sequence} of ${read.body.org}`;
      findings.push(errorFinding('chain.entry_invalid', path, `is not an entry of this chain: ${why}`));
      previous = { sequence, sha256: undefined };
      return;
    }
    const { body, key, sha256 } = read;
    const follows = previous.sequence + 1 === sequence;
    if (follows && (previous.sha256 ?? (sequence === 1 ? null : undefined)) !== body.previous) {
      findings.push(errorFinding('chain.broken', path, 'does not match the previous entry'));
    }
    previous = { sequence, sha256 };
    signers.add(key);
    const age = keys.ageOf(key);
    const isLate = age > newestAge;
    if (isLate) late.push([sequence, key]);
    newestAge = Math.min(newestAge, age);
    const lost = isLate ? undefined : parseKeyBreak(body);
    if (lost !== undefined) {
      findings.push(noteFinding('key.break', path, `records a lost key: ${lost}`));
      untrustedBeforeBreak = lastUntrusted;
    }
    if (keys.trusted.has(key)) lastTrusted = sequence;
    else lastUntrusted = sequence;
    begins ??= body.at;
    for (const each of checkpoints.get(sequence) ?? []) {
      if (each.checkpoint.body.head !== sha256) {
        findings.push(errorFinding('checkpoint.mismatch', each.path, `names another entry ${sequence} than ${path}`));
      }
    }
    checkpoints.delete(sequence);
    if (body.kind === 'checkpoint') for (const file of body.files) recordedCheckpoints.set(file.name, file.sha256);
    if (!isLate) events.add(body);
    if (body.run !== undefined && body.report !== undefined) addEntry(runs, body, body.run, body.report);
  };
  const readRange = async (sequences: readonly number[]): Promise<void> => {
    for await (const { sequence, text } of readEntries(storage, org, sequences)) {
      if (sequence > previous.sequence + 1) reportMissing(previous.sequence + 1, sequence - 1);
      if (text === undefined) reportMissing(sequence, sequence);
      else addText(sequence, text);
    }
  };
  const reportMissing = (from: number, to: number): void => {
    const path = nameOf(from);
    const problem = from === to ? 'is missing' : `is missing, and all up to ${entryFile(to)}`;
    findings.push(errorFinding('chain.entry_missing', path, problem));
    previous = { sequence: to, sha256: undefined };
  };

  const sequences: number[] = [];
  for (const name of await metadata.list(chainFolder(org))) {
    const [, digits] = /^(\d{9})\.json$/.exec(name) ?? [];
    if (digits !== undefined && Number(digits) > 0) sequences.push(Number(digits));
    else findings.push(errorFinding('chain.file_added', `${chainFolder(org)}/${name}`, 'is not an entry of the chain'));
  }
  await readRange(sequences);
  const last = sequences.at(-1) ?? 0;
  for (const [name, sha256] of recordedCheckpoints) {
    const path = `${org}/${name}`;
    const text = (await metadata.get(path))?.toString('utf8');
    const found = text === undefined ? undefined : verifyDocument('checkpoint', text, checkpointSchema, keys.known);
    if (found === undefined) findings.push(errorFinding('checkpoint.missing', path, 'is missing'));
    // `readCheckpoints` reports invalid signatures.
    else if (typeof found !== 'string' && found.sha256 !== sha256) {
      findings.push(errorFinding('checkpoint.changed', path, 'differs from the checkpoint in the chain'));
    }
  }

  return {
    /** Instant of the first entry; undefined without a chain. */
    get begins(): string | undefined {
      return begins;
    },
    run: (report: string, id: string) => runs.get(`${report}/${id}`),
    runs: () => runs.values(),
    /** The events of reviews and corrections. */
    events,
    /** The entries of a run, in order. */
    readEntries: async (run: ChainedRunEntries): Promise<readonly ChainEntry[]> => {
      const found: ChainEntry[] = [];
      for await (const { text } of readEntries(storage, org, run.sequences)) {
        const read = text === undefined ? 'missing' : verifyDocument('chain entry', text, entrySchema, keys.known);
        if (typeof read !== 'string') found.push(read.body);
      }
      return found;
    },
    /** Reads the entries appended since the last read. */
    extend: async (): Promise<void> => {
      for (let next = previous.sequence + 1; ; next += 1) {
        if ((await metadata.get(nameOf(next))) === undefined) return;
        await readRange(sequenceRange(next, next));
      }
    },
    /** Call it once, after everything is read. */
    findings: (): readonly ArchiveFinding[] => {
      for (const [sequence, each] of checkpoints) {
        for (const { path } of each) {
          findings.push(
            errorFinding('chain.cut', path, `names entry ${sequence}, but the chain of ${org} ends with ${last}`),
          );
        }
      }
      for (const [sequence, key] of late) {
        // An unknown key at the end of the chain is reported below.
        if (sequence > lastTrusted) continue;
        const problem = `is signed with the key ${key}, although a later key has signed an entry before it`;
        findings.push(errorFinding('chain.key_retired', nameOf(sequence), problem));
      }
      if (untrustedBeforeBreak > 0) {
        const problem = 'is signed with a lost key that is not trusted: give its public key, too';
        findings.push(errorFinding('chain.key_unknown', nameOf(untrustedBeforeBreak), problem));
      }
      if (lastUntrusted > lastTrusted) {
        findings.push(errorFinding('chain.key_unknown', nameOf(lastUntrusted), 'is signed with an untrusted key'));
      }
      for (const id of signers) {
        if (!keys.archived.has(id)) findings.push(errorFinding('key.missing', `.keys/${id}.pem`, 'is missing'));
      }
      return findings;
    },
    /** Ids of the keys that signed entries. */
    signers,
  };
}
/** The chain of one organization, verified. */
export type VerifiedChain = Awaited<ReturnType<typeof verifyChain>>;

function addEntry(
  runs: Map<string, ChainedRunEntries>,
  { kind, sequence, at }: ChainEntry,
  run: string,
  report: string,
): void {
  const known = runs.get(`${report}/${run}`) ?? { run, report, sequences: [], last: 0 };
  known.sequences.push(sequence);
  known.last = Date.parse(at);
  if (kind === 'removed') known.removed = known.last;
  if (kind === 'kept') known.removed = undefined;
  runs.set(`${report}/${run}`, known);
}

/** Verified checkpoints by the sequence that each names. */
async function readCheckpoints(
  { metadata }: ArchiveStorage,
  org: string,
  keys: VerifyKeys,
  given: readonly string[],
  findings: ArchiveFinding[],
): Promise<Map<number, CheckpointFile[]>> {
  const found = new Map<number, CheckpointFile[]>();
  const add = (path: string, text: string, isOwn: boolean): void => {
    const checkpoint = verifyDocument('checkpoint', text, checkpointSchema, isOwn ? keys.known : keys.trusted);
    const day = typeof checkpoint === 'string' ? '' : checkpoint.body.day;
    const other = typeof checkpoint !== 'string' && checkpoint.body.org !== org;
    // Checkpoints of other organizations are ignored.
    if (other && !isOwn) return;
    if (typeof checkpoint === 'string' || other || (isOwn && !path.endsWith(`/${day}.json`))) {
      const why = typeof checkpoint === 'string' ? checkpoint : 'belongs to another organization or day';
      findings.push(errorFinding('checkpoint.invalid', path, `is not a checkpoint of this chain: ${why}`));
      return;
    }
    const { sequence } = checkpoint.body;
    found.set(sequence, [...(found.get(sequence) ?? []), { path, checkpoint }]);
  };
  for (const name of await metadata.list(checkpointFolder(org))) {
    const path = `${checkpointFolder(org)}/${name}`;
    if (!/^\d{4}-\d\d-\d\d\.json$/.test(name)) {
      findings.push(errorFinding('checkpoint.added', path, 'is not a checkpoint'));
      continue;
    }
    add(path, (await metadata.get(path))?.toString('utf8') ?? '', true);
  }
  for (const text of given) add('--checkpoint', text, false);
  return found;
}
