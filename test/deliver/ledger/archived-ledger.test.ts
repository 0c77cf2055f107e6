import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import type { PublishedManifest } from '../../../src/deliver/archive/archive.ts';
import { findArchivedRuns } from '../../../src/deliver/archive/archived-runs.ts';
import type { AttemptRecord } from '../../../src/deliver/archive/attempt-log.ts';
import { inlineArchive } from '../../../src/deliver/archive/inline-archive.ts';
import { applyRetention, LAST_SWEEP_FILE } from '../../../src/deliver/archive/retention.ts';
import type { ArchiveStorage } from '../../../src/deliver/archive/storage/archive-storage.ts';
import { findLedgerRuns, withArchivedLedger } from '../../../src/deliver/ledger/archived-ledger.ts';
import { type DeliveryState, deliveryId } from '../../../src/deliver/ledger/ledger.ts';
import { ARCHIVES, sealIn } from '../../support/archives.ts';
import { ORDER, PERIOD } from '../../support/delivery-case.ts';
import { fake } from '../../support/fake.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';

const DAY_MS = 86_400_000;
const OF = { org: 'acme', report: 'weekly-kpi' };
const aRun = (period: typeof PERIOD | Record<keyof typeof PERIOD, string> = PERIOD) => ({
  id: randomBytes(16).toString('hex'),
  ...OF,
  period,
});
const rowOf = (run: string, target = '0-email', recipient = 'lead@acme.example') => ({
  id: deliveryId(run, target, recipient),
  run,
  ...OF,
  target,
  recipient,
});
const refuse = (_: unknown, error: unknown) => {
  throw error;
};
const found = async (storage: ArchiveStorage, period: Record<keyof typeof PERIOD, string> = PERIOD) => {
  const runs: string[] = [];
  for await (const { run, deliveries } of findLedgerRuns(storage, refuse)({ ...OF, period })) {
    runs.push(`${run} ${deliveries.map(({ state }) => state).join(' ')}`);
  }
  return runs;
};

/** Records one attempt of the run for each of these states. */
async function record(
  { metadata }: ArchiveStorage,
  run: ReturnType<typeof aRun>,
  at: number,
  ...states: DeliveryState[]
) {
  const ledger = memoryLedger();
  const rows = states.map((_, nth) => rowOf(run.id, `${nth}-s3`, `s3://b/${nth}`));
  for (const row of rows) await ledger.open(row, at);
  const kept: string[] = [];
  const out = {
    ...inlineArchive('.'),
    putAttempt: async (_: unknown, { state }: AttemptRecord) => void kept.push(state),
  };
  const archive = withArchivedLedger(out, { ...run, createdAt: at }, { ledger, metadata });
  const put = (nth: number, state: DeliveryState, epoch = 1) =>
    archive.putAttempt({} as PublishedManifest, {
      delivery: rows[nth]?.id ?? '',
      target: `${nth}-s3`,
      epoch,
      state,
      detail: null,
      at,
    });
  for (const [nth, state] of states.entries()) await put(nth, state);
  return { put, kept, rows };
}
const filesOf = async ({ metadata }: ArchiveStorage) => [...(await metadata.list('.ledger'))].sort();

