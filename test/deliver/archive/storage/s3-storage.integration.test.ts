import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { silentLog } from '../../../../src/base/log.ts';
import { createArchive } from '../../../../src/deliver/archive/create-archive.ts';
import { applyRetention } from '../../../../src/deliver/archive/retention.ts';
import { runProblems } from '../../../../src/deliver/archive/verify/verify-run.ts';
import { type DeliverInput, deliver } from '../../../../src/deliver/deliver.ts';
import type { Ledger } from '../../../../src/deliver/ledger/ledger.ts';
import type { Mailer } from '../../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { archiveProbe } from '../../../../src/services/deployment/storage-health.ts';
import { archiveUrl, bucketStorage } from '../../../support/archives.ts';
import { Crash, type CrashPlan, crashing } from '../../../support/crash.ts';
import {
  definitionWith,
  folderFor,
  MAIL,
  manifestOf,
  NO_SECRETS,
  ORDER,
  RUN,
  SETTINGS,
  sealedRun,
  writeArtifact,
} from '../../../support/delivery-case.ts';
import { memoryLedger } from '../../../support/memory-ledger.ts';
import { type Fault, type S3Request, type S3Server, s3Server } from '../../../support/s3-server.ts';

const TO = ['a@acme.example', 'b@acme.example'];

async function aStore(): Promise<S3Server> {
  const store = await s3Server();
  onTestFinished(() => store.close());
  return store;
}

/** A process on its own machine. */
async function worker(store: S3Server, silenceMs?: number) {
  const root = await folderFor(onTestFinished);
  const storage = bucketStorage(archiveUrl(store, join(root, 'staging')), silenceMs);
  onTestFinished(() => storage.close());
  const archive = createArchive(storage, systemClock);
  const seal = async (content: string) => {
    const staged = await archive.stage(RUN);
    const artifact = await writeArtifact(staged, 'queue.csv', content);
    const sealed = await archive.publish(staged, manifestOf([artifact]), [artifact], MAIL);
    return readFile(sealed.artifacts[0]!.path, 'utf8');
  };
  return { root, storage, archive, seal };
}

const verified = async ({ storage }: Awaited<ReturnType<typeof worker>>): Promise<readonly string[]> => {
  const found = await storage.find(RUN);
  return found === undefined ? ['not there'] : runProblems(found);
};

/** The store is unreachable from the n-th request on. `when`: whether that request is still carried out. */
const diesAt =
  (at: number, when: Fault['when']) =>
  (store: S3Server): void => {
    const from = store.requests.length;
    store.fault = () => {
      const mine = store.requests.length - from - 1;
      if (mine < at) return undefined;
      return { when: mine === at ? when : 'before', how: 'reset' };
    };
  };

test('a crash between any two requests leaves a complete run or none, and the next worker completes it', async () => {
  const whole = await aStore();
  const first = await worker(whole);
  expect(await first.seal('of the first')).toBe('of the first');
  const requests = whole.requests.length;
  expect(requests).toBeGreaterThanOrEqual(6);
  let kept = 0;
  for (let at = 0; at < requests; at += 1) {
    for (const when of ['before', 'after'] as const) {
      const because = `${when} ${at}`;
      const store = await aStore();
      diesAt(at, when)(store);
      const dying = (await worker(store)).seal('of the first');
      // Publishing failed, or the lost reply was not needed any more.
      const said = await dying.catch((error: unknown) => error);
      if (said !== 'of the first')
        expect(said, because).toMatchObject({ code: expect.stringMatching(/^archive\.un/), retryable: true });
      store.fault = () => undefined;
      const sealedAlready = [...store.objects.keys()].some((key) => key.endsWith('manifest.json'));
      const next = await worker(store);
      const found = await next.archive.find(ORDER);
      expect(found !== undefined, because).toBe(sealedAlready);
      expect(await next.seal('of the second'), because).toBe(sealedAlready ? 'of the first' : 'of the second');
      expect(await verified(next), because).toEqual([]);
      if (sealedAlready) kept += 1;
    }
  }
  expect(kept).toBeGreaterThan(0);
});

