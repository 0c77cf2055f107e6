import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type LocalRedis, localRedis } from '../../../src/demo/local-redis.ts';
import { createMailCatcher, type MailCatcher } from '../../../src/demo/mail-catcher.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { freePort } from '../../support/free-port.ts';
import { hostileServer, json } from '../../support/hostile-server.ts';
import { runCommand } from '../../support/run-command.ts';
import { variantService } from '../../support/variant-service.ts';

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
let redis: LocalRedis;
beforeAll(async () => {
  // A Redis of its own: the doctor checks the identity and the schedules of the whole server.
  redis = await localRedis({ PATH: process.env.PATH });
  folder = await mkdtemp(join(tmpdir(), 'docket-doctor-'));
  sandbox = await startSandbox();
  mail = await createMailCatcher(join(folder, 'mailbox'));
  // The token of the approver of the demo's board pack.
  await writeFile(
    join(folder, 'tokens.yaml'),
    `- { name: mlro, sha256: "${'0'.repeat(64)}", role: viewer, orgs: [demo] }\n`,
  );
});
afterAll(async () => {
  await mail.close();
  await sandbox.close();
  await redis.close();
  await rm(folder, { recursive: true, force: true });
});

const examine = async (change: Record<string, string> = {}, flags: readonly string[] = []) => {
  const env = {
    COMPLIANCE_API_URL: sandbox.url,
    DEMO_API_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
    REDIS_URL: redis.url,
    SMTP_URL: mail.url,
    MAIL_FROM: 'reports@acme.example',
    DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
    DOCKET_ADMIN_TOKENS: join(folder, 'tokens.yaml'),
    ...change,
  };
  const { code, stdout } = await runCommand(['doctor', '--json', ...flags], { env });
  return { code, ...findingsSchema.parse(JSON.parse(stdout)) };
};

const found = (findings: z.infer<typeof findingsSchema>['findings'], what: string) =>
  findings.find((finding) => finding.what === what);

test('doctor finds no problem in a working setup, sends nothing and uses no metrics call', async () => {
  const before = sandbox.requests().length;
  const { code, findings } = await examine();
  const states = Object.fromEntries(findings.map(({ what, state }) => [what, state]));
  expect(states).toEqual({
    'Node.js': expect.stringMatching(/ok|warn/),
    'Stops and legal holds': 'ok',
    'Deny list': 'ok',
    'Time zone data': 'ok',
    Redis: 'ok',
    'Redis on disk': 'ok',
    'Redis memory': expect.stringMatching(/ok|warn/),
    'Redis latency': expect.stringMatching(/ok|warn/),
    'Redis role': 'ok',
    'Redis clock': 'ok',
    Definitions: 'ok',
    'Scope of reports': 'ok',
    'Approvers of demo/board-pack': 'ok',
    'Tokens of the admin route': 'ok',
    'Secret folders': 'warn',
    Destinations: 'ok',
    API: 'ok',
    'API clock': 'ok',
    'API key of demo': 'ok',
    'Catalog of demo': 'ok',
    'Budget of demo': 'ok',
    'Mail server (SMTP_URL)': 'ok',
    'Sender (MAIL_FROM)': 'ok',
    'Directory out/board-book/{{ period.label }} of demo': 'ok',
    'Directory out/board-pack/{{ period.label }} of demo': 'ok',
    'Directory out/weekly-kpi/{{ period.label }} of demo': 'ok',
    Deployment: 'ok',
    Archive: 'ok',
    'Disk of the archive': expect.stringMatching(/ok|warn/),
    Readings: expect.stringMatching(/ok|warn/),
    Schedules: expect.stringMatching(/ok|warn/),
    Pauses: expect.stringMatching(/ok|warn/),
    Workers: expect.stringMatching(/ok|warn/),
    Processes: 'ok',
    Circuits: 'ok',
  });
  expect(found(findings, 'API key of demo')?.detail).toBe('accepted, reaches Acme Payments (101)');
  expect(code).toBe(0);
  expect(mail.messages()).toEqual([]);
  expect(
    sandbox
      .requests()
      .slice(before)
      .map(({ path }) => path),
  ).toEqual(['/api/orgs/', '/api/orgs/']);
});

test('doctor --catalog fetches the catalogs, one call per key', async () => {
  const before = sandbox.requests().length;
  const { findings } = await examine({}, ['--catalog']);
  expect(found(findings, 'Catalog of demo')?.detail).toMatch(/^\d+ metrics, \d+ dimensions, registry version \d+$/);
  const metrics = sandbox
    .requests()
    .slice(before)
    .filter(({ path }) => path.includes('/analytics/'));
  expect(metrics).toHaveLength(1);
});

test('doctor accepts a key limited to metrics, and reports keys that may not read metrics, have expired or reach no organization', async () => {
  const keyOf = (wanted: string) => sandbox.keys.find(({ label }) => label === wanted)?.key ?? '';
  const limited = await examine({ DEMO_API_KEY: keyOf('metrics') }, ['--catalog']);
  expect(found(limited.findings, 'API key of demo')).toMatchObject({
    state: 'ok',
    detail: expect.stringContaining('limited to'),
  });
  expect(found(limited.findings, 'Catalog of demo')?.state).toBe('ok');
  const agent = await examine({ DEMO_API_KEY: keyOf('agent') }, ['--catalog']);
  expect(found(agent.findings, 'Catalog of demo')).toMatchObject({
    state: 'fail',
    remedy: expect.stringContaining('analytics.read'),
  });
  const expired = await examine({ DEMO_API_KEY: keyOf('expired') });
  expect(found(expired.findings, 'API key of demo')).toMatchObject({
    state: 'fail',
    detail: expect.stringContaining('expired'),
  });
  const left = await examine({ DEMO_API_KEY: keyOf('left') });
  expect(found(left.findings, 'API key of demo')).toMatchObject({
    state: 'fail',
    detail: expect.stringContaining('no organization'),
  });
});

test('doctor warns of parts of the catalog that it cannot read, and continues', async () => {
  const server = await hostileServer();
  const other = variantService({ dimension: { values: [{ value: true, label: 'Yes' }] } });
  server.behave((request, ...rest) => {
    const known = request.headers.authorization !== undefined;
    if (request.url !== '/api/orgs/') other(request, ...rest);
    else if (known) json([{ id: 101, name: 'Other' }])(request, ...rest);
    else json({ detail: 'Who?', code: 'auth.invalid_credentials' }, 401)(request, ...rest);
  });
  const { code, findings } = await examine({ COMPLIANCE_API_URL: server.url }, ['--catalog']);
  await server.close();
  expect(found(findings, 'Catalog of demo')).toMatchObject({
    state: 'warn',
    detail: expect.stringContaining('x.other (values.0.value: '),
  });
  // The demo's reports need more than that catalog has. The check of the definitions finds that without a call.
  expect([code, found(findings, 'Definitions')?.state]).toEqual([1, 'fail']);
});

test('doctor reports every broken part with its remedy, and no secret', async () => {
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

test('doctor makes no call while the Redis with the budget is unreachable, and says how to check without it', async () => {
  const { code, findings } = await examine({ REDIS_URL: `redis://user:hunter2@127.0.0.1:${await freePort()}` });
  expect(code).toBe(1);
  const failed = findings.filter(({ state }) => state === 'fail');
  expect(failed.map(({ what }) => what)).toEqual(['Redis', 'API keys']);
  expect(failed[1]?.remedy).toContain('unset REDIS_URL');
  expect(JSON.stringify(findings)).not.toContain('hunter2');
});
