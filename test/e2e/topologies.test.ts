import { Cluster } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { DEFAULT_KEY_PREFIX, redisKeys } from '../../src/redis/keys.ts';
import { sentinelGroup, testCluster } from '../support/cluster.ts';
import { roleProcesses } from '../support/role-processes.ts';

const HOUR_MS = 3_600_000;
const RUNS = 30;

/** Triggers runs one after another while `disaster` strikes in between. Every run must send its mail once. */
async function throughFailover(url: string, disaster: () => Promise<void>): Promise<void> {
  const deployment = await roleProcesses(url);
  const admin = await deployment.start('admin');
  const runs: string[] = [];
  for (let n = 0; n < RUNS; n += 1) runs.push(await deployment.trigger(admin, `run-${n}`));
  for (const role of ['scheduler', 'worker', 'worker']) void deployment.start(role, '--concurrency', '2');
  await deployment.mail.waitForMessages(3);
  await disaster();
  expect(deployment.mail.messages().length).toBeLessThan(RUNS);
  await deployment.mail.waitForMessages(RUNS);
  // New runs work afterwards.
  const after = await deployment.trigger(admin, 'after');
  await deployment.mail.waitForMessages(RUNS + 1);
  expect(deployment.mail.messages()).toHaveLength(RUNS + 1);
  await expect
    .poll(async () => (await deployment.runs()).filter(({ state }) => state === 'done').length)
    .toBe(RUNS + 1);
  expect((await deployment.runs()).map(({ id }) => id).sort()).toEqual([...runs, after].sort());
  expect(deployment.mail.messages()).toHaveLength(RUNS + 1);
}

test('a report runs end to end on a Redis Cluster of three masters', async () => {
  const cluster = await testCluster();
  onTestFinished(() => cluster.close());
  const deployment = await roleProcesses(cluster.url);
  await (await deployment.start('scheduler')).stop();
  const client = new Cluster(cluster.masters.map(({ port }) => ({ port })));
  onTestFinished(() => client.disconnect());
  const { cursors } = redisKeys(DEFAULT_KEY_PREFIX);
  for (const cursor of await client.hkeys(cursors)) await client.hset(cursors, cursor, Date.now() - 3 * HOUR_MS);

  const processes = await Promise.all(
    ['scheduler', 'scheduler', 'admin', 'worker', 'worker'].map((role) => deployment.start(role)),
  );
  const admin = processes[2];
  if (admin === undefined) throw new Error('no admin process');
  await deployment.trigger(admin, 'once');
  await deployment.mail.waitForMessages(2);
  await expect.poll(async () => (await deployment.runs()).map(({ state }) => state)).toEqual(['done', 'done']);
  expect(deployment.mail.messages()).toHaveLength(2);
  for (const { ready } of processes) expect((await ready()).status).toBe('ready');

  const paused = await deployment.command('pause', 'acme', '--reason', 'trying', '--by', 'ben');
  expect(paused).toMatchObject({ code: 0, stderr: '' });
  expect((await deployment.command('schedule')).stdout).toContain('acme is paused since');
  expect((await deployment.command('resume', 'acme')).code).toBe(0);
  for (const args of [['deliveries'], ['budget'], ['runs']]) {
    expect(await deployment.command(...args, '--json')).toMatchObject({ code: 0, stderr: '' });
  }
  // Every key is on the node of its hash tag, and no process complained about another node.
  const owner = await cluster.ownerOf(DEFAULT_KEY_PREFIX);
  for (const { port, client: node } of cluster.masters) {
    if (port === owner.port) expect(await node.dbsize()).toBeGreaterThan(5);
    else expect(await node.dbsize()).toBe(0);
  }
  for (const { lines } of processes) {
    const complaints = lines.filter(({ level }) => level === 'warn' || level === 'error');
    // The only warnings are about slots that a later one supersedes.
    expect(complaints.filter(({ why }) => why !== 'superseded')).toEqual([]);
  }
});

test('a Redis Cluster whose master dies during runs continues with its replica, and nothing is sent twice', async () => {
  const cluster = await testCluster({ replicas: 1 });
  onTestFinished(() => cluster.close());
  const owner = await cluster.ownerOf(DEFAULT_KEY_PREFIX);
  await throughFailover(cluster.url, async () => {
    await owner.client.wait(1, 5_000);
    await owner.kill();
  });
});

test('Sentinel fails over from a master that dies during runs, and nothing is sent twice', async () => {
  const group = await sentinelGroup();
  onTestFinished(() => group.close());
  await throughFailover(group.url, async () => {
    await group.master.client.wait(1, 5_000);
    await group.master.kill();
  });
  expect((await group.replica.client.role())[0]).toBe('master');
});
