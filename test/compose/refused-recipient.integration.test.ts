import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import PostalMime from 'postal-mime';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { loadDefinitions, requireReport } from '../../src/compose/built-in-kinds.ts';
import { composeDocket, type RunningDocket } from '../../src/compose/docket.ts';
import { staticDefinitions } from '../../src/definitions/load/definition-source.ts';
import { createMailCatcher } from '../../src/demo/mail-catcher.ts';
import type { RunOrder } from '../../src/run/run-record.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { createDecisionService } from '../../src/services/deliveries/decisions.ts';
import type { TriggerRequest } from '../../src/services/runs/trigger-run.ts';
import { folderFor } from '../support/delivery-case.ts';
import { jobsFolder } from '../support/jobs-folder.ts';
import { deferred, randomPrefix } from '../support/queue-harness.ts';

const org = (domains: string) => `org: current
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
recipients: { domains: [${domains}] }
`;
const report = (to: string) => `version: 1
title: Daily
owner: owner@elsewhere.example
period: previous_week
sections: [{ id: open, metrics: [alerts.open] }]
outputs: [{ format: csv }]
deliveries:
  - email: { to: [${to}], attach: [csv] }
`;
const BOTH = 'acme.example, left.example';
const FILES = {
  'acme/org.yaml': org(BOTH),
  'acme/both.yaml': report('lead@acme.example, gone@left.example'),
  'acme/gone.yaml': report('gone@left.example'),
};

/** Real workers, started one after the other, with the same Redis, mail server and folder of definitions. */
async function startDeployment() {
  const root = await folderFor(onTestFinished);
  const folder = await jobsFolder(FILES);
  const sandbox = await startSandbox();
  const mail = await createMailCatcher(join(root, 'mailbox'));
  const prefix = randomPrefix();
  const redis = new Redis(inject('redisUrl'));
  const env = { ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '' };
  const config = readConfig({
    COMPLIANCE_API_URL: sandbox.url,
    REDIS_URL: inject('redisUrl'),
    SMTP_URL: mail.url,
    MAIL_FROM: 'reports@docket.example',
    DOCKET_ARCHIVE: pathToFileURL(join(root, 'archive')).href,
  });
  const around = { config, env, clock: systemClock, log: silentLog, workingDirectory: root };
  const open: RunningDocket[] = [];
  onTestFinished(async () => {
    for (const each of open) await each.close();
    await mail.close();
    await sandbox.close();
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });
  const wide = await loadDefinitions(folder);
  expect(wide.diagnostics).toEqual([]);
  const allow = (domains: string) => writeFile(join(folder, 'acme/org.yaml'), org(domains));
  /** Triggers runs but executes none. */
  const desk = await composeDocket(around, { jobs: staticDefinitions(wide), prefix, roles: new Set(['admin']) });
  open.push(desk);
  const { runs, ledger } = desk.store;
  return {
    mail,
    wide,
    allow,
    trigger: desk.store.trigger,
    runs,
    ledger,
    decisions: createDecisionService(desk.store),
    /** Starts a worker with the current definitions. Resolves when it has ended this run. */
    works: async (run: string): Promise<void> => {
      const ended = deferred();
      const observe = ({ id }: RunOrder, { type }: { readonly type: string }) => {
        if (id === run && type === 'finished') ended.tell();
      };
      const worker = await composeDocket(around, {
        jobs: staticDefinitions(await loadDefinitions(folder)),
        prefix,
        observe,
        roles: new Set(['worker']),
      });
      open.push(worker);
      await ended.promise;
      await worker.close();
    },
    rows: async (run: string) =>
      (await ledger.list(run)).map(({ target, recipient, state }) => `${target} ${recipient} ${state}`),
    notices: async () => {
      const paths = mail.messages().flatMap(({ to, path }) => (to[0] === 'owner@elsewhere.example' ? [path] : []));
      return Promise.all(paths.map(async (path) => PostalMime.parse(await readFile(path))));
    },
  };
}
type StartedDeployment = Awaited<ReturnType<typeof startDeployment>>;

