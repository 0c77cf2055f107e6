import { chainFolder, checkpointFolder, entryFile, range, readEntries } from './chain.ts';
import { type ArchiveFinding, fault } from './finding.ts';
import type { Shelf } from './shelf.ts';
import {
  type ChainEntry,
  type Checkpoint,
  checkpointSchema,
  entrySchema,
  readDocument,
  type SignedDocument,
} from './signed-document.ts';
import type { VerifyKeys } from './verify-keys.ts';

/** What the chain says of a run. Its files are read again when it is its turn: memory need not hold those of all runs. */
export interface ChainedRun {
  readonly run: string;
  readonly report: string;
  /** Of its entries. */
  readonly sequences: number[];
  /** Epoch ms of its last entry. */
  last: number;
  /** Epoch ms at which retention took it away. */
  removed?: number | undefined;
}

/** The chain of one organization, verified. */
export interface VerifiedChain {
  /** Its first entry's instant; undefined where there is no chain. */
  readonly begins: string | undefined;
  readonly entries: number;
  readonly checkpoints: number;
  readonly run: (report: string, id: string) => ChainedRun | undefined;
  readonly runs: () => Iterable<ChainedRun>;
  /** Entries of a run, in their order. */
  readonly entriesOf: (run: ChainedRun) => Promise<readonly ChainEntry[]>;
  /** Reads on what was added meanwhile. */
  readonly extend: () => Promise<void>;
  /** Once, at the end. */
  readonly findings: () => readonly ArchiveFinding[];
  /** Ids of keys that signed. */
  readonly signers: ReadonlySet<string>;
}

interface Given {
  readonly path: string;
  readonly checkpoint: SignedDocument<Checkpoint>;
}

/** @param given texts of checkpoints that were kept elsewhere */
export async function verifyChain(
  shelf: Pick<Shelf, 'notes'>,
  org: string,
  keys: VerifyKeys,
  given: readonly string[] = [],
): Promise<VerifiedChain> {
  const { notes } = shelf;
  const findings: ArchiveFinding[] = [];
  const runs = new Map<string, ChainedRun>();
  const signers = new Set<string>();
  const nameOf = (sequence: number): string => `${chainFolder(org)}/${entryFile(sequence)}`;
  let begins: string | undefined;
  let previous: { readonly sequence: number; readonly sha256: string | undefined } = { sequence: 0, sha256: undefined };
  /** The last entries that a trusted key has signed, and another one. */
  let vouched = 0;
  let doubtful = 0;

  const checkpoints = await readCheckpoints(shelf, org, keys, given, findings);
  const entered = new Map<string, string>();

  const take = (sequence: number, text: string): void => {
    const path = nameOf(sequence);
    const read = readDocument('chain entry', text, entrySchema, keys.known);
    const misplaced = typeof read !== 'string' && (read.body.org !== org || read.body.sequence !== sequence);
    if (typeof read === 'string' || misplaced) {
      const why = typeof read === 'string' ? read : `it is entry ${read.body.sequence} of ${read.body.org}`;
      findings.push(fault('chain.entry_invalid', path, `is no entry of this chain: ${why}`));
      previous = { sequence, sha256: undefined };
      return;
    }
    const { body, key, sha256 } = read;
    const follows = previous.sequence + 1 === sequence;
    if (follows && (previous.sha256 ?? (sequence === 1 ? null : undefined)) !== body.previous) {
      findings.push(fault('chain.broken', path, 'does not follow the entry before it'));
    }
    previous = { sequence, sha256 };
    signers.add(key);
    if (keys.trusted.has(key)) vouched = sequence;
    else doubtful = sequence;
    begins ??= body.at;
    for (const each of checkpoints.get(sequence) ?? []) {
      if (each.checkpoint.body.head !== sha256) {
        findings.push(fault('checkpoint.mismatch', each.path, `knows another entry ${sequence} than ${path}`));
      }
    }
    checkpoints.delete(sequence);
    if (body.kind === 'checkpoint') for (const file of body.files) entered.set(file.name, file.sha256);
    if (body.run !== undefined && body.report !== undefined) addTo(runs, body, body.run, body.report);
  };
  const takeAll = async (sequences: readonly number[]): Promise<void> => {
    for await (const { sequence, text } of readEntries(shelf, org, sequences)) {
      if (sequence > previous.sequence + 1) missing(previous.sequence + 1, sequence - 1);
      if (text === undefined) missing(sequence, sequence);
      else take(sequence, text);
    }
  };
  const missing = (from: number, to: number): void => {
    const path = nameOf(from);
    const what = from === to ? 'is missing' : `is missing, and all up to ${entryFile(to)}`;
    findings.push(fault('chain.entry_missing', path, what));
    previous = { sequence: to, sha256: undefined };
  };

  const sequences: number[] = [];
  for (const name of await notes.names(chainFolder(org))) {
    const [, digits] = /^(\d{9})\.json$/.exec(name) ?? [];
    if (digits !== undefined && Number(digits) > 0) sequences.push(Number(digits));
    else findings.push(fault('chain.file_added', `${chainFolder(org)}/${name}`, 'is no entry of the chain'));
  }
  await takeAll(sequences);
  const last = sequences.at(-1) ?? 0;
  for (const [name, sha256] of entered) {
    const path = `${org}/${name}`;
    const text = (await notes.read(path))?.toString('utf8');
    const found = text === undefined ? undefined : readDocument('checkpoint', text, checkpointSchema, keys.known);
    if (found === undefined) findings.push(fault('checkpoint.missing', path, 'is missing'));
    // What has no valid signature is said already.
    else if (typeof found !== 'string' && found.sha256 !== sha256) {
      findings.push(fault('checkpoint.changed', path, 'is another checkpoint than the chain says'));
    }
  }

  return {
    get begins() {
      return begins;
    },
    get entries() {
      return previous.sequence;
    },
    checkpoints: entered.size,
    run: (report, id) => runs.get(`${report}/${id}`),
    runs: () => runs.values(),
    entriesOf: async (run) => {
      const found: ChainEntry[] = [];
      for await (const { text } of readEntries(shelf, org, run.sequences)) {
        const read = text === undefined ? 'gone' : readDocument('chain entry', text, entrySchema, keys.known);
        if (typeof read !== 'string') found.push(read.body);
      }
      return found;
    },
    extend: async () => {
      for (let next = previous.sequence + 1; ; next += 1) {
        if ((await notes.read(nameOf(next))) === undefined) return;
        await takeAll(range(next, next));
      }
    },
    findings: () => {
      for (const [sequence, each] of checkpoints) {
        for (const { path } of each) {
          findings.push(fault('chain.cut', path, `knows entry ${sequence}; the chain of ${org} ends with ${last}`));
        }
      }
      if (doubtful > vouched) {
        findings.push(fault('chain.key_unknown', nameOf(doubtful), 'is signed with a key that is not trusted'));
      }
      for (const id of signers) {
        if (!keys.archived.has(id)) findings.push(fault('key.missing', `.keys/${id}.pem`, 'is missing'));
      }
      return findings;
    },
    signers,
  };
}

