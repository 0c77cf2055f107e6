import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../../src/base/clock.ts';
import { readConfig } from '../../../../src/base/config/config.ts';
import { processName } from '../../../../src/base/files/process-lock.ts';
import { silentLog } from '../../../../src/base/log.ts';
import { loadDefinitions } from '../../../../src/compose/built-in-kinds.ts';
import { composeDocket } from '../../../../src/compose/docket.ts';
import { staticDefinitions } from '../../../../src/definitions/load/definition-source.ts';
import { localRedis } from '../../../../src/demo/local-redis.ts';
import { createMailCatcher, type MailCatcher } from '../../../../src/demo/mail-catcher.ts';
import { readIdentity } from '../../../../src/redis/identity.ts';
import { DEFAULT_KEY_PREFIX } from '../../../../src/redis/keys.ts';
import { openPrivateRedis, privateRedisPlace } from '../../../../src/redis/private-redis.ts';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.ts';
import { jobsFolder } from '../../../support/jobs-folder.ts';
import { type RunOptions, runCommand } from '../../../support/run-command.ts';
import { scriptedSmtp } from '../../../support/smtp-script.ts';

const errorSchema = z.object({ error: z.looseObject({ code: z.string(), next: z.string().optional() }) });
const runsSchema = z.object({
  runs: z.array(z.looseObject({ id: z.string(), state: z.string(), trigger: z.string() })),
});

const ORG = `version: 1
org: current
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
recipients: { domains: [acme.example] }
budget: { window: 1 }
people: { lead: { name: Lead, accounts: [lead@acme.example] } }
`;
const REPORT = `version: 1
title: Weekly
owner: ops@acme.example
period: previous_week
sections:
  - { id: onboarding, metrics: [profiles.created] }
outputs:
  - { format: csv }
deliveries:
  - email: { to: [lead@acme.example], attach: [csv] }
`;

