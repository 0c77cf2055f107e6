import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { localRedis } from '../../src/demo/local-redis.ts';
import { filesBelow } from '../support/canary.ts';
import { folderFor } from '../support/delivery-case.ts';
import { docket } from '../support/docket.ts';
import { echoingHttp, echoingService, echoingSmtp, echoOf } from '../support/echoing-peers.ts';
import { freePort } from '../support/free-port.ts';
import { otlpCollector } from '../support/otlp-collector.ts';
import { startDocket } from '../support/running-docket.ts';
import { encodingsFoundIn } from '../support/secret-encodings.ts';
import { KEEP_EACH_WRITE } from '../support/secret-scan.ts';
import { SFTP_USER, sftpServer } from '../support/sftp-server.ts';

/** No encoding of a secret contains another. `/`, `+` and `=` are escaped differently everywhere. */
const SECRETS = {
  KEY_0: 'acme_live.Wq8/dZ+e1Rk3=tYvU6xMn2Bc',
  KEY_1: 'rival_live.Jp5/sX+o9Lf7=hGaQ4wEz0Ti',
  KEY_2: 'third_live.Vb2/nM+k6Hd8=jFrS1yCu3Pl',
  SMTP_PASSWORD: 'Mail/Pa55+word=for&ever',
  WEBHOOK_SECRET: `whsec_${Buffer.from('a webhook key of 24 byte').toString('base64')}`,
  WEBHOOK_PATH: '/services/T0K3N/B1g/Zk39vQpL8mWs',
  S3_SECRET: 'S3cr3t/Acc3ss+Key=of&bucket',
  S3_TOKEN: 'IQoJb3JpZ2luX2VjEHsession/token+of=bucket',
  SFTP_PASSWORD: 'correct horse battery staple',
} as const;
const runSchema = z.looseObject({ id: z.string(), state: z.string() });

const orgFile = (n: number) => `org: ${100 + n}
api_key: { env: KEY_${n} }
timezone: UTC
recipients: { domains: [acme.example] }
budget: { calls: 1000, window: 1 }
allow_private: true
`;
const reportFile = (deliveries: string) => `version: 1
title: Weekly
owner: owner@acme.example
period: previous_week
sections: [{ id: created, metrics: [profiles.created] }]
outputs: [{ format: csv }, { format: xlsx }]
deliveries:
${deliveries}`;

/** Docket in a separate process with peers that echo secrets, and everything that it writes. */
async function startDeployment() {
  const root = await folderFor(onTestFinished);
  const redis = await localRedis({ PATH: process.env.PATH }, () => {}, KEEP_EACH_WRITE);
  const webhook = await echoingHttp([SECRETS.WEBHOOK_SECRET, SECRETS.WEBHOOK_PATH]);
  const bucket = await echoingHttp([SECRETS.S3_SECRET, SECRETS.S3_TOKEN]);
  const smtp = await echoingSmtp(SECRETS.SMTP_PASSWORD);
  const api = await echoingService();
  const sftp = await sftpServer();
  let renames = 0;
  // After the first file is renamed, a person must check the others, so the run ends.
  sftp.fault = (step) =>
    step === 'rename' && ++renames > 1 ? { when: 'before', how: { say: echoOf(SECRETS.SFTP_PASSWORD) } } : undefined;
  const collector = await otlpCollector();
  onTestFinished(async () => {
    await Promise.all([webhook, bucket, smtp, api, sftp, collector, redis].map((peer) => peer.close()));
  });
  const targets = `
  - email: { to: [lead@acme.example, refused@acme.example], attach: [] }
  - webhook: { url: { env: WEBHOOK_URL }, secret: { env: WEBHOOK_SECRET } }
  - s3:
      bucket: bucket
      endpoint: "http://127.0.0.1:${bucket.port}"
      key: "{{ file.name }}"
      credentials: { access_key_id: { env: S3_ID }, secret_access_key: { env: S3_SECRET }, session_token: { env: S3_TOKEN } }
  - sftp:
      host: 127.0.0.1
      port: ${sftp.port}
      user: ${SFTP_USER}
      password: { env: SFTP_PASSWORD }
      host_key: ["${sftp.fingerprint}"]
      path: in
`;
  const mail = '\n  - email: { to: [lead@acme.example], attach: [] }\n';
  for (const [n, deliveries] of [targets, mail, mail].entries()) {
    await mkdir(join(root, 'jobs', `org-${n}`), { recursive: true });
    await writeFile(join(root, 'jobs', `org-${n}`, 'org.yaml'), orgFile(n));
    await writeFile(join(root, 'jobs', `org-${n}`, 'weekly.yaml'), reportFile(deliveries));
  }
  const env = {
    ...SECRETS,
    S3_ID: 'AKIAECHOINGPEERS1',
    WEBHOOK_URL: `http://127.0.0.1:${webhook.port}${SECRETS.WEBHOOK_PATH}`,
    COMPLIANCE_API_URL: `http://127.0.0.1:${api.port}`,
    SMTP_URL: `smtp://me:${encodeURIComponent(SECRETS.SMTP_PASSWORD)}@127.0.0.1:${smtp.port}`,
    MAIL_FROM: 'reports@acme.example',
    REDIS_URL: redis.url,
    DOCKET_JOBS: join(root, 'jobs'),
    DOCKET_ARCHIVE: pathToFileURL(join(root, 'archive')).href,
    DOCKET_ADMIN_TOKENS: join(root, 'tokens.yaml'),
    LOG_LEVEL: 'debug',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  };
  return { root, env, smtp, collector, redis, command: (...args: string[]) => docket(args, { env, cwd: root }) };
}

