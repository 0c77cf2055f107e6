import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { LogFields } from '../../src/base/log.ts';
import { silentLog } from '../../src/base/log.ts';
import type { DeliveryState } from '../../src/deliver/ledger.ts';
import { memoryLedger } from '../../src/deliver/memory-ledger.ts';
import { sweepArchive } from '../../src/deliver/retention.ts';
import type { Shelf } from '../../src/deliver/shelf.ts';
import { takeOut } from '../../src/deliver/take-out.ts';
import { verifyShelved } from '../../src/deliver/verify-archive.ts';
import { ARCHIVES, sealIn, type TestArchive } from '../support/archives.ts';
import { ORDER, RUN } from '../support/delivery-case.ts';

test('folders that are no organization, report or run are left alone', async () => {
  const on = await ARCHIVES[0]![1](onTestFinished);
  await sealIn(on);
  for (const stranger of ['lost+found', 'old backups/a/b', `${ORDER.org}/my notes/c`])
    await mkdir(join(on.shelf.place, stranger), { recursive: true });
  expect(await on.shelf.orgs()).toEqual([ORDER.org]);
  const runs: string[] = [];
  for await (const { id } of on.shelf.runs()) runs.push(id);
  expect(runs).toEqual([RUN]);
  expect(await on.shelf.find('b')).toBeUndefined();
  expect(await on.shelf.strays()).toEqual([]);
});

const DELIVERY = 'a'.repeat(32);
const DAY = 86_400_000;
const MADE_AT = Date.parse('2026-11-16T07:00:05.000Z');

const MESSAGE = 'From: a\r\n\r\nHello';
const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const messageName = `messages/${DELIVERY}.${digestOf(MESSAGE).slice(0, 16)}.eml`;
const FAULTS: readonly (readonly [string, (on: TestArchive) => Promise<unknown>, string])[] = [
  ['a changed file', (on) => on.append('files/queue.csv', '!'), 'files/queue.csv has changed'],
  ['a missing file', (on) => on.remove('files/queue.csv'), 'files/queue.csv is missing'],
  ['a file too many', (on) => on.write('files/x.csv', ''), 'files/x.csv is not of this run'],
  ['a changed e-mail', (on) => on.append('mail.html', '!'), 'mail.html has changed'],
  ['a missing e-mail', (on) => on.remove('mail.txt'), 'mail.txt is missing'],
  ['a changed message', (on) => on.append(messageName, '!'), `${messageName} has changed`],
  ['a message without a hash', (on) => on.remove(`${messageName}.sha256`), `${messageName} has no hash`],
  ['a missing message', (on) => on.remove(messageName), `messages/${DELIVERY} is missing`],
  [
    'a message that is gone with its hash',
    async (on) => {
      await on.remove(messageName);
      await on.remove(`${messageName}.sha256`);
    },
    `messages/${DELIVERY} is missing`,
  ],
  [
    'a message that was changed with its hash',
    async (on) => {
      await on.append(messageName, '!');
      await on.write(`${messageName}.sha256`, `${digestOf(`${MESSAGE}!`)}  ${messageName}\n`);
    },
    `${messageName} has changed`,
  ],
  [
    'another message in the place of the one that was sent',
    async (on) => {
      const [other, digest] = ['Other', digestOf('Other')];
      const name = `messages/${DELIVERY}.${digest.slice(0, 16)}.eml`;
      for (const old of [messageName, `${messageName}.sha256`]) await on.remove(old);
      await on.write(name, other);
      await on.write(`${name}.sha256`, `${digest}  ${name}\n`);
    },
    `which attempt 1 sent: SHA-256 ${digestOf(MESSAGE)}`,
  ],
  ['broken receipts', (on) => on.write('receipts.json', '{'), 'receipts.json cannot be read'],
  ['a broken attempt', (on) => on.write(`attempts/${DELIVERY}.1.json`, '{'), 'cannot be read'],
  ['a broken end', (on) => on.write(`attempts/${DELIVERY}.1.end.json`, '{'), 'cannot be read'],
  ['a broken manifest', (on) => on.write('manifest.json', '{'), 'manifest.json cannot be read'],
  ['a missing manifest', (on) => on.remove('manifest.json'), 'manifest.json is missing'],
];

