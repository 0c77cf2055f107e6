import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { processName } from '../../../src/base/files/process-lock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { composeDocket } from '../../../src/compose/docket.ts';
import { staticDefinitions } from '../../../src/definitions/load/definition-source.ts';
import { localRedis } from '../../../src/demo/local-redis.ts';
import { readIdentity } from '../../../src/redis/identity.ts';
import { DEFAULT_KEY_PREFIX } from '../../../src/redis/keys.ts';
import { privateRedisPlace } from '../../../src/redis/private-redis.ts';
import { freePort } from '../../support/free-port.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { runCommand, startCommand } from '../../support/run-command.ts';

async function laptop() {
  const folder = await mkdtemp(join(tmpdir(), 'docket-local-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const jobs = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
  const env = {
    COMPLIANCE_API_URL: 'http://127.0.0.1:9',
    ACME_KEY: 'key-of-acme',
    DOCKET_JOBS: jobs,
    DOCKET_ARCHIVE: `file://${join(folder, 'archive')}`,
    DOCKET_ADMIN_PORT: String(await freePort()),
    SMTP_URL: 'smtp://127.0.0.1:9',
    MAIL_FROM: 'reports@acme.example',
  };
  const context = {
    config: readConfig(env),
    env: { PATH: process.env.PATH, ...env },
    clock: systemClock,
    log: silentLog,
  };
  const place = privateRedisPlace(context);
  const server = async () => Number.parseInt(await readFile(join(place.folder, 'server'), 'utf8'), 10);
  const marker = async () => JSON.parse(await readFile(join(folder, 'archive', 'docket-archive.json'), 'utf8'));
  return { env, jobs, folder, context, place, server, marker };
}

test('start --local starts a private Redis, shares it with other commands, and stops it at the end', async () => {
  const { env, folder, server, marker } = await laptop();
  const running = startCommand(['--local'], { env, cwd: folder });
  await running.logged(({ msg }) => msg === 'Docket runs');
  const given = { env, cwd: folder };
  const queued = await runCommand(['run', 'acme/weekly', '--queue', '--no-deliver'], given);
  expect(queued).toMatchObject({ code: 0 });
  const listed = await runCommand(['runs', '--json'], given);
  expect(JSON.parse(listed.stdout)).toMatchObject({ runs: [{ org: 'acme', report: 'weekly' }] });
  const pid = await server();
  expect(await processName(pid)).toBeDefined();
  expect(await running.stop()).toMatchObject({ code: 0 });
  await expect.poll(() => processName(pid)).toBe(undefined);
  expect(await marker()).toMatchObject({ deployed: false });
});

test('start --local is rejected with REDIS_URL or --adopt, and starts nothing', async () => {
  const { env, folder, place } = await laptop();
  for (const [args, given] of [
    [['start', '--local'], { ...env, REDIS_URL: 'redis://127.0.0.1:6379' }],
    [['start', '--local', '--adopt'], env],
  ] as const) {
    const ended = await runCommand(args, { env: given, cwd: folder });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('--local') });
  }
  expect(existsSync(place.folder)).toBe(false);
});

test('start --local is rejected on the archive of a deployment, and changes nothing there', async () => {
  const { env, jobs, folder, context, marker } = await laptop();
  const redis = await localRedis({ PATH: process.env.PATH });
  onTestFinished(() => redis.close());
  const config = readConfig({ ...env, REDIS_URL: redis.url });
  const production = async () => {
    const running = await composeDocket(
      { ...context, config },
      { jobs: staticDefinitions(await loadDefinitions(jobs)) },
    );
    const known = await readIdentity(running.store.redis, DEFAULT_KEY_PREFIX);
    await running.close();
    return known;
  };
  const known = await production();
  const before = await marker();
  const ended = await runCommand(['start', '--local'], { env, cwd: folder });
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('deployment.conflict') });
  expect(await marker()).toEqual(before);
  expect(await production()).toEqual(known);
});
