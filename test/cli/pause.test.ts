import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../src/base/secret.ts';
import { loadJobs, requireReport } from '../../src/define/load.ts';
import { type MailCatcher, mailCatcher } from '../../src/demo/mail-catcher.ts';
import { freePort, type LocalRedis, localRedis } from '../../src/demo/redis.ts';
import { DEFAULT_PREFIX, keysOf } from '../../src/queue/keys.ts';
import { redisPauses } from '../../src/queue/pauses.ts';
import { cursorsOf } from '../../src/queue/timing.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { docket } from '../support/docket.ts';
import { keptStderr } from '../support/kept-stderr.ts';

const HOUR = 3_600_000;
/** Due at the last full hour but one, or within it. */
const CRON = `0 ${new Date(Date.now() - HOUR).getUTCHours()} * * *`;
const lineSchema = z.looseObject({ msg: z.string(), report: z.string().optional(), why: z.string().optional() });
type Line = z.infer<typeof lineSchema>;
const runsSchema = z.object({ runs: z.array(z.looseObject({ report: z.string(), state: z.string() })) });

describe('an API key that is refused', () => {
  let sandbox: Sandbox;
  let mail: MailCatcher;
  let redis: LocalRedis;
  let client: Redis;
  let folder: string;
  let env: Record<string, string>;
  let child: ChildProcess | undefined;
  const keyOf = (label: string) => sandbox.keys.find((key) => key.label === label)?.key ?? '';

  const org = (file: string) => `org: current
api_key: { file: ${file} }
timezone: UTC
recipients: { domains: [acme.example] }
`;
  /** Due once a day: between one hour and two before the test, and not again while it runs. */
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
    mail = await mailCatcher(join(folder, 'mailbox'));
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
    child?.kill('SIGKILL');
    await mail.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterAll(async () => {
    client.disconnect();
    await redis.close();
    await sandbox.close();
  });

  /** A `docket start` of one run at a time, and its log lines as they come. */
  const start = () => {
    const started = spawn(process.execPath, [join(process.cwd(), 'dist/main.js'), 'start', '--concurrency', '1'], {
      env,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child = started;
    const lines: Line[] = [];
    const waiting: { readonly wanted: (line: Line) => boolean; readonly resolve: (line: Line) => void }[] = [];
    createInterface({ input: keptStderr(started.stderr) }).on('line', (text) => {
      const line = lineSchema.parse(JSON.parse(text));
      lines.push(line);
      for (const waiter of waiting) if (waiter.wanted(line)) waiter.resolve(line);
    });
    const logged = (wanted: (line: Line) => boolean) =>
      new Promise<Line>((resolve) => {
        const found = lines.find(wanted);
        if (found === undefined) waiting.push({ wanted, resolve });
        else resolve(found);
      });
    const stop = async () => {
      started.kill('SIGTERM');
      await once(started, 'exit');
    };
    return { lines, logged, stop };
  };
  /** As if no worker had looked at these reports for three hours. */
  const missed = async (...names: string[]) => {
    const jobs = await loadJobs(join(folder, 'jobs'));
    for (const name of names) {
      for (const cursor of cursorsOf(requireReport(jobs, `acme/${name}`))) {
        await client.hset(keysOf(DEFAULT_PREFIX).cursors, cursor, Date.now() - 3 * HOUR);
      }
    }
  };
  const states = async () => {
    const { stdout } = await docket(['runs', '--json'], { env });
    return runsSchema
      .parse(JSON.parse(stdout))
      .runs.map(({ state }) => state)
      .sort();
  };

  test('stops the organization’s schedule after one call and one notice, until the key is another one', async () => {
    const before = sandbox.requests().length;
    await missed('first', 'second');
    const refused = start();
    await refused.logged(({ msg }) => msg === 'Run sleeps');
    await refused.logged(({ msg }) => msg === 'Run failed for good');
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

    const shown = await docket(['schedule', '--json'], { env });
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
    expect((await docket(['schedule'], { env })).stdout).toMatch(/^acme is paused since .*\n.*docket resume acme/m);

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
    const lifted = await rotated.logged(({ msg }) => msg === 'The pause of the organization is lifted');
    expect(lifted.why).toBe('the API key is another one');
    await rotated.logged(({ msg, report }) => msg === 'Run ended' && report === 'third');
    await rotated.stop();
    expect((await states()).filter((state) => state === 'done').length).toBeGreaterThanOrEqual(1);
    expect(mail.messages()).toHaveLength(1);
    expect(JSON.parse((await docket(['schedule', '--json'], { env })).stdout)).toMatchObject({ paused: [] });
    const texts = [refused, paused, rotated].map(({ lines }) => JSON.stringify(lines)).join();
    for (const label of ['revoked', 'acme']) expect(texts).not.toContain(keyOf(label));
  });

  test('is tried for a run on demand, and lifts the pause when it is accepted', async () => {
    await writeFile(join(folder, 'key'), keyOf('acme'));
    await redisPauses(client, { prefix: DEFAULT_PREFIX }).put({
      org: 'acme',
      report: null,
      who: 'docket',
      why: 'The API key may not do this. [api.forbidden]',
      since: Date.now(),
      key: new Secret(keyOf('acme')).fingerprint(),
      run: '0'.repeat(32),
    });
    env.DOCKET_ADMIN_TOKENS = join(folder, 'tokens.yaml');
    const made = await docket(['tokens', 'create', '--name', 'test', '--role', 'operator'], { env });
    const worker = start();
    await worker.logged(({ msg }) => msg === 'Docket runs');
    const asked = await fetch(`http://127.0.0.1:${env.DOCKET_ADMIN_PORT}/api/reports/acme/first/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${made.stdout.trim()}`, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(asked.status).toBe(202);
    const lifted = await worker.logged(({ msg }) => msg === 'The pause of the organization is lifted');
    expect(lifted.why).toMatch(/has succeeded$/);
    await worker.stop();
    expect(await redisPauses(client, { prefix: DEFAULT_PREFIX }).list()).toEqual([]);
  });

  test('is accepted again by `docket resume`, which knows the organizations', async () => {
    await redisPauses(client, { prefix: DEFAULT_PREFIX }).put({
      org: 'acme',
      report: null,
      who: 'docket',
      why: 'The API key may not do this. [api.forbidden]',
      since: Date.parse('2026-11-16T07:00:00Z'),
      key: '0'.repeat(16),
      run: '0'.repeat(32),
    });
    const resumed = await docket(['resume', 'acme', '--json'], { env });
    expect(resumed.code).toBe(0);
    expect(JSON.parse(resumed.stdout)).toMatchObject({
      organization: 'acme',
      lifted: [{ organization: 'acme', since: '2026-11-16T07:00:00.000Z' }],
    });
    expect(await docket(['resume', 'acme'], { env })).toEqual({ code: 0, stdout: 'acme is not paused.\n', stderr: '' });
    const unknown = await docket(['resume', 'acne'], { env });
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('acme');
  });

  test('is not spoken of by `docket schedule` without Redis, which it says only where one was named', async () => {
    const { REDIS_URL: _, ...without } = env;
    const bare = await docket(['schedule', '--json'], { env: without });
    expect(bare).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(bare.stdout)).toMatchObject({ paused: null });
    const gone = await docket(['schedule', '--json'], {
      env: { ...env, REDIS_URL: `redis://127.0.0.1:${await freePort()}` },
    });
    expect(gone.code).toBe(0);
    expect(JSON.parse(gone.stdout)).toMatchObject({ paused: null });
    expect(gone.stderr).toContain('what is paused is not shown');
  });
});
