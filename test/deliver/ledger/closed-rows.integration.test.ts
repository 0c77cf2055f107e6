import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { newToken } from '../../../src/admin/auth/tokens.ts';
import { silentLog } from '../../../src/base/log.ts';
import { correctionArchive } from '../../../src/deliver/archive/corrections/correction-archive.ts';
import { createReviewArchive } from '../../../src/deliver/archive/reviews/create-review-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { deliveryId, type NewDelivery } from '../../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import { redisRunStore } from '../../../src/queue/runs/run-store.ts';
import { loadLuaScript, runLuaScript } from '../../../src/redis/script.ts';
import { reviewEventSchema } from '../../../src/run/review/review-event.ts';
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

/** An empty deployment with the commands and scripts of 0.2.0. */
async function deploymentOf020() {
  const server = await restartableRedis();
  const redis = new Redis(server.url);
  const archive = await mkdtemp(join(tmpdir(), 'docket-closed-'));
  onTestFinished(async () => {
    redis.disconnect();
    await server.close();
    await rm(archive, { recursive: true, force: true });
  });
  const program = await programOf('0.2.0');
  const command = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    spawnSync(process.execPath, [program, ...args], {
      env: {
        PATH: process.env.PATH,
        REDIS_URL: server.url,
        DOCKET_ARCHIVE: pathToFileURL(archive).href,
        DOCKET_JOBS: archive,
        COMPLIANCE_API_URL: 'http://127.0.0.1:1',
        ...env,
      },
      encoding: 'utf8',
    });
  // Ties this Redis to the archive while both are empty.
  command(['runs', 'retry', RUN, '--reason', 'r']);
  return { redis, archive, program, command };
}

test.each(['replaced', 'withdrawn', 'skipped'] as const)(
  'a running 0.2.0 never opens a %s delivery, neither with its scripts nor with its commands',
  async (state) => {
    const { redis, program, command } = await deploymentOf020();
    const prefix = '{docket}:';
    const ledger = redisLedger(redis, { prefix, ttlDays: 90 });
    const runs = redisRunStore(redis, { prefix: '{docket}', keepDays: 90, log: silentLog });
    await runs.open(anOrder({ id: RUN }));
    const old = rowOf('ana@acmee.example');
    await ledger.open(old, 1, { state: state === 'skipped' ? 'pending' : 'refused', epoch: 1, detail: '550' });
    const added = { ...rowOf('ana@acme.example'), added: true } as const;
    const decision = { by: 'ops', reason: 'r', at: 5 };
    if (state === 'replaced') await ledger.add(added, decision, { id: old.id, epoch: 1 });
    else if (state === 'withdrawn') await ledger.withdraw(RUN, decision);
    else await ledger.resolve(old.id, 1, { ...decision, to: 'skipped' });
    await runs.update(RUN, { state: 'partly_delivered', finishedAt: 4 });
    const closed = await ledger.find(old.id);
    const last = state === 'skipped' ? 1 : 2;
    expect(closed).toMatchObject({ state, epoch: last });

    const scripts = pathToFileURL(`${join(dirname(program), 'deliver', 'ledger')}/x.js`).href;
    const run = (name: string, ...args: readonly (string | number)[]) =>
      runLuaScript(
        redis,
        loadLuaScript(`./${name}.lua`, scripts),
        [`${prefix}deliveries:{${RUN.slice(0, 16)}}`, `${prefix}unknown`, `${prefix}record:${RUN}`],
        [old.id, ...args],
      );
    expect(await run('ledger-begin-1', 6, 90, 'request')).toBeNull();
    for (const epoch of [last - 1, last]) {
      expect(await run('ledger-settle-2', epoch, 'pending', '', 6, 90)).toBe(0);
      expect(await run('ledger-resolve-2', epoch, 'pending', 'd', 6, 90, '{}', 'request')).toBe(0);
      // Its archive has an older state.
      const archived = ['refused', epoch, '550', prefix, old.org, old.recipient, RUN];
      await run('ledger-open-3', JSON.stringify(old), 6, 90, ...archived);
    }
    expect(await ledger.find(old.id)).toEqual(closed);

    // Its commands refuse the run instead of sending, because they cannot read it.
    for (const args of [
      ['runs', 'retry', RUN, '--reason', 'r'],
      ['deliveries', 'resolve', old.id, '--resend', '--reason', 'r'],
    ]) {
      const { status, stderr } = command(args);
      expect(status, stderr).not.toBe(0);
      expect(stderr).toContain('run.unreadable');
    }
    expect(await ledger.find(old.id)).toEqual(closed);
    if (state === 'replaced') expect(await ledger.find(added.id)).toMatchObject({ state: 'pending', epoch: 0 });
  },
);

test('a running 0.2.0 neither approves a review with a deputy nor sends a correction that a person opened', async () => {
  const { redis, archive, command } = await deploymentOf020();
  const runs = redisRunStore(redis, { prefix: '{docket}', keepDays: 90, log: silentLog });
  await runs.open(anOrder({ id: RUN }));
  await runs.update(RUN, { state: 'awaiting_approval' });
  const storage = directoryStorage(archive);
  const [ref, by] = [
    { id: RUN, org: 'acme', report: 'weekly' },
    { person: 'mlro', name: 'Mia', principal: 'token:mia' },
  ];
  const delegate = {
    seq: 1,
    at: 1,
    type: 'delegate',
    by,
    from: 'mlro',
    to: 'dora',
    until: null,
    reason: 'away',
  } as const;
  await createReviewArchive(storage, reviewEventSchema).append(ref, 1, delegate);
  const opened = { seq: 1, at: 1, correction: 1, by: 'anna', reason: 'wrong pack', run: 'c'.repeat(32) };
  await correctionArchive(storage).append(ref, { ...opened, type: 'opened', definition: 'd'.repeat(64) });
  const token = newToken();
  const file = join(archive, 'tokens.yaml');
  await writeFile(file, JSON.stringify([{ name: 'mia', sha256: token.sha256, role: 'operator', orgs: '*' }]), {
    mode: 0o600,
  });
  const env = { DOCKET_TOKEN: token.token, DOCKET_ADMIN_TOKENS: file };
  for (const args of [
    ['runs', 'approve', RUN, '--content', 'e'.repeat(64), '--reason', 'r'],
    ['corrections', 'send', `${RUN}-1`, '--reason', 'r'],
  ]) {
    const { status, stderr } = command(args, env);
    expect(status, stderr).not.toBe(0);
    expect(stderr).toContain('archive.corrupt');
  }
  expect(await runs.list({ limit: 10 })).toMatchObject([{ id: RUN, state: 'awaiting_approval' }]);
});
