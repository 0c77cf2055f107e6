import { createHash } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../../../../src/base/clock.ts';
import { isStorageOutage, toDocketError } from '../../../../src/base/error.ts';
import { type LogFields, silentLog } from '../../../../src/base/log.ts';
import { newestCheckpoints, openChain } from '../../../../src/deliver/archive/chain/chain.ts';
import { runChain } from '../../../../src/deliver/archive/chain/run-chain.ts';
import { generateSigningKey } from '../../../../src/deliver/archive/chain/signing-key.ts';
import { createArchive } from '../../../../src/deliver/archive/create-archive.ts';
import { applyRetention } from '../../../../src/deliver/archive/retention.ts';
import type { ArchiveStorage, RunRef } from '../../../../src/deliver/archive/storage/archive-storage.ts';
import { verifyArchive } from '../../../../src/deliver/archive/verify/verify-archive.ts';
import type { ArchiveFinding } from '../../../../src/deliver/archive/verify/verify-run.ts';
import { createRunFileReader } from '../../../../src/services/runs/run-file-reader.ts';
import { ARCHIVES } from '../../../support/archives.ts';
import { ORDER, RUN } from '../../../support/delivery-case.ts';
import { memoryLedger } from '../../../support/memory-ledger.ts';
import { BEGAN, deliverRun, keyFrom, sealRun, signedOver } from '../../../support/signed-archive.ts';

const DAY = 86_400_000;
const KEY = generateSigningKey();
const at = (now: number): Clock => ({ now: () => now, sleep: async () => {} });
const clock = at(BEGAN);
const PATH = `acme/weekly-kpi/${RUN}`;

async function verified(
  storage: ArchiveStorage,
  now = BEGAN,
  keys = keyFrom(KEY.pem).trusted,
): Promise<ArchiveFinding[]> {
  const found: ArchiveFinding[] = [];
  const input = { keys, now };
  for await (const { findings } of verifyArchive(storage, input)) found.push(...findings);
  return found;
}
const codes = async (storage: ArchiveStorage, now?: number) =>
  (await verified(storage, now)).map(({ code, note }) => (note ? `${code} (note)` : code));

async function sweep(storage: ArchiveStorage, now: number, signed?: ReturnType<typeof signedOver>) {
  const said: (LogFields & { message: string })[] = [];
  const say = (message: string, fields?: LogFields) => void said.push({ ...fields, message });
  const removed = await applyRetention({
    storage,
    signing: signed?.signing,
    daysOf: () => 30,
    ledger: memoryLedger(),
    isOpen: async () => false,
    clock: at(now),
    log: { ...silentLog, info: say, warn: say, error: say },
    signal: new AbortController().signal,
  });
  return { removed, said };
}

