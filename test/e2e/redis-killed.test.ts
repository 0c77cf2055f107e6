import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { redisLedger } from '../../src/deliver/ledger/redis-ledger.ts';
import { DEFAULT_KEY_PREFIX, redisKeys } from '../../src/redis/keys.ts';
import { runId } from '../../src/run/run-order.ts';
import { TERMINAL_STATES } from '../../src/run/run-record.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { folderFor } from '../support/delivery-case.ts';
import { docket } from '../support/docket.ts';
import { freePort } from '../support/free-port.ts';
import { hourlyFarFromNow } from '../support/hourly-schedule.ts';
import { type RestartableRedis, restartableRedis } from '../support/restartable-redis.ts';
import { type LoggedLine, type RunningProcess, startDocket } from '../support/running-docket.ts';
import { type ScriptedSmtp, scriptedSmtp } from '../support/smtp-script.ts';
import { waitFor } from '../support/wait-for.ts';

const REPORTS = ['a', 'b', 'c', 'd', 'e'];
const HOURS = 8;
const HOUR_MS = 3_600_000;
const TO = ['lead@acme.example', 'second@acme.example'];
const OWNER = 'owner@acme.example';

const ORG = `org: current
api_key: { env: ACME_KEY }
timezone: UTC
recipients: { domains: [acme.example] }
budget: { calls: 1000, window: 1 }
`;
const report = (name: string, cron: string) => `version: 1
title: Report ${name}
owner: ${OWNER}
schedule: { cron: "${cron}", timezone: UTC, catch_up: all }
period: previous_week
sections: [{ id: open, metrics: [alerts.open] }]
outputs: [{ format: csv }]
deliveries:
  - email: { to: [${TO.join(', ')}], attach: [csv] }
  - directory: { path: "sent/{{ run }}" }
`;

const listSchema = z.object({ deliveries: z.array(z.looseObject({ id: z.string(), state: z.string() })) });
const receiptsSchema = z.array(z.looseObject({ delivery: z.string(), state: z.string() }));