describe.each(ARCHIVES)('the recorded deliveries of an inline run %s', (_, open) => {
  test('are found by report and period, newest first, and are not listed as an archived run', async () => {
    const { storage } = await open(onTestFinished);
    const [early, late] = [aRun(), aRun({ ...PERIOD, label: 'the same days' })];
    const others = [aRun({ ...PERIOD, timezone: 'UTC' }), aRun({ ...PERIOD, from: '2026-11-10' })];
    for (const [at, run] of [early, late, ...others].entries()) await record(storage, run, at + 1, 'sent', 'sending');
    expect(await found(storage)).toEqual([`${late.id} sent sending`, `${early.id} sent sending`]);
    const runs = [];
    for await (const run of storage.listRuns()) runs.push(run.id);
    expect(runs).toEqual([]);
  });

  test('are one file per attempt with its last state, and are recorded in the run’s own archive as well', async () => {
    const { storage } = await open(onTestFinished);
    const run = aRun();
    const { put, kept, rows } = await record(storage, run, 1, 'sending');
    expect(await found(storage)).toEqual([`${run.id} sending`]);
    await put(0, 'pending');
    await put(0, 'sending', 2);
    await put(0, 'sent', 2);
    expect(await found(storage)).toEqual([`${run.id} sent`]);
    const files = ['000001.json', '000002.json'].map((end) => `${rows[0]?.id}.${end}`);
    expect(await filesOf(storage)).toEqual([...files, 'run.json'].map((name) => `acme/weekly-kpi/${run.id}/${name}`));
    expect(kept).toEqual(['sending', 'pending', 'sending', 'sent']);
  });

  test('are recorded even after an error of the archive', async () => {
    const { storage } = await open(onTestFinished);
    const run = aRun();
    const ledger = memoryLedger();
    const row = rowOf(run.id, '0-s3', 's3://b/0');
    await ledger.open(row, 1);
    let isDown = true;
    const metadata = {
      put: async (name: string, bytes: string | Uint8Array) => {
        if (isDown) throw new Error('unreachable');
        await storage.metadata.put(name, bytes);
      },
    };
    const out = { ...inlineArchive('.'), putAttempt: async () => undefined };
    const archive = withArchivedLedger(out, { ...run, createdAt: 1 }, { ledger, metadata });
    const attempt = { delivery: row.id, target: '0-s3', epoch: 1, state: 'sending', detail: null, at: 1 } as const;
    await expect(archive.putAttempt({} as PublishedManifest, attempt)).rejects.toThrow('unreachable');
    isDown = false;
    await archive.putAttempt({} as PublishedManifest, attempt);
    expect(await found(storage)).toEqual([`${run.id} sending`]);
  });

  test('can be read as 0.2.0 wrote them, with one file per change', async () => {
    const { storage } = await open(onTestFinished);
    const run = aRun();
    const [row] = (await record(storage, run, 1, 'sending')).rows;
    for (const [version, state] of [
      [2, 'sent'],
      [3, 'unknown'],
    ] as const) {
      const stored = { nth: 1, row: { ...row, state, epoch: 1, detail: null, at: 1, decisions: [] }, by: 'a process' };
      await storage.metadata.put(
        `.ledger/acme/weekly-kpi/${run.id}/${row?.id}.00000${version}.json`,
        JSON.stringify(stored),
      );
    }
    for (const name of [`a${row?.id}.000009.json`, `${row?.id}.000009.json.tmp`, 'notes.txt']) {
      await storage.metadata.put(`.ledger/acme/weekly-kpi/${run.id}/${name}`, '{}');
    }
    expect(await found(storage)).toEqual([`${run.id} unknown`]);
  });

  test('count as unknown if a file cannot be read', async () => {
    const { storage } = await open(onTestFinished);
    const run = aRun();
    const [row] = (await record(storage, run, 1, 'sent')).rows;
    await storage.metadata.put(`.ledger/acme/weekly-kpi/${run.id}/${row?.id}.000001.json`, '{"nth"');
    const reported: unknown[] = [];
    const runs = [];
    for await (const one of findLedgerRuns(storage, (of) => reported.push(of))({ ...OF, period: PERIOD }))
      runs.push(one);
    expect(runs).toMatchObject([{ run: run.id, deliveries: [{ target: null, state: 'unknown' }] }]);
    expect(reported).toEqual([{ id: run.id, ...OF }]);
  });

  test('are deleted after the retention, unless one is open or unreadable', async () => {
    const { storage } = await open(onTestFinished);
    const runs = { settled: aRun(), halfKnown: aRun(), sending: aRun(), atLimit: aRun(), damaged: aRun() };
    await record(storage, runs.settled, 9, 'sent', 'sent');
    await record(storage, runs.halfKnown, 9, 'sent', 'unknown');
    await record(storage, runs.sending, 9, 'sent', 'sending');
    await record(storage, runs.atLimit, 10, 'sent', 'sent');
    await record(storage, runs.damaged, 9, 'sent', 'sent');
    await storage.metadata.put(`.ledger/acme/weekly-kpi/${runs.damaged.id}/run.json`, '{');
    let sweeps = 0;
    const sweep = (days: number | undefined) =>
      applyRetention({
        storage,
        daysOf: (org) => (org === 'acme' ? days : undefined),
        ledger: memoryLedger(),
        isOpen: async () => false,
        // A day later each time, because an archive is swept once a day.
        clock: { now: () => 10 + 30 * DAY_MS + sweeps++ * DAY_MS, sleep: async () => {} },
        log: silentLog,
        signal: new AbortController().signal,
      });
    await sweep(undefined);
    expect(new Set((await filesOf(storage)).map((name) => name.split('/')[2])).size).toBe(5);
    sweeps = 0;
    await storage.metadata.put(LAST_SWEEP_FILE, '0');
    await sweep(30);
    const left = new Set((await filesOf(storage)).map((name) => name.split('/')[2]));
    expect(left).toEqual(new Set([runs.halfKnown, runs.sending, runs.atLimit, runs.damaged].map(({ id }) => id)));
  });
});

