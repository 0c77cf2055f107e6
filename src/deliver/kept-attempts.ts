import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { AttemptRecord } from './archive.ts';
import { makeFolder, replaceFile } from './durable-file.ts';
import { DELIVERY_STATES, type Evidence } from './ledger.ts';
import { type Receipt, receiptsSchema } from './receipt.ts';
import { corrupt, isCode, pathName } from './sealed-folder.ts';

const attemptSchema: z.ZodType<AttemptRecord> = z.looseObject({
  delivery: z.string(),
  epoch: z.int().nonnegative(),
  state: z.enum(DELIVERY_STATES),
  detail: z.string().nullable(),
  at: z.number(),
  decision: z
    .object({ to: z.enum(['sent', 'pending']), by: z.string(), reason: z.string(), at: z.number() })
    .optional(),
});

const NAME = /^([A-Za-z0-9]+)\.(\d+)\.json$/;

/** Writes `attempts/<delivery>.<epoch>.json`: two attempts never write one file, so a late one cannot hide a later one. */
export async function writeAttempt(folder: string, attempt: AttemptRecord): Promise<void> {
  const attempts = join(folder, 'attempts');
  await makeFolder(attempts);
  const name = `${pathName(attempt.delivery, 'delivery')}.${attempt.epoch}.json`;
  await replaceFile(join(attempts, name), `${JSON.stringify(attempt, null, 2)}\n`);
}

/** All attempts of a run, the first first for each delivery. Throws `archive.corrupt` for one that cannot be read. */
export async function readAttempts(folder: string): Promise<AttemptRecord[]> {
  const found = (await namesIn(join(folder, 'attempts'))).flatMap((name) => {
    const [, delivery, epoch] = NAME.exec(name) ?? [];
    return delivery === undefined ? [] : [{ name, epoch: Number(epoch) }];
  });
  found.sort((one, other) => one.epoch - other.epoch);
  return Promise.all(found.map(({ name }) => readJson(folder, join('attempts', name), attemptSchema)));
}

/** `receipts.json`; empty while nothing was delivered. Throws `archive.corrupt` when it cannot be read. */
export async function readReceipts(folder: string): Promise<readonly Receipt[]> {
  try {
    return await readJson(folder, 'receipts.json', receiptsSchema);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Deliveries of which the exact message is kept, with the name of its file: an e-mail, or what a webhook is told. */
export async function keptMessages(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = await namesIn(join(folder, 'messages'));
  return new Map(
    names.flatMap((name) => {
      const [, delivery] = /^([A-Za-z0-9]+)\.(?:eml|json)$/.exec(name) ?? [];
      return delivery === undefined ? [] : [[delivery, `messages/${name}`] as const];
    }),
  );
}

/**
 * What the archive knows of each delivery. The latest attempt is the best witness; `receipts.json` and a message that
 * was kept without a word speak where there is none, and only to a ledger that has no row at all (epoch 0).
 */
export async function readEvidence(folder: string): Promise<ReadonlyMap<string, Evidence>> {
  const evidence = new Map<string, Evidence>();
  for (const delivery of (await keptMessages(folder)).keys()) {
    evidence.set(delivery, { state: 'sending', epoch: 0, detail: null });
  }
  for (const { delivery, state, detail } of await readReceipts(folder)) {
    if (state !== 'skipped') evidence.set(delivery, { state, epoch: 0, detail });
  }
  for (const { delivery, epoch, state, detail } of await readAttempts(folder)) {
    evidence.set(delivery, { state, epoch, detail });
  }
  return evidence;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
}

async function readJson<T>(folder: string, name: string, schema: z.ZodType<T>): Promise<T> {
  const text = await readFile(join(folder, name), 'utf8');
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw corrupt(folder, `${name} cannot be read`, { cause });
  }
}
