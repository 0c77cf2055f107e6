import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type LogFields, silentLog } from '../../../../src/base/log.ts';
import { sha256 } from '../../../../src/base/sha256.ts';
import { DAY_MS } from '../../../../src/base/time.ts';
import { exportRun } from '../../../../src/deliver/archive/export.ts';
import { applyRetention } from '../../../../src/deliver/archive/retention.ts';
import type { ArchiveStorage, StoredRun } from '../../../../src/deliver/archive/storage/archive-storage.ts';
import { verifyRunFiles } from '../../../../src/deliver/archive/verify/verify-run.ts';
import type { DeliveryState } from '../../../../src/deliver/ledger/ledger.ts';
import { ARCHIVES, sealIn, type TestArchive } from '../../../support/archives.ts';
import { ORDER, RUN } from '../../../support/delivery-case.ts';
import { memoryLedger } from '../../../support/memory-ledger.ts';

test('foreign folders are not listed as organizations, runs or foreign files', async () => {
  const on = await ARCHIVES[0]![1](onTestFinished);
  await sealIn(on);
  for (const stranger of ['lost+found', 'old backups/a/b', `${ORDER.org}/my notes/c`])
    await mkdir(join(on.storage.location, stranger), { recursive: true });
  expect(await on.storage.listOrgs()).toEqual([ORDER.org]);
  const runs: string[] = [];
  for await (const { id } of on.storage.listRuns()) runs.push(id);
  expect(runs).toEqual([RUN]);
  expect(await on.storage.find('b')).toBeUndefined();
  expect(await on.storage.listForeignFiles()).toEqual([]);
});

const DELIVERY = 'a'.repeat(32);
const MADE_AT = Date.parse('2026-11-16T07:00:05.000Z');

const MESSAGE = 'From: a\r\n\r\nHello';
const messageName = `messages/${DELIVERY}.${sha256(MESSAGE).slice(0, 16)}.eml`;
/** Each kind of damage with the finding that it causes, as `code path`. */
const DAMAGES: readonly (readonly [string, (on: TestArchive) => Promise<unknown>, string])[] = [
  ['a changed file', (on) => on.append('files/queue.csv', '!'), 'file.changed files/queue.csv'],
  ['a missing file', (on) => on.remove('files/queue.csv'), 'file.missing files/queue.csv'],
  ['an additional file', (on) => on.write('files/x.csv', ''), 'file.added files/x.csv'],
  ['a changed e-mail', (on) => on.append('mail.html', '!'), 'file.changed mail.html'],
  ['a missing e-mail', (on) => on.remove('mail.txt'), 'file.missing mail.txt'],
  ['a changed message', (on) => on.append(messageName, '!'), `message.changed ${messageName}`],
  ['a message without a hash', (on) => on.remove(`${messageName}.sha256`), `message.hash_missing ${messageName}`],
  ['a missing message', (on) => on.remove(messageName), `message.missing messages/${DELIVERY}`],
  [
    'a missing message and hash',
    async (on) => {
      await on.remove(messageName);
      await on.remove(`${messageName}.sha256`);
    },
    `message.missing messages/${DELIVERY}`,
  ],
  [
    'a message that was changed with its hash',
    async (on) => {
      await on.append(messageName, '!');
      await on.write(`${messageName}.sha256`, `${sha256(`${MESSAGE}!`)}  ${messageName}\n`);
    },
    `message.changed ${messageName}`,
  ],
  [
    'another message in place of the sent one',
    async (on) => {
      const [other, hash] = ['Other', sha256('Other')];
      const name = `messages/${DELIVERY}.${hash.slice(0, 16)}.eml`;
      for (const old of [messageName, `${messageName}.sha256`]) await on.remove(old);
      await on.write(name, other);
      await on.write(`${name}.sha256`, `${hash}  ${name}\n`);
    },
    `message.missing messages/${DELIVERY}`,
  ],
  ['invalid receipts', (on) => on.write('receipts.json', '{'), 'paper.unreadable receipts.json'],
  [
    'an invalid start of an attempt',
    (on) => on.write(`attempts/${DELIVERY}.1.json`, '{'),
    `paper.unreadable attempts/${DELIVERY}.1.json`,
  ],
  [
    'an invalid result of an attempt',
    (on) => on.write(`attempts/${DELIVERY}.1.end.json`, '{'),
    `paper.unreadable attempts/${DELIVERY}.1.end.json`,
  ],
  ['an invalid manifest', (on) => on.write('manifest.json', '{'), 'manifest.unreadable manifest.json'],
  ['a missing manifest', (on) => on.remove('manifest.json'), 'manifest.missing manifest.json'],
];

