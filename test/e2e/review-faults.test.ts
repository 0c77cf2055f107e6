import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { localRedis } from '../../src/demo/local-redis.ts';
import { type RoleProcess, roleProcesses } from '../support/role-processes.ts';

const ORG = `org: current
api_key: { env: ACME_KEY }
timezone: UTC
recipients: { domains: [acme.example] }
budget: { calls: 1000, window: 1 }
people:
  ann: { email: ann@acme.example, tokens: [ann, ann-laptop] }
  bob: { email: bob@acme.example, tokens: [bob] }
`;
const REPORT = `version: 1
title: Weekly
owner: owner@acme.example
period: previous_week
approval: { by: [ann, bob], need: 2 }
sections: [{ id: open, metrics: [alerts.open] }]
outputs: [{ format: csv }]
deliveries:
  - email: { to: [lead@acme.example], attach: [csv] }
`;

const reviewSchema = z.looseObject({
  content: z.string().nullable(),
  phase: z.string(),
  approvals: z.array(z.looseObject({})),
});

test('a review survives kills of its workers and losses of Redis: two people approve, it is sent once, and each approver is notified once', async () => {
  const server = await localRedis({ PATH: process.env.PATH });
  const client = new Redis(server.url);
  onTestFinished(async () => {
    client.disconnect();
    await server.close();
  });
  const deployment = await roleProcesses(server.url);
  await writeFile(join(deployment.root, 'jobs', 'acme', 'org.yaml'), ORG);
  await writeFile(join(deployment.root, 'jobs', 'acme', 'weekly.yaml'), REPORT);
  const tokens = new Map<string, string>();
  for (const name of ['ann', 'ann-laptop', 'bob']) {
    const { stdout } = await deployment.command('tokens', 'create', '--name', name, '--role', 'operator');
    tokens.set(name, stdout.trim());
  }
  const ask = async (admin: RoleProcess, path: string, name: string, body?: object) => {
    const response = await fetch(`${admin.url}/api/runs/${path}`, {
      headers: { authorization: `Bearer ${tokens.get(name)}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  const reviewOf = async (admin: RoleProcess, run: string) =>
    reviewSchema.parse((await ask(admin, `${run}/review`, 'ann')).body);
  /** Resolves when one of the workers ends an attempt in this state. */
  const ended = (workers: readonly RoleProcess[], run: string, state: string) =>
    Promise.race(workers.map((worker) => worker.logged((line) => line.run === run && line.state === state)));
  const both = () => Promise.all([deployment.start('worker'), deployment.start('worker')]);
  const mailTo = (who: string) =>
    deployment.mail.messages().filter(({ to }) => to.includes(`${who}@acme.example`)).length;

  const [admin, first] = await Promise.all([deployment.start('admin'), deployment.start('worker')]);
  const run = await deployment.trigger(admin, 'once');
  await ended([first], run, 'awaiting_approval');
  // One notice for each approver. The owner and the reader have got nothing yet.
  await deployment.mail.waitForMessages(2);
  const { content } = await reviewOf(admin, run);
  expect((await ask(admin, `${run}/approve`, 'ann', { content, reason: 'seen' })).status).toBe(200);
  await Promise.all([admin.kill(), first.kill()]);
  await client.flushall();

  const restored = await both();
  await ended(restored, run, 'awaiting_approval');
  const second = await deployment.start('admin');
  expect(await reviewOf(second, run)).toMatchObject({ content, phase: 'approval', approvals: [{}] });
  // The same person with another token must not count twice.
  await ask(second, `${run}/approve`, 'ann-laptop', { content, reason: 'again' });
  expect((await reviewOf(second, run)).approvals).toHaveLength(1);
  await Promise.all(restored.map((worker) => worker.kill()));
  expect((await ask(second, `${run}/approve`, 'bob', { content, reason: 'seen' })).status).toBe(200);
  await client.flushall();
  expect(mailTo('lead')).toBe(0);

  const last = await both();
  await ended(last, run, 'done');
  await deployment.mail.waitForMessages(3);
  expect([mailTo('ann'), mailTo('bob'), mailTo('lead'), mailTo('owner')]).toEqual([1, 1, 1, 0]);
  const folder = join(deployment.root, 'archive', 'acme', 'weekly', run);
  expect(await readFile(join(folder, 'manifest.json'), 'utf8')).toContain(content);
  expect((await deployment.command('archive', 'verify')).code).toBe(0);
});
