import { chown, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createMarker, newArchiveId } from '../../../src/deliver/archive/archive-marker.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { type LocalRedis, localRedis } from '../../../src/demo/local-redis.ts';
import { createMailCatcher, type MailCatcher } from '../../../src/demo/mail-catcher.ts';
import { claimIdentity } from '../../../src/redis/identity.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { builtMain } from '../../support/built-main.ts';
import { docket } from '../../support/docket.ts';
import { freePort } from '../../support/free-port.ts';
import { restartableRedis } from '../../support/restartable-redis.ts';
import { type RunningCommand, runCommand, startCommand } from '../../support/run-command.ts';
import { startDocket } from '../../support/running-docket.ts';
import { ACCESS_KEY_ID, SECRET_ACCESS_KEY } from '../../support/s3-keys.ts';
import { s3Server } from '../../support/s3-server.ts';

const parseLine = (line: string): unknown => JSON.parse(line);

describe('docket start', () => {
  let sandbox: Sandbox;
  let mail: MailCatcher;
  let redis: LocalRedis;
  let folder: string;
  let env: Record<string, string>;
  let running: RunningCommand | undefined;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-start-'));
    sandbox = await startSandbox();
    mail = await createMailCatcher(join(folder, 'mailbox'));
    redis = await localRedis({ PATH: process.env.PATH });
    env = {
      PATH: process.env.PATH ?? '',
      COMPLIANCE_API_URL: sandbox.url,
      DEMO_API_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
      REDIS_URL: redis.url,
      SMTP_URL: mail.url,
      MAIL_FROM: 'reports@acme.example',
      DOCKET_JOBS: join(process.cwd(), 'jobs'),
      DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
      DOCKET_ADMIN_PORT: String(await freePort()),
      DOCKET_ADMIN_TOKENS: join(folder, 'tokens.yaml'),
    };
  });
  afterEach(async () => void (await running?.stop()));
  afterAll(async () => {
    await redis.close();
    await mail.close();
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('runs a report that is triggered by HTTP, once per Idempotency-Key', async () => {
    const made = await runCommand(['tokens', 'create', '--name', 'test', '--role', 'operator'], { env });
    const token = made.stdout.trim();
    const worker = startCommand([], { env, cwd: folder });
    running = worker;
    const { url } = await worker.logged(({ msg }) => msg === 'Docket runs');
    const ask = () =>
      fetch(`${url}/api/reports/demo/weekly-kpi/runs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'idempotency-key': 'once', 'content-type': 'application/json' },
        body: JSON.stringify({ period: '2026-W40' }),
      });
    const answers = await Promise.all([ask(), ask(), ask()]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    const locations = new Set(answers.map(({ headers }) => headers.get('location')));
    expect(locations.size).toBe(1);
    const [location = ''] = locations;

    await worker.logged(
      ({ msg, run }) => msg === 'Run ended' && run !== null && location?.endsWith(run ?? '?') === true,
    );
    const record = await fetch(`${url}${location}`, { headers: { authorization: `Bearer ${token}` } });
    expect(await record.json()).toMatchObject({ state: 'done', period: { label: '2026-W40' }, error: null });
    expect(mail.messages().flatMap(({ to }) => to)).toEqual(['head-of-compliance@acme.example', 'mlro@acme.example']);

    const scraped = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    const metrics = await scraped.text();
    for (const line of [
      'docket_redis_up 1',
      'docket_runs_finished_total{org="demo",state="done"} 1',
      'docket_deliveries_total{org="demo",kind="email",state="sent"} 2',
      'docket_deliveries_total{org="demo",kind="directory",state="sent"} 1',
      'docket_runs_finished_total{org="demo",state="failed"} 0',
      'docket_queue_runs{state="waiting"} 0',
    ]) {
      expect(metrics).toContain(`\n${line}\n`);
    }
    expect(metrics).toMatch(/^docket_budget_tokens_free\{key="[0-9a-f]{16}",of="metrics"\} \d+$/m);
    expect(metrics).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect(metrics).not.toContain(env.DEMO_API_KEY);

    const listed = await runCommand(['runs', '--json', '--org', 'demo'], { env });
    expect(JSON.parse(listed.stdout)).toMatchObject({ runs: [{ report: 'weekly-kpi', state: 'done' }] });
    expect(JSON.stringify(worker.lines) + listed.stdout).not.toContain(env.DEMO_API_KEY);

    const again = await fetch(`${url}/api/reports/demo/weekly-kpi/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'idempotency-key': 'again', 'content-type': 'application/json' },
      body: JSON.stringify({ period: '2026-W40', deliver: false }),
    });
    const other = again.headers.get('location') ?? '';
    await worker.logged(({ msg, run }) => msg === 'Run ended' && run !== undefined && other.endsWith(run));
    const second = await fetch(`${url}${other}`, { headers: { authorization: `Bearer ${token}` } });
    // The same requests within `max_age`: the second run uses the first run's responses.
    expect(await second.json()).toMatchObject({ state: 'done', calls: { made: 0 } });

    expect(await worker.stop()).toMatchObject({ code: 0 });
  });

  test('rejects a Redis that evicts keys, and logs the reason', async () => {
    const client = new Redis(redis.url);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const evicting = await runCommand(['start'], { env });
    await client.config('SET', 'maxmemory-policy', 'noeviction');
    await client.quit();
    expect(evicting.code).toBe(2);
    expect(evicting.stderr.trim().split('\n').map(parseLine).at(-1)).toMatchObject({
      level: 'error',
      error: { code: 'redis.unsuitable' },
    });
  });

  test('waits for a Redis that is down, and stops immediately on request', async () => {
    const port = await freePort();
    const waiting = startCommand([], {
      env: { ...env, REDIS_URL: `redis://user:hunter2@127.0.0.1:${port}` },
      cwd: folder,
    });
    const { error } = await waiting.logged(({ level }) => level === 'error');
    expect(error).toMatchObject({ code: 'redis.unreachable', message: expect.stringContaining(`127.0.0.1:${port}`) });
    const ended = await waiting.stop();
    expect(ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('hunter2') });
    expect(waiting.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  test('survives a Redis that fails at any step of the start, and logs only JSON', async () => {
    const own = await restartableRedis();
    onTestFinished(() => own.close());
    // Each connection breaks when it first sends one of these keys, as if the master failed over at that moment.
    const steps = [':identity', ':writable', ':versions', ':cursors'];
    const proxy = createServer((client) => {
      const upstream = connect(Number(new URL(own.url).port), '127.0.0.1');
      client.on('data', (bytes) => {
        const step = steps.findIndex((key) => bytes.includes(key));
        if (step === -1) return void upstream.write(bytes);
        steps.splice(step, 1);
        client.destroy();
      });
      upstream.pipe(client);
      for (const socket of [client, upstream]) {
        socket.on('error', () => {});
        socket.on('close', () => [client, upstream].forEach((each) => void each.destroy()));
      }
    });
    await own.kill();
    const port = await freePort();
    const child = startDocket([], {
      env: {
        ...env,
        REDIS_URL: `redis://127.0.0.1:${port}`,
        DOCKET_ARCHIVE: pathToFileURL(join(folder, 'own')).href,
      },
      cwd: folder,
    });
    onTestFinished(() => child.kill());
    await child.logged(({ level }) => level === 'error');
    await own.start();
    proxy.listen(port, '127.0.0.1');
    onTestFinished(() => void proxy.close());
    await child.logged(({ msg }) => msg === 'Docket runs');
    expect(steps).toEqual([]);
    expect(await child.stop()).toEqual([0, null]);
  });

  test('prints no messages of the S3 SDK for an archive in a bucket', async () => {
    const bucket = await s3Server('archive');
    onTestFinished(() => bucket.close());
    const keys = 'access_key_id=env:ARCHIVE_ID&secret_access_key=env:ARCHIVE_SECRET';
    const { code, stderr } = await docket(['archive', 'verify'], {
      env: {
        DOCKET_ARCHIVE: `s3://archive/docket?endpoint=${bucket.url}&path_style=true&${keys}`,
        ARCHIVE_ID: ACCESS_KEY_ID,
        ARCHIVE_SECRET: SECRET_ACCESS_KEY,
      },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('reports a token file that it may not read, with the user that runs it', async () => {
    const tokens = join(folder, 'closed.yaml');
    await writeFile(tokens, '[]', { mode: 0o600 });
    await chown(tokens, 65_534, 65_534);
    // Root without its power over files of other users.
    const limited = [
      'setpriv',
      '--bounding-set',
      '-dac_override,-dac_read_search',
      '--inh-caps',
      '-dac_override,-dac_read_search',
    ];
    const child = startDocket(['--role', 'admin'], {
      env: { ...env, DOCKET_ADMIN_TOKENS: tokens },
      cwd: folder,
      program: [...limited, process.execPath, builtMain()],
    });
    onTestFinished(() => child.kill());
    const { error } = await child.logged(({ msg }) => msg === 'docket start ends with an error');
    expect(error).toMatchObject({ code: 'config.invalid', where: tokens, next: expect.stringContaining('chown 0 ') });
    expect(await child.exited).toEqual([2, null]);
  });

  test('does not start without COMPLIANCE_API_URL', async () => {
    const { COMPLIANCE_API_URL: _, ...without } = env;
    const ended = await runCommand(['start'], { env: without });
    expect(ended.code).toBe(2);
    expect(ended.stderr.trim().split('\n').map(parseLine).at(-1)).toMatchObject({
      error: { code: 'config.invalid', message: expect.stringContaining('COMPLIANCE_API_URL') },
    });
  });

  test.each([
    ['config.invalid', [], { DOCKET_ADMIN_PORT: 'ninety', LOG_FORMAT: 'json' }],
    ['usage.invalid', ['--role', 'boss'], { LOG_LEVEL: 'silent' }],
  ])('logs %s as JSON, whatever setting is wrong', async (code, args, wrong) => {
    const ended = await runCommand(['start', ...args], { env: { ...env, ...wrong } });
    expect(ended.code).toBe(2);
    expect(ended.stderr.trim().split('\n').map(parseLine)).toMatchObject([{ level: 'error', error: { code } }]);
  });

  // This test is the last one: afterwards the Redis belongs to another archive.
  test('rejects the archive of another deployment, and adopts it with --adopt', async () => {
    const other = { ...env, DOCKET_ARCHIVE: pathToFileURL(join(folder, 'other')).href };
    const { id: theirs } = await createMarker(directoryStorage(join(folder, 'other')), newArchiveId(), Date.now());
    const client = new Redis(redis.url);
    onTestFinished(async () => void (await client.quit()));
    const { id: ours } = await claimIdentity(client, '{docket}', newArchiveId(), { restored: false });

    const run = 'f'.repeat(32);
    for (const command of [
      ['start'],
      ['start', '--role', 'scheduler'],
      ['start', '--role', 'admin'],
      ['runs', 'retry', run, '--reason', 'test'],
      ['runs', 'release', run, '--reason', 'test'],
      ['deliveries', 'resolve', run, '--sent', '--reason', 'test'],
      ['run', 'demo/weekly-kpi', '--queue'],
      ['run', 'demo/weekly-kpi', '--out', join(folder, 'out')],
      ['backfill', 'demo/weekly-kpi', '--from', '2026-10-05', '--to', '2026-10-11'],
    ]) {
      const { code, stderr } = await runCommand(command, { env: other, cwd: folder });
      expect([command.join(' '), code, ...[ours, theirs].filter((id) => !stderr.includes(id))]).toEqual([
        command.join(' '),
        2,
      ]);
      expect(stderr).toContain('deployment.conflict');
    }
    expect(await client.zcard('{docket}:unfinished')).toBe(0);
    expect(await readdir(join(folder, 'other'))).toEqual(['docket-archive.json']);

    const doctor = await runCommand(['doctor', '--json'], { env: other });
    expect(JSON.parse(doctor.stdout).findings).toContainEqual(
      expect.objectContaining({ what: 'Deployment', state: 'fail', detail: expect.stringContaining(ours) }),
    );
    expect(await readdir(join(folder, 'other'))).toEqual(['docket-archive.json']);

    const adopting = startCommand(['--adopt'], { env: other, cwd: folder });
    await adopting.logged(({ msg }) => msg === 'Docket runs');
    await adopting.stop();
    expect(await client.hget('{docket}:identity', 'id')).toBe(theirs);
    const entries = JSON.stringify(await client.xrange('{docket}:audit', '-', '+'));
    expect([entries.includes('deployment.adopted'), entries.includes(theirs)]).toEqual([true, true]);
  });
});
