import { appendFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type LocalRedis, localRedis } from '../../../src/demo/local-redis.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { archiveUrl, STORE_ENV } from '../../support/archives.ts';
import { freePort } from '../../support/free-port.ts';
import { type RunningCommand, runCommand, startCommand } from '../../support/run-command.ts';
import { s3Server } from '../../support/s3-server.ts';
import { type ScriptedSmtp, scriptedSmtp } from '../../support/smtp-script.ts';

const ORG = `org: current
api_key: { env: ACME_KEY }
timezone: UTC
recipients: { domains: [acme.example] }
`;
const report = (more: string) => `version: 1
title: Daily
owner: ops@acme.example
period: previous_week
sections:
  - { id: created, metrics: [profiles.created], dimensions: [profile.type], ${more} }
outputs:
  - { format: csv }
deliveries:
  - email: { to: [lead@acme.example], attach: [csv] }
  - directory: { path: "sent/{{ report }}" }
`;

const runSchema = z.object({ id: z.string() });
const rowsSchema = z.object({
  deliveries: z.array(z.looseObject({ id: z.string(), run: z.string(), state: z.string(), recipient: z.string() })),
});

/** Where the archive is, and how to change `mail.txt` of a run in it. */
interface Place {
  readonly url: string;
  readonly touch: (run: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

const PLACES: readonly (readonly [string, (folder: string) => Promise<Place>])[] = [
  [
    'a directory',
    async (folder) => ({
      url: pathToFileURL(join(folder, 'archive')).href,
      touch: (run) => appendFile(join(folder, 'archive', 'acme', 'whole', run, 'mail.txt'), '!'),
      close: async () => {},
    }),
  ],
  [
    'a bucket',
    async (folder) => {
      const store = await s3Server();
      return {
        url: archiveUrl(store, join(folder, 'staging')),
        touch: async (run) => {
          const key = [...store.objects.keys()].find((each) => each.includes(run) && each.endsWith('/mail.txt')) ?? '';
          store.objects.set(key, { bytes: Buffer.from('changed'), headers: {} });
        },
        close: store.close,
      };
    },
  ],
];

describe.each(PLACES)('decisions by commands, with the archive in %s', (_where, open) => {
  let place: Place;
  let sandbox: Sandbox;
  let smtp: ScriptedSmtp;
  let redis: LocalRedis;
  let folder: string;
  let env: Record<string, string>;
  let running: RunningCommand;
  let trigger: (name: string) => Promise<string>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-decide-'));
    sandbox = await startSandbox();
    redis = await localRedis({ PATH: process.env.PATH });
    // The server takes the first message, but the connection breaks before it says so.
    smtp = await scriptedSmtp((connection) => (connection === 0 ? { dot: 'RST' } : {}));
    await mkdir(join(folder, 'jobs', 'acme'), { recursive: true });
    await writeFile(join(folder, 'jobs', 'acme', 'org.yaml'), ORG);
    await writeFile(join(folder, 'jobs', 'acme', 'whole.yaml'), report('totals: true'));
    // The service has no figures of days before its first.
    const before = report('totals: true').replace('previous_week', '{ from: 2015-01-05, to: 2015-01-11 }');
    await writeFile(join(folder, 'jobs', 'acme', 'early.yaml'), `${before}on_incomplete: hold\n`);
    place = await open(folder);
    env = {
      PATH: process.env.PATH ?? '',
      ...STORE_ENV,
      COMPLIANCE_API_URL: sandbox.url,
      ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
      REDIS_URL: redis.url,
      SMTP_URL: smtp.url,
      MAIL_FROM: 'reports@acme.example',
      DOCKET_JOBS: join(folder, 'jobs'),
      DOCKET_ARCHIVE: place.url,
      DOCKET_ADMIN_PORT: String(await freePort()),
      DOCKET_ADMIN_TOKENS: join(folder, 'tokens.yaml'),
    };
    const token = (await runCommand(['tokens', 'create', '--name', 't', '--role', 'operator'], { env })).stdout.trim();
    running = startCommand([], { env, cwd: folder });
    const { url } = await running.logged(({ msg }) => msg === 'Docket runs');
    trigger = async (name) => {
      const response = await fetch(`${url}/api/reports/acme/${name}/runs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
      });
      return runSchema.parse(await response.json()).id;
    };
  });
  afterAll(async () => {
    await running.stop();
    await smtp.close();
    await place.close();
    await redis.close();
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  });

  const ended = (run: string, state: string) =>
    running.logged((line) => line.msg === 'Run ended' && line.run === run && line.state === state);
  const messagesTo = (recipient: string) =>
    smtp.conversations.filter(({ ended: whole, commands }) => whole && commands.some((c) => c.includes(recipient)));
  const messageId = (body: Buffer) => /^Message-ID: (.*)$/im.exec(body.toString('latin1'))?.[1]?.trim();
  const command = (...args: string[]) => runCommand(args, { env, cwd: folder });
  let sent = '';

  test('an unknown delivery is listed, and resent with the same Message-ID, without other messages', async () => {
    sent = await trigger('whole');
    await ended(sent, 'partly_delivered');
    const listed = await command('deliveries', '--unknown', '--json');
    const { deliveries } = rowsSchema.parse(JSON.parse(listed.stdout));
    expect(deliveries).toMatchObject([{ run: sent, state: 'unknown', recipient: 'lead@acme.example' }]);
    const id = deliveries[0]?.id ?? '';
    expect((await command('deliveries', 'resolve', id, '--sent', '--resend', '--reason', 'r')).code).toBe(2);
    expect((await command('deliveries', 'resolve', id, '--resend')).code).toBe(2);
    expect((await command('runs', 'retry', sent, '--reason', 'r')).stderr).toContain('run.conflict');

    const resolved = await command('deliveries', 'resolve', id, '--resend', '--by', 'ops', '--reason', 'not there');
    expect(resolved).toMatchObject({ code: 0 });
    await ended(sent, 'done');

    const [first, second, ...more] = messagesTo('lead@acme.example');
    expect(more).toEqual([]);
    expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
    expect(messageId(second?.body ?? Buffer.alloc(0))).toMatch(/^<.*@acme\.example>$/);
    expect(messagesTo('ops@acme.example')).toHaveLength(1);
    expect(messagesTo('ops@acme.example')[0]?.body.toString('latin1')).toContain(`docket deliveries resolve ${id}`);
    const undecided = await command('deliveries', '--unknown', '--json');
    expect(JSON.parse(undecided.stdout)).toEqual({ deliveries: [] });
    expect((await command('deliveries', 'resolve', id, '--resend', '--reason', 'r')).stderr).toContain(
      'delivery.conflict',
    );
    const shown = (await command('runs', 'show', sent)).stdout;
    for (const part of ['acme/whole', ': done', 'lead@acme.example', 'by ops (not there)', 'SHA-256', 'correlation']) {
      expect(shown).toContain(part);
    }
  });

  test('a held run shows what is missing and who would receive it, and can be released', async () => {
    const run = await trigger('early');
    await ended(run, 'held');
    expect((await command('runs', 'retry', run, '--reason', 'r')).stderr).toContain(`docket runs release ${run}`);
    const before = JSON.parse((await command('runs', 'show', run, '--json')).stdout);
    expect(before.held).toMatchObject({
      missing: [{ section: 'created', code: expect.any(String), text: expect.any(String) }],
      recipients: [
        { target: '0-email', recipient: 'lead@acme.example', receives: true, why: null },
        { target: '1-directory', recipient: 'sent/early', receives: true, why: null },
      ],
    });
    const words = (await command('runs', 'show', run)).stdout;
    expect(words).toContain('  lead@acme.example (0-email)');
    expect(words).toContain(`docket runs release ${run.slice(0, 8)} `);
    expect(await command('runs', 'release', run, '--by', 'ops', '--reason', 'the board knows')).toMatchObject({
      code: 0,
    });
    await ended(run, 'done');
    expect(messagesTo('lead@acme.example')).toHaveLength(3);
    const shown = await command('runs', 'show', run, '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({
      record: { state: 'done', reopened: [{ what: 'release', by: 'ops', reason: 'the board knows' }] },
      release: { by: 'ops' },
    });
  });

  test('without Redis data the archive shows what was sent, and detects changes', async () => {
    await running.stop();
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();
    const shown = await command('runs', 'show', sent);
    expect(shown.stdout).toMatch(/sent +lead@acme\.example/);
    const away = await runCommand(['runs', 'show', sent], {
      env: { ...env, REDIS_URL: 'redis://127.0.0.1:1' },
      cwd: folder,
    });
    expect(away).toMatchObject({ code: 0, stdout: shown.stdout });

    expect(await command('runs', 'get', sent, '--out', 'taken')).toMatchObject({ code: 0 });
    expect(await readdir(join(folder, 'taken'))).toEqual(
      expect.arrayContaining(['attempts', 'files', 'mail.html', 'manifest.json', 'messages', 'receipts.json']),
    );
    expect(JSON.parse((await command('archive', 'verify', '--json')).stdout)).toMatchObject({ runs: 2, faulty: [] });
    await place.touch(sent);
    const verified = await command('archive', 'verify', '--org', 'acme');
    expect(verified.code).toBe(1);
    expect(verified.stdout).toMatch(new RegExp(`${sent}: mail.txt`));
    const refused = await command('runs', 'get', sent, '--out', 'again');
    expect(refused.stderr).toContain('archive.corrupt');
    expect(await readdir(folder)).not.toContain('again');
    expect((await command('runs', 'show', 'f'.repeat(32))).code).toBe(2);
    expect((await command('archive', 'verify', '--org', 'nobody')).code).toBe(2);
  });

  test('--require-durable rejects a Redis without an append-only file', async () => {
    const client = new Redis(redis.url);
    await client.config('SET', 'appendonly', 'no');
    client.disconnect();
    const started = await command('start', '--require-durable');
    expect(started.code).toBe(2);
    expect(started.stderr).toContain('redis.unsuitable');
  });
});
