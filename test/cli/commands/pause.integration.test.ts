import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../../src/base/secrets/secret.ts';
import { loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { type LocalRedis, localRedis } from '../../../src/demo/local-redis.ts';
import { createMailCatcher, type MailCatcher } from '../../../src/demo/mail-catcher.ts';
import { redisPauses } from '../../../src/queue/schedules/pauses.ts';
import { cursorNames } from '../../../src/queue/schedules/report-schedules.ts';
import { DEFAULT_KEY_PREFIX, redisKeys } from '../../../src/redis/keys.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { freePort } from '../../support/free-port.ts';
import { type RunningCommand, runCommand, startCommand } from '../../support/run-command.ts';

const HOUR = 3_600_000;
/** The last slot was one to two hours ago. */
const CRON = `0 ${new Date(Date.now() - HOUR).getUTCHours()} * * *`;
const runsSchema = z.object({ runs: z.array(z.looseObject({ report: z.string(), state: z.string() })) });

describe('the pause after a rejected API key', () => {
  let sandbox: Sandbox;
  let mail: MailCatcher;
  let redis: LocalRedis;
  let client: Redis;
  let folder: string;
  let env: Record<string, string>;
  let running: RunningCommand | undefined;
  const keyOf = (label: string) => sandbox.keys.find((key) => key.label === label)?.key ?? '';

  const org = (file: string) => `org: current
api_key: { file: ${file} }
timezone: UTC
recipients: { domains: [acme.example] }
`;
  /** Due once a day: one to two hours before the test, and not while it runs. */
  const report = (owner: string) => `version: 1
title: Daily
owner: ${owner}
schedule: { cron: "${CRON}", catch_up: latest }
period: previous_week
sections:
  - { id: queue, metrics: [alerts.open] }
outputs:
  - { format: csv }
deliveries:
  - directory: { path: sent }
`;

  beforeAll(async () => {
    sandbox = await startSandbox();
    redis = await localRedis({ PATH: process.env.PATH });
    client = new Redis(redis.url);
  });
  beforeEach(async () => {
    await client.flushall();
    folder = await mkdtemp(join(tmpdir(), 'docket-pause-'));
    mail = await createMailCatcher(join(folder, 'mailbox'));
    await writeFile(join(folder, 'key'), keyOf('revoked'));
    await mkdir(join(folder, 'jobs', 'acme'), { recursive: true });
    await writeFile(join(folder, 'jobs', 'acme', 'org.yaml'), org(join(folder, 'key')));
    for (const name of ['first', 'second', 'third']) {
      await writeFile(join(folder, 'jobs', 'acme', `${name}.yaml`), report(`${name}@acme.example`));
    }
    env = {
      PATH: process.env.PATH ?? '',
      COMPLIANCE_API_URL: sandbox.url,
      REDIS_URL: redis.url,
      SMTP_URL: mail.url,
      MAIL_FROM: 'reports@acme.example',
      DOCKET_JOBS: join(folder, 'jobs'),
      DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
      DOCKET_ADMIN_PORT: String(await freePort()),
      LOG_LEVEL: 'debug',
    };
  });
  afterEach(async () => {
    await running?.stop();
    await mail.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterAll(async () => {
    client.disconnect();
    await redis.close();
    await sandbox.close();
  });

  const start = () => {
    running = startCommand(['--concurrency', '1'], { env, cwd: folder });
    return running;
  };
  /** Makes the scheduler believe that it last looked three hours ago. */
  const missed = async (...names: string[]) => {
    const jobs = await loadDefinitions(join(folder, 'jobs'));
    for (const name of names) {
      for (const cursor of cursorNames(requireReport(jobs, `acme/${name}`))) {
        await client.hset(redisKeys(DEFAULT_KEY_PREFIX).cursors, cursor, Date.now() - 3 * HOUR);
      }
    }
  };
  const states = async () => {
    const { stdout } = await runCommand(['runs', '--json'], { env });
    return runsSchema
      .parse(JSON.parse(stdout))
      .runs.map(({ state }) => state)
      .sort();
  };

  test('stops the schedules after one call and one notice, until the key changes', async () => {
    const before = sandbox.requests().length;
    await missed('first', 'second');
    const refused = start();
    await refused.logged(({ msg }) => msg === 'Run snoozed');
    await refused.logged(({ msg }) => msg === 'Run failed permanently');
    await refused.stop();
    expect(
      sandbox
        .requests()
        .slice(before)
        .map(({ status }) => status),
    ).toEqual([401]);
    expect(await states()).toEqual(['failed', 'waiting']);
    expect(mail.messages()).toHaveLength(1);
    expect(mail.messages().flatMap(({ to }) => to)).toEqual([expect.stringMatching(/^(first|second)@acme\.example$/)]);

    const shown = await runCommand(['schedule', '--json'], { env });
    expect(JSON.parse(shown.stdout)).toMatchObject({
      paused: [
        {
          organization: 'acme',
          who: 'docket',
          why: expect.stringContaining('[api.unauthorized]'),
          key: new Secret(keyOf('revoked')).fingerprint(),
        },
      ],
    });
    expect((await runCommand(['schedule'], { env })).stdout).toMatch(/^acme is paused since .*\n.*docket resume acme/m);

    // A retry is advised only while the run can be retried, not while it is queued.
    const advises = async () =>
      (await runCommand(['pause'], { env, terminal: {} })).screen.includes('docket runs retry ');
    expect(await advises()).toBe(true);
    const [pause] = await redisPauses(client, { prefix: DEFAULT_KEY_PREFIX }).list();
    const decide = async (what: string) =>
      (await runCommand(['runs', what, pause?.run ?? '', '--reason', 'a test'], { env })).code;
    expect([await decide('retry'), await advises()]).toEqual([0, false]);
    expect([await decide('cancel'), await advises()]).toEqual([0, true]);

    await missed('third');
    const paused = start();
    await paused.logged(
      ({ msg, why }) => /^The organization is paused/.test(msg) && why?.includes('[api.unauthorized]') === true,
    );
    await paused.logged(({ msg, report }) => msg.startsWith('Slots wait: ') && report === 'third');
    await paused.stop();
    expect(sandbox.requests()).toHaveLength(before + 1);

    await writeFile(join(folder, 'key'), keyOf('acme'));
    const rotated = start();
    const lifted = await rotated.logged(({ msg }) => msg === 'Pause of the organization lifted');
    expect(lifted.why).toBe('the API key was replaced');
    await rotated.logged(({ msg, report }) => msg === 'Run ended' && report === 'third');
    await rotated.stop();
    expect((await states()).filter((state) => state === 'done').length).toBeGreaterThanOrEqual(1);
    expect(mail.messages()).toHaveLength(1);
    expect(JSON.parse((await runCommand(['schedule', '--json'], { env })).stdout)).toMatchObject({ paused: [] });
    const texts = [refused, paused, rotated].map(({ lines }) => JSON.stringify(lines)).join();
    for (const label of ['revoked', 'acme']) expect(texts).not.toContain(keyOf(label));
  });

  test('ends when an on-demand run succeeds', async () => {
    await writeFile(join(folder, 'key'), keyOf('acme'));
    await redisPauses(client, { prefix: DEFAULT_KEY_PREFIX }).put({
      org: 'acme',
      report: null,
      who: 'docket',
      why: 'The API key may not do this. [api.forbidden]',
      since: Date.now(),
      key: new Secret(keyOf('acme')).fingerprint(),
      run: '0'.repeat(32),
    });
    env.DOCKET_ADMIN_TOKENS = join(folder, 'tokens.yaml');
    const made = await runCommand(['tokens', 'create', '--name', 'test', '--role', 'operator'], { env });
    const worker = start();
    await worker.logged(({ msg }) => msg === 'Docket runs');
    const requested = await fetch(`http://127.0.0.1:${env.DOCKET_ADMIN_PORT}/api/reports/acme/first/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${made.stdout.trim()}`, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(requested.status).toBe(202);
    const lifted = await worker.logged(({ msg }) => msg === 'Pause of the organization lifted');
    expect(lifted.why).toMatch(/has succeeded$/);
    await worker.stop();
    expect(await redisPauses(client, { prefix: DEFAULT_KEY_PREFIX }).list()).toEqual([]);
  });

  test('ends with `docket resume`, which rejects unknown organizations', async () => {
    await redisPauses(client, { prefix: DEFAULT_KEY_PREFIX }).put({
      org: 'acme',
      report: null,
      who: 'docket',
      why: 'The API key may not do this. [api.forbidden]',
      since: Date.parse('2026-11-16T07:00:00Z'),
      key: '0'.repeat(16),
      run: '0'.repeat(32),
    });
    const resumed = await runCommand(['resume', 'acme', '--json'], { env });
    expect(resumed.code).toBe(0);
    expect(JSON.parse(resumed.stdout)).toMatchObject({
      organization: 'acme',
      lifted: [{ organization: 'acme', since: '2026-11-16T07:00:00.000Z' }],
    });
    const again = await runCommand(['resume', 'acme', '--json'], { env });
    expect(again).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(again.stdout)).toMatchObject({ lifted: [], paused: [] });
    const unknown = await runCommand(['resume', 'acne'], { env });
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('acme');
  });

  test('is not shown by `docket schedule` without Redis, which warns only if REDIS_URL is set', async () => {
    const { REDIS_URL: _, ...without } = env;
    const bare = await runCommand(['schedule', '--json'], { env: without });
    expect(bare).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(bare.stdout)).toMatchObject({ paused: null });
    const gone = await runCommand(['schedule', '--json'], {
      env: { ...env, REDIS_URL: `redis://127.0.0.1:${await freePort()}` },
    });
    expect(gone.code).toBe(0);
    expect(JSON.parse(gone.stdout)).toMatchObject({ paused: null });
    expect(gone.stderr).toContain('ECONNREFUSED');
  });
});
