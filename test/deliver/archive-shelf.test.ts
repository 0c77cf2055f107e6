import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { LogFields } from '../../src/base/log.ts';
import { silentLog } from '../../src/base/log.ts';
import { findShelved, type Shelved, shelvedRuns } from '../../src/deliver/archive-shelf.ts';
import type { DeliveryState } from '../../src/deliver/ledger.ts';
import { memoryLedger } from '../../src/deliver/memory-ledger.ts';
import { sweepArchive } from '../../src/deliver/retention.ts';
import { takeOut } from '../../src/deliver/take-out.ts';
import { verifyShelved } from '../../src/deliver/verify-archive.ts';
import { folderFor, ORDER, RUN, sealedRun } from '../support/delivery-case.ts';

const DELIVERY = 'a'.repeat(32);
const DAY = 86_400_000;
const MADE_AT = Date.parse('2026-11-16T07:00:05.000Z');

/** A run that was sent: files, e-mail, a message, its receipt. */
async function archived() {
  const root = await folderFor(onTestFinished);
  const { archive, sealed } = await sealedRun(root);
  await archive.keepMessage(sealed, DELIVERY, Buffer.from('From: a\r\n\r\nHello'));
  const receipt = { delivery: DELIVERY, target: '0-email', recipient: 'a@acme.example', detail: '250 Ok' };
  await archive.keepAttempt(sealed, { delivery: DELIVERY, epoch: 1, state: 'sent', detail: '250 Ok', at: 1 });
  await archive.keepReceipts(sealed, [{ ...receipt, state: 'sent', messageId: '<a@docket.example>' }]);
  const folder = join(root, 'archive');
  const shelved = await findShelved(folder, RUN);
  if (shelved === undefined) throw new Error('not shelved');
  return { root: folder, shelved, archive, sealed };
}

test('finds a run by its id alone, and lists every run by organization', async () => {
  const { root, shelved } = await archived();
  expect(shelved).toEqual({
    id: RUN,
    org: 'acme',
    report: 'weekly-kpi',
    folder: join(root, 'acme', 'weekly-kpi', RUN),
  });
  expect(await findShelved(root, 'f'.repeat(32))).toBeUndefined();
  const listed: Shelved[] = [];
  for await (const run of shelvedRuns(root)) listed.push(run);
  expect(listed).toEqual([shelved]);
  for await (const run of shelvedRuns(root, 'rival')) listed.push(run);
  expect(listed).toHaveLength(1);
});

const message = join('messages', `${DELIVERY}.eml`);
test.each<readonly [string, (folder: string) => Promise<unknown>, string]>([
  ['a changed file', (at) => appendFile(join(at, 'files', 'queue.csv'), '!'), 'files/queue.csv has changed'],
  ['a missing file', (at) => rm(join(at, 'files', 'queue.csv')), 'files/queue.csv is missing'],
  ['a file too many', (at) => writeFile(join(at, 'files', 'x.csv'), ''), 'files/x.csv is not of this run'],
  ['a changed e-mail', (at) => appendFile(join(at, 'mail.html'), '!'), 'mail.html has changed'],
  ['a changed message', (at) => appendFile(join(at, message), '!'), `${message} has changed`],
  ['a message without a hash', (at) => rm(join(at, `${message}.sha256`)), `${message} has no hash`],
  ['a missing message', (at) => rm(join(at, message)), `${message} is missing, though it was sent`],
  ['broken receipts', (at) => writeFile(join(at, 'receipts.json'), '{'), 'receipts.json cannot be read'],
  ['a broken attempt', (at) => writeFile(join(at, 'attempts', `${DELIVERY}.1.json`), '{'), 'cannot be read'],
  ['a missing manifest', (at) => rm(join(at, 'manifest.json')), 'manifest.json is missing'],
])('%s is a fault, named; nothing of the run is handed out', async (_, damage, fault) => {
  const { root, shelved } = await archived();
  expect(await verifyShelved(shelved)).toEqual([]);
  await damage(shelved.folder);
  expect(await verifyShelved(shelved)).toEqual([expect.stringContaining(fault)]);
  await expect(takeOut(shelved, join(root, 'out'))).rejects.toMatchObject({
    code: 'archive.corrupt',
    message: expect.stringContaining(fault),
  });
  expect(await readdir(root)).not.toContain('out');
});