test.each([500, 503])('publishing succeeds if each request gets the reply %i once', async (status) => {
  const store = await aStore();
  const seen = new Set<string>();
  store.fault = ({ method, key, query }) => {
    const request = `${method} ${key.split('/').at(-1)} ${query.get('prefix')}`;
    if (seen.has(request)) return undefined;
    seen.add(request);
    return { when: 'before', how: { status, code: status === 503 ? 'SlowDown' : 'InternalError' } };
  };
  const one = await worker(store);
  expect(await one.seal('all the same')).toBe('all the same');
  expect(await verified(one)).toEqual([]);
});

test('publishing recognizes its own manifest after a lost reply', async () => {
  const store = await aStore();
  let lost = 0;
  store.fault = ({ method, key }) =>
    method === 'PUT' && key.endsWith('manifest.json') && lost++ === 0 ? { when: 'after', how: 'reset' } : undefined;
  const one = await worker(store);
  expect(await one.seal('ours')).toBe('ours');
  expect(lost).toBeGreaterThan(1);
  expect(await verified(one)).toEqual([]);
});

test('a slow store is waited for, a silent one is not', async () => {
  const store = await aStore();
  store.delayMs = 120;
  expect(await (await worker(store, 1_000)).seal('slow')).toBe('slow');
  store.fault = () => ({ when: 'before', how: 'hang' });
  await expect((await worker(store, 200)).archive.find(ORDER)).rejects.toMatchObject({
    code: 'archive.unreachable',
    retryable: true,
    next: expect.stringContaining('docket doctor'),
  });
});

test.each([
  ['ignores the condition', false],
  ['refuses the condition', 'refuse'],
] as const)('a store that %s keeps the first run, and its probe reports the problem', async (_, conditional) => {
  const store = await aStore();
  store.conditional = conditional;
  const [one, two] = [await worker(store), await worker(store)];
  expect(await one.seal('first')).toBe('first');
  expect(await two.seal('second')).toBe('first');
  expect(await verified(two)).toEqual([]);
  expect(await one.storage.probe()).toMatchObject({ ok: false, detail: expect.stringContaining('If-None-Match') });
  expect([...store.objects.keys()].filter((key) => key.includes('doctor'))).toEqual([]);
});

const refusing = (status: number, code: string): Fault => ({ when: 'before', how: { status, code } });

test.each<readonly [string, Fault, string]>([
  ['another secret', refusing(403, 'SignatureDoesNotMatch'), 'SignatureDoesNotMatch'],
  ['a bucket that is gone', refusing(404, 'NoSuchBucket'), 'NoSuchBucket'],
  ['nobody there', { when: 'before', how: 'reset' }, 'ECONNRESET'],
])('%s causes an error with a next step and without secrets', async (_, fault, what) => {
  const store = await aStore();
  store.fault = () => fault;
  const { archive, storage } = await worker(store);
  for (const ask of [() => archive.find(ORDER), () => storage.probe(), () => storage.find(RUN)]) {
    const error: unknown = await ask().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: expect.stringMatching(/^archive\.un/),
      message: expect.stringContaining(what),
      where: 's3://reports/kept/here',
    });
    expect(error).not.toHaveProperty('cause');
    expect(inspect(error, { depth: 9 })).not.toMatch(/AKIDTEST|test\/secret/);
  }
});

test('an incomplete upload is removed after a day, and not before', async () => {
  const store = await aStore();
  const from = Date.parse('2026-11-16T07:00:00.000Z');
  store.now = () => from;
  diesAt(2, 'after')(store);
  const { seal, storage } = await worker(store);
  await seal('never ends').catch(() => {});
  store.fault = () => undefined;
  expect([...store.objects.keys()].every((key) => !key.endsWith('manifest.json'))).toBe(true);
  const swept = async (now: number) => {
    await applyRetention({
      storage,
      daysOf: () => 30,
      ledger: memoryLedger(),
      isOpen: async () => false,
      clock: { now: () => now, sleep: async () => {} },
      log: silentLog,
      signal: new AbortController().signal,
    });
    return [...store.objects.keys()].filter((key) => key.includes(RUN)).length;
  };
  expect(await swept(from + 3_600_000)).toBeGreaterThan(0);
  expect(await swept(from + 25 * 3_600_000)).toBe(0);
});

