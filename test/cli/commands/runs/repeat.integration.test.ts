import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type LocalRedis, localRedis } from '../../../../src/demo/local-redis.ts';
import { createMailCatcher, type MailCatcher } from '../../../../src/demo/mail-catcher.ts';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.ts';
import { jobsFolder } from '../../../support/jobs-folder.ts';
import { runCommand } from '../../../support/run-command.ts';
import { scriptedSmtp } from '../../../support/smtp-script.ts';

const runSchema = z.object({ run: z.string(), state: z.string(), files: z.array(z.looseObject({ path: z.string() })) });
const refusalSchema = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    delivered: z.object({ run: z.string(), people: z.number(), targets: z.number(), uncertain: z.number() }),
  }),
});
const listedSchema = z.object({
  runs: z.array(z.looseObject({ id: z.string(), state: z.string(), trigger: z.string() })),
});
const deliveriesSchema = z.object({
  deliveries: z.array(z.looseObject({ id: z.string(), run: z.string(), state: z.string(), target: z.string() })),
});
const filledSchema = z.object({
  runs: z.array(z.looseObject({ period: z.looseObject({ from: z.string() }) })),
  already_delivered: z.array(
    z.object({ period: z.looseObject({ from: z.string() }), delivered: z.looseObject({ run: z.string() }) }),
  ),
});

const ORG = `version: 1
name: Acme
org: current
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
recipients: { domains: [acme.example] }
budget: { window: 1 }
`;
const report = (deliveries: string) => `version: 1
title: Weekly
owner: ops@acme.example
period: previous_week
max_age: 1h
sections:
  - { id: onboarding, metrics: [profiles.created] }
outputs:
  - { format: csv }
deliveries:
${deliveries}`;

