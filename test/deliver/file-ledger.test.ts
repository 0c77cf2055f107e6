import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { archivedRuns } from '../../src/deliver/archived-deliveries.ts';
import { fileLedger, ledgerRuns } from '../../src/deliver/file-ledger.ts';
import { deliveryId } from '../../src/deliver/ledger.ts';
import { memoryLedger } from '../../src/deliver/memory-ledger.ts';
import { sweepArchive } from '../../src/deliver/retention.ts';
import type { Shelf } from '../../src/deliver/shelf.ts';
import { ARCHIVES, sealIn } from '../support/archives.ts';
import { ORDER, PERIOD } from '../support/delivery-case.ts';

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
const found = async (shelf: Shelf, period: Record<keyof typeof PERIOD, string> = PERIOD) => {
  const runs: string[] = [];
  for await (const { run, deliveries } of ledgerRuns(shelf, refuse)({ ...OF, period })) {
    runs.push(`${run} ${deliveries.map(({ state }) => state).join(' ')}`);
  }
  return runs;
};

describe.each(ARCHIVES)('the ledger of a run without Redis, %s', (_, open) => {
  test('is there for the next process, which begins no delivery that another has begun', async () => {
    const { shelf, another } = await open(onTestFinished);
    const run = aRun();
    const row = rowOf(run.id);
    const first = fileLedger(shelf, run);
    const second = fileLedger((await another()).shelf, run);
    expect(await first.open(row, 1)).toEqual(await second.open(row, 2));
    const begun = await Promise.all([first, second, first, second].map((ledger) => ledger.begin(row.id, 3)));
    expect(begun.filter((epoch) => epoch !== undefined)).toEqual([1]);
    expect(await second.find(row.id)).toMatchObject({ state: 'sending', epoch: 1 });
    expect(await second.settle(row.id, 1, 'sent', '250 Ok', 4)).toBe(true);
    expect(await first.list(run.id)).toMatchObject([{ state: 'sent', detail: '250 Ok', at: 4 }]);
  });

  test('is found by report and days, the newest run first, and is no run of the archive', async () => {
    const { shelf } = await open(onTestFinished);
    const [early, late] = [aRun(), aRun({ ...PERIOD, label: 'the same days' })];
    const others = [aRun({ ...PERIOD, timezone: 'UTC' }), aRun({ ...PERIOD, from: '2026-11-10' })];
    for (const [at, run] of [early, late, ...others].entries()) {
      await fileLedger(shelf, run).open(rowOf(run.id), at + 1);
    }
    await fileLedger(shelf, late).begin(rowOf(late.id).id, 9);
    expect(await found(shelf)).toEqual([`${late.id} sending`, `${early.id} pending`]);
    const runs = [];
    for await (const run of shelf.runs()) runs.push(run.id);
    expect(runs).toEqual([]);
  });

  test('a file that cannot be read speaks for a delivery that may have been sent', async () => {
    const { shelf } = await open(onTestFinished);
    const run = aRun();
    const row = rowOf(run.id);
    await fileLedger(shelf, run).open(row, 1);
    await shelf.notes.put(`.ledger/acme/weekly-kpi/${run.id}/${row.id}.000001.json`, '{"nth"');
    const told: unknown[] = [];
    const runs = [];
    for await (const one of ledgerRuns(shelf, (of) => told.push(of))({ ...OF, period: PERIOD })) runs.push(one);
    expect(runs).toMatchObject([{ run: run.id, deliveries: [{ target: null, state: 'unknown' }] }]);
    expect(told).toEqual([{ id: run.id, ...OF }]);
  });

  test('leaves the archive when its organization’s days are over, unless somebody has to decide', async () => {
    const { shelf } = await open(onTestFinished);
    const [settled, undecided, young] = [aRun(), aRun(), aRun()];
    for (const [run, at, state] of [
      [settled, 1, 'sent'],
      [undecided, 2, 'unknown'],
      [young, 100, 'sent'],
    ] as const) {
      await fileLedger(shelf, run).open(rowOf(run.id), at, { state, epoch: 1, detail: null });
    }
    const sweep = (days: number | undefined) =>
      sweepArchive({
        shelf,
        daysOf: (org) => (org === 'acme' ? days : undefined),
        ledger: memoryLedger(),
        open: async () => false,
        // A day later each time: an archive is swept once a day.
        clock: { now: () => 50 + 30 * DAY_MS + sweeps++ * DAY_MS, sleep: async () => {} },
        log: silentLog,
        signal: new AbortController().signal,
      });
    let sweeps = 0;
    await sweep(undefined);
    expect(await found(shelf)).toHaveLength(3);
    await sweep(31);
    expect(await found(shelf)).toEqual([`${young.id} sent`, `${undecided.id} unknown`]);
  });
});

describe.each(ARCHIVES)('what was delivered of a period, %s', (_, open) => {
  const deliveriesIn = async (shelf: Shelf, period: Record<keyof typeof PERIOD, string> = PERIOD) => {
    const runs = [];
    for await (const run of archivedRuns(shelf, refuse)({ ...OF, period })) runs.push(run);
    return runs;
  };

  test('is known by receipts and attempts, and no notice is among it', async () => {
    const on = await open(onTestFinished);
    const sealed = await sealIn(on);
    const [mail, bucket, folder, notice] = [
      rowOf(ORDER.id),
      rowOf(ORDER.id, '1-s3', 's3://b/k'),
      rowOf(ORDER.id, '2-directory', '/out'),
      rowOf(ORDER.id, 'notice', 'ops@acme.example'),
    ];
    const attempt = { epoch: 1, detail: null, at: 7 } as const;
    await on.archive.keepAttempt(sealed, { ...attempt, delivery: mail.id, target: mail.target, state: 'sending' });
    await on.archive.keepAttempt(sealed, { ...attempt, delivery: folder.id, target: folder.target, state: 'sent' });
    await on.archive.keepAttempt(sealed, { ...attempt, delivery: notice.id, state: 'sent' });
    // As a version before wrote it, which did not say of what target an attempt was.
    await on.archive.keepAttempt(sealed, { ...attempt, delivery: bucket.id, state: 'sent' });
    const states = async () =>
      new Map((await deliveriesIn(on.shelf))[0]?.deliveries.map(({ target, state }) => [target, state]));
    expect(await states()).toEqual(
      new Map([
        ['0-email', 'sending'],
        [null, 'sent'],
        ['2-directory', 'sent'],
      ]),
    );
    const receipt = { detail: null, messageId: null } as const;
    await on.archive.keepReceipts(sealed, [
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

  test('is found by its days and zone alone', async () => {
    const on = await open(onTestFinished);
    await sealIn(on);
    expect(await deliveriesIn(on.shelf, { ...PERIOD, label: 'week 46' })).toMatchObject([{ run: ORDER.id }]);
    expect(await deliveriesIn(on.shelf, { ...PERIOD, timezone: 'UTC' })).toEqual([]);
    expect(await deliveriesIn(on.shelf, { ...PERIOD, to: '2026-11-16' })).toEqual([]);
  });

  test('skips what was sealed before the period began, and a manifest that cannot be read', async () => {
    const on = await open(onTestFinished);
    await sealIn(on);
    const opened: string[] = [];
    const told: string[] = [];
    const watched: Pick<Shelf, 'runs'> = {
      async *runs(org, report) {
        for await (const run of on.shelf.runs(org, report)) {
          const read = (name: string) => {
            opened.push(name);
            return run.box.read(name);
          };
          yield { ...run, box: { ...run.box, read } };
        }
      },
    };
    const find = archivedRuns(watched, ({ id }) => told.push(id));
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