test('a directory archive can be copied into a bucket and read there', async () => {
  const root = await folderFor(onTestFinished);
  const { archive: old, published: sealed } = await sealedRun(root);
  await old.putAttempt(sealed, { delivery: 'a'.repeat(32), epoch: 1, state: 'sent', detail: null, at: 1 });
  const store = await aStore();
  const base = join(root, 'archive');
  for (const entry of await readdir(base, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile()) continue;
    store.objects.set(`kept/here/${path.slice(base.length + 1)}`, { bytes: await readFile(path), headers: {} });
  }
  const one = await worker(store);
  const found = (await one.archive.find(ORDER))!;
  expect(found.manifest).toEqual((await old.find(ORDER))!.manifest);
  expect(await readFile(found.artifacts[1]!.path, 'utf8')).toBe('alerts\r\n3\r\n');
  expect((await one.archive.getArchivedStates(found)).get('a'.repeat(32))).toMatchObject({ state: 'sent' });
  expect(await verified(one)).toEqual([]);
});

/** A run archived in this bucket, and the input for delivering it with a new worker. */
async function aRun() {
  const store = await aStore();
  const home = await worker(store);
  const { published } = await sealedRun(home.root, undefined, home.archive);
  const got = new Map<string, number>();
  const mailer: Mailer = {
    confirmsFirst: true,
    send: async ({ to }, _, __, fence) => {
      const refused = await fence?.confirm().catch((error: Error) => error);
      if (refused) return { kind: 'deferred', response: refused.message, server: false };
      got.set(to, (got.get(to) ?? 0) + 1);
      return { kind: 'accepted', response: '250 Ok' };
    },
    close: async () => {},
  };
  const input = (ledger: Ledger): DeliverInput => ({
    order: ORDER,
    definition: definitionWith([{ email: { to: TO, attach: ['csv'] } }]),
    settings: SETTINGS,
    secrets: NO_SECRETS,
    published,
    mail: { mailer, from: 'reports@docket.example' },
    ledger,
    archive: home.archive,
    clock: { ...systemClock, sleep: async () => {} },
    signal: new AbortController().signal,
    observe: () => {},
    workingDirectory: home.root,
  });
  return { store, home, mailer, got, input };
}

test('a crash at any step with a lost ledger causes no duplicate', async () => {
  const once = async (plan: CrashPlan | undefined) => {
    const { got, input, mailer } = await aRun();
    const { guard, calls } = crashing(plan);
    const given = input(guard(memoryLedger()));
    const first = deliver({
      ...given,
      archive: guard(given.archive),
      mail: { mailer: guard(mailer), from: 'reports@docket.example' },
    });
    if (plan === undefined) await first;
    else await expect(first).rejects.toBeInstanceOf(Crash);
    const { receipts } = await deliver(input(memoryLedger()));
    // The ledger is lost again after everything is done.
    expect((await deliver(input(memoryLedger()))).receipts).toEqual(receipts);
    return { receipts, got, calls: calls() };
  };
  const { calls: steps } = await once(undefined);
  expect(steps).toEqual(expect.arrayContaining(['getArchivedStates', 'begin', 'putAttempt', 'send', 'settle']));
  const unknown = new Set<string>();
  for (const [at, step] of steps.entries()) {
    for (const when of ['before', 'after'] as const) {
      const { receipts, got } = await once({ at, when });
      for (const { recipient, state } of receipts) {
        const because = `${when} ${step} (${at}): ${recipient} is ${state}`;
        expect(['sent', 'unknown'], because).toContain(state);
        if (state === 'unknown') unknown.add(`${when} ${step}`);
        if (state === 'sent') expect(got.get(recipient), because).toBe(1);
        else expect(got.get(recipient) ?? 0, because).toBeLessThanOrEqual(1);
      }
    }
  }
  // A message may have been sent if it is archived, or if its attempt has begun and has no recorded end.
  const expected = /putMessage|begin|putAttempt|send|find|settle/;
  for (const place of unknown) expect(place).toMatch(expected);
});