describe.each(ARCHIVES)('archived deliveries of a period %s', (_, open) => {
  const deliveriesIn = async (storage: ArchiveStorage, period: Record<keyof typeof PERIOD, string> = PERIOD) => {
    const runs = [];
    for await (const run of findArchivedRuns(storage, refuse)({ ...OF, period })) runs.push(run);
    return runs;
  };

  test('come from receipts and attempts, without notices', async () => {
    const on = await open(onTestFinished);
    const sealed = await sealIn(on);
    const [mail, bucket, folder, notice] = [
      rowOf(ORDER.id),
      rowOf(ORDER.id, '1-s3', 's3://b/k'),
      rowOf(ORDER.id, '2-directory', '/out'),
      rowOf(ORDER.id, 'notice', 'ops@acme.example'),
    ];
    const attempt = { epoch: 1, detail: null, at: 7 } as const;
    await on.archive.putAttempt(sealed, { ...attempt, delivery: mail.id, target: mail.target, state: 'sending' });
    await on.archive.putAttempt(sealed, { ...attempt, delivery: folder.id, target: folder.target, state: 'sent' });
    await on.archive.putAttempt(sealed, { ...attempt, delivery: notice.id, state: 'sent' });
    // An earlier version did not record the target of an attempt.
    await on.archive.putAttempt(sealed, { ...attempt, delivery: bucket.id, state: 'sent' });
    const states = async () =>
      new Map((await deliveriesIn(on.storage))[0]?.deliveries.map(({ target, state }) => [target, state]));
    expect(await states()).toEqual(
      new Map([
        ['0-email', 'sending'],
        [null, 'sent'],
        ['2-directory', 'sent'],
      ]),
    );
    const receipt = { detail: null, messageId: null } as const;
    await on.archive.putReceipts(sealed, [
      { ...receipt, delivery: bucket.id, target: '1-s3', recipient: 's3://b/k', state: 'sent' },
    ]);
    expect(await states()).toEqual(
      new Map([
        ['0-email', 'sending'],
        ['1-s3', 'sent'],
        ['2-directory', 'sent'],
      ]),
    );
  });

  test('are found by days and time zone', async () => {
    const on = await open(onTestFinished);
    await sealIn(on);
    expect(await deliveriesIn(on.storage, { ...PERIOD, label: 'week 46' })).toMatchObject([{ run: ORDER.id }]);
    expect(await deliveriesIn(on.storage, { ...PERIOD, timezone: 'UTC' })).toEqual([]);
    expect(await deliveriesIn(on.storage, { ...PERIOD, to: '2026-11-16' })).toEqual([]);
  });

  test('skip runs published before the period, and unreadable manifests', async () => {
    const on = await open(onTestFinished);
    await sealIn(on);
    const opened: string[] = [];
    const reported: string[] = [];
    const watched = fake<ArchiveStorage>({
      async *listRuns(org, report) {
        for await (const run of on.storage.listRuns(org, report)) {
          const get = (name: string) => {
            opened.push(name);
            return run.files.get(name);
          };
          yield { ...run, files: { ...run.files, get } };
        }
      },
    });
    const find = findArchivedRuns(watched, ({ id }) => reported.push(id));
    const looking = async (period: Record<keyof typeof PERIOD, string>) => {
      for await (const run of find({ ...OF, period })) return run;
      return undefined;
    };
    const nextYear = new Date().getUTCFullYear() + 1;
    expect(await looking({ ...PERIOD, from: `${nextYear}-12-01`, to: `${nextYear}-12-07` })).toBe(undefined);
    expect(opened).toEqual([]);
    await on.write('manifest.json', '{');
    expect(await looking(PERIOD)).toBe(undefined);
    expect(reported).toEqual([ORDER.id]);
  });
});
