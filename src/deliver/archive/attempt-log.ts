import { createHash } from 'node:crypto';
import { z } from 'zod';
import { epochMsSchema } from '../../base/epoch.ts';
import type { AttemptRecord, Release } from './archive.ts';
import { forEachWithConcurrency } from '../../base/concurrency.ts';
import { type ArchivedState, DELIVERY_STATES, type Receipt, receiptsSchema } from '../ledger/ledger.ts';
import { readMetadataFile } from './run-metadata.ts';
import { archiveCorrupt, requirePathName } from './run-folder.ts';
import type { RunFiles } from './storage/archive-storage.ts';

const attemptSchema: z.ZodType<AttemptRecord> = z.looseObject({
  delivery: z.string(),
  target: z.string().optional(),
  epoch: z.int().nonnegative(),
  state: z.enum(DELIVERY_STATES),
  detail: z.string().nullable(),
  at: epochMsSchema,
  message: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  decision: z
    .object({ to: z.enum(['sent', 'pending']), by: z.string(), reason: z.string(), at: epochMsSchema })
    .optional(),
});

/** `<delivery>.<epoch>.json`, or with what it tells of in between. */
const ATTEMPT_FILE_NAME = /^attempts\/([A-Za-z0-9]+)\.(\d+)(?:\.(end|decision))?\.json$/;
/** Reads under way at once. */
const CONCURRENCY = 8;
const RANK = { begin: 0, end: 1, decision: 2 } as const;

/**
 * `attempts/<delivery>.<epoch>.json` when the attempt begins, `….end.json` when it has ended, `….decision.json` for what
 * somebody decided: none is ever written over by another, so a late one cannot hide a later one.
 */
export function attemptFileName({ delivery, epoch, state, decision }: AttemptRecord): string {
  const what = decision !== undefined ? '.decision' : state === 'sending' ? '' : '.end';
  return `attempts/${requirePathName(delivery, 'delivery')}.${epoch}${what}.json`;
}

interface AttemptFile {
  readonly name: string;
  readonly delivery: string;
  readonly epoch: number;
  readonly rank: number;
}

/** The first attempt first, and of each what was written last. */
const attemptFiles = (names: readonly string[]): readonly AttemptFile[] =>
  names
    .flatMap((name): AttemptFile[] => {
      const [, delivery, digits, word] = ATTEMPT_FILE_NAME.exec(name) ?? [];
      if (delivery === undefined) return [];
      const rank = RANK[word === 'end' || word === 'decision' ? word : 'begin'];
      return [{ name, delivery, epoch: Number(digits), rank }];
    })
    .sort((one, other) => one.epoch - other.epoch || one.rank - other.rank);

const latestPerAttempt = (kept: readonly AttemptFile[]): readonly AttemptFile[] => [
  ...new Map(kept.map((one) => [`${one.delivery}.${one.epoch}`, one] as const)).values(),
];

const readAttemptFile = (box: RunFiles, { name }: AttemptFile): Promise<AttemptRecord | undefined> =>
  readMetadataFile(box, name, attemptSchema);

/** What is kept in each; files and requests of a run with many recipients are not all opened at once. */
async function readAttemptFiles(
  box: RunFiles,
  kept: readonly AttemptFile[],
): Promise<ReadonlyMap<AttemptFile, AttemptRecord | undefined>> {
  const read = new Map<AttemptFile, AttemptRecord | undefined>();
  await forEachWithConcurrency(kept, CONCURRENCY, async (one) => read.set(one, await readAttemptFile(box, one)));
  return read;
}

/**
 * The last word on each attempt of a run, or on those of one delivery, the first attempt first. Throws `archive.corrupt`
 * when any word cannot be read.
 */
export async function readAttempts(box: RunFiles, delivery?: string): Promise<AttemptRecord[]> {
  const kept = attemptFiles(await box.list()).filter((one) => delivery === undefined || one.delivery === delivery);
  const read = await readAttemptFiles(box, kept);
  return latestPerAttempt(kept).flatMap((one) => read.get(one) ?? []);
}

/** `receipts.json`; empty while nothing was delivered. Throws `archive.corrupt` when it cannot be read. */
export const readReceipts = async (box: RunFiles): Promise<readonly Receipt[]> =>
  (await readMetadataFile(box, 'receipts.json', receiptsSchema)) ?? [];

const releaseSchema: z.ZodType<Release> = z.looseObject({ by: z.string(), reason: z.string(), at: epochMsSchema });

/** Who let the held pack go out as it is; undefined when nobody did. Throws `archive.corrupt` when it cannot be read. */
export const readRelease = (box: RunFiles): Promise<Release | undefined> =>
  readMetadataFile(box, 'release.json', releaseSchema);

/** What an exact message is called in `messages/`: by its delivery and the first digits of its SHA-256. */
export const messageFileName = (delivery: string, sha256: string, kind: 'eml' | 'json'): string =>
  `${delivery}.${sha256.slice(0, 16)}.${kind}`;

/** An exact message that is kept: an e-mail, or what a webhook is told. */
export interface ArchivedMessage {
  readonly name: string;
  readonly delivery: string;
}

export const archivedMessages = (names: readonly string[]): readonly ArchivedMessage[] =>
  names.flatMap((name): ArchivedMessage[] => {
    const [, delivery] = /^messages\/([A-Za-z0-9]+)\.[0-9a-f]{16}\.(?:eml|json)$/.exec(name) ?? [];
    return delivery === undefined ? [] : [{ name, delivery }];
  });

/**
 * The exact message of the last attempt at a delivery, with the hash that the attempt says; undefined where no attempt names
 * one. Throws `archive.corrupt` when it is gone or another.
 */
export async function readLastMessage(
  box: RunFiles,
  delivery: string,
  kind: 'eml' | 'json',
): Promise<Buffer | undefined> {
  const attempts = await readAttempts(box, delivery);
  const last = attempts.findLast(({ message }) => message !== undefined)?.message;
  if (last === undefined) return undefined;
  const name = `messages/${messageFileName(delivery, last, kind)}`;
  const bytes = await box.get(name);
  const got = bytes === undefined ? 'nothing' : createHash('sha256').update(bytes).digest('hex');
  if (got === last) return bytes;
  throw archiveCorrupt(box.location, `${name} ${bytes === undefined ? 'is missing' : 'has changed'}`, {
    expected: `SHA-256 ${last}, as the attempt says that sent it`,
    got,
  });
}

/**
 * What the archive knows of each delivery. The latest attempt is the best witness; `receipts.json` and a message that
 * was kept without a word speak where there is none, and only to a ledger that has no row at all (epoch 0).
 */
export async function readArchivedStates(box: RunFiles): Promise<ReadonlyMap<string, ArchivedState>> {
  const names = await box.list();
  const evidence = new Map<string, ArchivedState>();
  for (const { delivery } of archivedMessages(names)) {
    evidence.set(delivery, { state: 'sending', epoch: 0, detail: null });
  }
  for (const { delivery, state, detail } of await readReceipts(box)) {
    if (state !== 'skipped') evidence.set(delivery, { state, epoch: 0, detail });
  }
  const latest = new Map(attemptFiles(names).map((one) => [one.delivery, one] as const));
  for (const attempt of (await readAttemptFiles(box, [...latest.values()])).values()) {
    if (attempt === undefined) continue;
    const { delivery, epoch, state, detail } = attempt;
    evidence.set(delivery, { state, epoch, detail });
  }
  return evidence;
}