interface Sweep {
  readonly days?: number;
  readonly at?: number;
  readonly open?: boolean;
  readonly state?: Exclude<DeliveryState, 'sending'>;
}
async function sweep(shelf: Shelf, { days = 30, at = MADE_AT + 31 * DAY, open = false, state }: Sweep) {
  const ledger = memoryLedger();
  if (state !== undefined) {
    const row = { id: DELIVERY, run: RUN, org: 'acme', report: 'weekly-kpi', target: '0-email', recipient: 'a' };
    await ledger.open(row, 1, { state, epoch: 1, detail: null });
  }
  const said: (LogFields & { message: string })[] = [];
  const removed = await sweepArchive({
    shelf,
    daysOf: (org) => (org === 'acme' ? days : undefined),
    ledger,
    open: async () => open,
    clock: { now: () => at, sleep: async () => {} },
    log: { ...silentLog, info: (text, fields) => said.push({ ...fields, message: text }) },
    signal: new AbortController().signal,
  });
  return { removed, said };
}

const names = async (shelf: Shelf, org?: string): Promise<string[]> => {
  const found: string[] = [];
  for await (const run of shelf.runs(org)) found.push(`${run.org}/${run.report}/${run.id}`);
  return found;
};

describe.each(ARCHIVES)('%s', (_, open) => {
  /** A run that was sent: files, e-mail, a message, its receipt. */
  async function archived() {
    const on = await open(onTestFinished);
    if (on.store !== undefined) on.store.now = () => MADE_AT;
    const { archive } = on;
    const sealed = await sealIn(on);
    await archive.keepMessage(sealed, DELIVERY, Buffer.from(MESSAGE));
    const receipt = { delivery: DELIVERY, target: '0-email', recipient: 'a@acme.example', detail: '250 Ok' };
    const attempt = { delivery: DELIVERY, epoch: 1, detail: '250 Ok', at: 1, message: digestOf(MESSAGE) } as const;
    await archive.keepAttempt(sealed, { ...attempt, state: 'sending' });
    await archive.keepAttempt(sealed, { ...attempt, state: 'sent' });
    await archive.keepReceipts(sealed, [{ ...receipt, state: 'sent', messageId: '<a@docket.example>' }]);
    // Whoever looks comes later, and may sit elsewhere.
    const { shelf } = await on.another();
    const shelved = await shelf.find(RUN);
    if (shelved === undefined) throw new Error('not shelved');
    return { ...on, shelf, shelved, sealed };
  }

  test('finds a run by its id alone, and lists every run by organization', async () => {
    const { shelf, shelved } = await archived();
    expect(shelved).toMatchObject({ id: RUN, org: 'acme', report: 'weekly-kpi' });
    expect(shelved.box.place).toMatch(new RegExp(`acme/weekly-kpi/${RUN}$`));
    expect(await shelf.find('f'.repeat(32))).toBeUndefined();
    expect(await names(shelf)).toEqual([`acme/weekly-kpi/${RUN}`]);
    expect(await names(shelf, 'acme')).toEqual([`acme/weekly-kpi/${RUN}`]);
    expect(await names(shelf, 'rival')).toEqual([]);
  });

  test.each(FAULTS)('%s is a fault, named; nothing of the run is handed out', async (_what, damage, fault) => {
    const { root, shelved, ...on } = await archived();
    expect(await verifyShelved(shelved)).toEqual([]);
    await damage({ root, ...on });
    const again = (await on.another()).shelf.box(shelved);
    expect(await verifyShelved({ ...shelved, box: again })).toEqual([expect.stringContaining(fault)]);
    await expect(takeOut({ ...shelved, box: again }, join(root, 'out'))).rejects.toMatchObject({
      code: 'archive.corrupt',
      message: expect.stringContaining(fault),
    });
    expect(await readdir(root)).not.toContain('out');
  });

  test('a run that is being delivered has no fault, wherever it is at that moment', async () => {
    const { shelved, archive, sealed } = await archived();
    const second = { delivery: 'b'.repeat(32), epoch: 1, state: 'sending', detail: null, at: 1 } as const;
    const { box } = shelved;
    let looks = 0;
    /** A delivery begins as soon as somebody has listed the names. */
    const busy = async () => {
      const names = await box.names();
      looks += 1;
      const message = await archive.keepMessage(sealed, second.delivery, Buffer.from(`look ${looks}`));
      await archive.keepAttempt(sealed, { ...second, epoch: looks, message });
      return names;
    };
    expect(await verifyShelved({ ...shelved, box: { ...box, names: busy } })).toEqual([]);
    expect(looks).toBeGreaterThan(1);
    expect(await verifyShelved(shelved)).toEqual([]);
  });

  test('a process that died between a hash and its message has left no fault', async () => {
    const { shelved, write } = await archived();
    const name = `messages/${'b'.repeat(32)}.${'0'.repeat(16)}.eml`;
    await write(`${name}.sha256`, `${'0'.repeat(64)}  ${name}\n`);
    expect(await verifyShelved(shelved)).toEqual([]);
  });

  test('a file whose name could lead elsewhere, or draw on a terminal, is taken out nowhere', async () => {
    const { root, shelved, ...on } = await archived();
    await on.write('files/a\tb.csv', 'x');
    await expect(takeOut(shelved, join(root, 'out'))).rejects.toMatchObject({
      code: 'archive.corrupt',
      message: expect.stringContaining('it holds a file called "files/a\\tb.csv"'),
    });
    expect(await readdir(root)).not.toContain('out');
  });

  test('a run is taken out whole, as it was sealed and sent, into an empty folder and no other', async () => {
    const { root, shelved } = await archived();
    const out = join(root, 'out');
    const files = await takeOut(shelved, out);
    expect(files.map(({ name }) => name)).toEqual([
      `attempts/${DELIVERY}.1.end.json`,
      `attempts/${DELIVERY}.1.json`,
      'files/KPIs 2026-W46.xlsx',
      'files/queue.csv',
      'mail.html',
      'mail.txt',
      'manifest.json',
      messageName,
      `${messageName}.sha256`,
      'receipts.json',
    ]);
    for (const { name } of files) expect(await readFile(join(out, name))).toEqual(await shelved.box.read(name));
    await expect(takeOut(shelved, out)).rejects.toMatchObject({ code: 'usage.invalid' });
    expect((await readdir(root)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  test('a run leaves the archive when its days are over, once a day, and the log says so', async () => {
    const { shelf, tree, staged } = await archived();
    expect(await sweep(shelf, { at: MADE_AT + 29 * DAY })).toMatchObject({ removed: 0, said: [] });
    expect((await sweep(shelf, { at: MADE_AT + 29.9 * DAY })).removed).toBeUndefined();
    const { removed, said } = await sweep(shelf, {});
    expect(removed).toBe(1);
    expect(said).toMatchObject([{ run: RUN, org: 'acme', why: 'made 2026-11-16T07:00:05.000Z, kept for 30 days' }]);
    expect(await shelf.find(RUN)).toBeUndefined();
    expect(await tree()).toEqual(['.swept']);
    expect((await staged()).filter((name) => name.includes('removed'))).toEqual([]);
  });

  test.each<readonly [string, Sweep, boolean]>([
    ['that has not ended', { open: true }, true],
    ['with a delivery that is unknown', { state: 'unknown' }, true],
    ['whose deliveries are settled', { state: 'sent' }, false],
    ['that is kept for ever', { days: Number.POSITIVE_INFINITY }, true],
  ])('a run %s %#', async (_what, given, stays) => {
    const { shelf } = await archived();
    await sweep(shelf, given);
    expect((await shelf.find(RUN)) !== undefined).toBe(stays);
  });

  test('an unknown delivery that the ledger has forgotten keeps the run, too', async () => {
    const { shelf, archive, sealed } = await archived();
    await archive.keepAttempt(sealed, { delivery: 'b'.repeat(32), epoch: 3, state: 'sending', detail: null, at: 1 });
    expect((await sweep(shelf, {})).removed).toBe(0);
    expect(await archive.find(ORDER)).toBeDefined();
  });

  test('a run that nobody can read is left for a person to look at, and does not stop the sweep', async () => {
    const { shelf, write, tree, ...on } = await archived();
    const other = (path: string) => path.replace(RUN, 'e'.repeat(32));
    if (on.store === undefined) await write(`../${'e'.repeat(32)}/manifest.json`, '{');
    else {
      const [key = ''] = [...on.store.objects.keys()].filter((each) => each.endsWith('manifest.json'));
      on.store.objects.set(other(key), { bytes: Buffer.from('{'), headers: {}, at: MADE_AT });
    }
    expect((await sweep(shelf, {})).removed).toBe(1);
    expect(await tree()).toEqual(['.swept', `acme/weekly-kpi/${'e'.repeat(32)}/manifest.json`]);
  });

  test('what is not a run’s stays where it is', async () => {
    const { shelf, tree, ...on } = await archived();
    if (on.store === undefined) await on.write('../../../notes.txt', 'mine');
    else on.store.objects.set('kept/here/notes.txt', { bytes: Buffer.from('mine'), headers: {}, at: 0 });
    expect((await sweep(shelf, {})).removed).toBe(1);
    expect(await tree()).toEqual(['.swept', 'notes.txt']);
  });

  test('it says whether it can be used, and leaves nothing behind', async () => {
    const { shelf, tree } = await archived();
    const before = await tree();
    expect(await shelf.probe()).toMatchObject({ ok: true, detail: expect.stringContaining('can be written') });
    expect(await tree()).toEqual(before);
  });
});
