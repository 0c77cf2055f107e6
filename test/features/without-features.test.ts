import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { loadDefinitions, requireReport } from '../../src/compose/built-in-kinds.ts';
import { composeDocket } from '../../src/compose/docket.ts';
import { staticDefinitions } from '../../src/definitions/load/definition-source.ts';
import { redisLedger } from '../../src/deliver/ledger/redis-ledger.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { createTestAdmin } from '../support/admin.ts';
import { createToken } from '../support/authenticated-app.ts';
import { openPage } from '../support/open-page.ts';
import { randomPrefix } from '../support/queue-harness.ts';
import { runCommand } from '../support/run-command.ts';
import { weeklyJobs } from './weekly-jobs.ts';

describe('Docket without features', () => {
  const anna = createToken('anna');
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const machine = async () => {
    const root = await mkdtemp(join(tmpdir(), 'docket-bare-'));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    return {
      root,
      env: {
        ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
        COMPLIANCE_API_URL: sandbox.url,
        DOCKET_JOBS: await weeklyJobs(),
        DOCKET_ARCHIVE: pathToFileURL(join(root, 'archive')).href,
        LOG_LEVEL: 'silent',
      },
    };
  };

  test('shows its help, checks reports, and delivers a run', async () => {
    const { root, env } = await machine();
    const command = (...args: string[]) => runCommand(args, { env, cwd: root, features: [] });
    expect(await command('--help')).toMatchObject({ code: 0 });
    expect(await command('check')).toMatchObject({ code: 0 });
    expect(await command('run', 'acme/weekly')).toMatchObject({ code: 0 });
    expect(await readdir(join(root, 'sent'), { recursive: true })).toContainEqual(expect.stringMatching(/\.xlsx$/));
  });

  test('does not serve the routes and pages of features', async () => {
    const app = createTestAdmin([anna.entry], {}, { parts: [] });
    const all = createTestAdmin([anna.entry]);
    const pathsOf = async (of: typeof app) => {
      const { paths } = (await (await of.request('/openapi.json')).json()) as { readonly paths: object };
      return Object.keys(paths);
    };
    const bare = await pathsOf(app);
    const gone = (await pathsOf(all)).filter((path) => !bare.includes(path));
    expect(gone).toContain('/api/search');
    for (const path of gone) {
      const response = await app.request(path, { headers: { authorization: `Bearer ${anna.token}` } });
      expect([path, response.status, await response.json()]).toMatchObject([path, 404, { code: 'request.not_found' }]);
    }
    const redis = new Redis(inject('redisUrl'));
    onTestFinished(() => redis.disconnect());
    const { send } = await openPage({ redis, prefix: randomPrefix() }, [anna.entry], undefined, []).visit(anna.token);
    expect((await (await send('GET', '/')).text()).includes('<search')).toBe(false);
    expect((await send('GET', '/search?q=kpi')).status).toBe(404);
  });

  test('delivers nothing for a stored run whose definition has an unknown field', async () => {
    const { root, env } = await machine();
    const prefix = randomPrefix();
    const config = readConfig({ ...env, REDIS_URL: inject('redisUrl') });
    const context = { config, env, clock: systemClock, log: silentLog, workingDirectory: root };
    const jobs = await loadDefinitions(env.DOCKET_JOBS);
    const shared = { jobs: staticDefinitions(jobs), prefix };
    const desk = await composeDocket(context, { ...shared, roles: new Set(['admin']) });
    const redis = new Redis(inject('redisUrl'));
    onTestFinished(async () => {
      await desk.close();
      const keys = await redis.keys(`${prefix}*`);
      if (keys.length > 0) await redis.del(...keys);
      redis.disconnect();
    });
    const requested = requireReport(jobs, 'acme/weekly');
    const how = { trigger: 'on_demand', priority: 'on_demand', deliver: true } as const;
    const { record } = await desk.store.trigger({ ...requested, slot: { trigger: randomUUID() }, ...how });
    const key = redisKeys(prefix).definition(requested.definition.digest);
    const stored = JSON.parse((await redis.get(key)) ?? '');
    stored.definition.file.outputs[0].of_a_feature_that_is_gone = true;
    await redis.set(key, JSON.stringify(stored));

    const worker = await composeDocket(context, { ...shared, roles: new Set(['worker']) });
    onTestFinished(() => worker.close());
    await expect
      .poll(async () => desk.store.runs.get(record.id))
      .toMatchObject({ state: 'failed', error: { code: 'definition.invalid' } });
    const ledger = redisLedger(redis, { prefix: `${prefix}:`, ttlDays: 1 });
    expect((await ledger.list(record.id)).filter(({ target }) => target !== 'notice')).toEqual([]);
    expect(await readdir(root)).not.toContain('sent');
  });
});
