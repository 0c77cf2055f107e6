import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { completeAnswers } from '../../../src/cli/init/draft.ts';
import { promptOrganization, promptRemaining, promptService } from '../../../src/cli/init/prompts.ts';
import { createMailCatcher, type MailCatcher } from '../../../src/demo/mail-catcher.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { runCommand } from '../../support/run-command.ts';

const initSchema = z.object({
  written: z.array(z.string()),
  kept: z.array(z.string()),
  reports: z.array(z.string()),
  findings: z.array(z.object({ what: z.string(), state: z.string() })),
  next: z.array(z.string()),
});

let sandbox: Sandbox;
let mail: MailCatcher;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-init-'));
  sandbox = await startSandbox();
  mail = await createMailCatcher(join(folder, 'mailbox'));
});
afterAll(async () => {
  await mail.close();
  await sandbox.close();
  await rm(folder, { recursive: true, force: true });
});

const keyOf = (wanted: string) => sandbox.keys.find(({ label }) => label === wanted)?.key ?? '';
const TO = ['--to', 'you@acme.example', '--yes'];

async function init(name: string, args: readonly string[], env: Record<string, string>) {
  const cwd = await mkdtemp(join(folder, `${name}-`));
  const ended = await runCommand(['init', ...args], { cwd, env });
  return { ...ended, cwd, files: (await readdir(cwd, { recursive: true })).sort() };
}

test('a key limited to metrics gets sections of its catalog, and needs --org', async () => {
  const env = { COMPLIANCE_API_URL: sandbox.url, ACME_API_KEY: keyOf('metrics') };
  const unnamed = await init('metrics', TO, env);
  expect([unnamed.code, unnamed.files]).toEqual([2, []]);
  expect(unnamed.stderr).toContain('--org');
  const { stdout, cwd } = await init('metrics', [...TO, '--org', 'null', '--json'], env);
  const { written, reports, findings } = initSchema.parse(JSON.parse(stdout));
  expect(reports).toEqual(['null/weekly-kpi']);
  expect(written).toContain(join(cwd, 'jobs/null/org.yaml'));
  expect(findings.find(({ what }) => what === 'API key of null')?.state).toBe('ok');
  expect(findings.find(({ what }) => what === 'Definitions')?.state).toBe('ok');
  const checked = await runCommand(['check', '--json'], { cwd, env });
  expect(checked.code).toBe(0);
  expect(JSON.parse(checked.stdout)).toMatchObject({ faults: [], not_checked: [] });
});

test.each([
  ['the service', 'api.unreachable', { COMPLIANCE_API_URL: 'http://127.0.0.1:1' }],
  ['the key', 'api.unauthorized', { ACME_API_KEY: 'sbx_unknown' }],
  ['Redis', 'redis.unreachable', { REDIS_URL: 'redis://127.0.0.1:1' }],
  ['a missing key', 'config.secret_missing', { ACME_API_KEY: '' }],
])('without --org the error names what failed: %s', async (_what, code, change) => {
  const env = { COMPLIANCE_API_URL: sandbox.url, ACME_API_KEY: keyOf('acme'), ...change };
  const ended = await init('failing', [...TO, '--key-env', 'ACME_API_KEY', '--json'], env);
  expect([ended.code, ended.files]).toEqual([2, []]);
  const { error } = z.looseObject({ error: z.looseObject({ message: z.string() }) }).parse(JSON.parse(ended.stdout));
  expect(error).toMatchObject({ code: 'usage.invalid', message: expect.stringContaining(`[${code}]`) });
  expect(ended.stderr).toContain('--org');
});

test('without the key init writes safe sections, and the first next step sets the key', async () => {
  const args = [...TO, '--org', 'acme', '--key-env', 'ACME_API_KEY', '--json'];
  const { code, stdout } = await init('keyless', args, { COMPLIANCE_API_URL: sandbox.url });
  const { findings, next } = initSchema.parse(JSON.parse(stdout));
  expect(next[0]).toMatch(/^export ACME_API_KEY='…'/);
  expect(findings.find(({ what }) => what === 'API key of acme')?.state).toBe('fail');
  expect(code).toBe(1);
});

test('neither files nor output contain the key or a password', async () => {
  const env = {
    COMPLIANCE_API_URL: sandbox.url,
    ACME_API_KEY: keyOf('acme'),
    SMTP_URL: `smtp://me:hunter2@127.0.0.1:${new URL(mail.url).port}`,
    REDIS_URL: 'redis://me:hunter3@127.0.0.1:1',
    MAIL_FROM: 'reports@acme.example',
  };
  const { stdout, stderr, cwd, files } = await init('secrets', [...TO, '--org', 'acme', '--report', 'both'], env);
  const texts = [stdout, stderr];
  for (const file of files) texts.push(await readFile(join(cwd, file), 'utf8').catch(() => ''));
  expect(files).toContain('jobs/acme/board-pack.yaml');
  for (const secret of [env.ACME_API_KEY, 'hunter2', 'hunter3']) expect(texts.join('\n')).not.toContain(secret);
});

test('a key given as --key-env is rejected and not repeated', async () => {
  const pasted = await init('pasted', [...TO, '--key-env', keyOf('acme')], { COMPLIANCE_API_URL: sandbox.url });
  expect([pasted.code, pasted.files]).toEqual([2, []]);
  expect(pasted.stderr).toContain('[usage.invalid]');
  expect(pasted.stdout + pasted.stderr).not.toContain(keyOf('acme'));
});