const ofAttempts = ({ method, key }: S3Request): boolean => method === 'PUT' && key.includes('/attempts/');

test.each<readonly [string, Fault, passes: boolean]>([
  ['does not answer', { when: 'before', how: 'reset' }, true],
  ['answers 500', { when: 'before', how: { status: 500, code: 'InternalError' } }, true],
  ['answers 503', { when: 'before', how: { status: 503, code: 'SlowDown' } }, true],
  ['lets nobody in', { when: 'before', how: { status: 403, code: 'AccessDenied' } }, false],
  ['writes and loses its answer', { when: 'after', how: 'reset' }, true],
])('nothing is sent while the bucket %s, and everything afterwards', async (_, fault, passes) => {
  const { store, got, input } = await aRun();
  const ledger = memoryLedger();
  store.fault = (request) => (ofAttempts(request) ? fault : undefined);
  await expect(deliver(input(ledger))).rejects.toMatchObject({
    code: 'archive.unwritable',
    retryable: true,
    transient: passes,
  });
  expect(got.size).toBe(0);
  expect((await ledger.list(ORDER.id)).map(({ state }) => state)).toEqual(['pending', 'pending']);
  store.fault = () => undefined;
  expect((await deliver(input(ledger))).receipts.map(({ state }) => state)).toEqual(['sent', 'sent']);
  expect([...got.values()]).toEqual([1, 1]);
});

test('a message that is resent is compared with the earlier one', async () => {
  const { store, home, input } = await aRun();
  const reads = () =>
    store.requests.filter(({ method, key }) => method === 'GET' && key.includes('/attempts/')).map(({ key }) => key);
  const { receipts } = await deliver(input(memoryLedger()));
  expect(receipts.map(({ state }) => state)).toEqual(['sent', 'sent']);
  expect(reads()).toEqual([]);
  const { published } = input(memoryLedger());
  const [first = ''] = receipts.map(({ delivery }) => delivery);
  expect(await home.archive.getMessage(published, first)).toBeDefined();
  expect(reads()).toHaveLength(2);
  expect(reads().filter((key) => !key.includes(first))).toEqual([]);
});

test('the probe writes a single object to check write access', async () => {
  const store = await aStore();
  const { storage } = await worker(store);
  const { probe, intervalMs } = archiveProbe(storage, systemClock);
  expect(intervalMs).toBe(300_000);
  await probe();
  await probe();
  expect(store.requests.map(({ method, key }) => [method, key])).toEqual([
    ['PUT', 'kept/here/.readiness'],
    ['PUT', 'kept/here/.readiness'],
  ]);
  store.fault = () => refusing(403, 'AccessDenied');
  await expect(probe()).rejects.toMatchObject({ code: 'archive.unwritable' });
});

test('the ledger gets the result even if the bucket fails after a send', async () => {
  const { store, got, input } = await aRun();
  const ledger = memoryLedger();
  store.fault = ({ method, key }) =>
    method === 'PUT' && key.endsWith('.end.json') ? { when: 'before', how: 'reset' } : undefined;
  expect((await deliver(input(ledger))).receipts.map(({ state }) => state)).toEqual(['sent', 'sent']);
  // The recorded end is lost. After the ledger is lost as well, a person has to decide, and nothing is sent.
  const { receipts } = await deliver(input(memoryLedger()));
  expect(receipts.map(({ state }) => state)).toEqual(['unknown', 'unknown']);
  expect([...got.values()]).toEqual([1, 1]);
});
