import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { localRedis } from '../../../../src/demo/local-redis.ts';
import { startSandbox } from '../../../../src/sandbox/sandbox.ts';
import { folderFor } from '../../../support/delivery-case.ts';
import { freePort } from '../../../support/free-port.ts';
import { jobsFolder, ORG } from '../../../support/jobs-folder.ts';
import { runCommand, startCommand } from '../../../support/run-command.ts';
import { shellWords } from '../../../support/shell-words.ts';
import { scriptedSmtp } from '../../../support/smtp-script.ts';

const REPORT = `version: 1
title: Weekly
owner: ops@acme.example
period: previous_week
sections: [{ id: created, metrics: [profiles.created] }]
outputs: [{ format: csv }]
deliveries: [{ email: { to: [lead@acme.example, mlro@acme.example], attach: [csv] } }]
`;

/** A service, and a mail server that defers one of two recipients while `greylists` is set. */
async function world() {
  const folder = await folderFor(onTestFinished);
  const sandbox = await startSandbox();
  const state = { greylists: true };
  const smtp = await scriptedSmtp(() =>
    state.greylists ? { RCPT: { say: '451 4.7.1 Greylisted, try again later', only: /mlro/ } } : {},
  );
  onTestFinished(async () => {
    await smtp.close();
    await sandbox.close();
  });
  const env = {
    PATH: process.env.PATH ?? '',
    COMPLIANCE_API_URL: sandbox.url,
    ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
    SMTP_URL: smtp.url,
    MAIL_FROM: 'reports@acme.example',
    DOCKET_JOBS: await jobsFolder({
      'acme/org.yaml': ORG.replace('org: 7', 'org: current'),
      'acme/weekly.yaml': REPORT,
    }),
    DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
    DOCKET_ADMIN_PORT: String(await freePort()),
  };
  const sentTo = (who: string) =>
    smtp.conversations.filter(({ accepted, commands }) => accepted && commands.some((line) => line.includes(who)))
      .length;
  return { env, folder, state, sentTo };
}

const nextCommands = (stdout: string): string[] =>
  stdout
    .split('Next:\n')[1]
    ?.split('\n')
    .filter((line) => line.startsWith('  docket '))
    .map((line) => line.trim()) ?? [];

test('a deferred recipient gets the files after the printed retry command, and the other recipient nothing twice', async () => {
  const { env, folder, state, sentTo } = await world();
  const redis = await localRedis({ PATH: process.env.PATH });
  onTestFinished(() => redis.close());
  const options = { env: { ...env, REDIS_URL: redis.url }, cwd: folder };
  const ended = await runCommand(['run', 'acme/weekly'], options);
  expect(ended.code).toBe(3);
  const [retry = '', show = ''] = nextCommands(ended.stdout);
  expect([sentTo('lead'), sentTo('mlro')]).toEqual([1, 0]);
  expect((await runCommand(shellWords(show).slice(1), options)).code).toBe(0);
  expect(await runCommand(shellWords(retry).slice(1), options)).toMatchObject({ code: 0 });
  state.greylists = false;
  const worker = startCommand(['--role', 'worker'], options);
  await worker.logged(({ msg, state: end }) => msg === 'Run ended' && end === 'done');
  await worker.stop();
  expect([sentTo('lead'), sentTo('mlro')]).toEqual([1, 1]);
});

test('without Redis the printed command sends the report to everyone again', async () => {
  const { env, folder, state, sentTo } = await world();
  const ended = await runCommand(['run', 'acme/weekly'], { env, cwd: folder });
  expect(ended.code).toBe(3);
  state.greylists = false;
  const [again = ''] = nextCommands(ended.stdout);
  expect(await runCommand(shellWords(again).slice(1), { env, cwd: folder })).toMatchObject({ code: 0 });
  expect([sentTo('lead'), sentTo('mlro')]).toEqual([2, 1]);
});

test('a run that waits for a deferred recipient advises no command that would be rejected', async () => {
  const { env, folder, state, sentTo } = await world();
  const redis = await localRedis({ PATH: process.env.PATH });
  onTestFinished(() => redis.close());
  const options = { env: { ...env, REDIS_URL: redis.url }, cwd: folder };
  const worker = startCommand(['--role', 'worker'], options);
  onTestFinished(async () => void (await worker.stop()));
  await worker.logged(({ msg }) => msg === 'Docket runs');
  const queued = await runCommand(['run', 'acme/weekly', '--queue', '--json'], options);
  const { id } = z.looseObject({ id: z.string() }).parse(JSON.parse(queued.stdout));
  const recordSchema = z.looseObject({
    record: z.looseObject({ state: z.string(), error: z.looseObject({ next: z.string() }).nullable() }),
  });
  const record = async () =>
    recordSchema.parse(JSON.parse((await runCommand(['runs', 'show', id, '--json'], options)).stdout)).record;
  await expect.poll(async () => (await record()).state).toBe('waiting');
  const advised = [...((await record()).error?.next ?? '').matchAll(/`(docket [^`]+)`/g)].map(([, command]) => command);
  for (const command of advised) {
    const { stderr } = await runCommand(shellWords(command ?? '').slice(1), options);
    expect([command, stderr]).toEqual([command, expect.not.stringContaining('run.conflict')]);
  }
  expect(JSON.stringify(advised)).not.toContain('runs retry');
  state.greylists = false;
  expect([sentTo('lead'), sentTo('mlro')]).toEqual([1, 0]);
});