test('a run is taken out whole, as it was sealed and sent, into an empty folder and no other', async () => {
  const { root, shelved } = await archived();
  const out = join(root, '..', 'out');
  const files = await takeOut(shelved, out);
  expect(files.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['files/KPIs 2026-W46.xlsx', 'mail.html', 'manifest.json', `messages/${DELIVERY}.eml`]),
  );
  for (const { name } of files) {
    expect(await readFile(join(out, name))).toEqual(await readFile(join(shelved.folder, name)));
  }
  await expect(takeOut(shelved, out)).rejects.toMatchObject({ code: 'usage.invalid' });
  expect((await readdir(join(root, '..'))).filter((name) => name.startsWith('.'))).toEqual([]);
});

interface Sweep {
  readonly days?: number;
  readonly at?: number;
  readonly open?: boolean;
  readonly state?: Exclude<DeliveryState, 'sending'>;
}
async function sweep(root: string, { days = 30, at = MADE_AT + 31 * DAY, open = false, state }: Sweep) {
  const ledger = memoryLedger();
  if (state !== undefined) {
    const row = { id: DELIVERY, run: RUN, org: 'acme', report: 'weekly-kpi', target: '0-email', recipient: 'a' };
    await ledger.open(row, 1, { state, epoch: 1, detail: null });
  }
  const said: (LogFields & { message: string })[] = [];
  const removed = await sweepArchive({
    root,
    daysOf: (org) => (org === 'acme' ? days : undefined),
    ledger,
    open: async () => open,
    clock: { now: () => at, sleep: async () => {} },
    log: { ...silentLog, info: (text, fields) => said.push({ ...fields, message: text }) },
    signal: new AbortController().signal,
  });
  return { removed, said };
}

test('a run leaves the archive when its days are over, once a day, and the log says so', async () => {
  const { root } = await archived();
  expect(await sweep(root, { at: MADE_AT + 29 * DAY })).toMatchObject({ removed: 0, said: [] });
  expect((await sweep(root, { at: MADE_AT + 29.9 * DAY })).removed).toBeUndefined();
  const { removed, said } = await sweep(root, {});
  expect(removed).toBe(1);
  expect(said).toMatchObject([{ run: RUN, org: 'acme', why: 'made 2026-11-16T07:00:05.000Z, kept for 30 days' }]);
  expect(await findShelved(root, RUN)).toBeUndefined();
  expect(await readdir(join(root, '.staging'))).toEqual([]);
});

test.each<readonly [string, Sweep, boolean]>([
  ['that has not ended', { open: true }, true],
  ['with a delivery that is unknown', { state: 'unknown' }, true],
  ['whose deliveries are settled', { state: 'sent' }, false],
  ['that is kept for ever', { days: Number.POSITIVE_INFINITY }, true],
])('a run %s %#', async (_, given, stays) => {
  const { root } = await archived();
  await sweep(root, given);
  expect((await findShelved(root, RUN)) !== undefined).toBe(stays);
});

test('an unknown delivery that the ledger has forgotten keeps the run, too', async () => {
  const { root, archive, sealed } = await archived();
  await archive.keepAttempt(sealed, { delivery: 'b'.repeat(32), epoch: 3, state: 'sending', detail: null, at: 1 });
  expect((await sweep(root, {})).removed).toBe(0);
  expect(await archive.find(ORDER)).toBeDefined();
});

test('a folder that nobody can read is left for a person to look at, and does not stop the sweep', async () => {
  const { root } = await archived();
  await mkdir(join(root, 'acme', 'a-report', 'e'.repeat(32)), { recursive: true });
  await writeFile(join(root, 'acme', 'a-report', 'e'.repeat(32), 'manifest.json'), '{');
  expect((await sweep(root, {})).removed).toBe(1);
  expect(await readdir(join(root, 'acme', 'a-report'))).toHaveLength(1);
});
