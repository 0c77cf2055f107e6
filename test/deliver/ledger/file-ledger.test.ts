import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { findArchivedRuns } from '../../../src/deliver/archive/archived-runs.ts';
import { applyRetention } from '../../../src/deliver/archive/retention.ts';
import type { ArchiveStorage } from '../../../src/deliver/archive/storage/archive-storage.ts';
import { deleteExpiredLedgers, fileLedger, findLedgerRuns } from '../../../src/deliver/ledger/file-ledger.ts';
import { deliveryId } from '../../../src/deliver/ledger/ledger.ts';
import { memoryLedger } from '../../../src/deliver/ledger/memory-ledger.ts';
import { ARCHIVES, sealIn } from '../../support/archives.ts';
import { ORDER, PERIOD } from '../../support/delivery-case.ts';

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

describe.each(ARCHIVES)('the ledger of a run without Redis %s', (_, open) => {
  test('persists; another process does not begin a delivery again', async () => {
    const { storage, another } = await open(onTestFinished);
    const run = aRun();
    const row = rowOf(run.id);
    const first = fileLedger(storage, run);
    const second = fileLedger((await another()).storage, run);
    expect(await first.open(row, 1)).toEqual(await second.open(row, 2));
    const begun = await Promise.all([first, second, first, second].map((ledger) => ledger.begin(row.id, 3)));
    expect(begun.filter((epoch) => epoch !== undefined)).toEqual([1]);
    expect(await second.find(row.id)).toMatchObject({ state: 'sending', epoch: 1 });
    expect(await second.settle(row.id, 1, 'sent', '250 Ok', 4)).toBe(true);
    expect(await first.list(run.id)).toMatchObject([{ state: 'sent', detail: '250 Ok', at: 4 }]);
  });

  test('is found by report and period, newest first, and is not an archived run', async () => {
    const { storage } = await open(onTestFinished);
    const [early, late] = [aRun(), aRun({ ...PERIOD, label: 'the same days' })];
    const others = [aRun({ ...PERIOD, timezone: 'UTC' }), aRun({ ...PERIOD, from: '2026-11-10' })];
    for (const [at, run] of [early, late, ...others].entries()) {
      await fileLedger(storage, run).open(rowOf(run.id), at + 1);
    }
    await fileLedger(storage, late).begin(rowOf(late.id).id, 9);
    expect(await found(storage)).toEqual([`${late.id} sending`, `${early.id} pending`]);
    const runs = [];
    for await (const run of storage.listRuns()) runs.push(run.id);
    expect(runs).toEqual([]);
  });

  test('an unreadable file counts as an unknown delivery', async () => {
    const { storage } = await open(onTestFinished);
    const run = aRun();
    const row = rowOf(run.id);
    await fileLedger(storage, run).open(row, 1);
    await storage.metadata.put(`.ledger/acme/weekly-kpi/${run.id}/${row.id}.000001.json`, '{"nth"');
    const told: unknown[] = [];
    const runs = [];
    for await (const one of findLedgerRuns(storage, (of) => told.push(of))({ ...OF, period: PERIOD })) runs.push(one);
    expect(runs).toMatchObject([{ run: run.id, deliveries: [{ target: null, state: 'unknown' }] }]);
    expect(told).toEqual([{ id: run.id, ...OF }]);
  });

  test('is deleted after the retention, unless a delivery is open', async () => {
    const { storage } = await open(onTestFinished);
    const [settled, undecided, young] = [aRun(), aRun(), aRun()];
    for (const [run, at, state] of [
      [settled, 1, 'sent'],
      [undecided, 2, 'unknown'],
      [young, 100, 'sent'],
    ] as const) {
      await fileLedger(storage, run).open(rowOf(run.id), at, { state, epoch: 1, detail: null });
    }
    const sweep = (days: number | undefined) =>
      applyRetention({
        storage,
        daysOf: (org) => (org === 'acme' ? days : undefined),
        ledger: memoryLedger(),
        isOpen: async () => false,
        // A day later each time: an archive is swept once a day.
        clock: { now: () => 50 + 30 * DAY_MS + sweeps++ * DAY_MS, sleep: async () => {} },
        log: silentLog,
        signal: new AbortController().signal,
      });
    let sweeps = 0;
    await sweep(undefined);
    expect(await found(storage)).toHaveLength(3);
    await sweep(31);
    expect(await found(storage)).toEqual([`${young.id} sent`, `${undecided.id} unknown`]);
  });
});