const findingsOf = async (run: StoredRun): Promise<readonly string[]> =>
  (await verifyRunFiles(run)).map(({ code, path }) => `${code} ${path}`);

interface Sweep {
  readonly days?: number;
  readonly at?: number;
  readonly open?: boolean;
  readonly state?: Exclude<DeliveryState, 'sending'>;
}
async function sweep(storage: ArchiveStorage, { days = 30, at = MADE_AT + 31 * DAY_MS, open = false, state }: Sweep) {
  const ledger = memoryLedger();
  if (state !== undefined) {
    const row = { id: DELIVERY, run: RUN, org: 'acme', report: 'weekly-kpi', target: '0-email', recipient: 'a' };
    await ledger.open(row, 1, { state, epoch: 1, detail: null });
  }
  const said: (LogFields & { message: string })[] = [];
  const removed = await applyRetention({
    storage,
    daysOf: (org) => (org === 'acme' ? days : undefined),
    ledger,
    isOpen: async () => open,
    clock: { now: () => at, sleep: async () => {} },
    log: { ...silentLog, info: (text, fields) => said.push({ ...fields, message: text }) },
    signal: new AbortController().signal,
  });
  return { removed, said };
}

const names = async (storage: ArchiveStorage, org?: string): Promise<string[]> => {
  const found: string[] = [];
  for await (const run of storage.listRuns(org)) found.push(`${run.org}/${run.report}/${run.id}`);
  return found;
};