const buildRequest = ({ wide }: StartedDeployment, name: string, kind: 'on_demand' | 'schedule'): TriggerRequest => ({
  ...requireReport(wide, name),
  slot: kind === 'schedule' ? { scheduled: Date.UTC(2026, 10, 16, 7) } : { trigger: randomUUID() },
  trigger: kind,
  priority: kind === 'schedule' ? 'scheduled' : 'on_demand',
  deliver: true,
});

test.each(['on_demand', 'schedule'] as const)(
  'a recipient removed from the allow-list after the trigger gets nothing, and the owner gets one notice (%s)',
  async (kind) => {
    const deployment = await startDeployment();
    const { record } = await deployment.trigger(buildRequest(deployment, 'acme/both', kind));
    await deployment.allow('acme.example');
    await deployment.works(record.id);

    expect(await deployment.runs.get(record.id)).toMatchObject({ state: 'partly_delivered' });
    const rows = [
      '0-email lead@acme.example sent',
      '0-email gone@left.example refused',
      'notice owner@elsewhere.example sent',
    ];
    expect(await deployment.rows(record.id)).toEqual(rows);
    expect(deployment.mail.messages().map(({ to }) => to.join())).toEqual([
      'lead@acme.example',
      'owner@elsewhere.example',
    ]);
    const [notice, ...more] = await deployment.notices();
    expect(more).toEqual([]);
    expect(notice?.text).toMatch(/- gone@left\.example [\s\S]*- lead@acme\.example/);

    // A manual retry with the same list ends the same way, without a second notice.
    const who = { by: 'ops', reason: 'try' };
    await deployment.decisions.retry(record.id, who);
    await deployment.works(record.id);
    expect(await deployment.rows(record.id)).toEqual(rows);
    expect(deployment.mail.messages()).toHaveLength(2);

    // Once the recipient is allowed again, only this recipient gets a mail from the retry.
    await deployment.allow(BOTH);
    await deployment.decisions.retry(record.id, who);
    await deployment.works(record.id);
    expect(await deployment.runs.get(record.id)).toMatchObject({ state: 'done' });
    expect(deployment.mail.messages().map(({ to }) => to.join())).toEqual([
      'lead@acme.example',
      'owner@elsewhere.example',
      'gone@left.example',
    ]);
  },
  // Several workers are started and render, which is slow on a busy machine.
  180_000,
);

test('a scheduled run with only refused recipients fails once and permanently, and the owner gets a notice', async () => {
  const deployment = await startDeployment();
  const request = buildRequest(deployment, 'acme/gone', 'schedule');
  const settings = { ...request.settings, recipients: { domains: ['acme.example'], addresses: [] } };
  await deployment.allow('acme.example');
  const { record } = await deployment.trigger({ ...request, settings });
  await deployment.works(record.id);
  expect(await deployment.runs.get(record.id)).toMatchObject({
    state: 'failed',
    error: { code: 'deliver.target_refused' },
  });
  expect(await deployment.trigger({ ...request, settings })).toMatchObject({
    opened: false,
    record: { state: 'failed' },
  });
  expect(deployment.mail.messages().map(({ to }) => to.join())).toEqual(['owner@elsewhere.example']);
  expect((await deployment.notices())[0]?.text).toContain('gone@left.example');
});

test('a run uses the current API key of its organization, not the one from its trigger', async () => {
  const deployment = await startDeployment();
  const { definition, settings } = requireReport(deployment.wide, 'acme/both');
  const { record } = await deployment.trigger({
    definition,
    settings: { ...settings, api_key: { env: 'KEY_OF_BEFORE' } },
    slot: { trigger: randomUUID() },
    trigger: 'on_demand',
    priority: 'on_demand',
    deliver: false,
  });
  await deployment.works(record.id);
  expect(await deployment.runs.get(record.id)).toMatchObject({ state: 'done', error: null });
});
