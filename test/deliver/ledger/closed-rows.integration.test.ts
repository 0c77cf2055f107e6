import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { deliveryId, type NewDelivery } from '../../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import { redisRunStore } from '../../../src/queue/runs/run-store.ts';
import { loadLuaScript, runLuaScript } from '../../../src/redis/script.ts';
import { programOf } from '../../recorded/program.ts';
import { anOrder } from '../../support/queue-harness.ts';
import { restartableRedis } from '../../support/restartable-redis.ts';

const RUN = 'b'.repeat(32);
const rowOf = (recipient: string): NewDelivery => ({
  id: deliveryId(RUN, '0-email', recipient),
  run: RUN,
  org: 'acme',
  report: 'weekly',
  target: '0-email',
  recipient,
});

test.each(['replaced', 'withdrawn'] as const)(
  '0.2.0 beside this version never opens a %s delivery, by its scripts or its commands',
  async (state) => {
    const server = await restartableRedis();
    const redis = new Redis(server.url);
    const archive = await mkdtemp(join(tmpdir(), 'docket-closed-'));
    onTestFinished(async () => {
      redis.disconnect();
      await server.close();
      await rm(archive, { recursive: true, force: true });
    });
    const program = await programOf('0.2.0');
    const command = (...args: readonly string[]) =>
      spawnSync(process.execPath, [program, ...args], {
        env: {
          PATH: process.env.PATH,
          REDIS_URL: server.url,
          DOCKET_ARCHIVE: pathToFileURL(archive).href,
          DOCKET_JOBS: archive,
          COMPLIANCE_API_URL: 'http://127.0.0.1:1',
        },
        encoding: 'utf8',
      });
    // Ties the Redis to the archive, while both are empty.
    command('runs', 'retry', RUN, '--reason', 'r');
    const prefix = '{docket}:';
    const ledger = redisLedger(redis, { prefix, ttlDays: 90 });
    const runs = redisRunStore(redis, { prefix: '{docket}', keepDays: 90, log: silentLog });
    await runs.open(anOrder({ id: RUN }));
    const old = rowOf('ana@acmee.example');
    await ledger.open(old, 1, { state: 'refused', epoch: 1, detail: '550' });
    const added = { ...rowOf('ana@acme.example'), added: true } as const;
    const decision = { by: 'ops', reason: 'r', at: 5 };
    if (state === 'replaced') await ledger.add(added, decision, { id: old.id, epoch: 1 });
    else await ledger.withdraw(RUN, decision);
    await runs.update(RUN, { state: 'partly_delivered', finishedAt: 4 });
    const closed = await ledger.find(old.id);
    expect(closed).toMatchObject({ state, epoch: 2 });

    const scripts = pathToFileURL(`${join(dirname(program), 'deliver', 'ledger')}/x.js`).href;
    const run = (name: string, ...args: readonly (string | number)[]) =>
      runLuaScript(
        redis,
        loadLuaScript(`./${name}.lua`, scripts),
        [`${prefix}deliveries:{${RUN.slice(0, 16)}}`, `${prefix}unknown`, `${prefix}record:${RUN}`],
        [old.id, ...args],
      );
    expect(await run('ledger-begin-1', 6, 90, 'request')).toBeNull();
    for (const epoch of [1, 2]) {
      expect(await run('ledger-settle-2', epoch, 'pending', '', 6, 90)).toBe(0);
      expect(await run('ledger-resolve-2', epoch, 'pending', 'd', 6, 90, '{}', 'request')).toBe(0);
      // What its archive knows is older.
      const archived = ['refused', epoch, '550', prefix, old.org, old.recipient, RUN];
      await run('ledger-open-3', JSON.stringify(old), 6, 90, ...archived);
    }
    expect(await ledger.find(old.id)).toEqual(closed);

    // Its commands refuse the run instead of sending on the basis of what they cannot read.
    for (const args of [
      ['runs', 'retry', RUN, '--reason', 'r'],
      ['deliveries', 'resolve', old.id, '--resend', '--reason', 'r'],
    ]) {
      const { status, stderr } = command(...args);
      expect(status, stderr).not.toBe(0);
      expect(stderr).toContain('run.unreadable');
    }
    expect(await ledger.find(old.id)).toEqual(closed);
    if (state === 'replaced') expect(await ledger.find(added.id)).toMatchObject({ state: 'pending', epoch: 0 });
  },
);