/** Everything that was ever written to this Redis. */
async function appendedBy(url: string): Promise<string> {
  const redis = new Redis(url);
  const setting = async (name: string) => String(((await redis.config('GET', name)) as string[])[1]);
  const folder = join(await setting('dir'), await setting('appenddirname'));
  redis.disconnect();
  const files = await readdir(folder);
  return (await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}

test('secrets that peers echo never appear in responses, page, Redis, archive, mails, log, traces, metrics and commands', async () => {
  const { root, env, smtp, collector, redis, command } = await startDeployment();
  const token = async (name: string, role: string) =>
    (await command('tokens', 'create', '--name', name, '--role', role)).stdout.trim();
  const operator = await token('op', 'operator');
  const viewer = await token('eve', 'viewer');
  const child = startDocket([], { env: { ...env, DOCKET_ADMIN_PORT: String(await freePort()) }, cwd: root });
  onTestFinished(() => child.kill());
  const { url = '' } = await child.logged(({ msg }) => msg === 'Docket runs');

  const runs: string[] = [];
  for (const n of [0, 1, 2]) {
    const answer = await fetch(`${url}/api/reports/org-${n}/weekly/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${operator}`, 'content-type': 'application/json', 'idempotency-key': `r${n}` },
      body: '{}',
    });
    runs.push(runSchema.parse(await answer.json()).id);
  }
  await Promise.all(
    runs.map((run) => child.logged((line) => /^Run (?:ended|failed permanently)/.test(line.msg) && line.run === run)),
  );
  // The owner of each run gets a notice: two runs failed, one was partly delivered.
  await expect.poll(() => smtp.mails.filter((mail) => /^To: .*owner@/im.test(mail)).length).toBeGreaterThanOrEqual(3);

  const sinks: [name: string, text: string][] = [];
  const as = async (path: string, headers: Record<string, string>) => {
    const answer = await fetch(url + path, { headers, redirect: 'manual' });
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.text();
  };
  const signedIn = await fetch(`${url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: url, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token: viewer }),
  });
  const cookie = signedIn.headers
    .getSetCookie()
    .map((set) => set.split(';')[0])
    .join('; ');
  for (const run of runs) {
    sinks.push([`GET /api/runs/${run}`, await as(`/api/runs/${run}`, { authorization: `Bearer ${viewer}` })]);
    sinks.push([`page of ${run}`, await as(`/runs/${run}`, { cookie })]);
  }
  for (const path of ['/', '/runs', '/deliveries', '/pauses']) sinks.push([`page ${path}`, await as(path, { cookie })]);
  sinks.push(['audit', await as('/api/audit', { authorization: `Bearer ${operator}` })]);
  sinks.push(['metrics', await as('/metrics', { authorization: `Bearer ${operator}` })]);
  for (const args of [
    ['doctor', '--json'],
    ['doctor'],
    ['runs'],
    ...runs.map((run) => ['runs', 'show', run]),
    ...runs.map((run) => ['runs', 'get', run]),
    ['deliveries'],
    ['pause'],
    // In this process, without the workers.
    ...[0, 1, 2].map((n) => ['run', `org-${n}/weekly`, '--again', '--json']),
    ['explain', 'org-2/weekly'],
  ]) {
    const { stdout, stderr } = await command(...args);
    expect(stderr, args.join(' ')).not.toContain('[usage.invalid]');
    sinks.push([`docket ${args.join(' ')}`, `${stdout}\n${stderr}`]);
  }
  await child.stop();
  sinks.push(['the log', child.lines.map((line) => JSON.stringify(line)).join('\n')]);
  sinks.push(['traces', collector.bodies.join('\n')]);
  sinks.push(['mail', smtp.mails.join('\n')]);
  sinks.push(['Redis', await appendedBy(redis.url)]);
  for await (const { path, text } of filesBelow(join(root, 'archive'))) sinks.push([path, text]);

  // Each peer was called, and its message is shown without the secret.
  const all = sinks.map(([, text]) => text).join('\n');
  for (const reported of ['Service message: You sent', '5.1.1 Nobody of', '2.0.0 Queued for', 'HTTP 400', 'sftp://']) {
    expect(all).toContain(reported);
  }
  const leaks = sinks.flatMap(([name, text]) =>
    Object.entries(SECRETS).flatMap(([secret, value]) => {
      const encodings = encodingsFoundIn(text, value);
      return encodings.length === 0 ? [] : [`${name}: ${secret} as ${encodings.join(', ')}`];
    }),
  );
  expect(leaks).toEqual([]);
});
