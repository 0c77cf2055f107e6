import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { createArchive } from '../../../src/deliver/archive/create-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { type LocalRedis, localRedis } from '../../../src/demo/local-redis.ts';
import { DEFAULT_KEY_PREFIX } from '../../../src/redis/keys.ts';
import { type DecisionHarness, decisionHarness } from '../../support/decision-harness.ts';
import { manifestOf, writeArtifact } from '../../support/delivery-case.ts';
import { freePort } from '../../support/free-port.ts';
import { anOrder, openQueueHarness, type QueueHarness } from '../../support/queue-harness.ts';
import { runCommand } from '../../support/run-command.ts';

describe('short ids on the command line', () => {
  let folder: string;
  let redis: LocalRedis;
  let harness: QueueHarness;
  let desk: DecisionHarness;
  let env: Record<string, string>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-short-'));
    redis = await localRedis({ PATH: process.env.PATH });
    harness = await openQueueHarness(systemClock, DEFAULT_KEY_PREFIX, silentLog, redis.url);
    desk = decisionHarness(harness);
    env = { REDIS_URL: redis.url, DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href };
  });
  afterAll(async () => {
    await harness.close();
    await redis.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Seals a run with one file. */
  const seal = async (id: string): Promise<void> => {
    const archive = createArchive(directoryStorage(join(folder, 'archive')), systemClock);
    const staged = await archive.stage(id);
    const artifacts = [await writeArtifact(staged, 'kpis.csv', 'a\r\n1\r\n')];
    const mail = { subject: '', html: '<p>1</p>', text: '1', pictures: [] };
    await archive.publish(staged, { ...manifestOf(artifacts, id), org: 'acme', report: 'weekly' }, artifacts, mail);
  };
  const call = (...args: string[]) => runCommand(args, { env, cwd: folder });

  it('are accepted by every command about a run, which uses the full id', async () => {
    const { id, deliveries } = await desk.ended('partly_delivered', ['refused', 'unknown']);
    await seal(id);
    const short = id.slice(0, 8);
    const shown = await call('runs', 'show', short, '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({ id, record: { id } });
    expect(JSON.parse((await call('runs', 'watch', short, '--json')).stdout)).toMatchObject({ id });
    const got = await call('runs', 'get', short, '--out', join(folder, 'out'), '--json');
    expect(JSON.parse(got.stdout)).toMatchObject({ run: id });
    expect(await readFile(join(folder, 'out', 'files', 'kpis.csv'), 'utf8')).toContain('1');
    const listed = JSON.parse((await call('deliveries', '--run', short, '--json')).stdout);
    expect(listed.deliveries.map(({ id: each }: { id: string }) => each)).toEqual(deliveries);
    const unknown = deliveries[1] ?? '';
    const resolved = await call('deliveries', 'resolve', unknown.slice(0, 20), '--sent', '--reason', 'asked', '--json');
    expect(JSON.parse(resolved.stdout)).toMatchObject({ id: unknown, state: 'sent' });
    const retried = await call('runs', 'retry', short, '--reason', 'again', '--json');
    expect(JSON.parse(retried.stdout)).toMatchObject({ id, state: 'queued' });
    const cancelled = await call('runs', 'cancel', short, '--reason', 'no', '--json');
    expect(JSON.parse(cancelled.stdout)).toMatchObject({ id });
    const held = await desk.ended('held');
    await seal(held.id);
    const released = await call('runs', 'release', held.id.slice(0, 9), '--reason', 'fine', '--json');
    expect(JSON.parse(released.stdout)).toMatchObject({ id: held.id, state: 'queued' });
  });

  it('name the run whose unknown deliveries are decided about together', async () => {
    const { id, deliveries } = await desk.ended('partly_delivered', ['sent', 'unknown', 'unknown', 'refused']);
    await seal(id);
    const resolve = (...args: string[]) => call('deliveries', 'resolve', ...args, '--reason', 'asked', '--json');
    const resolved = await resolve('--run', id.slice(0, 8), '--sent');
    const rows: { readonly id: string; readonly state: string }[] = JSON.parse(resolved.stdout).deliveries;
    expect(rows.map((row) => row.id).sort()).toEqual(deliveries.slice(1, 3).sort());
    expect(rows.every(({ state }) => state === 'sent')).toBe(true);
    expect(await resolve('--run', id.slice(0, 8), '--resend')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('[delivery.conflict]'),
    });
    for (const args of [['--sent'], [deliveries[1] ?? '', '--run', id, '--sent'], ['--run', id]]) {
      expect(await resolve(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining('[usage.invalid]') });
    }
  });

  it('that are ambiguous, too short or unknown exit with 2 and their code', async () => {
    for (const last of ['1', '2'])
      await harness.runs.open(anOrder({ id: `abcdef0${last}`.repeat(4).replace(/^.{8}/, 'abcdef01') }));
    const commands = [
      ['runs', 'show'],
      ['runs', 'get'],
      ['runs', 'watch'],
      ['runs', 'cancel', '--reason', 'x'],
      ['runs', 'retry', '--reason', 'x'],
      ['deliveries', '--run'],
    ];
    for (const [index, command] of commands.entries()) {
      const ended = await call(...command, 'abcdef01');
      expect([command, ended.code, ended.stdout]).toEqual([command, 2, '']);
      expect(ended.stderr).toContain('[run.ambiguous]');
      expect(ended.stderr.match(/abcdef01[0-9a-f]{24} \(acme\/weekly/g)).toHaveLength(2);
      if (index > 1) continue;
      expect((await call(...command, 'abcdef0')).stderr).toContain('[usage.invalid]');
      expect((await call(...command, 'fffffff0f')).stderr).toContain('[run.not_found]');
    }
    const delivery = await call('deliveries', 'resolve', 'fffffff0', '--sent', '--reason', 'x');
    expect(delivery).toMatchObject({ code: 2, stderr: expect.stringContaining('[delivery.not_found]') });
  });

  it('find runs that only the archive has, with and without Redis', async () => {
    const id = `5eed${'0123456789abcdef'.repeat(2)}`.slice(0, 32);
    await seal(id);
    expect(JSON.parse((await call('runs', 'show', '5eed0123', '--json')).stdout)).toMatchObject({ id, record: null });
    env = { ...env, REDIS_URL: `redis://127.0.0.1:${await freePort()}` };
    const got = await call('runs', 'get', '5eed0123', '--json');
    expect(JSON.parse(got.stdout)).toMatchObject({ run: id, folder: join(folder, id) });
    await seal(`${id.slice(0, 31)}e`);
    const both = await call('runs', 'show', '5eed0123');
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('[run.ambiguous]') });
  });
});
