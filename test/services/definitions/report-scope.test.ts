import { randomUUID } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { type Log, silentLog } from '../../../src/base/log.ts';
import { loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { composeDocket } from '../../../src/compose/docket.ts';
import { composeInline } from '../../../src/compose/run-ports.ts';
import { staticDefinitions } from '../../../src/definitions/load/definition-source.ts';
import { inlineArchive } from '../../../src/deliver/archive/inline-archive.ts';
import { redisLedger } from '../../../src/deliver/ledger/redis-ledger.ts';
import { createMailCatcher } from '../../../src/demo/mail-catcher.ts';
import type { RunOrder } from '../../../src/run/run-record.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { folderFor } from '../../support/delivery-case.ts';
import { jobsFolder } from '../../support/jobs-folder.ts';
import { deferred, randomPrefix } from '../../support/queue-harness.ts';

const org = (key: string, more = '') => `org: current
api_key: { env: ${key} }
timezone: Europe/Zurich
recipients: { domains: [acme.example] }
${more}`;
const report = (delivery: string) => `version: 1
title: Daily
owner: owner@acme.example
period: previous_week
sections: [{ id: open, metrics: [alerts.open] }]
outputs: [{ format: csv }]
deliveries:
  - ${delivery}
`;

/** Keeps everything that is logged as a warning or an error. */
function keptLog() {
  const lines: string[] = [];
  const keep = (message: string, fields: object = {}) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { ...silentLog, warn: keep, error: keep };
  return { lines, log };
}

async function inline(over: Record<string, string>, more = '') {
  const folder = await jobsFolder({ 'acme/org.yaml': org('ACME_KEY', more), 'globex/org.yaml': org('GLOBEX_KEY') });
  const { orgs } = await loadDefinitions(folder);
  const settings = orgs.get('acme');
  if (settings === undefined) throw new Error('acme has a fault');
  const env = {
    ACME_KEY: 'acme01.key',
    GLOBEX_KEY: 'globex01.key',
    ACME_SFTP: 'open sesame',
    SMTP_URL: 'smtp://mail.acme.example',
    COMPLIANCE_API_URL: 'http://127.0.0.1:1',
    DOCKET_JOBS: folder,
    ...over,
  };
  const { lines, log } = keptLog();
  const around = { config: readConfig(env), env, clock: systemClock, log };
  const { buildRunPorts, scope } = await composeInline(around, inlineArchive('.'), { orgs });
  onTestFinished(() => scope.close());
  return { ports: await buildRunPorts(settings), folder, lines };
}

test.each(['warn', 'enforce'])(
  'no run can read the archive’s signing key, with DOCKET_REPORT_SCOPE=%s',
  async (scope) => {
    const key = join(await folderFor(onTestFinished), 'signing.pem');
    await writeFile(key, 'a key');
    const shares = `secrets: { env: [SIGNS], files: [${JSON.stringify(key)}] }\n`;
    for (const [variable, ref] of [
      ['env:SIGNS', { env: 'SIGNS' }],
      [`file:${key}`, { file: key }],
    ] as const) {
      const over = { DOCKET_REPORT_SCOPE: scope, DOCKET_SIGNING_KEY: variable, SIGNS: 'a key' };
      for (const more of ['', shares]) {
        const { ports } = await inline(over, more);
        await expect(ports.secrets(ref), variable).rejects.toMatchObject({ code: 'config.secret_refused' });
      }
    }
  },
);

test('a run can read the secrets of its own organization only', async () => {
  const { ports } = await inline({ DOCKET_REPORT_SCOPE: 'enforce' });
  for (const env of ['GLOBEX_KEY', 'SMTP_URL', 'DOCKET_JOBS']) {
    await expect(ports.secrets({ env }), env).rejects.toMatchObject({ code: 'config.secret_refused', where: env });
  }
  await expect(ports.secrets({ file: '/proc/self/environ' })).rejects.toMatchObject({ code: 'config.secret_refused' });
  expect((await ports.secrets({ env: 'ACME_SFTP' })).reveal()).toBe('open sesame');
});

test('a secret that only DOCKET_REPORT_SCOPE=warn allows is read, and logged once', async () => {
  const { ports, lines } = await inline({ DOCKET_REPORT_SCOPE: 'warn' });
  await ports.secrets({ env: 'GLOBEX_KEY' });
  await ports.secrets({ env: 'GLOBEX_KEY' });
  expect(lines).toEqual([expect.stringContaining('GLOBEX_KEY')]);
  expect(lines.join()).not.toContain('globex01');
});

test('a secret file is read only from the folders for secrets', async () => {
  const root = await folderFor(onTestFinished);
  await mkdir(join(root, 'secrets'));
  for (const file of ['secrets/sftp', 'other']) await writeFile(join(root, file), 'open sesame');
  const { ports } = await inline({ DOCKET_SECRET_FOLDERS: join(root, 'secrets') });
  expect((await ports.secrets({ file: join(root, 'secrets/sftp') })).reveal()).toBe('open sesame');
  await expect(ports.secrets({ file: join(root, 'other') })).rejects.toMatchObject({ code: 'config.secret_refused' });
});

test('workers apply the present scope, write to no folder of Docket, and log what a later version will refuse', async () => {
  const root = await folderFor(onTestFinished);
  const folder = await jobsFolder({
    'acme/org.yaml': org('ACME_KEY'),
    'acme/out.yaml': report('directory: { path: out }'),
    'rival/org.yaml': org('RIVAL_KEY'),
  });
  await writeFile(join(folder, 'acme/jobs.yaml'), report(`directory: { path: "${folder}/rival" }`));
  await writeFile(
    join(folder, 'acme/sftp.yaml'),
    report(
      `sftp: { host: sftp.acme.example, user: acme, password: { env: RIVAL_KEY }, host_key: "SHA256:${'A'.repeat(43)}", path: in }`,
    ),
  );
  const sandbox = await startSandbox();
  const prefix = randomPrefix();
  const redis = new Redis(inject('redisUrl'));
  const env = { ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '' };
  const config = readConfig({
    COMPLIANCE_API_URL: sandbox.url,
    REDIS_URL: inject('redisUrl'),
    DOCKET_JOBS: folder,
    DOCKET_ARCHIVE: pathToFileURL(join(root, 'archive')).href,
  });
  const { lines, log } = keptLog();
  const around = { config, env, clock: systemClock, log, workingDirectory: root };
  const first = await loadDefinitions(folder);
  expect(first.diagnostics).toEqual([]);
  const desk = await composeDocket(around, { jobs: staticDefinitions(first), prefix, roles: new Set(['admin']) });
  const orders = [];
  for (const name of ['acme/out', 'acme/jobs']) {
    const slot = { trigger: randomUUID() };
    const requested = {
      ...requireReport(first, name),
      slot,
      trigger: 'on_demand',
      priority: 'on_demand',
      deliver: true,
    } as const;
    orders.push((await desk.store.trigger(requested)).record.id);
  }
  await writeFile(
    join(folder, 'acme/org.yaml'),
    org('ACME_KEY', `destinations: { folders: [elsewhere, "${folder}"] }\n`),
  );
  const left = new Set(orders);
  const ended = deferred();
  const worker = await composeDocket(around, {
    jobs: staticDefinitions(await loadDefinitions(folder)),
    prefix,
    roles: new Set(['worker']),
    observe: ({ id }: RunOrder, { type }: { readonly type: string }) => {
      if (type === 'finished') left.delete(id);
      if (left.size === 0) ended.tell();
    },
  });
  onTestFinished(async () => {
    await worker.close();
    await desk.close();
    await sandbox.close();
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });
  await ended.promise;
  const ledger = redisLedger(redis, { prefix: `${prefix}:`, ttlDays: 1 });
  for (const id of orders) {
    const rows = (await ledger.list(id)).filter(({ target }) => target === '0-directory');
    expect(rows).toMatchObject([{ state: 'refused' }]);
  }
  expect(await readdir(root)).not.toContain('out');
  expect(await readdir(join(folder, 'rival'))).toEqual(['org.yaml']);
  const said = lines.filter((line) => line.includes('RIVAL_KEY'));
  expect(said).toHaveLength(1);
});

test('a worker uses the mail server of its files, not that of a stored definition', async () => {
  const root = await folderFor(onTestFinished);
  const folder = await jobsFolder({
    'acme/org.yaml': org('ACME_KEY'),
    'acme/mail.yaml': report('email: { to: [lead@acme.example] }'),
    // Refused, and its owner is notified.
    'acme/jobs.yaml': report(`directory: { path: "${root}/archive/acme" }`),
  });
  const sandbox = await startSandbox();
  const [ours, theirs] = [await createMailCatcher(join(root, 'ours')), await createMailCatcher(join(root, 'theirs'))];
  const prefix = randomPrefix();
  const redis = new Redis(inject('redisUrl'));
  const env = { ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '', THEIRS: theirs.url };
  const config = readConfig({
    COMPLIANCE_API_URL: sandbox.url,
    REDIS_URL: inject('redisUrl'),
    SMTP_URL: ours.url,
    MAIL_FROM: 'reports@docket.example',
    DOCKET_JOBS: folder,
    DOCKET_ARCHIVE: pathToFileURL(join(root, 'archive')).href,
  });
  const around = { config, env, clock: systemClock, log: silentLog, workingDirectory: root };
  const jobs = await loadDefinitions(folder);
  const running = await composeDocket(around, { jobs: staticDefinitions(jobs), prefix, roles: new Set(['worker']) });
  onTestFinished(async () => {
    await running.close();
    await Promise.all([ours, theirs, sandbox].map((peer) => peer.close()));
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });
  for (const name of ['acme/mail', 'acme/jobs']) {
    const { definition, settings } = requireReport(jobs, name);
    await running.store.trigger({
      definition,
      settings: { ...settings, smtp: { url: { env: 'THEIRS' }, from: 'x@acme.example' } },
      slot: { trigger: randomUUID() },
      trigger: 'on_demand',
      priority: 'on_demand',
      deliver: true,
    });
  }
  await Promise.race([ours.waitForMessages(2), theirs.waitForMessages(1)]);
  expect(theirs.messages()).toEqual([]);
  expect(new Set(ours.messages().map(({ from }) => from))).toEqual(new Set(['reports@docket.example']));
});
