import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type CaughtMail, createMailCatcher } from '../../src/demo/mail-catcher.ts';
import { DEFAULT_KEY_PREFIX, redisKeys } from '../../src/redis/keys.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { sentinelGroup } from '../support/cluster.ts';
import { folderFor } from '../support/delivery-case.ts';
import { docket } from '../support/docket.ts';
import { hourlyFarFromNow } from '../support/hourly-schedule.ts';
import { createMachines, type Machine } from '../support/machines.ts';
import { ACCESS_KEY_ID, SECRET_ACCESS_KEY } from '../support/s3-keys.ts';
import { s3Server } from '../support/s3-server.ts';

const HOUR_MS = 3_600_000;
const READER = 'lead@acme.example';
const OWNER = 'owner@acme.example';
/** Reports with a slot that is due when the first scheduler looks. */
const SCHEDULED = ['one', 'two', 'three', 'four'];
/** The number of concurrent runs, and of runs when the master of Redis dies. */
const [AT_ONCE, LAST] = [3, 20];

const ORG = `org: current
api_key: { env: ACME_KEY }
timezone: UTC
recipients: { domains: [acme.example] }
budget: { calls: 1000, window: 1 }
`;
const report = (schedule: string) => `version: 1
title: Weekly
owner: ${OWNER}
${schedule}period: previous_week
sections: [{ id: open, metrics: [alerts.open] }]
outputs: [{ format: csv }, { format: xlsx }]
deliveries:
  - email: { to: [${READER}], attach: [csv, xlsx] }
`;
const deliveriesSchema = z.object({
  deliveries: z.array(z.looseObject({ id: z.string(), run: z.string(), state: z.string() })),
});
const runsSchema = z.object({ runs: z.array(z.looseObject({ id: z.string(), state: z.string() })) });
const DECIDED = ['--reason', 'lost machine', '--by', 'ops'];
const verifiedSchema = z.looseObject({ runs: z.int(), faulty: z.array(z.any()), archive_findings: z.array(z.any()) });

