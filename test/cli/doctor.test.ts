import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { type MailCatcher, mailCatcher } from '../../src/demo/mail-catcher.ts';
import { freePort } from '../../src/demo/redis.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { docket } from '../support/docket.ts';
import { hostileServer } from '../support/hostile-server.ts';
import { otherService } from '../support/other-service.ts';

const findingsSchema = z.object({
  findings: z.array(
    z.object({
      what: z.string(),
      state: z.enum(['ok', 'warn', 'fail']),
      detail: z.string(),
      remedy: z.string().optional(),
    }),
  ),
});

let sandbox: Sandbox;
let mail: MailCatcher;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-doctor-'));
  sandbox = await startSandbox();
  mail = await mailCatcher(join(folder, 'mailbox'));
});
afterAll(async () => {
  await mail.close();
  await sandbox.close();
  await rm(folder, { recursive: true, force: true });
});

const examine = async (change: Record<string, string> = {}) => {
  const env = {
    COMPLIANCE_API_URL: sandbox.url,
    DEMO_API_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
    REDIS_URL: inject('redisUrl'),
    SMTP_URL: mail.url,
    MAIL_FROM: 'reports@acme.example',
    DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
    ...change,
  };
  const { code, stdout } = await docket(['doctor', '--json'], { env });
  return { code, ...findingsSchema.parse(JSON.parse(stdout)) };
};

test('finds everything well where it is, and sends nothing', async () => {
  const { code, findings } = await examine();
  expect(findings.map(({ what, state }) => [what, state])).toEqual([
    ['Redis', 'ok'],
    ['Definitions', 'ok'],
    ['API key of demo', 'ok'],
    ['Mail server (SMTP_URL)', 'ok'],
    ['Directory out/board-pack/{{ period.label }} of demo', 'ok'],
    ['Directory out/weekly-kpi/{{ period.label }} of demo', 'ok'],
    ['Archive', 'ok'],
  ]);
  expect(code).toBe(0);
  expect(mail.messages()).toEqual([]);
});

test('names what the catalog describes unreadably, which stops nothing', async () => {
  const server = await hostileServer();
  server.behave(otherService({ dimension: { values: [{ value: true, label: 'Yes' }] } }));
  const { code, findings } = await examine({ COMPLIANCE_API_URL: server.url });
  await server.close();
  const key = findings.find(({ what }) => what === 'API key of demo');
  expect(key).toMatchObject({ state: 'warn', detail: expect.stringContaining('x.other (values.0.value: ') });
  expect(code).toBe(0);
});

test('names each broken part with its remedy, one not hiding another, and no secret', async () => {
  const port = await freePort();
  const { code, findings } = await examine({
    SMTP_URL: `smtp://user:hunter2@127.0.0.1:${port}`,
    DEMO_API_KEY: 'sbx_acme.hunter2',
    DOCKET_ARCHIVE: 'file:///dev/null/archive',
  });
  expect(code).toBe(1);
  const failed = findings.filter(({ state }) => state === 'fail');
  expect(failed.map(({ what }) => what)).toEqual(['API key of demo', 'Mail server (SMTP_URL)', 'Archive']);
  for (const { remedy } of failed) expect(remedy).toMatch(/\w/);
  expect(JSON.stringify(findings)).not.toContain('hunter2');
});

test('calls nothing while the Redis that holds the budget is away, and says how to try without it', async () => {
  const { code, findings } = await examine({ REDIS_URL: `redis://user:hunter2@127.0.0.1:${await freePort()}` });
  expect(code).toBe(1);
  const failed = findings.filter(({ state }) => state === 'fail');
  expect(failed.map(({ what }) => what)).toEqual(['Redis', 'API keys']);
  expect(failed[1]?.remedy).toContain('unset REDIS_URL');
  expect(JSON.stringify(findings)).not.toContain('hunter2');
});
