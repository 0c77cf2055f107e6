import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../../src/base/clock.ts';
import { Secret } from '../../src/base/secrets/secret.ts';
import type { PublishedRun } from '../../src/deliver/archive/archive.ts';
import { runChain } from '../../src/deliver/archive/chain/run-chain.ts';
import { generateSigningKey, parsePublicKeys, parseSigningKey } from '../../src/deliver/archive/chain/signing-key.ts';
import { createArchive } from '../../src/deliver/archive/create-archive.ts';
import type { ArchiveStorage } from '../../src/deliver/archive/storage/archive-storage.ts';
import { directoryStorage } from '../../src/deliver/archive/storage/directory-storage.ts';
import { MAIL, manifestOf, writeArtifact } from './delivery-case.ts';

const DAY = 86_400_000;

/** The runs of the archive that `signedArchive` creates. */
export const RUNS = { a: 'a'.repeat(32), b: 'b'.repeat(32), gone: 'c'.repeat(32), last: 'd'.repeat(32) };
export const MAILED = '1'.repeat(32);
export const TOLD = '2'.repeat(32);
export const BEGAN = Date.UTC(2026, 10, 16, 7, 1);

export const keyFrom = (pem: string) => parseSigningKey(new Secret(pem), 'test');
export const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A storage in which everything is signed with this key. */
export function signedOver(storage: ArchiveStorage, pem: string, clock: Clock) {
  const signing = runChain(storage, async () => keyFrom(pem), clock);
  return { signing, archive: createArchive(storage, clock, signing) };
}
type Signed = ReturnType<typeof signedOver>;

/** Seals a run with its own workbook and CSV file. */
export async function sealRun(
  { archive }: Pick<Signed, 'archive'>,
  run: string,
  at: number,
  org = 'acme',
): Promise<PublishedRun> {
  const staged = await archive.stage(run);
  const artifacts = [
    await writeArtifact(staged, 'KPIs.xlsx', `workbook of ${run}`),
    await writeArtifact(staged, 'queue.csv', `alerts\r\n${run}\r\n`),
  ];
  const manifest = { ...manifestOf(artifacts, run), org, made_at: new Date(at).toISOString() };
  return archive.publish(staged, manifest, artifacts, MAIL);
}

/** Records two attempts at an e-mail with a decision in between, a webhook, receipts before and after, and a release. */
export async function deliverRun(
  { archive }: Signed,
  sealed: PublishedRun,
  at: number,
  released = false,
): Promise<void> {
  const { run } = sealed.manifest;
  const receipt = { target: '0-email', recipient: 'a@acme.example', detail: '250 Ok', messageId: '<a@acme.example>' };
  const keep = async (
    delivery: string,
    epoch: number,
    body: string,
    kind: 'eml' | 'json',
    state: 'sent' | 'unknown',
  ) => {
    const message = await archive.putMessage(sealed, delivery, Buffer.from(body), kind);
    const attempt = { delivery, target: kind === 'eml' ? '0-email' : '1-webhook', epoch, detail: null, at, message };
    await archive.putAttempt(sealed, { ...attempt, state: 'sending' });
    await archive.putAttempt(sealed, { ...attempt, state });
  };
  await keep(MAILED, 1, `Subject: first of ${run}\r\n\r\n1`, 'eml', 'unknown');
  await archive.putReceipts(sealed, [{ ...receipt, delivery: MAILED, state: 'unknown' }]);
  const decision = { to: 'pending', by: 'ada', reason: 'it is not there', at } as const;
  await archive.putAttempt(sealed, { delivery: MAILED, epoch: 2, state: 'pending', detail: null, at, decision });
  await keep(MAILED, 3, `Subject: second of ${run}\r\n\r\n2`, 'eml', 'sent');
  await keep(TOLD, 1, JSON.stringify({ run }), 'json', 'sent');
  if (released) await archive.putRelease(sealed, { by: 'ada', reason: 'known gap', at });
  await archive.putReceipts(sealed, [{ ...receipt, delivery: MAILED, state: 'sent' }]);
}

/**
 * An archive of three days in a directory: two runs, one that retention removed, one of another organization, and after a
 * new key on the third day another run.
 */
export async function signedArchive(root: string) {
  let now = BEGAN;
  const clock: Clock = { now: () => (now += 1000), sleep: async () => {} };
  const storage = directoryStorage(join(root, 'archive'));
  const first = generateSigningKey();
  const signed = signedOver(storage, first.pem, clock);
  await deliverRun(signed, await sealRun(signed, RUNS.a, now + 500), now, true);
  await deliverRun(signed, await sealRun(signed, RUNS.b, now + 500), now);
  await deliverRun(signed, await sealRun(signed, RUNS.a, now + 500, 'globex'), now);
  const gone = { id: RUNS.gone, org: 'acme', report: 'weekly-kpi' };
  await sealRun(signed, RUNS.gone, now + 500);
  now += DAY;
  await signed.signing.checkpoint('acme');
  await signed.signing.checkpoint('globex');
  await signed.signing.recordRemoval(gone, 'removed', 'kept for a day');
  await storage.delete(gone);
  now += DAY;
  const second = generateSigningKey(keyFrom(first.pem));
  const later = signedOver(storage, second.pem, clock);
  await deliverRun(later, await sealRun(later, RUNS.last, now + 500), now);
  await later.signing.checkpoint('globex');
  const checkpoint = await later.signing.checkpoint('acme');
  // The owner may be notified after the checkpoint.
  const sealed = await later.archive.peek({ id: RUNS.last, org: 'acme', report: 'weekly-kpi' });
  if (sealed === undefined || checkpoint === undefined) throw new Error('not sealed');
  await later.archive.putReceipts(sealed, []);
  // Passes only the newest public key, which vouches for everything before its own entries.
  const [newest = ''] = second.publicPem.split(/(?<=-----END PUBLIC KEY-----\n)/);
  return {
    storage,
    base: join(root, 'archive'),
    keys: parsePublicKeys(newest, 'newest'),
    checkpoint: checkpoint.text,
    firstKey: keyFrom(first.pem),
    secondKey: keyFrom(second.pem),
    now: now + 3 * DAY,
  };
}