describe.each(ARCHIVES)('the files of a ledger %s', (_, open) => {
  const filesOf = async ({ metadata }: ArchiveStorage) => [...(await metadata.list('.ledger'))].sort();

  test('are one of the run, and one for each change of a row', async () => {
    const { storage } = await open(onTestFinished);
    const run = aRun();
    const [first, second] = [rowOf(run.id), rowOf(run.id, '1-s3', 's3://b/k')];
    const ledger = fileLedger(storage, run);
    for (const row of [first, second]) await ledger.open(row, 1);
    await ledger.begin(first.id, 2);
    const of = (name: string) => `acme/weekly-kpi/${run.id}/${name}`;
    const files = [`${first.id}.000001.json`, `${first.id}.000002.json`, `${second.id}.000001.json`, 'run.json'];
    expect(await filesOf(storage)).toEqual(files.map(of).sort());
    // What is refused or changes nothing writes nothing.
    expect(await ledger.settle(first.id, 7, 'sent', null, 3)).toBe(false);
    await ledger.open(first, 3);
    expect(await filesOf(storage)).toHaveLength(files.length);
    expect((await ledger.list(run.id)).map(({ target, state }) => [target, state])).toEqual([
      ['0-email', 'sending'],
      ['1-s3', 'pending'],
    ]);
  });

  test('with other names are no rows', async () => {
    const { storage } = await open(onTestFinished);
    const run = aRun();
    const row = rowOf(run.id);
    const ledger = fileLedger(storage, run);
    await ledger.open(row, 1);
    for (const name of [`a${row.id}.000009.json`, `${row.id}.000009.json.tmp`, 'notes.txt']) {
      await storage.metadata.put(`.ledger/acme/weekly-kpi/${run.id}/${name}`, '{}');
    }
    expect(await ledger.list(run.id)).toMatchObject([{ state: 'pending' }]);
    expect(await found(storage)).toEqual([`${run.id} pending`]);
  });

  test('that others always change first are given up', async () => {
    const { storage } = await open(onTestFinished);
    const run = aRun();
    const row = rowOf(run.id);
    const tried: string[] = [];
    const putIfAbsent = async (name: string) => {
      tried.push(name);
      return false;
    };
    const busy = { location: storage.location, metadata: { ...storage.metadata, putIfAbsent } };
    await expect(fileLedger(busy, run).begin(row.id, 1)).resolves.toBe(undefined);
    await expect(fileLedger(busy, run).open(row, 1)).rejects.toMatchObject({
      code: 'archive.unwritable',
      where: `${storage.location}/.ledger/acme/weekly-kpi/${run.id}`,
    });
    expect(tried.filter((name) => name.endsWith('.000001.json'))).toHaveLength(10);
  });

  test('are deleted when older than the retention, unless a delivery is open or they cannot be read', async () => {
    const { storage } = await open(onTestFinished);
    const states = {
      settled: 'sent',
      halfKnown: 'unknown',
      sending: 'pending',
      atLimit: 'sent',
      damaged: 'sent',
    } as const;
    const runs = Object.fromEntries(Object.keys(states).map((name) => [name, aRun()]));
    for (const [name, state] of Object.entries(states)) {
      const run = runs[name] ?? aRun();
      const ledger = fileLedger(storage, run);
      const at = name === 'atLimit' ? 10 : 9;
      await ledger.open(rowOf(run.id), at, { state: 'sent', epoch: 1, detail: null });
      await ledger.open(
        rowOf(run.id, '1-s3', 's3://b/k'),
        at,
        state === 'pending' ? undefined : { state, epoch: 1, detail: null },
      );
    }
    await fileLedger(storage, runs.sending ?? aRun()).begin(rowOf(runs.sending?.id ?? '', '1-s3', 's3://b/k').id, 9);
    await storage.metadata.put(`.ledger/acme/weekly-kpi/${runs.damaged?.id}/run.json`, '{');
    const told: string[] = [];
    const sweep = (since: number | undefined) =>
      deleteExpiredLedgers(
        storage,
        () => since,
        (name) => told.push(name),
      );
    expect(await sweep(undefined)).toBe(0);
    expect(await sweep(10)).toBe(1);
    const left = new Set((await filesOf(storage)).map((name) => name.split('/')[2]));
    expect(left).toEqual(new Set(['halfKnown', 'sending', 'atLimit', 'damaged'].map((name) => runs[name]?.id)));
    const damaged = `acme/weekly-kpi/${runs.damaged?.id}/run.json`;
    expect(told).toEqual([damaged, damaged]);
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
    // As a version before wrote it, which did not say of what target an attempt was.
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
    const told: string[] = [];
    const watched: Pick<ArchiveStorage, 'listRuns'> = {
      async *listRuns(org, report) {
        for await (const run of on.storage.listRuns(org, report)) {
          const get = (name: string) => {
            opened.push(name);
            return run.files.get(name);
          };
          yield { ...run, files: { ...run.files, get } };
        }
      },
    };
    const find = findArchivedRuns(watched, ({ id }) => told.push(id));
    const looking = async (period: Record<keyof typeof PERIOD, string>) => {
      for await (const run of find({ ...OF, period })) return run;
      return undefined;
    };
    const nextYear = new Date().getUTCFullYear() + 1;
    expect(await looking({ ...PERIOD, from: `${nextYear}-12-01`, to: `${nextYear}-12-07` })).toBe(undefined);
    expect(opened).toEqual([]);
    await on.write('manifest.json', '{');
    expect(await looking(PERIOD)).toBe(undefined);
    expect(told).toEqual([ORDER.id]);
  });
});