describe('a report that was already delivered for its period', () => {
  let sandbox: Sandbox;
  let redis: LocalRedis;
  let client: Redis;
  let jobs: string;
  let folder: string;
  let mails: MailCatcher;
  let env: Record<string, string>;

  beforeAll(async () => {
    sandbox = await startSandbox({ windowMs: 1_000 });
    redis = await localRedis({ PATH: process.env.PATH });
    client = new Redis(redis.url);
    mails = await createMailCatcher(await mkdtemp(join(tmpdir(), 'docket-repeat-mails-')));
  });
  afterAll(async () => {
    client.disconnect();
    await mails.close();
    await redis.close();
    await sandbox.close();
  });
  beforeEach(async () => {
    await client.flushall();
    folder = await mkdtemp(join(tmpdir(), 'docket-repeat-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    jobs = await jobsFolder({
      'acme/org.yaml': ORG,
      'acme/weekly.yaml': report('  - email: { to: [lead@acme.example, board@acme.example], attach: [csv] }\n'),
      'acme/changed.yaml': report('  - email: { to: [lead@acme.example], attach: [csv] }\n    send_if: changed\n'),
      'acme/folder.yaml': report('  - directory: { path: kept, overwrite: true }\n'),
    });
    env = {
      COMPLIANCE_API_URL: sandbox.url,
      ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
      DOCKET_JOBS: jobs,
      SMTP_URL: mails.url,
      MAIL_FROM: 'reports@acme.example',
      LOG_LEVEL: 'silent',
    };
  });

  const onRedis = () => ({ ...env, REDIS_URL: redis.url });
  const run = (given: Record<string, string>, ...args: string[]) =>
    runCommand(['run', 'acme/weekly', '--json', ...args], { env: given, cwd: folder });
  const made = async (given: Record<string, string>, ...args: string[]) => {
    const ended = await run(given, ...args);
    expect(ended.code, ended.stderr).toBe(0);
    return runSchema.parse(JSON.parse(ended.stdout));
  };
  /** Returns the details of `already_delivered`, and checks that nothing was called or sent. */
  const refused = async (given: Record<string, string>, ...args: string[]) => {
    const [calls, left] = [sandbox.requests().length, mails.messages().length];
    const ended = await run(given, ...args);
    expect(ended.code, ended.stderr).toBe(2);
    expect([sandbox.requests().length, mails.messages().length]).toEqual([calls, left]);
    const { error } = refusalSchema.parse(JSON.parse(ended.stdout));
    expect(error.code).toBe('already_delivered');
    return error.delivered;
  };
  const sentBy = async (work: () => Promise<unknown>): Promise<number> => {
    const before = mails.messages().length;
    await work();
    return mails.messages().length - before;
  };

  test('is in ledger, archive and records with Redis, and is refused the second time', async () => {
    const first = await made(onRedis(), '--out', 'out');
    expect((await readdir(join(folder, 'out'))).sort()).toEqual(
      expect.arrayContaining(['attempts', 'mail.html', 'manifest.json', 'messages', 'receipts.json']),
    );
    for (const { path } of first.files) expect(path.startsWith(join(folder, 'out'))).toBe(true);
    expect(await readdir(join(folder, 'archive', 'acme', 'weekly'))).toEqual([first.run]);
    const verified = await runCommand(['archive', 'verify'], { env, cwd: folder });
    expect(verified).toMatchObject({ code: 0 });
    const given = { env: onRedis(), cwd: folder };
    const { runs } = listedSchema.parse(JSON.parse((await runCommand(['runs', '--json'], given)).stdout));
    expect(runs).toMatchObject([{ id: first.run, state: 'done', trigger: 'cli' }]);
    const listed = await runCommand(['deliveries', '--json'], given);
    expect(deliveriesSchema.parse(JSON.parse(listed.stdout)).deliveries).toMatchObject([
      { run: first.run, state: 'sent' },
      { run: first.run, state: 'sent' },
    ]);
    expect(await refused(onRedis())).toEqual(
      expect.objectContaining({ run: first.run, people: 2, targets: 0, uncertain: 0 }),
    );
    // The same days as a range.
    const { period } = JSON.parse(await readFile(join(folder, 'out', 'manifest.json'), 'utf8'));
    expect(await refused(onRedis(), '--period', `${period.from}..${period.to}`)).toMatchObject({ run: first.run });
    // Without Redis data Docket searches the archive.
    await client.flushall();
    expect(await refused(onRedis())).toMatchObject({ run: first.run, people: 2 });
    expect(await refused(env)).toMatchObject({ run: first.run, people: 2 });
  });

  test('is sent again with --again or DOCKET_REPEAT=allow', async () => {
    await made(onRedis());
    expect(await sentBy(() => made(onRedis(), '--again'))).toBe(2);
    expect(await sentBy(() => made({ ...onRedis(), DOCKET_REPEAT: 'allow' }))).toBe(2);
  });

  test('does not block --no-deliver and other periods', async () => {
    await made(onRedis());
    expect(await sentBy(() => made(onRedis(), '--no-deliver'))).toBe(0);
    expect(await sentBy(() => made(onRedis(), '--period', '2026-W40'))).toBe(2);
  });

  test('is refused by --queue, and queued with --again', async () => {
    const first = await made(onRedis());
    expect(await refused(onRedis(), '--queue')).toMatchObject({ run: first.run });
    const queue = (...args: string[]) =>
      runCommand(['run', 'acme/weekly', '--queue', ...args], { env: onRedis(), cwd: folder });
    expect(await queue('--no-deliver')).toMatchObject({ code: 0 });
    expect(await queue('--again')).toMatchObject({ code: 0 });
  });

  test('is in a ledger in the archive folder without Redis', async () => {
    const first = await made(env, '--out', 'out');
    const rows = await readdir(join(folder, 'archive', '.ledger', 'acme', 'weekly', first.run));
    expect(rows).toContain('run.json');
    expect(await refused(env)).toMatchObject({ run: first.run, people: 2, uncertain: 0 });
    expect(await refused(onRedis(), '--queue')).toMatchObject({ run: first.run });
    expect(await sentBy(() => made(env, '--again'))).toBe(2);
    expect(await sentBy(() => made({ ...env, DOCKET_REPEAT: 'allow' }))).toBe(2);
  });

  test('is not started without Redis if the ledger cannot be written', async () => {
    const file = join(folder, 'no-folder');
    await writeFile(file, '');
    const archive = { ...env, DOCKET_ARCHIVE: pathToFileURL(file).href };
    const ended = await runCommand(['run', 'acme/weekly', '--json', '--out', 'out'], { env: archive, cwd: folder });
    expect(JSON.parse(ended.stdout)).toMatchObject({ error: { code: 'archive.unwritable' } });
    expect(await sentBy(() => made(archive, '--no-deliver'))).toBe(0);
  });

  test('stores the sent figures with Redis, as workers do', async () => {
    const states = async (...args: string[]) => {
      const ended = await runCommand(['run', 'acme/changed', '--json', ...args], { env: onRedis(), cwd: folder });
      expect(ended.code, ended.stderr).toBe(0);
      return z
        .looseObject({ deliveries: z.array(z.looseObject({ state: z.string() })) })
        .parse(JSON.parse(ended.stdout))
        .deliveries.map(({ state }) => state);
    };
    expect(await states()).toEqual(['sent']);
    expect(await states('--again')).toEqual(['skipped']);
    expect(await states('--period', '2026-W40')).toEqual(['sent']);
  });

  test('is not refused if it is only written to a local folder', async () => {
    for (const given of [env, onRedis(), env, onRedis()]) {
      const ended = await runCommand(['run', 'acme/folder', '--json'], { env: given, cwd: folder });
      expect(ended.code, ended.stderr).toBe(0);
    }
  });

  test.each([
    ['with Redis', () => onRedis()],
    ['without Redis', () => env],
  ])('is sent once by two simultaneous commands, %s', async (_, environment) => {
    const ended: Awaited<ReturnType<typeof run>>[] = [];
    const left = await sentBy(
      async () => void ended.push(...(await Promise.all(['a', 'b'].map((out) => run(environment(), '--out', out))))),
    );
    expect(left).toBe(2);
    expect(ended.map(({ code }) => code).sort(), JSON.stringify(ended)).toEqual([0, 2]);
    const lost = ended.find(({ code }) => code === 2);
    expect(refusalSchema.parse(JSON.parse(lost?.stdout ?? '')).error.code).toBe('already_delivered');
    // With --again both send.
    expect(await sentBy(() => Promise.all(['c', 'd'].map((out) => run(environment(), '--again', '--out', out))))).toBe(
      4,
    );
  });

  test.each([
    ['with Redis', () => onRedis()],
    ['without Redis', () => env],
  ])('is sent by the next command if every recipient was refused, %s', async (_, environment) => {
    const refusing = await scriptedSmtp({ RCPT: { say: '550 5.1.1 Unknown' } });
    onTestFinished(() => refusing.close());
    const first = await run({ ...environment(), SMTP_URL: refusing.url });
    expect(JSON.parse(first.stdout)).toMatchObject({ error: { code: 'deliver.target_refused' } });
    expect(await sentBy(() => made(environment()))).toBe(2);
  });

  test('prompts on a terminal, and sends nothing without confirmation', async () => {
    await made(env);
    const answering = (key: string) => {
      let pressed = false;
      const press = (screen: string) => {
        if (pressed || !screen.includes('Send it again?')) return undefined;
        pressed = true;
        return key;
      };
      return runCommand(['run', 'acme/weekly'], { env, cwd: folder, terminal: { press } });
    };
    const left = mails.messages().length;
    for (const key of ['\r', 'n', '\u0003']) {
      expect((await answering(key)).code, JSON.stringify(key)).not.toBe(0);
      expect(mails.messages()).toHaveLength(left);
    }
    expect((await answering('y')).code).toBe(0);
    expect(mails.messages()).toHaveLength(left + 2);
  });

  test('is skipped and listed by a backfill with --deliver', async () => {
    const first = await made(onRedis(), '--period', '2026-W41');
    const fill = async (...args: string[]) => {
      const ended = await runCommand(
        ['backfill', 'acme/weekly', '--from', '2026-W40', '--to', '2026-W42', '--json', ...args],
        { env: onRedis(), cwd: folder },
      );
      expect(ended.code, ended.stderr).toBe(0);
      const { runs, already_delivered: before } = filledSchema.parse(JSON.parse(ended.stdout));
      return { opened: runs.map(({ period }) => period.from), before };
    };
    const weeks = ['2026-09-28', '2026-10-05', '2026-10-12'];
    expect(await fill()).toEqual({ opened: weeks, before: [] });
    expect(await fill('--deliver')).toMatchObject({
      opened: [weeks[0], weeks[2]],
      before: [{ period: { from: weeks[1] }, delivered: { run: first.run } }],
    });
    expect(await fill('--deliver', '--again')).toEqual({ opened: weeks, before: [] });
  });
});
