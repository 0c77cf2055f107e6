import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DocketError } from '../../../src/base/error.ts';
import { silentLog } from '../../../src/base/log.ts';
import { done, fail, snooze } from '../../../src/base/outcome.ts';
import { Secret } from '../../../src/base/secrets/secret.ts';
import { directoryArchive } from '../../../src/deliver/archive/inline-archive.ts';
import { deliver } from '../../../src/deliver/deliver.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import { smtpMailer } from '../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { createMailCatcher } from '../../../src/demo/mail-catcher.ts';
import { createOrphanRequeuer } from '../../../src/queue/jobs/requeue-orphans.ts';
import { type Execute, startWorker } from '../../../src/queue/jobs/worker.ts';
import { createIndexRepair } from '../../../src/queue/runs/run-index-repair.ts';
import { redisRunStore } from '../../../src/queue/runs/run-store.ts';
import { type RunOrder, TERMINAL_STATES } from '../../../src/run/run-record.ts';
import {
  definitionWith,
  folderFor,
  MAIL,
  manifestOf,
  NO_SECRETS,
  SETTINGS,
  writeArtifact,
} from '../../support/delivery-case.ts';
import { anOrder, deferred, openQueueHarness } from '../../support/queue-harness.ts';

const RUNS = 30;
const TO = 'a@acme.example';

/** Thirty queued runs, workers that deliver them to a mail server, and an archive. Nothing is faked. */
async function world() {
  const harness = await openQueueHarness();
  onTestFinished(() => harness.close());
  const folder = await folderFor(onTestFinished);
  const mail = await createMailCatcher(join(folder, 'mailbox'));
  onTestFinished(() => mail.close());
  const mailer = smtpMailer(new Secret(mail.url));
  onTestFinished(() => mailer.close());
  const archive = directoryArchive(join(folder, 'archive'));
  const ledger = redisLedger(harness.worker, { prefix: `${harness.prefix}:`, ttlDays: 1 });
  const store = redisRunStore(harness.worker, { prefix: harness.prefix, keepDays: 40 });
  const definition = definitionWith([{ email: { to: [TO] } }]);
  const seal = async (order: RunOrder) => {
    const staged = await archive.stage(order.id);
    const artifacts = [await writeArtifact(staged, 'queue.csv', 'alerts\r\n3\r\n')];
    return archive.publish(staged, manifestOf(artifacts, order.id), artifacts, MAIL);
  };
  const slept = new Set<string>();
  const started = new Set<string>();
  const fifth = deferred();
  const execute: Execute = async (order, { signal, observe }) => {
    started.add(order.id);
    if (started.size === 5) fifth.tell();
    // Every third run snoozes first, so that delayed jobs exist as well.
    if (order.id.charCodeAt(0) % 3 === 0 && !slept.has(order.id)) {
      slept.add(order.id);
      return snooze(Date.now() + 500, 'no token');
    }
    const published = (await archive.find(order)) ?? (await seal(order));
    const { receipts, retryable } = await deliver({
      order,
      definition,
      settings: SETTINGS,
      secrets: NO_SECRETS,
      published,
      mail: { mailer, from: 'reports@docket.example' },
      ledger,
      archive,
      clock: systemClock,
      signal,
      observe,
    });
    if (retryable) return fail(new DocketError('deliver.target_failed', 'Not delivered yet.'));
    return done({ state: 'done', folder: published.folder, files: [], calls: [], incomplete: [], receipts });
  };
  const work = () => {
    const worker = startWorker({
      connection: harness.worker,
      prefix: harness.prefix,
      store,
      execute,
      clock: systemClock,
      log: silentLog,
      concurrency: 4,
      backoff: () => 50,
      lock: { durationMs: 1_000, stalledIntervalMs: 500 },
    });
    onTestFinished(() => worker.close(0));
  };
  const orders: RunOrder[] = [];
  for (let index = 0; index < RUNS; index += 1) {
    const order = anOrder({ org: 'acme', report: 'weekly-kpi', createdAt: Date.now() - 60_000 + index });
    orders.push(order);
    await harness.runs.open(order);
    await harness.queue.enqueue(order);
  }
  const records = () => Promise.all(orders.map(({ id }) => harness.runs.get(id)));
  const mails = async () =>
    Promise.all(
      mail.messages().map(async ({ path }) => /^x-docket-run: (\S+)/im.exec(await readFile(path, 'latin1'))?.[1] ?? ''),
    );
  return { ...harness, orders, work, fifth: fifth.promise, records, mails };
}

/** Does what a scheduler does every minute, until these runs have ended. */
async function reconcileUntilEnded(own: Awaited<ReturnType<typeof world>>): Promise<void> {
  const { runs, queue, producer, prefix, records } = own;
  const repair = createIndexRepair(producer, { prefix, keepDays: 40, log: silentLog });
  const look = createOrphanRequeuer({ runs, queue, clock: systemClock, log: silentLog });
  await expect
    .poll(
      async () => {
        await repair();
        await look();
        return (await records())
          .filter((run) => run !== undefined && !TERMINAL_STATES.has(run.state))
          .map((run) => run?.state);
      },
      // Longer than a worker's lock: the requeuer leaves a run alone while a worker executes it.
      { interval: 1_100 },
    )
    .toEqual([]);
}

test.each([20_261, 20_262, 20_263, 20_264])(
  'every recorded run ends and none is delivered twice after half of all keys are lost (seed %i)',
  async (seed) => {
    const own = await world();
    own.work();
    await own.fifth;
    const random = xoroshiro128plus(seed);
    const keys = (await own.producer.keys(`${own.prefix}*`)).sort();
    const lost = keys.filter(() => (random.next() & 1) === 1);
    expect(lost.length).toBeGreaterThan(RUNS / 2);
    await own.producer.del(...lost);
    await reconcileUntilEnded(own);
    const known = (await own.records()).flatMap((run) => run ?? []);
    const mails = await own.mails();
    expect(mails.length).toBe(new Set(mails).size);
    for (const { id, state, deliveries } of known) {
      expect(state).toBe('done');
      // `unknown`: the message was being sent when the keys were lost, and a person decides.
      const said = deliveries.map((delivery) => delivery.state);
      if (mails.includes(id)) expect(['sent', 'unknown']).toContain(said[0]);
      else expect(said).toEqual(['unknown']);
    }
    expect(known.length).toBeGreaterThan(0);
  },
);

test.each(['prioritized', 'delayed', 'active', 'marker', 'meta'])(
  'every run is delivered after "%s" alone is lost',
  async (name) => {
    const own = await world();
    own.work();
    await own.fifth;
    await own.producer.del(`${own.prefix}:bull:runs:${name}`);
    await reconcileUntilEnded(own);
    expect((await own.mails()).sort()).toEqual(own.orders.map(({ id }) => id).sort());
  },
);

test('runs are found by their records after the index of unfinished runs and the list are lost', async () => {
  const own = await world();
  const { producer, prefix } = own;
  await producer.del(...['unfinished', 'index', 'index:acme', 'states:acme:queued'].map((key) => `${prefix}:${key}`));
  await producer.del(`${prefix}:bull:runs:prioritized`);
  own.work();
  await reconcileUntilEnded(own);
  expect((await own.mails()).sort()).toEqual(own.orders.map(({ id }) => id).sort());
});
