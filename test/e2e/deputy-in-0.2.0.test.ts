import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { newToken } from '../../src/admin/auth/tokens.ts';
import { localRedis } from '../../src/demo/local-redis.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Deployment, deployment } from '../recorded/deployment.ts';
import { recordedMailServer } from '../recorded/mail-server.ts';
import { programOf } from '../recorded/program.ts';

const ORG = `version: 1
name: Acme
org: current
api_key: { env: ACME_KEY }
timezone: Etc/UTC
recipients: { domains: [acme.example] }
people:
  mlro: { name: Mia, tokens: [mia] }
  deputy: { name: Dora, tokens: [dora] }
`;
const REPORT = `version: 1
title: Weekly
owner: owner@acme.example
period: previous_week
sections: [{ id: figures, metrics: [profiles.created], totals: true }]
outputs: [{ format: csv }]
deliveries: [email: { to: [board@acme.example], attach: [csv] }]
approval: { by: [mlro] }
`;
const runSchema = z.looseObject({ id: z.string(), state: z.string() });
const contentSchema = z.looseObject({ content: z.string() });

test('0.2.0 sends nothing of a run with a deputy, and this version continues the run', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'docket-deputy-'));
  const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  onTestFinished(async () => {
    for (const end of ends.reverse()) await end();
  });
  const tokens = { ops: newToken(), mia: newToken(), dora: newToken() };
  await mkdir(join(folder, 'jobs/acme'), { recursive: true });
  await writeFile(join(folder, 'jobs/acme/org.yaml'), ORG);
  await writeFile(join(folder, 'jobs/acme/weekly.yaml'), REPORT);
  await writeFile(
    join(folder, 'tokens.yaml'),
    Object.entries(tokens)
      .map(([name, { sha256 }]) => `- { name: ${name}, sha256: ${sha256}, role: operator, orgs: "*" }\n`)
      .join(''),
  );
  const [redis, sandbox, mail] = await Promise.all([
    localRedis({ PATH: process.env.PATH }),
    startSandbox({ windowMs: 1 }),
    recordedMailServer(),
  ]);
  ends.push(redis.close, sandbox.close, mail.close);
  const options = {
    folder,
    token: () => tokens.ops.token,
    env: {
      REDIS_URL: redis.url,
      COMPLIANCE_API_URL: sandbox.url,
      ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
      SMTP_URL: mail.url,
      MAIL_FROM: 'reports@acme.example',
      // 0.2.0 rejects signed events anyway, so nothing is signed here.
      DOCKET_SIGNING_KEY: '',
    },
  };
  const docket = await deployment(options);
  const older = await deployment({ ...options, main: await programOf('0.2.0') });
  ends.push(docket.close, older.close);
  const as = (name: keyof typeof tokens) => ({ DOCKET_TOKEN: tokens[name].token });
  const stateOf = async (of: Deployment, id: string) => {
    const { code, stdout, stderr } = await of.run(['runs', '--json']);
    if (code !== 0) throw new Error(stderr);
    const { runs } = z.object({ runs: z.array(runSchema) }).parse(JSON.parse(stdout));
    return runs.find((run) => run.id === id)?.state;
  };
  const boards = () => mail.arrived().filter(({ to }) => to.includes('board@acme.example'));

  let running = await docket.start();
  const opened = runSchema.parse(await (await running.request('/api/reports/acme/weekly/runs', { body: {} })).json());
  await expect.poll(() => stateOf(docket, opened.id)).toBe('awaiting_approval');
  const review = await (await running.request(`/api/runs/${opened.id}/review`)).json();
  const { content } = contentSchema.parse(review);
  expect(await running.stop()).toBe(0);
  const delegate = ['runs', 'delegate', opened.id, '--to', 'deputy', '--reason', 'on leave'];
  expect(await docket.run(delegate, as('mia'))).toMatchObject({ code: 0 });
  // If 0.2.0 ignored the delegation, it would count this approval, since the run is queued.
  const approve = ['runs', 'approve', opened.id, '--content', content, '--reason', 'checked', '--json'];
  expect(await docket.run(approve, as('mia'))).toMatchObject({ code: 0 });

  running = await older.start();
  await expect.poll(() => stateOf(older, opened.id)).toBe('failed');
  expect((await older.run(approve, as('mia'))).stdout).toContain('archive.corrupt');
  expect(await running.stop()).toBe(0);
  expect(boards()).toEqual([]);

  running = await docket.start();
  const retry = ['runs', 'retry', opened.id, '--reason', 'upgraded', '--by', 'ops'];
  expect(await docket.run(retry)).toMatchObject({ code: 0 });
  await expect.poll(() => stateOf(docket, opened.id)).toBe('done');
  expect(boards()).toHaveLength(1);
  expect(await running.stop()).toBe(0);
});