describe.each(ARCHIVES)('an archive %s', (_, open) => {
  const archived = async () => {
    const on = await open(onTestFinished, clock);
    if (on.store !== undefined) on.store.now = () => BEGAN;
    return { ...on, signed: signedOver(on.storage, KEY.pem, clock) };
  };

  test('has no chain without a key, and verifies', async () => {
    const on = await archived();
    await deliverRun({ ...on.signed, archive: on.archive }, await sealRun(on, RUN, BEGAN), BEGAN, true);
    expect((await on.tree()).filter((name) => /chain|\.keys|checkpoint/.test(name))).toEqual([]);
    expect(await codes(on.storage)).toEqual([]);
  });

  test('reports runs before the first key as unsigned, and signs later ones', async () => {
    const on = await archived();
    const sealed = await sealRun(on, RUN, BEGAN - DAY);
    await deliverRun({ ...on.signed, archive: on.archive }, sealed, BEGAN - DAY);
    await sealRun(on.signed, 'f'.repeat(32), BEGAN);
    expect(await codes(on.storage)).toEqual(['run.unsigned (note)']);
    // The run is delivered again, and the new files are signed.
    await on.signed.archive.putReceipts(sealed, []);
    await on.write('receipts.json', '[ ]');
    expect(await codes(on.storage)).toEqual(['paper.changed', 'run.unsigned (note)']);
  });

  test('gives concurrent writers different sequence numbers in a valid chain', async () => {
    const on = await archived();
    const others = await Promise.all([1, 2, 3].map(async () => (await on.another()).storage));
    const chains = [on.storage, ...others].map((storage) =>
      openChain(
        storage,
        async () => keyFrom(KEY.pem),
        clock,
        async () => false,
      ),
    );
    const added = await Promise.all(
      chains.flatMap((chain, index) =>
        [0, 1, 2, 3].map((nth) => chain.append('acme', { kind: 'kept', files: [], why: `${index}.${nth}` })),
      ),
    );
    expect(new Set(added).size).toBe(16);
    // The 17th entry is the first checkpoint.
    expect(Math.max(...added)).toBeLessThanOrEqual(17);
    await sealRun(on.signed, RUN, BEGAN);
    expect(await codes(on.storage)).toEqual([]);
  });

  test('reports a run without an entry with its age, and the next attempt records it', async () => {
    const on = await archived();
    await sealRun(on.signed, 'f'.repeat(32), BEGAN);
    // The process died right after it wrote the manifest, before it wrote the entry.
    await sealRun(on, RUN, BEGAN + 1000);
    expect(await codes(on.storage, BEGAN + 60_000)).toEqual(['run.pending (note)']);
    expect(await verified(on.storage, BEGAN + 7_260_000)).toMatchObject([
      { code: 'run.unchained', text: /121 minutes/ },
    ]);
    const found = await on.signed.archive.find(ORDER);
    await on.signed.archive.discardCheckout(found ?? { folder: '' });
    expect(await codes(on.storage, BEGAN + 7_260_000)).toEqual(['paper.late (note)']);
  });

  test('reports metadata files without an entry, and the next attempt or retention records them', async () => {
    const on = await archived();
    const sealed = await sealRun(on.signed, RUN, BEGAN);
    const attempt = { delivery: '1'.repeat(32), epoch: 1, detail: null, at: BEGAN } as const;
    await on.archive.putAttempt(sealed, { ...attempt, state: 'sending' });
    expect(await codes(on.storage, BEGAN + 60_000)).toEqual(['paper.pending (note)']);
    expect(await codes(on.storage, BEGAN + 7_200_000)).toEqual(['paper.added']);
    const { said } = await sweep(on.storage, BEGAN + 7_200_000, on.signed);
    expect(said).toContainEqual(expect.objectContaining({ run: RUN, count: 1 }));
    expect(await codes(on.storage, BEGAN + 7_200_000)).toEqual(['paper.late (note)']);
    // A file that was recorded when it was written is not recorded again.
    await on.write(`attempts/${attempt.delivery}.1.json`, JSON.stringify({ ...attempt, state: 'sent' }));
    await on.signed.signing.recordMissing(ORDER);
    expect(await codes(on.storage, BEGAN + 7_200_000)).toContain('paper.changed');
  });

  test.each([
    ['its manifest', async () => {}],
    [
      'its manifest, and the pointer that says where it was entered',
      (on: Awaited<ReturnType<typeof archived>>) => on.remove('chain.json'),
    ],
    [
      'its manifest, and the pointer to another entry',
      (on: Awaited<ReturnType<typeof archived>>) => on.write('chain.json', '{"sequence":2}'),
    ],
  ])('refuses a run that was changed together with %s', async (_what, hide) => {
    const on = await archived();
    await sealRun(on.signed, RUN, BEGAN);
    expect(await on.signed.archive.peek(ORDER)).toBeDefined();
    const manifest = (await on.storage.runFiles(ORDER).get('manifest.json'))?.toString() ?? '';
    await on.write('manifest.json', manifest.replace('Weekly', 'Monthly'));
    await hide(on);
    // The hashes alone show nothing.
    expect(await on.archive.peek(ORDER)).toBeDefined();
    await expect(on.signed.archive.find(ORDER)).rejects.toMatchObject({
      code: 'archive.corrupt',
      where: expect.stringContaining(PATH),
    });
    await expect(on.signed.archive.peek(ORDER)).rejects.toMatchObject({ code: 'archive.corrupt' });
    const packs = createRunFileReader(on.storage, on.signed.signing);
    await expect(packs.files(ORDER)).rejects.toMatchObject({ code: 'archive.corrupt' });
    await expect(packs.preview(ORDER)).rejects.toMatchObject({ code: 'archive.corrupt' });
  });

  test('appends nothing after an entry without a trusted signature', async () => {
    const on = await archived();
    const forger = signedOver((await on.another()).storage, generateSigningKey().pem, clock);
    await sealRun(forger, 'f'.repeat(32), BEGAN);
    await expect(sealRun(on.signed, RUN, BEGAN)).rejects.toMatchObject({
      code: 'archive.key_unknown',
      where: expect.stringContaining('.chain'),
    });
  });

  test('fails for a process with an old key until the process has the new one', async () => {
    const on = await archived();
    const sealed = await sealRun(on.signed, 'e'.repeat(32), BEGAN);
    let pem = KEY.pem;
    const signing = runChain(on.storage, async () => keyFrom(pem), clock);
    const archive = createArchive(on.storage, clock, signing);
    await archive.putReceipts(sealed, []);
    const next = generateSigningKey(keyFrom(KEY.pem)).pem;
    await sealRun(signedOver((await on.another()).storage, next, clock), 'f'.repeat(32), BEGAN);
    const refused = toDocketError(await archive.putReceipts(sealed, []).catch((error: unknown) => error));
    expect(refused).toMatchObject({ code: 'archive.key_unknown', got: keyFrom(next).id });
    expect(isStorageOutage(refused)).toBe(true);
    const other = { ...ORDER, id: 'f'.repeat(32) };
    await expect(archive.peek(other)).rejects.toMatchObject({ code: 'archive.key_unknown' });
    pem = next;
    expect(await archive.peek(other)).toBeDefined();
    await sealRun({ archive }, RUN, BEGAN);
    expect(await verified(on.storage, BEGAN, keyFrom(next).trusted)).toEqual([]);
  });

  test('reads the chain once for many runs without a pointer', async () => {
    const on = await archived();
    const ids = Array.from({ length: 20 }, (_, index) => index.toString(16).padStart(32, '0'));
    for (const id of ids) await sealRun(on.signed, id, BEGAN);
    const reads = new Map<string, number>();
    const get = async (name: string) => {
      const found = await on.storage.metadata.get(name);
      if (found !== undefined && name.includes('/.chain/')) reads.set(name, (reads.get(name) ?? 0) + 1);
      return found;
    };
    const storage = { ...on.storage, metadata: { ...on.storage.metadata, get } };
    await sweep(storage, BEGAN + 3_600_000, signedOver(storage, KEY.pem, clock));
    expect(reads.size).toBeGreaterThan(20);
    expect(Math.max(...reads.values())).toBeLessThanOrEqual(6);
    // Without its pointer, the run is found by its position in the chain. Entries of other runs are not read again.
    const [id = ''] = ids;
    await on.storage.runFiles({ ...ORDER, id }).put('chain.json', '{}');
    reads.clear();
    const { archive } = signedOver(storage, KEY.pem, clock);
    for (let times = 0; times < 20; times += 1) expect(await archive.peek({ ...ORDER, id })).toBeDefined();
    expect([...reads.values()].filter((count) => count > 3)).toHaveLength(1);
    // Runs that were added since then are found as well.
    const last = { ...ORDER, id: 'f'.repeat(32) };
    await sealRun(on.signed, last.id, BEGAN);
    await on.storage.runFiles(last).put('chain.json', '{}');
    const manifest = (await on.storage.runFiles(last).get('manifest.json'))?.toString() ?? '';
    await on.storage.runFiles(last).put('manifest.json', manifest.replace('Weekly', 'Monthly'));
    await expect(archive.peek(last)).rejects.toMatchObject({ code: 'archive.corrupt' });
  });

  test('records overwritten receipts late, but never an earlier version', async () => {
    const on = await archived();
    const sealed = await sealRun(on.signed, RUN, BEGAN);
    await deliverRun({ ...on.signed, archive: on.signed.archive }, sealed, BEGAN);
    const before = (await on.storage.runFiles(ORDER).get('receipts.json'))?.toString() ?? '';
    // Written without the chain, as by a process that died before it recorded them.
    await on.archive.putReceipts(sealed, []);
    expect(await codes(on.storage)).toEqual(['paper.changed']);
    expect(await on.signed.signing.recordMissing(ORDER)).toBe(1);
    expect(await codes(on.storage)).toEqual(['paper.late (note)']);
    expect(await on.signed.signing.recordMissing(ORDER)).toBe(0);
    // Of two processes that record at once, the later one may have an outdated version.
    const files = [{ name: 'receipts.json', sha256: createHash('sha256').update(before).digest('hex') }];
    const chain = openChain(
      on.storage,
      async () => keyFrom(KEY.pem),
      clock,
      async () => false,
    );
    await chain.append('acme', { kind: 'papers', run: RUN, report: ORDER.report, files, late: true });
    expect(await codes(on.storage)).toEqual(['paper.late (note)']);
    await on.write('receipts.json', before);
    expect(await on.signed.signing.recordMissing(ORDER)).toBe(0);
    expect(await codes(on.storage)).toContain('paper.changed');
  });

  test('records a deferred message with the next file, even after a failure', async () => {
    const on = await archived();
    let fails = false;
    const diskFull = new Error('the disk is full');
    const metadata = {
      ...on.storage.metadata,
      putIfAbsent: async (name: string, bytes: string) => {
        if (fails) throw diskFull;
        return on.storage.metadata.putIfAbsent(name, bytes);
      },
    };
    const { archive } = signedOver({ ...on.storage, metadata }, KEY.pem, clock);
    const sealed = await sealRun({ archive }, RUN, BEGAN);
    const message = await archive.putMessage(sealed, '1'.repeat(32), Buffer.from('Subject: x'));
    const attempt = { delivery: '1'.repeat(32), epoch: 1, detail: null, at: BEGAN, message } as const;
    fails = true;
    await expect(archive.putAttempt(sealed, { ...attempt, state: 'sending' })).rejects.toBe(diskFull);
    fails = false;
    await archive.putReceipts(sealed, []);
    expect(await codes(on.storage, BEGAN + DAY)).toEqual([]);
  });

  test('records with the second of two simultaneous files what the first could not record', async () => {
    const on = await archived();
    let fails = 0;
    let written = 0;
    let bothWritten: () => void = () => {};
    const both = new Promise<void>((resolve) => {
      bothWritten = resolve;
    });
    const storage = {
      ...on.storage,
      runFiles: (run: RunRef) => {
        const files = on.storage.runFiles(run);
        const put: typeof files.put = async (name, bytes) => {
          await files.put(name, bytes);
          written += name.startsWith('attempts/') ? 1 : 0;
          if (written === 2) setImmediate(bothWritten);
        };
        return { ...files, put };
      },
      metadata: {
        ...on.storage.metadata,
        putIfAbsent: async (name: string, bytes: string) => {
          fails -= 1;
          if (fails !== 0) return on.storage.metadata.putIfAbsent(name, bytes);
          await both;
          throw new Error('the disk is full');
        },
      },
    };
    const { archive } = signedOver(storage, KEY.pem, clock);
    const sealed = await sealRun({ archive }, RUN, BEGAN);
    const [one, two] = ['1'.repeat(32), '2'.repeat(32)];
    const message = await archive.putMessage(sealed, two, Buffer.from('Subject: x'));
    fails = 1;
    const recorded = await Promise.allSettled([
      archive.putAttempt(sealed, { delivery: one, epoch: 1, detail: null, at: BEGAN, state: 'sent' }),
      archive.putAttempt(sealed, { delivery: two, epoch: 1, detail: null, at: BEGAN, state: 'sending', message }),
    ]);
    expect(recorded.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await codes(on.storage, BEGAN + DAY)).toEqual([]);
  });

  test('records removals by retention, and signs a checkpoint per day', async () => {
    const on = await archived();
    await sealRun(on.signed, RUN, BEGAN);
    const { archive, signing } = signedOver(on.storage, KEY.pem, at(BEGAN + 31 * DAY));
    const { removed, said } = await sweep(on.storage, BEGAN + 31 * DAY, { archive, signing });
    expect(removed).toBe(1);
    expect(await codes(on.storage, BEGAN + 31 * DAY)).toEqual([]);
    const [text] = await newestCheckpoints(on.storage, 'acme');
    expect(said).toContainEqual(
      expect.objectContaining({ event: 'archive.checkpoint', org: 'acme', why: text?.trim() }),
    );
    expect(text).toContain('2026-12-17');
    expect((await sweep(on.storage, BEGAN + 31 * DAY + 60_000, { archive, signing })).removed).toBeUndefined();
  });
});

