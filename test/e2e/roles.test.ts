import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { localRedis } from '../../src/demo/local-redis.ts';
import { DEFAULT_KEY_PREFIX, redisKeys } from '../../src/redis/keys.ts';
import { roleProcesses } from '../support/role-processes.ts';

const HOUR_MS = 3_600_000;

async function aRedis() {
  const server = await localRedis({ PATH: process.env.PATH });
  const client = new Redis(server.url);
  onTestFinished(async () => {
    client.disconnect();
    await server.close();
  });
  return { url: server.url, client };
}

test('schedulers open slots, admin processes accept requests and only workers run and deliver, with any number of each', async () => {
  const { url, client } = await aRedis();
  const deployment = await roleProcesses(url);
  const [first] = await Promise.all([deployment.start('scheduler'), deployment.start('scheduler')]);
  // Makes it look as if nobody had scanned for hours: the next scheduler finds a due slot.
  const { cursors } = redisKeys(DEFAULT_KEY_PREFIX);
  for (const cursor of await client.hkeys(cursors)) await client.hset(cursors, cursor, Date.now() - 3 * HOUR_MS);
  const schedulers = [first, await deployment.start('scheduler'), await deployment.start('scheduler')];
  const [admin, ...workers] = await Promise.all([
    deployment.start('admin'),
    deployment.start('worker'),
    deployment.start('worker'),
  ]);

  expect(await first.ready()).toEqual({
    status: 'ready',
    checks: ['redis', 'definitions', 'scheduler', 'redis_writes'],
  });
  expect(await admin.ready()).toEqual({ status: 'ready', checks: ['redis', 'definitions', 'redis_writes'] });
  for (const worker of workers) {
    const checks = ['redis', 'definitions', 'switches', 'denials', 'worker', 'redis_writes', 'archive', 'staging'];
    expect(await worker.ready()).toEqual({ status: 'ready', checks });
    // A worker serves its health and metrics, but no API.
    expect((await fetch(`${worker.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${worker.url}/api/runs`, { headers: deployment.headers })).status).toBe(404);
    const metrics = await fetch(`${worker.url}/metrics`, { headers: deployment.headers });
    expect(await metrics.text()).toContain('docket_runs_finished_total{org="acme",state="done"}');
  }

  const requested = await deployment.trigger(admin, 'once');
  const ended = (run: string) =>
    Promise.race(workers.map((worker) => worker.logged((line) => line.msg === 'Run ended' && line.run === run)));
  await ended(requested);
  const scheduled = (await deployment.runs()).find(({ trigger }) => trigger === 'schedule');
  await ended(scheduled?.id ?? '');
  await deployment.mail.waitForMessages(2);
  expect((await deployment.runs()).map(({ state }) => state)).toEqual(['done', 'done']);

  const said = (processes: readonly { readonly lines: readonly { readonly msg: string }[] }[], what: string) =>
    processes.flatMap(({ lines }) => lines).filter(({ msg }) => msg === what).length;
  expect(said(schedulers, 'Run opened')).toBe(1);
  expect(said([admin], 'Run opened')).toBe(1);
  expect(said(workers, 'Run opened')).toBe(0);
  expect(said([...schedulers, admin], 'Run ended')).toBe(0);
  expect(deployment.mail.messages()).toHaveLength(2);

  // Deliveries continue with one worker less.
  await workers[0]?.stop();
  await deployment.trigger(admin, 'twice');
  await deployment.mail.waitForMessages(3);
});

test('a pause applies to every process until it is resumed', async () => {
  const { url, client } = await aRedis();
  const deployment = await roleProcesses(url);
  await (await deployment.start('scheduler')).stop();
  const paused = await deployment.command(
    'pause',
    'acme/weekly',
    '--reason',
    'figures are being checked',
    '--by',
    'ben',
  );
  expect(paused).toMatchObject({ code: 0, stderr: '' });
  expect(paused.stdout).toMatch(/^acme\/weekly is paused since .* by ben: figures are being checked\n/);
  expect((await deployment.command('schedule')).stdout).toContain('acme/weekly is paused since');
  expect(JSON.parse((await deployment.command('pause', '--json')).stdout)).toMatchObject({
    paused: [{ organization: 'acme', report: 'weekly', who: 'ben', key: null }],
  });

  const { cursors } = redisKeys(DEFAULT_KEY_PREFIX);
  for (const cursor of await client.hkeys(cursors)) await client.hset(cursors, cursor, Date.now() - 3 * HOUR_MS);
  const scheduler = await deployment.start('scheduler');
  await scheduler.logged(({ msg, who }) => msg === 'The report is paused: its scheduled runs wait' && who === 'ben');
  expect((await scheduler.ready()).checks).toContain('scheduler');
  expect(await deployment.runs()).toEqual([]);
  await scheduler.stop();
  // A run on request is not affected by the pause.
  const [admin] = await Promise.all([deployment.start('admin'), deployment.start('worker')]);
  await deployment.trigger(admin, 'now');
  await deployment.mail.waitForMessages(1);

  const resumed = await deployment.command('resume', 'acme/weekly', '--reason', 'checked', '--by', 'eva');
  expect(resumed.stdout).toMatch(/^acme\/weekly .* by ben: figures are being checked\n/);
  await deployment.start('scheduler');
  await deployment.mail.waitForMessages(2);
  expect((await deployment.runs()).map(({ trigger, state }) => [trigger, state]).sort()).toEqual([
    ['on_demand', 'done'],
    ['schedule', 'done'],
  ]);
  expect((await deployment.command('pause')).stdout).toBe('Nothing is paused.\n');
  expect((await deployment.command('pause', '--history')).stdout).toMatch(
    /resume +acme\/weekly +eva +checked\n.*pause +acme\/weekly +ben/,
  );
});

test('start rejects an unknown role and a worker without a service; pause rejects an unknown report and a missing reason', async () => {
  const { url } = await aRedis();
  const deployment = await roleProcesses(url);
  const role = await deployment.command('start', '--role', 'worker,boss');
  expect(role).toMatchObject({ code: 2, stderr: expect.stringContaining('worker, scheduler, admin or all') });
  const worker = await deployment.command('start', '--role', 'worker');
  expect(worker).toMatchObject({ code: 2, stderr: expect.stringContaining('SMTP_URL') });
  const mail = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'a@acme.example' };
  expect(await deployment.commandWith(mail, 'start', '--role', 'worker')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('COMPLIANCE_API_URL'),
  });
  for (const args of [['acme/weekly'], ['--reason', 'x'], ['acme', '--reason', ' '], ['acne', '--reason', 'x']]) {
    expect(await deployment.command('pause', ...args)).toMatchObject({ code: 2 });
  }
  expect((await deployment.command('pause', 'acme/weakly', '--reason', 'x')).stderr).toContain('acme/weekly');
  expect(await deployment.command('resume', 'acme/weekly')).toMatchObject({
    code: 0,
    stdout: 'acme/weekly is not paused.\n',
  });
  expect(await deployment.command('resume', 'acme/weakly')).toMatchObject({ code: 2 });
});