test('existing definitions of an organization are not changed', async () => {
  const env = { COMPLIANCE_API_URL: sandbox.url, ACME_API_KEY: keyOf('acme') };
  const first = await init('twice', [...TO, '--org', 'acme', '--offline'], env);
  expect(first.code).toBe(0);
  await writeFile(join(first.cwd, 'jobs/acme/org.yaml'), 'mine\n');
  const again = await runCommand(['init', ...TO, '--org', 'acme', '--report', 'monthly'], { cwd: first.cwd, env });
  expect(again.code).toBe(2);
  expect(again.stderr).toContain('jobs/acme/org.yaml');
  expect((await readdir(first.cwd, { recursive: true })).sort()).toEqual(first.files);
  const beside = await runCommand(['init', ...TO, '--org', 'other', '--offline', '--json'], { cwd: first.cwd, env });
  expect(initSchema.parse(JSON.parse(beside.stdout)).kept).toContain(join(first.cwd, 'docket.env'));
});

/** Types the keys of each prompt when it appears. */
function typing(answers: readonly (readonly [question: string, keys: string])[]) {
  const input = new PassThrough();
  const output = new PassThrough();
  const left = [...answers];
  let shown = '';
  output.on('data', (piece: Buffer) => {
    shown += piece.toString('utf8');
    const [next] = left;
    if (next === undefined || !shown.includes(next[0])) return;
    left.shift();
    shown = '';
    // Wait until the prompt reads input.
    setImmediate(() => input.write(next[1]));
  });
  return { input, output, left };
}

const CLEAR = '\u0015';
const DOWN = '\u001b[B';

test('prompts collect the same answers as flags', async () => {
  const organizations = [
    { id: 101, name: 'Acme Payments' },
    { id: 102, name: 'Northwind Exchange' },
  ];
  const at = typing([
    ['URL of the Compliance Service', '\r'],
    ['Where is the API key?', '\r'],
    ['Name of the variable', `${CLEAR}NORTH_API_KEY\r`],
    ['Which organization', `${DOWN}\r`],
    ['Short name', '\r'],
    ['Time zone', `${CLEAR}Europe/Zurich\r`],
    ['Recipients of the reports?', 'a@north.example, b@north.example\r'],
    ['are allowed', `${DOWN}\r`],
    ['Which report?', `${DOWN}${DOWN}\r`],
    ['Mail server', '\r'],
    ['Sender', 'reports@north.example\r'],
  ]);
  const streams = { input: at.input, output: at.output };
  const defaults = { url: 'https://api.example.com', smtpUrl: 'smtp://mail.example.com:587' };
  const placed = await promptService({}, defaults, {}, streams);
  const service = { organizations, errors: [] };
  const chosen = await promptOrganization(placed, service, streams);
  const draft = await promptRemaining(chosen, service, defaults, streams);
  expect(at.left).toEqual([]);
  expect(completeAnswers(draft, service)).toEqual({
    url: 'https://api.example.com',
    key: { env: 'NORTH_API_KEY' },
    serviceOrg: 102,
    org: 'northwind-exchange',
    name: 'Northwind Exchange',
    timezone: 'Europe/Zurich',
    to: ['a@north.example', 'b@north.example'],
    allow: 'domain',
    owner: 'a@north.example',
    report: 'both',
    smtpUrl: 'smtp://mail.example.com:587',
    mailFrom: 'reports@north.example',
  });
});

test('Ctrl-C during a prompt throws run.cancelled', async () => {
  const at = typing([['URL of the Compliance Service', '\u0003']]);
  await expect(promptService({}, {}, {}, { input: at.input, output: at.output })).rejects.toMatchObject({
    code: 'run.cancelled',
  });
});

test('Ctrl-C during a prompt or a query leaves no file, and exits with 130', async () => {
  const cwd = await mkdtemp(join(folder, 'stopped-'));
  let pressed = false;
  const press = (screen: string) => {
    if (pressed || !screen.includes('URL of')) return undefined;
    pressed = true;
    return '\u0003';
  };
  const prompted = await runCommand(['init'], { cwd, terminal: { press } });
  expect(prompted.code).toBe(130);
  expect(prompted.stderr).toContain('[run.cancelled]');

  for (const command of [['init', ...TO, '--org', 'acme'], ['doctor']]) {
    const service = createServer().listen(0, '127.0.0.1');
    await once(service, 'listening');
    const { port } = z.object({ port: z.number() }).parse(service.address());
    const env = { COMPLIANCE_API_URL: `http://127.0.0.1:${port}`, ACME_API_KEY: keyOf('acme') };
    // The doctor needs definitions, and this folder has none.
    const jobs = command[0] === 'doctor' ? { DOCKET_JOBS: join(process.cwd(), 'jobs') } : {};
    const stopped = runCommand(command, { cwd, env: { ...env, ...jobs }, stopAt: once(service, 'request') });
    expect(await stopped).toMatchObject({ code: 130, stderr: expect.stringContaining('run.cancelled') });
    service.closeAllConnections();
    service.close();
  }
  expect(await readdir(cwd)).toEqual([]);
});