function addTo(runs: Map<string, ChainedRun>, { kind, sequence, at }: ChainEntry, run: string, report: string): void {
  const known = runs.get(`${report}/${run}`) ?? { run, report, sequences: [], last: 0 };
  known.sequences.push(sequence);
  known.last = Date.parse(at);
  if (kind === 'removed') known.removed = known.last;
  if (kind === 'kept') known.removed = undefined;
  runs.set(`${report}/${run}`, known);
}

/** By the entry that each knows. */
async function readCheckpoints(
  { notes }: Pick<Shelf, 'notes'>,
  org: string,
  keys: VerifyKeys,
  given: readonly string[],
  findings: ArchiveFinding[],
): Promise<Map<number, Given[]>> {
  const found = new Map<number, Given[]>();
  const add = (path: string, text: string, isOwn: boolean): void => {
    const checkpoint = readDocument('checkpoint', text, checkpointSchema, isOwn ? keys.known : keys.trusted);
    const day = typeof checkpoint === 'string' ? '' : checkpoint.body.day;
    const other = typeof checkpoint !== 'string' && checkpoint.body.org !== org;
    // Of several that were given, those of this organization count.
    if (other && !isOwn) return;
    if (typeof checkpoint === 'string' || other || (isOwn && !path.endsWith(`/${day}.json`))) {
      const why = typeof checkpoint === 'string' ? checkpoint : 'it is of another organization or day';
      findings.push(fault('checkpoint.invalid', path, `is no checkpoint of this chain: ${why}`));
      return;
    }
    const { sequence } = checkpoint.body;
    found.set(sequence, [...(found.get(sequence) ?? []), { path, checkpoint }]);
  };
  for (const name of await notes.names(checkpointFolder(org))) {
    const path = `${checkpointFolder(org)}/${name}`;
    if (!/^\d{4}-\d\d-\d\d\.json$/.test(name)) {
      findings.push(fault('checkpoint.added', path, 'is no checkpoint'));
      continue;
    }
    add(path, (await notes.read(path))?.toString('utf8') ?? '', true);
  }
  for (const text of given) add('--checkpoint', text, false);
  return found;
}
