import { createHash } from 'node:crypto';
import { z } from 'zod';
import { instantSchema } from '../base/instant.ts';
import type { AttemptRecord, Release } from './archive.ts';
import { eachAtOnce } from './at-once.ts';
import { DELIVERY_STATES, type Evidence } from './ledger.ts';
import { type Receipt, receiptsSchema } from './receipt.ts';
import { readPaper } from './run-papers.ts';
import { corrupt, pathName } from './sealed-folder.ts';
import type { RunBox } from './shelf.ts';

const attemptSchema: z.ZodType<AttemptRecord> = z.looseObject({
  delivery: z.string(),
  target: z.string().optional(),
  epoch: z.int().nonnegative(),
  state: z.enum(DELIVERY_STATES),
  detail: z.string().nullable(),
  at: instantSchema,
  message: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  decision: z
    .object({ to: z.enum(['sent', 'pending']), by: z.string(), reason: z.string(), at: instantSchema })
    .optional(),
});

/** `<delivery>.<epoch>.json`, or with what it tells of in between. */
const NAME = /^attempts\/([A-Za-z0-9]+)\.(\d+)(?:\.(end|decision))?\.json$/;
/** Reads under way at once. */
const AT_ONCE = 8;
const RANK = { begin: 0, end: 1, decision: 2 } as const;

/**
 * `attempts/<delivery>.<epoch>.json` when the attempt begins, `….end.json` when it has ended, `….decision.json` for what
 * somebody decided: none is ever written over by another, so a late one cannot hide a later one.
 */
export function attemptName({ delivery, epoch, state, decision }: AttemptRecord): string {
  const what = decision !== undefined ? '.decision' : state === 'sending' ? '' : '.end';
  return `attempts/${pathName(delivery, 'delivery')}.${epoch}${what}.json`;
}

interface Kept {
  readonly name: string;
  readonly delivery: string;
  readonly epoch: number;
  readonly rank: number;
}

/** The first attempt first, and of each what was written last. */
const keptAmong = (names: readonly string[]): readonly Kept[] =>
  names
    .flatMap((name): Kept[] => {
      const [, delivery, digits, word] = NAME.exec(name) ?? [];
      if (delivery === undefined) return [];
      const rank = RANK[word === 'end' || word === 'decision' ? word : 'begin'];
      return [{ name, delivery, epoch: Number(digits), rank }];
    })
    .sort((one, other) => one.epoch - other.epoch || one.rank - other.rank);

const lastWords = (kept: readonly Kept[]): readonly Kept[] => [
  ...new Map(kept.map((one) => [`${one.delivery}.${one.epoch}`, one] as const)).values(),
];

const readKept = (box: RunBox, { name }: Kept): Promise<AttemptRecord | undefined> =>
  readPaper(box, name, attemptSchema);

/** What is kept in each; files and requests of a run with many recipients are not all opened at once. */
async function readEach(box: RunBox, kept: readonly Kept[]): Promise<ReadonlyMap<Kept, AttemptRecord | undefined>> {
  const read = new Map<Kept, AttemptRecord | undefined>();
  await eachAtOnce(kept, AT_ONCE, async (one) => read.set(one, await readKept(box, one)));
  return read;
}

/**
 * The last word on each attempt of a run, or on those of one delivery, the first attempt first. Throws `archive.corrupt`
 * when any word cannot be read.
 */
export async function readAttempts(box: RunBox, delivery?: string): Promise<AttemptRecord[]> {
  const kept = keptAmong(await box.names()).filter((one) => delivery === undefined || one.delivery === delivery);
  const read = await readEach(box, kept);
  return lastWords(kept).flatMap((one) => read.get(one) ?? []);
}

/** `receipts.json`; empty while nothing was delivered. Throws `archive.corrupt` when it cannot be read. */
export const readReceipts = async (box: RunBox): Promise<readonly Receipt[]> =>
  (await readPaper(box, 'receipts.json', receiptsSchema)) ?? [];

const releaseSchema: z.ZodType<Release> = z.looseObject({ by: z.string(), reason: z.string(), at: instantSchema });

/** Who let the held pack go out as it is; undefined when nobody did. Throws `archive.corrupt` when it cannot be read. */
export const readRelease = (box: RunBox): Promise<Release | undefined> => readPaper(box, 'release.json', releaseSchema);

/** What an exact message is called in `messages/`: by its delivery and the first digits of its SHA-256. */
export const messageName = (delivery: string, sha256: string, kind: 'eml' | 'json'): string =>
  `${delivery}.${sha256.slice(0, 16)}.${kind}`;

/** An exact message that is kept: an e-mail, or what a webhook is told. */
export interface KeptMessage {
  readonly name: string;
  readonly delivery: string;
}

export const keptMessages = (names: readonly string[]): readonly KeptMessage[] =>
  names.flatMap((name): KeptMessage[] => {
    const [, delivery] = /^messages\/([A-Za-z0-9]+)\.[0-9a-f]{16}\.(?:eml|json)$/.exec(name) ?? [];
    return delivery === undefined ? [] : [{ name, delivery }];
  });

/**
 * The exact message of the last attempt at a delivery, with the hash that the attempt says; undefined where no attempt names
 * one. Throws `archive.corrupt` when it is gone or another.
 */
export async function readLastMessage(
  box: RunBox,
  delivery: string,
  kind: 'eml' | 'json',
): Promise<Buffer | undefined> {
  const attempts = await readAttempts(box, delivery);
  const last = attempts.findLast(({ message }) => message !== undefined)?.message;
  if (last === undefined) return undefined;
  const name = `messages/${messageName(delivery, last, kind)}`;
  const bytes = await box.read(name);
  const got = bytes === undefined ? 'nothing' : createHash('sha256').update(bytes).digest('hex');
  if (got === last) return bytes;
  throw corrupt(box.place, `${name} ${bytes === undefined ? 'is missing' : 'has changed'}`, {
    expected: `SHA-256 ${last}, as the attempt says that sent it`,
    got,
  });
}

/**
 * What the archive knows of each delivery. The latest attempt is the best witness; `receipts.json` and a message that
 * was kept without a word speak where there is none, and only to a ledger that has no row at all (epoch 0).
 */
export async function readEvidence(box: RunBox): Promise<ReadonlyMap<string, Evidence>> {
  const names = await box.names();
  const evidence = new Map<string, Evidence>();
  for (const { delivery } of keptMessages(names)) {
    evidence.set(delivery, { state: 'sending', epoch: 0, detail: null });
  }
  for (const { delivery, state, detail } of await readReceipts(box)) {
    if (state !== 'skipped') evidence.set(delivery, { state, epoch: 0, detail });
  }
  const latest = new Map(keptAmong(names).map((one) => [one.delivery, one] as const));
  for (const attempt of (await readEach(box, [...latest.values()])).values()) {
    if (attempt === undefined) continue;
    const { delivery, epoch, state, detail } = attempt;
    evidence.set(delivery, { state, epoch, detail });
  }
  return evidence;
}