/** Redis with a replica, a bucket as archive, a mail server, and machines that share nothing else. */
async function world() {
  const root = await folderFor(onTestFinished);
  const group = await sentinelGroup();
  const bucket = await s3Server('archive');
  bucket.page = 1_000;
  const sandbox = await startSandbox({ windowMs: 1 });
  const mail = await createMailCatcher(join(root, 'mailbox'));
  onTestFinished(async () => {
    await mail.close();
    await sandbox.close();
    await bucket.close();
    await group.close();
  });
  const keys = 'access_key_id=env:ARCHIVE_ID&secret_access_key=env:ARCHIVE_SECRET';
  const env = (folder: string) => ({
    REDIS_URL: group.url,
    DOCKET_JOBS: join(folder, 'jobs'),
    DOCKET_ARCHIVE: `s3://archive/docket?endpoint=${bucket.url}&path_style=true&${keys}&staging=${folder}/staging`,
    ARCHIVE_ID: ACCESS_KEY_ID,
    ARCHIVE_SECRET: SECRET_ACCESS_KEY,
    DOCKET_ADMIN_TOKENS: join(folder, 'tokens.yaml'),
    COMPLIANCE_API_URL: sandbox.url,
    ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
    SMTP_URL: mail.url,
    MAIL_FROM: 'reports@acme.example',
  });
  const tokens = join(root, 'tokens.yaml');
  const { stdout } = await docket(['tokens', 'create', '--name', 'test', '--role', 'operator'], {
    env: { DOCKET_ADMIN_TOKENS: tokens },
  });
  const { cron } = hourlyFarFromNow();
  const prepare = async (folder: string): Promise<void> => {
    await mkdir(join(folder, 'jobs', 'acme'), { recursive: true });
    await writeFile(join(folder, 'jobs', 'acme', 'org.yaml'), ORG);
    await writeFile(join(folder, 'jobs', 'acme', 'asked.yaml'), report(''));
    const hourly = report(`schedule: { cron: "${cron}", timezone: UTC, catch_up: latest }\n`);
    for (const name of SCHEDULED) await writeFile(join(folder, 'jobs', 'acme', `${name}.yaml`), hourly);
    await writeFile(join(folder, 'tokens.yaml'), await readFile(tokens));
  };
  const machines = await createMachines(root, {
    one: { roles: ['scheduler', 'worker', 'admin'], prepare, env },
    two: { roles: ['scheduler', 'worker'], prepare, env },
    three: { roles: ['worker', 'admin'], prepare, env },
    /** Replaces the third machine. */
    four: { roles: ['worker', 'admin'], prepare, env },
  });
  const all = Object.values<Machine>(machines);
  onTestFinished(async () => {
    await Promise.all(all.flatMap(({ processes }) => processes.map((each) => each.kill())));
  });
  return {
    group,
    mail,
    machines,
    headers: { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json' },
    admins: () => all.flatMap(({ admin }) => admin ?? []),
    command: <T>(schema: z.ZodType<T>, ...args: string[]): Promise<T> =>
      docket([...args, '--json'], { env: env(machines.one.folder), cwd: machines.one.folder }).then(
        ({ stdout: text, stderr }) => {
          if (text === '') throw new Error(stderr);
          return schema.parse(JSON.parse(text));
        },
      ),
  };
}

/** The run of each message to the reader. */
const runsOf = (messages: readonly CaughtMail[]): Promise<string[]> =>
  Promise.all(
    messages
      .filter(({ to }) => to.includes(READER))
      .map(async ({ path }) => /^X-Docket-Run: *(\S+)/im.exec(await readFile(path, 'latin1'))?.[1] ?? ''),
  );

test('each run is done once on three machines without a shared disk, through a rolling upgrade under load, a rollback, a lost machine and a failover of Redis', async () => {
  const { group, mail, machines, headers, admins, command } = await world();
  const { one, two, three, four } = machines;

  // Makes it look as if nobody had scanned for hours: the first scan finds a due slot of each report.
  await two.start('0.2.0');
  expect(await two.stop()).toEqual([0, 0]);
  const { cursors } = redisKeys(DEFAULT_KEY_PREFIX);
  const lookAgain = async (): Promise<void> => {
    for (const cursor of await group.master.client.hkeys(cursors)) {
      await group.master.client.hset(cursors, cursor, Date.now() - 3 * HOUR_MS);
    }
  };
  await lookAgain();
  await Promise.all([one, two, three].map((machine) => machine.start('0.2.0')));

  const requested: string[] = [];
  /** Triggers a run like a client whose request a stopping machine drops: it repeats the request elsewhere with the same key. */
  const ask = async (key: string): Promise<string> => {
    for (const url of [...admins(), ...admins()]) {
      const request = { method: 'POST', headers: { ...headers, 'idempotency-key': key }, body: '{"again":true}' };
      const response = await fetch(`${url}/api/reports/acme/asked/runs`, request).catch(() => undefined);
      if (response?.status === 202) return z.object({ id: z.string() }).parse(await response.json()).id;
    }
    throw new Error('No admin process answered');
  };
  let enough = false;
  const load = (async () => {
    while (!enough) {
      await mail.waitForMessages(requested.length - AT_ONCE);
      requested.push(await ask(`run-${requested.length}`));
    }
  })();
  /** Resolves after this many more messages. Throws the error of the load. */
  const goOn = async (messages: number): Promise<void> => {
    const came = mail.waitForMessages(mail.messages().length + messages);
    await Promise.race([came, load.then(() => came)]);
  };

  await goOn(6);
  for (const machine of [one, two, three]) {
    expect(await machine.stop()).toEqual(machine === one ? [0, 0, 0] : [0, 0]);
    await machine.start('this');
    await goOn(5);
  }
  // Roll back and upgrade again. The new scheduler must not open the slots that the old one opened.
  expect(await two.stop()).toEqual([0, 0]);
  await two.start('0.2.0');
  await goOn(5);
  expect(await two.stop()).toEqual([0, 0]);
  await lookAgain();
  await two.start('this');
  await goOn(5);
  const lines = [one, two, three].flatMap(({ processes }) => processes.flatMap((each) => each.lines));
  const endedBefore = lines.filter(({ msg }) => msg === 'Run ended').map(({ run }) => run);
  expect(endedBefore).toContain(requested[0]);
  await three.destroy();
  await four.start('this');
  enough = true;
  const ended = async (states: readonly string[]): Promise<void> => {
    await expect
      .poll(async () => {
        const { runs } = await command(runsSchema, 'runs', '--limit', '500');
        return runs.filter(({ state }) => !states.includes(state));
      })
      .toEqual([]);
  };
  // The lost machine may have been sending. Those deliveries are unknown until a person checks the mailbox.
  await ended(['done', 'skipped', 'partly_delivered']);
  const { deliveries: unknown } = await command(deliveriesSchema, 'deliveries', '--unknown');
  expect(unknown.filter(({ run }) => endedBefore.includes(run))).toEqual([]);
  const arrived = await runsOf(mail.messages());
  for (const { id, run } of unknown) {
    await command(z.unknown(), 'deliveries', 'resolve', id, arrived.includes(run) ? '--sent' : '--resend', ...DECIDED);
  }
  await load;
  for (const last of Array.from({ length: LAST }, (_, n) => `last-${n}`)) requested.push(await ask(last));
  const expected = requested.length + SCHEDULED.length;
  expect(mail.messages().length).toBeLessThan(expected);
  // Wait until the replica has all writes: this test is not about writes that a master could not replicate.
  await group.master.client.wait(1, 5_000);
  await group.master.kill();
  await mail.waitForMessages(expected);

  await ended(['done', 'skipped']);
  const { runs } = await command(runsSchema, 'runs', '--limit', '500');
  const done = runs.filter(({ state }) => state === 'done').map(({ id }) => id);
  expect(done).toHaveLength(expected);
  expect(done).toEqual(expect.arrayContaining(requested));
  expect((await runsOf(mail.messages())).sort()).toEqual(done.sort());
  // There are no other messages, except to the owner of a run with an unknown delivery.
  const others = mail.messages().flatMap(({ to }) => to.filter((reader) => reader !== READER));
  expect(others.filter((reader) => reader !== OWNER || unknown.length === 0)).toEqual([]);

  // Every machine can read the files of each run, and the lost machine took none with it.
  const verified = await command(verifiedSchema, 'archive', 'verify');
  expect(verified).toMatchObject({ faulty: [], archive_findings: [], runs: done.length });
  for (const { processes } of [one, two, three, four]) {
    expect(processes.flatMap(({ lines }) => lines).filter(({ msg }) => msg === 'Run ended')).not.toEqual([]);
  }
  expect(await readdir(three.folder)).toEqual([]);
});