describe('docket run without REDIS_URL', () => {
  let sandbox: Sandbox;
  let mails: MailCatcher;
  let folder: string;

  beforeAll(async () => {
    sandbox = await startSandbox({ windowMs: 1_000 });
    mails = await createMailCatcher(await mkdtemp(join(tmpdir(), 'docket-private-mails-')));
  });
  afterAll(async () => {
    await mails.close();
    await sandbox.close();
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-private-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
  });

  /** A machine with its own definitions. Several machines can share the archive. */
  const laptop = async (more: Record<string, string> = {}, report = REPORT) => {
    const env = {
      COMPLIANCE_API_URL: sandbox.url,
      ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
      DOCKET_JOBS: await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': report }),
      DOCKET_ARCHIVE: `file://${join(folder, 'archive')}`,
      SMTP_URL: mails.url,
      MAIL_FROM: 'reports@acme.example',
      LOG_LEVEL: 'silent',
      ...more,
    };
    const context = {
      config: readConfig(env),
      env: { PATH: process.env.PATH, ...env },
      clock: systemClock,
      log: silentLog,
    };
    const place = privateRedisPlace(context);
    const command = (args: readonly string[], options: RunOptions = {}) =>
      runCommand([...args, '--json'], { env, cwd: folder, ...options });
    return {
      env,
      context,
      place,
      run: (args: readonly string[] = [], options?: RunOptions) => command(['run', 'acme/weekly', ...args], options),
      runs: async () => runsSchema.parse(JSON.parse((await command(['runs'])).stdout)).runs,
      server: async () => Number.parseInt(await readFile(place.server, 'utf8'), 10),
    };
  };
  const codeOf = ({ stdout }: { readonly stdout: string }) => errorSchema.parse(JSON.parse(stdout)).error.code;
  /** Counts requests to the service and mails. */
  const done = () => [sandbox.requests().length, mails.messages().length];

  test('records the run in a private Redis, which stops afterwards and keeps no trace of the process', async () => {
    const { run, runs, server, context, place } = await laptop();
    const ended = await run(['--out', 'out']);
    expect(ended).toMatchObject({ code: 0 });
    const { run: id } = JSON.parse(ended.stdout);
    await expect.poll(async () => processName(await server())).toBe(undefined);
    expect(existsSync(place.socket)).toBe(false);
    // The files are published to --out only. The archive records what was sent.
    expect(await readdir(join(folder, 'out'))).toEqual(expect.arrayContaining(['manifest.json', 'receipts.json']));
    expect(await readdir(join(folder, 'archive', '.ledger', 'acme', 'weekly'))).toEqual([id]);
    expect(existsSync(join(folder, 'archive', 'acme'))).toBe(false);
    expect(await runs()).toMatchObject([{ id, state: 'done', trigger: 'cli' }]);
    const redis = await openPrivateRedis(context, { start: true });
    const client = new Redis({ path: place.socket });
    const keys = (await client.keys('*')).filter((key) =>
      /:(inline|live|process|heartbeat|identity|deployment)/.test(key),
    );
    client.disconnect();
    await redis?.close();
    expect(keys).toEqual([]);
  });

  test('rejects a report that another machine delivered into the same archive', async () => {
    const [one, other] = [await laptop(), await laptop()];
    expect(await one.run()).toMatchObject({ code: 0 });
    const before = done();
    const refused = await other.run();
    expect([refused.code, codeOf(refused)]).toEqual([2, 'already_delivered']);
    expect(done()).toEqual(before);
    const marker = JSON.parse(await readFile(join(folder, 'archive', 'docket-archive.json'), 'utf8'));
    expect(marker).toMatchObject({ deployed: false });
  });

  test('releases the period for other machines when nobody received anything', async () => {
    const refusing = await scriptedSmtp({ RCPT: { say: '550 5.1.1 Unknown' } });
    onTestFinished(() => refusing.close());
    const [one, other] = [await laptop({ SMTP_URL: refusing.url }), await laptop()];
    expect(codeOf(await one.run())).toBe('deliver.target_refused');
    expect(await other.run()).toMatchObject({ code: 0 });
  });

  test('leaves only the record of what was sent in the archive of a deployment', async () => {
    const redis = await localRedis({ PATH: process.env.PATH });
    onTestFinished(() => redis.close());
    const { env, context, run } = await laptop();
    const production = async () => {
      const running = await composeDocket(
        { ...context, config: readConfig({ ...env, REDIS_URL: redis.url }) },
        { jobs: staticDefinitions(await loadDefinitions(env.DOCKET_JOBS)) },
      );
      const known = await readIdentity(running.store.redis, DEFAULT_KEY_PREFIX);
      const keys = await running.store.redis.keys('*lost*');
      await running.close();
      return { known, keys, files: (await readdir(join(folder, 'archive'))).filter((name) => name !== '.swept') };
    };
    const before = await production();
    expect(await run()).toMatchObject({ code: 0 });
    const after = await production();
    expect(after).toMatchObject({ known: before.known, keys: before.keys });
    expect(after.files.sort()).toEqual([...new Set([...before.files, '.claims', '.ledger'])].sort());
    // Production does not send again what the laptop sent.
    const again = await runCommand(['run', 'acme/weekly', '--json'], {
      env: { ...env, REDIS_URL: redis.url },
      cwd: folder,
    });
    expect(codeOf(again)).toBe('already_delivered');
  });

  test.each([
    ['without redis-server', { PATH: '/nowhere' }, 'redis.unreachable'],
    ['if Redis is unreachable at REDIS_URL', { REDIS_URL: 'redis://127.0.0.1:1' }, 'redis.unreachable'],
  ])('fails before any call %s, but --no-deliver needs no redis-server', async (_, more, code) => {
    const { run, place } = await laptop(more);
    const before = done();
    expect(codeOf(await run())).toBe(code);
    expect(done()).toEqual(before);
    expect(existsSync(place.server)).toBe(false);
    if (!('REDIS_URL' in more)) expect(await run(['--no-deliver'])).toMatchObject({ code: 0 });
  });

  test('fails before any call if the folder for its data cannot be created', async () => {
    const { run, env } = await laptop();
    await writeFile(join(dirname(env.DOCKET_JOBS), '.docket'), '');
    const before = done();
    expect(codeOf(await run())).toBe('redis.unreachable');
    expect(done()).toEqual(before);
  });

  test('fails before any call if it would need an approval', async () => {
    const { run, runs } = await laptop({}, REPORT.replace('sections:', 'approval: { by: [lead] }\nsections:'));
    const before = done();
    expect(codeOf(await run())).toBe('review.not_approved');
    expect(done()).toEqual(before);
    expect(await runs()).toMatchObject([{ state: 'failed' }]);
  });

  test.each(['starting', 'fetching', 'sending'] as const)('is cancelled by Ctrl-C while it is %s', async (stage) => {
    let reached = () => {};
    const stopAt = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const service = createServer(() => reached()).listen(0, '127.0.0.1');
    onTestFinished(() => void service.close());
    await once(service, 'listening');
    const silent = await scriptedSmtp({ RCPT: { meanwhile: () => reached() } });
    onTestFinished(() => silent.close());
    const { port } = z.object({ port: z.number() }).parse(service.address());
    const { run, runs, place } = await laptop(
      stage === 'fetching' ? { COMPLIANCE_API_URL: `http://127.0.0.1:${port}` } : { SMTP_URL: silent.url },
    );
    if (stage === 'starting')
      void expect
        .poll(() => existsSync(place.server))
        .toBe(true)
        .then(reached);
    const ended = await run([], { stopAt });
    expect(ended.code).toBe(130);
    const [recorded] = await runs();
    // A run that was stopped early may not be recorded.
    if (stage !== 'starting' || recorded !== undefined) expect(recorded).toMatchObject({ state: 'cancelled' });
  });
});