describe('retention of runs that the store has locked', () => {
  test.each([
    ['until a day that has not come', { until: BEGAN + 90 * DAY }, 'files/queue.csv', 0, 1],
    ['by a legal hold', { hold: true }, 'messages/', 0, 0],
    ['until a day that has passed', { until: BEGAN + DAY }, 'manifest.json', 1, 0],
  ] as const)('%s', async (_what, lock, name, removedNow, removedLater) => {
    const [, open] = ARCHIVES[1] ?? [];
    const on = await open?.(onTestFinished, clock);
    if (on?.store === undefined) throw new Error('no store');
    const { store, storage } = on;
    store.now = () => BEGAN;
    const signed = signedOver(storage, KEY.pem, clock);
    await deliverRun(signed, await sealRun(signed, RUN, BEGAN), BEGAN);
    const run = () => [...store.objects.keys()].filter((key) => key.includes(RUN));
    for (const key of run()) if (key.includes(name)) Object.assign(store.objects.get(key) ?? {}, { lock });
    const before = run();
    const later = async (days: number) => {
      store.now = () => BEGAN + days * DAY;
      return sweep(storage, BEGAN + days * DAY, signedOver(storage, KEY.pem, at(BEGAN + days * DAY)));
    };
    const first = await later(31);
    expect(first.removed).toBe(removedNow);
    if (removedNow === 0) {
      expect(run()).toEqual(before);
      expect(first.said).toContainEqual(
        expect.objectContaining({ run: RUN, why: expect.stringMatching(/^(locked until|under a legal hold)/) }),
      );
    }
    expect(await codes(storage, BEGAN + 31 * DAY)).toEqual([]);
    expect((await later(91)).removed).toBe(removedLater);
  });

  test('a run stays, and the chain stays valid, if the store refuses deletion without a visible lock', async () => {
    const [, open] = ARCHIVES[1] ?? [];
    const on = await open?.(onTestFinished, clock);
    if (on?.store === undefined) throw new Error('no store');
    const { store, storage } = on;
    store.now = () => BEGAN;
    const signed = signedOver(storage, KEY.pem, clock);
    await deliverRun(signed, await sealRun(signed, RUN, BEGAN), BEGAN);
    const before = [...store.objects.keys()].filter((key) => key.includes(RUN));
    store.fault = ({ method }) =>
      method === 'DELETE' ? { when: 'before', how: { status: 403, code: 'AccessDenied' } } : undefined;
    const { removed, said } = await sweep(storage, BEGAN + 31 * DAY, signed);
    expect(removed).toBe(0);
    expect(said).toContainEqual(expect.objectContaining({ run: RUN, why: expect.stringContaining('AccessDenied') }));
    expect([...store.objects.keys()].filter((key) => key.includes(RUN))).toEqual(before);
    expect(await codes(storage, BEGAN + 40 * DAY)).toEqual([]);
    const entries = () => [...store.objects.keys()].filter((key) => key.includes('/.chain/')).length;
    const later = (days: number) =>
      sweep(storage, BEGAN + days * DAY, signedOver(storage, KEY.pem, at(BEGAN + days * DAY)));
    const count = entries();
    for (const days of [32, 33, 34]) expect((await later(days)).removed).toBe(0);
    // One checkpoint per day.
    expect(entries() - count).toBe(3);
    store.fault = () => undefined;
    expect((await later(35)).removed).toBe(1);
    expect(await codes(storage, BEGAN + 40 * DAY)).toEqual([]);
  });
});