describe.each(ARCHIVES)('an archive %s', (_, open) => {
  /** A run that was sent: files, e-mail, a message and its receipt. */
  async function archived() {
    const on = await open(onTestFinished);
    if (on.store !== undefined) on.store.now = () => MADE_AT;
    const { archive } = on;
    const sealed = await sealIn(on);
    await archive.putMessage(sealed, DELIVERY, Buffer.from(MESSAGE));
    const receipt = { delivery: DELIVERY, target: '0-email', recipient: 'a@acme.example', detail: '250 Ok' };
    const attempt = { delivery: DELIVERY, epoch: 1, detail: '250 Ok', at: 1, message: sha256(MESSAGE) } as const;
    await archive.putAttempt(sealed, { ...attempt, state: 'sending' });
    await archive.putAttempt(sealed, { ...attempt, state: 'sent' });
    await archive.putReceipts(sealed, [{ ...receipt, state: 'sent', messageId: '<a@docket.example>' }]);
    // Another process reads it, possibly on another machine.
    const { storage } = await on.another();
    const shelved = await storage.find(RUN);
    if (shelved === undefined) throw new Error('not shelved');
    return { ...on, storage, shelved, sealed };
  }

  test('finds a run by its id and lists runs by organization', async () => {
    const { storage, shelved } = await archived();
    expect(shelved).toMatchObject({ id: RUN, org: 'acme', report: 'weekly-kpi' });
    expect(shelved.files.location).toMatch(new RegExp(`acme/weekly-kpi/${RUN}$`));
    expect(await storage.find('f'.repeat(32))).toBeUndefined();
    expect(await names(storage)).toEqual([`acme/weekly-kpi/${RUN}`]);
    expect(await names(storage, 'acme')).toEqual([`acme/weekly-kpi/${RUN}`]);
    expect(await names(storage, 'rival')).toEqual([]);
  });

  test.each(DAMAGES)('reports %s and refuses to export the run', async (_, damage, finding) => {
    const { root, shelved, ...on } = await archived();
    expect(await findingsOf(shelved)).toEqual([]);
    await damage({ root, ...on });
    const again = (await on.another()).storage.runFiles(shelved);
    expect(await findingsOf({ ...shelved, files: again })).toEqual([finding]);
    await expect(exportRun({ ...shelved, files: again }, join(root, 'out'))).rejects.toMatchObject({
      code: 'archive.corrupt',
    });
    expect(await readdir(root)).not.toContain('out');
  });

  test('reports nothing about a run during its delivery', async () => {
    const { shelved, archive, sealed } = await archived();
    const second = { delivery: 'b'.repeat(32), epoch: 1, state: 'sending', detail: null, at: 1 } as const;
    const { files } = shelved;
    let looks = 0;
    /** A delivery begins right after the names were listed. */
    const busy = async () => {
      const names = await files.list();
      looks += 1;
      const message = await archive.putMessage(sealed, second.delivery, Buffer.from(`look ${looks}`));
      await archive.putAttempt(sealed, { ...second, epoch: looks, message });
      return names;
    };
    expect(await findingsOf({ ...shelved, files: { ...files, list: busy } })).toEqual([]);
    expect(looks).toBeGreaterThan(1);
    expect(await findingsOf(shelved)).toEqual([]);
  });

  test('reports nothing about a hash file without its message', async () => {
    const { shelved, write } = await archived();
    const name = `messages/${'b'.repeat(32)}.${'0'.repeat(16)}.eml`;
    await write(`${name}.sha256`, `${'0'.repeat(64)}  ${name}\n`);
    expect(await findingsOf(shelved)).toEqual([]);
  });

  test('refuses to export a run with an unsafe file name', async () => {
    const { root, shelved, ...on } = await archived();
    await on.write('files/a\tb.csv', 'x');
    await expect(exportRun(shelved, join(root, 'out'))).rejects.toMatchObject({
      code: 'archive.corrupt',
      message: expect.stringContaining('"files/a\\tb.csv"'),
    });
    expect(await readdir(root)).not.toContain('out');
  });

  test('exports a run only into an empty folder', async () => {
    const { root, shelved } = await archived();
    const out = join(root, 'out');
    const files = await exportRun(shelved, out);
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
    for (const { name } of files) expect(await readFile(join(out, name))).toEqual(await shelved.files.get(name));
    await expect(exportRun(shelved, out)).rejects.toMatchObject({ code: 'usage.invalid' });
    expect((await readdir(root)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  test('deletes and logs an expired run, once a day', async () => {
    const { storage, tree, staged } = await archived();
    expect(await sweep(storage, { at: MADE_AT + 29 * DAY_MS })).toMatchObject({ removed: 0, said: [] });
    expect((await sweep(storage, { at: MADE_AT + 29.9 * DAY_MS })).removed).toBeUndefined();
    const { removed, said } = await sweep(storage, {});
    expect(removed).toBe(1);
    expect(said).toMatchObject([{ run: RUN, org: 'acme', why: 'made 2026-11-16T07:00:05.000Z, kept for 30 days' }]);
    expect(await storage.find(RUN)).toBeUndefined();
    expect(await tree()).toEqual(['.swept']);
    expect((await staged()).filter((name) => name.includes('removed'))).toEqual([]);
  });

  test.each<readonly [string, Sweep, boolean]>([
    ['that has not ended', { open: true }, true],
    ['with a delivery that is unknown', { state: 'unknown' }, true],
    ['whose deliveries are settled', { state: 'sent' }, false],
    ['that is kept for ever', { days: Number.POSITIVE_INFINITY }, true],
  ])('keeps or deletes an expired run %s (%#)', async (_what, given, stays) => {
    const { storage } = await archived();
    await sweep(storage, given);
    expect((await storage.find(RUN)) !== undefined).toBe(stays);
  });

  test('keeps a run with an unknown delivery that the ledger has lost', async () => {
    const { storage, archive, sealed } = await archived();
    await archive.putAttempt(sealed, { delivery: 'b'.repeat(32), epoch: 3, state: 'sending', detail: null, at: 1 });
    expect((await sweep(storage, {})).removed).toBe(0);
    expect(await archive.find(ORDER)).toBeDefined();
  });

  test('keeps an unreadable run and continues', async () => {
    const { storage, write, tree, ...on } = await archived();
    const other = (path: string) => path.replace(RUN, 'e'.repeat(32));
    if (on.store === undefined) await write(`../${'e'.repeat(32)}/manifest.json`, '{');
    else {
      const [key = ''] = [...on.store.objects.keys()].filter((each) => each.endsWith('manifest.json'));
      on.store.objects.set(other(key), { bytes: Buffer.from('{'), headers: {}, at: MADE_AT });
    }
    expect((await sweep(storage, {})).removed).toBe(1);
    expect(await tree()).toEqual(['.swept', `acme/weekly-kpi/${'e'.repeat(32)}/manifest.json`]);
  });

  test('keeps foreign files', async () => {
    const { storage, tree, ...on } = await archived();
    if (on.store === undefined) await on.write('../../../notes.txt', 'mine');
    else on.store.objects.set('kept/here/notes.txt', { bytes: Buffer.from('mine'), headers: {}, at: 0 });
    expect((await sweep(storage, {})).removed).toBe(1);
    expect(await tree()).toEqual(['.swept', 'notes.txt']);
  });

  test('reports whether it is usable, and leaves nothing behind', async () => {
    const { storage, tree } = await archived();
    const before = await tree();
    expect(await storage.probe()).toMatchObject({ ok: true, detail: expect.stringContaining('can be written') });
    expect(await tree()).toEqual(before);
  });
});