let redis: RestartableRedis;
let client: Redis;
beforeAll(async () => {
  redis = await restartableRedis();
  client = new Redis(redis.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
  client.on('error', () => {});
});
afterAll(async () => {
  client.disconnect();
  await redis.close();
});

/** Forty slots that came due while nothing ran, and a way to start the processes that catch up. */
async function world() {
  const root = await folderFor(onTestFinished);
  const sandbox = await startSandbox({ windowMs: 1 });
  onTestFinished(() => sandbox.close());
  await mkdir(join(root, 'jobs', 'acme'), { recursive: true });
  await writeFile(join(root, 'jobs', 'acme', 'org.yaml'), ORG);
  const { cron, last } = hourlyFarFromNow();
  for (const name of REPORTS) await writeFile(join(root, 'jobs', 'acme', `${name}.yaml`), report(name, cron));

  /** Called by number of completely received messages, before the last one is confirmed. */
  const disasters = new Map<number, () => Promise<void>>();
  let whole = 0;
  const afterBody = (resume: () => void): void => {
    whole += 1;
    void (disasters.get(whole)?.() ?? Promise.resolve()).then(resume);
  };
  const smtp: ScriptedSmtp = await scriptedSmtp({ dot: { meanwhile: afterBody } });
  onTestFinished(() => smtp.close());

  const env = {
    COMPLIANCE_API_URL: sandbox.url,
    ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
    REDIS_URL: redis.url,
    SMTP_URL: smtp.url,
    MAIL_FROM: 'reports@acme.example',
    DOCKET_JOBS: join(root, 'jobs'),
    DOCKET_ARCHIVE: pathToFileURL(join(root, 'archive')).href,
  };
  const open: RunningProcess[] = [];
  onTestFinished(async () => {
    await Promise.all(open.map((each) => each.kill()));
  });

  const slots = Array.from({ length: HOURS }, (_, n) => new Date(last - n * HOUR_MS).toISOString());
  const runs = REPORTS.flatMap((name) => slots.map((slot) => ({ name, id: runId('acme', name, slot) })));
  const recorded = async (): Promise<(string | null)[]> =>
    Promise.all(runs.map(({ id }) => client.hget(redisKeys(DEFAULT_KEY_PREFIX).record(id), 'state')));
  let looking = Promise.resolve();
  let allEnded: () => void = () => {};
  /** After every end in the log, checks whether all runs have ended. */
  const listen = ({ msg }: LoggedLine): void => {
    if (msg !== 'Run ended' && msg !== 'Run failed permanently') return;
    looking = looking.then(async () => {
      const states = await recorded();
      if (states.every((state) => state !== null && [...TERMINAL_STATES].some((one) => one === state))) allEnded();
    });
  };
  const start = async (args: readonly string[] = []): Promise<RunningProcess> => {
    const port = String(await freePort());
    const child = startDocket(args, { env: { ...env, DOCKET_ADMIN_PORT: port }, cwd: root }, listen);
    open.push(child);
    await child.logged(({ msg }) => msg === 'Docket runs');
    return child;
  };

  return {
    root,
    disasters,
    runs,
    start,
    command: (...args: string[]) => docket(args, { env, cwd: root }),
    /** Makes it look as if the schedules were last scanned nine hours ago. */
    setBack: async () => {
      const { cursors } = redisKeys(DEFAULT_KEY_PREFIX);
      for (const cursor of await client.hkeys(cursors)) {
        await client.hset(cursors, cursor, last - HOURS * HOUR_MS + 1);
      }
    },
    ended: () =>
      new Promise<void>((resolve) => {
        allEnded = resolve;
      }),
    /** The number of copies that the mail server has, by run and recipient. */
    copies: (run: string, recipient: string): number =>
      smtp.conversations.filter(
        ({ ended, body, commands }) =>
          ended &&
          body.toString('latin1').includes(`X-Docket-Run: ${run}`) &&
          commands.some((command) => command.startsWith(`RCPT TO:<${recipient}>`)),
      ).length,
  };
}
type World = Awaited<ReturnType<typeof world>>;

/** The number of deliveries whose end the ledger does not know, because it lost its last writes. */
async function left({ runs }: World): Promise<number> {
  const ledger = redisLedger(client, { prefix: `${DEFAULT_KEY_PREFIX}:`, ttlDays: 90 });
  const rows = await Promise.all(runs.map(({ id }) => ledger.list(id)));
  const isOpen = (state: string): boolean => state === 'sending' || state === 'pending';
  return rows.flat().filter(({ state, target }) => isOpen(state) && target !== 'notice').length;
}

/** Compares the ledger with the mail server, the directory, the archive and the list of open decisions. */
async function reconcile({ runs, copies, command, root }: World): Promise<{ sent: number; unknown: number }> {
  const ledger = redisLedger(client, { prefix: `${DEFAULT_KEY_PREFIX}:`, ttlDays: 90 });
  const listed = await command('deliveries', '--unknown', '--limit', '1000', '--json');
  const waiting = new Set(listSchema.parse(JSON.parse(listed.stdout)).deliveries.map(({ id }) => id));
  const count = { sent: 0, unknown: 0 };
  for (const { id, name } of runs) {
    const rows = (await ledger.list(id)).filter(({ target }) => target !== 'notice');
    expect(
      rows
        .map(({ recipient }) => recipient)
        .filter((recipient) => TO.includes(recipient))
        .sort(),
    ).toEqual(TO);
    expect(rows).toHaveLength(3);
    const papers = await readFile(join(root, 'archive', 'acme', name, id, 'receipts.json'), 'utf8');
    const receipts = new Map(receiptsSchema.parse(JSON.parse(papers)).map((one) => [one.delivery, one.state]));
    for (const { id: delivery, target, recipient, state } of rows) {
      const because = `${target} of ${id} to ${recipient} is ${state}`;
      expect(receipts.get(delivery), because).toBe(state);
      if (target !== '0-email') {
        expect(state, because).toBe('sent');
        expect(await readdir(join(root, 'sent', id)), because).toEqual([
          expect.stringMatching(/\.csv$/),
          expect.anything(),
        ]);
      } else if (state === 'sent') {
        expect(copies(id, recipient), because).toBe(1);
        count.sent += 1;
      } else {
        expect(state, because).toBe('unknown');
        expect(copies(id, recipient), because).toBeLessThanOrEqual(1);
        expect(waiting.has(delivery), because).toBe(true);
        count.unknown += 1;
      }
    }
    // The owner is notified once about unknown deliveries, and about nothing else. An attempt that stopped because Redis
    // was unreachable counts as unknown until the archive shows that nothing left. Then the delivery gets another
    // attempt: its epoch is above 1.
    const inDoubt = rows.some(({ state, epoch }) => state === 'unknown' || epoch > 1);
    expect(copies(id, OWNER)).toBeLessThanOrEqual(inDoubt ? 1 : 0);
  }
  return count;
}

test('nothing is sent twice or lost when Redis is killed repeatedly under load, then loses its last writes, then all data', async () => {
  const whole = await world();
  const { disasters, runs, start, setBack, ended, command } = whole;
  // The scheduler learns the reports, and then nothing scans for nine hours.
  await (await start(['--role', 'scheduler'])).stop();
  await setBack();

  let killed = 0;
  const restart = (lostBytes: number) => async () => {
    await redis.kill();
    if (lostBytes > 0) await redis.cutTail(lostBytes);
    killed += 1;
    await redis.start();
  };
  for (const message of [6, 17, 28]) disasters.set(message, restart(0));
  disasters.set(45, restart(30_000));
  const over = ended();
  const [first] = await Promise.all([start(), start()]);
  await over;
  expect(killed).toBe(4);

  // Workers check within a minute after an outage what Redis forgot about finished runs.
  await waitFor('no run to be left', async () => (await left(whole)) === 0, { intervalMs: 500 });
  const before = await reconcile(whole);
  expect(before.sent + before.unknown).toBe(2 * runs.length);
  // At most the running deliveries become unknown, and the archive resolves most of them.
  expect(before.unknown).toBeLessThanOrEqual(4 * 8);

  await first.stop();
  // Redis loses everything and the schedules are set back. The archive has the receipts.
  await client.flushall();
  const shown = await command('runs', 'show', runs[0]?.id ?? '');
  expect(shown.stdout).toContain('only in the archive');
  await (await start(['--role', 'scheduler'])).stop();
  await setBack();
  const again = ended();
  await start();
  await again;
  // Nobody gets a second copy, as `reconcile` checks. If the archive shows that nothing left in an unknown attempt, Docket
  // makes another attempt.
  const after = await reconcile(whole);
  expect(after.sent + after.unknown).toBe(2 * runs.length);
  expect(after.unknown).toBeLessThanOrEqual(before.unknown);
});
