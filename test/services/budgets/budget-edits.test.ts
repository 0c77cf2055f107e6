import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { Secret } from '../../../src/base/secrets/secret.ts';
import { loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { composeDocket, type RunningDocket } from '../../../src/compose/docket.ts';
import { type DefinitionSource, staticDefinitions } from '../../../src/definitions/load/definition-source.ts';
import type { Definitions } from '../../../src/definitions/load/load-definitions.ts';
import type { RunRecord } from '../../../src/run/run-record.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { folderFor } from '../../support/delivery-case.ts';
import { jobsFolder } from '../../support/jobs-folder.ts';
import { deferred, randomPrefix, recordingLog } from '../../support/queue-harness.ts';

const org = (budget: string) => `org: current
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
recipients: { domains: [acme.example] }
${budget === '' ? '' : `budget: ${budget}`}
`;
const REPORT = `version: 1
title: Daily
owner: owner@acme.example
period: previous_week
sections: [{ id: open, metrics: [alerts.open] }]
outputs: [{ format: csv }]
`;

/** Workers that start and stop over one Redis and one folder. Their organizations share one API key. */
async function workersOver(budgets: Readonly<Record<string, string>>) {
  const root = await folderFor(onTestFinished);
  const files = Object.entries(budgets).flatMap(([id, budget]) => [
    [`${id}/org.yaml`, org(budget)],
    [`${id}/daily.yaml`, REPORT],
  ]);
  const folder = await jobsFolder(Object.fromEntries(files));
  const sandbox = await startSandbox();
  const prefix = randomPrefix();
  const redis = new Redis(inject('redisUrl'));
  const key = sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '';
  const log = recordingLog();
  const config = readConfig({
    COMPLIANCE_API_URL: sandbox.url,
    REDIS_URL: inject('redisUrl'),
    DOCKET_ARCHIVE: pathToFileURL(join(root, 'archive')).href,
  });
  const around = { config, env: { ACME_KEY: key }, clock: systemClock, log, workingDirectory: root };
  const open: RunningDocket[] = [];
  onTestFinished(async () => {
    for (const each of open) await each.close();
    await sandbox.close();
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });
  let jobs: Definitions = await loadDefinitions(folder);
  expect(jobs.diagnostics).toEqual([]);
  const desk = await composeDocket(around, { jobs: staticDefinitions(jobs), prefix, roles: new Set(['admin']) });
  open.push(desk);
  const finished = new Map<string, () => void>();
  return {
    log,
    /** Replaces `budget:`, as an editor does. Workers use it from then on. */
    edit: async (id: string, budget: string): Promise<void> => {
      await writeFile(join(folder, `${id}/org.yaml`), org(budget));
      jobs = await loadDefinitions(folder);
      expect(jobs.diagnostics).toEqual([]);
    },
    trigger: async (id: string): Promise<string> => {
      const { record } = await desk.store.trigger({
        ...requireReport(jobs, `${id}/daily`),
        slot: { trigger: randomUUID() },
        trigger: 'on_demand',
        priority: 'on_demand',
        deliver: true,
      });
      return record.id;
    },
    work: async (): Promise<{ ended(run: string): Promise<RunRecord | undefined>; close(): Promise<void> }> => {
      const inForce: DefinitionSource = { ...staticDefinitions(jobs), current: () => jobs };
      const ended = new Set<string>();
      const worker = await composeDocket(around, {
        jobs: inForce,
        prefix,
        roles: new Set(['worker']),
        observe: ({ id }, { type }) => {
          if (type !== 'finished') return;
          ended.add(id);
          finished.get(id)?.();
        },
      });
      open.push(worker);
      return {
        ended: async (run) => {
          const over = deferred();
          finished.set(run, over.tell);
          if (!ended.has(run)) await over.promise;
          return desk.store.runs.get(run);
        },
        close: () => worker.close(),
      };
    },
    /** The key's budget window, ms. */
    window: async (): Promise<number> =>
      Number(await redis.hget(`${prefix}:metrics:budget:{${new Secret(key).fingerprint()}}:state`, 'window')),
  };
}

test('an edited budget applies to the next run, without a restart', async () => {
  const { trigger, work, edit, window } = await workersOver({ acme: '{ calls: 20, window: 60 }' });
  const worker = await work();
  expect(await worker.ended(await trigger('acme'))).toMatchObject({ state: 'done', error: null });
  expect(await window()).toBe(60_000);
  await edit('acme', '{ calls: 20, window: 90 }');
  expect(await worker.ended(await trigger('acme'))).toMatchObject({ state: 'done', error: null });
  expect(await window()).toBe(90_000);
});

test('a run that was queued before the edit uses the new budget, as do the runs after it', async () => {
  const { trigger, work, edit, window, log } = await workersOver({ acme: '{ calls: 20, window: 60 }' });
  const before = await trigger('acme');
  await edit('acme', '{ calls: 20, window: 90 }');
  const after = await trigger('acme');
  const worker = await work();
  expect(await worker.ended(before)).toMatchObject({ state: 'done', error: null });
  expect(await window()).toBe(90_000);
  expect(await worker.ended(after)).toMatchObject({ state: 'done', error: null });
  expect(await window()).toBe(90_000);
  expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
});

test('organizations that share a key use the lower of their budgets, and the log names both once', async () => {
  const { trigger, work, edit, window, log } = await workersOver({ acme: '{ calls: 20 }', 'acme-eu': '{ calls: 20 }' });
  const worker = await work();
  const runs = async () => {
    for (const id of ['acme', 'acme-eu', 'acme']) {
      expect(await worker.ended(await trigger(id))).toMatchObject({ state: 'done', error: null });
    }
  };
  const conflicts = () => log.lines.filter(({ message }) => message.startsWith('Conflicting `budget` settings'));
  await runs();
  expect(conflicts()).toEqual([]);
  await edit('acme-eu', '{ calls: 30, window: 90 }');
  await runs();
  expect(await window()).toBe(90_000);
  expect(conflicts()).toEqual([
    expect.objectContaining({ level: 'warn', message: expect.stringMatching(/acme says 20 .*acme-eu says 30 /) }),
  ]);
  await edit('acme-eu', '{ calls: 20 }');
  await runs();
  expect(await window()).toBe(60_000);
  expect(conflicts()).toHaveLength(1);
});
