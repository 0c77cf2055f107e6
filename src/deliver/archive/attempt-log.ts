import { z } from 'zod';
import { mapWithConcurrency } from '../../base/concurrency.ts';
import { sha256 } from '../../base/sha256.ts';
import { epochMsSchema } from '../../base/time.ts';
import {
  type ArchivedState,
  DELIVERY_STATES,
  type Receipt,
  receiptsSchema,
  resolutionSchema,
} from '../ledger/ledger.ts';
import { archiveCorrupt } from './archive-errors.ts';
import { requirePathName } from './path-names.ts';
import { readMetadataFile } from './run-folder/run-metadata.ts';
import type { RunFiles } from './storage/archive-storage.ts';

const attemptSchema = z.object({
  /** Id of the ledger row. */
  delivery: z.string(),
  /** Position and kind in the definition, e.g. `0-email`. Absent in older records and in records of notices. */
  target: z.string().optional(),
  /** The row's epoch during this attempt. With a decision: the epoch that the decision set. */
  epoch: z.int().nonnegative(),
  state: z.enum(DELIVERY_STATES),
  detail: z.string().nullable(),
  at: epochMsSchema,
  /** SHA-256 (hex) of the exact message, archived by `putMessage`. Absent if the attempt sends none. */
  message: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  /** Present if a person's decision changed the row, instead of an attempt. */
  decision: resolutionSchema.optional(),
  /** The recipient's address, with the decision that added it: the definition does not name it for this target. */
  recipient: z.string().exactOptional(),
});
/** One attempt at a delivery. Written before anything is sent, and a second time with the result. */
export type AttemptRecord = Readonly<z.infer<typeof attemptSchema>>;
/** The stored form. Loose: a newer version of Docket may have written more fields. */
const storedAttemptSchema: z.ZodType<AttemptRecord> = attemptSchema.loose();

/** `<delivery>.<epoch>.json`, with the record's kind before `.json` unless the record is a start. */
const ATTEMPT_FILE_NAME = /^attempts\/([A-Za-z0-9]+)\.(\d+)(?:\.(end|decision))?\.json$/;
/** Files read at the same time. */
const CONCURRENCY = 8;
const RANK = { begin: 0, end: 1, decision: 2 } as const;

/**
 * Name of a record's file: `attempts/<delivery>.<epoch>.json` when the attempt begins, `….end.json` when it has ended,
 * `….decision.json` for a person's decision. No record overwrites another, so a late write cannot hide a newer record.
 */
export function attemptFileName({ delivery, epoch, state, decision }: AttemptRecord): string {
  const kind = decision !== undefined ? '.decision' : state === 'sending' ? '' : '.end';
  return `attempts/${requirePathName(delivery, 'delivery')}.${epoch}${kind}.json`;
}

interface AttemptFile {
  readonly name: string;
  readonly delivery: string;
  readonly epoch: number;
  readonly rank: number;
}

/** Whether the record may be the decision that added the recipient. No attempt has epoch 0. */
const isAddition = ({ epoch, rank }: AttemptFile): boolean => epoch === 0 && rank === RANK.decision;

/** Sorted by epoch, and within an epoch from the first record to the last. */
const attemptFiles = (names: readonly string[]): readonly AttemptFile[] =>
  names
    .flatMap((name): AttemptFile[] => {
      const [, delivery, digits, kind] = ATTEMPT_FILE_NAME.exec(name) ?? [];
      if (delivery === undefined) return [];
      const rank = RANK[kind === 'end' || kind === 'decision' ? kind : 'begin'];
      return [{ name, delivery, epoch: Number(digits), rank }];
    })
    .sort((one, other) => one.epoch - other.epoch || one.rank - other.rank);

/** Reads these files, a few at a time: a run with many recipients has thousands. */
const readAttemptFiles = (
  files: RunFiles,
  found: readonly AttemptFile[],
): Promise<readonly (AttemptRecord | undefined)[]> =>
  mapWithConcurrency(found, CONCURRENCY, ({ name }) => readMetadataFile(files, name, storedAttemptSchema));

/**
 * The latest record of each attempt of a run, or of one delivery, ordered by epoch. Also reads the earlier records, and
 * throws `archive.corrupt` when any of them cannot be read.
 */
export async function readAttempts(files: RunFiles, delivery?: string): Promise<AttemptRecord[]> {
  const found = attemptFiles(await files.list()).filter((one) => delivery === undefined || one.delivery === delivery);
  const records = await readAttemptFiles(files, found);
  const latest = new Map(found.map((one, index) => [`${one.delivery}.${one.epoch}`, records[index]] as const));
  return [...latest.values()].flatMap((record) => record ?? []);
}

/**
 * All results and decisions of these deliveries, ordered by epoch. Includes the start of an attempt only if it has no
 * result yet. Throws `archive.corrupt`.
 */
export async function readAttemptHistory(
  files: RunFiles,
  deliveries: ReadonlySet<string>,
): Promise<readonly AttemptRecord[]> {
  const found = attemptFiles(await files.list()).filter(({ delivery }) => deliveries.has(delivery));
  const ended = new Set(
    found.filter(({ rank }) => rank === RANK.end).map(({ delivery, epoch }) => `${delivery}.${epoch}`),
  );
  const wanted = found.filter(({ delivery, epoch, rank }) => rank !== RANK.begin || !ended.has(`${delivery}.${epoch}`));
  return (await readAttemptFiles(files, wanted)).flatMap((record) => record ?? []);
}

/** Reads `receipts.json`; empty before the first delivery. Throws `archive.corrupt`. */
export const readReceipts = async (files: RunFiles): Promise<readonly Receipt[]> =>
  (await readMetadataFile(files, 'receipts.json', receiptsSchema)) ?? [];

const releaseSchema = resolutionSchema.omit({ to: true });
/** The decision to send a held run as it is. */
export type Release = Readonly<z.infer<typeof releaseSchema>>;

/** Who released a held run; undefined if nobody did. Throws `archive.corrupt`. */
export const readRelease = (files: RunFiles): Promise<Release | undefined> =>
  readMetadataFile(files, 'release.json', releaseSchema.loose());

/** Name of an exact message in `messages/`, made from the delivery and the first digits of its SHA-256. */
export const messageFileName = (delivery: string, hash: string, kind: 'eml' | 'json'): string =>
  `${delivery}.${hash.slice(0, 16)}.${kind}`;

/** The archived messages among these files: e-mails and bodies of webhooks. */
export const archivedMessages = (names: readonly string[]) =>
  names.flatMap((name) => {
    const [, delivery] = /^messages\/([A-Za-z0-9]+)\.[0-9a-f]{16}\.(?:eml|json)$/.exec(name) ?? [];
    return delivery === undefined ? [] : [{ name, delivery }];
  });

/**
 * The exact message of the delivery's newest attempt that names one; undefined if none does. Throws `archive.corrupt`
 * when the file is missing or its hash differs.
 */
export async function readLastMessage(
  files: RunFiles,
  delivery: string,
  kind: 'eml' | 'json',
): Promise<Buffer | undefined> {
  const attempts = await readAttempts(files, delivery);
  const expected = attempts.findLast(({ message }) => message !== undefined)?.message;
  if (expected === undefined) return undefined;
  const name = `messages/${messageFileName(delivery, expected, kind)}`;
  const bytes = await files.get(name);
  const got = bytes === undefined ? 'nothing' : sha256(bytes);
  if (got === expected) return bytes;
  throw archiveCorrupt(files.location, `${name} ${bytes === undefined ? 'is missing' : 'has changed'}`, {
    expected: `SHA-256 ${expected}, as recorded by the attempt that sent it`,
    got,
  });
}

/**
 * The state of each delivery as the archive knows it. The latest attempt is the most reliable source. `receipts.json`
 * and archived messages count only for a delivery without an attempt. They count with epoch 0, so that they only
 * restore missing ledger rows. If the run has attempts, a message without one was never sent: it was prepared while
 * another was being sent.
 */
export async function readArchivedStates(files: RunFiles): Promise<ReadonlyMap<string, ArchivedState>> {
  const names = await files.list();
  const states = new Map<string, ArchivedState>();
  const attempts = attemptFiles(names);
  for (const { delivery } of attempts.length === 0 ? archivedMessages(names) : []) {
    states.set(delivery, { state: 'sending', epoch: 0, detail: null });
  }
  for (const { delivery, state, detail } of await readReceipts(files)) {
    if (state !== 'skipped') states.set(delivery, { state, epoch: 0, detail });
  }
  const latest = new Map(attempts.map((one) => [one.delivery, one] as const));
  const added = attempts.filter((one) => isAddition(one) && latest.get(one.delivery) !== one);
  const recipients = new Map<string, ArchivedState['added']>();
  // The order matters: the last state of a delivery counts.
  for (const attempt of await readAttemptFiles(files, [...added, ...latest.values()])) {
    if (attempt === undefined) continue;
    const { delivery, epoch, state, detail, target, recipient } = attempt;
    if (target !== undefined && recipient !== undefined) recipients.set(delivery, { target, recipient });
    const of = recipients.get(delivery);
    states.set(delivery, { state, epoch, detail, ...(of && { added: of }) });
  }
  return states;
}
