import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { loadDefinitions, requireReport } from '../../src/compose/built-in-kinds.ts';
import { composeDocket } from '../../src/compose/docket.ts';
import { staticDefinitions } from '../../src/definitions/load/definition-source.ts';
import { createMailCatcher } from '../../src/demo/mail-catcher.ts';
import { runQueue } from '../../src/queue/jobs/run-queue.ts';
import { redisRunStore } from '../../src/queue/runs/run-store.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import { canariesIn, canaryOf, canaryService, filesBelow, redisValues } from '../support/canary.ts';
import { folderFor } from '../support/delivery-case.ts';
import { hostileServer } from '../support/hostile-server.ts';
import { jobsFolder } from '../support/jobs-folder.ts';
import { deferred, randomPrefix, recordingLog } from '../support/queue-harness.ts';
import { waitFor } from '../support/wait-for.ts';

/** A real worker with a jobs folder, a service, a mail server, folders and an archive. Everything it writes is kept. */
async function startDeployment(orgs: number, keyOf: (n: number) => string) {
  const root = await folderFor(onTestFinished);
  const jobs = await loadDefinitions(
    await jobsFolder(
      Object.fromEntries(
        Array.from({ length: orgs }, (_, n) => {
          const canary = canaryOf(n);
          const files = [
            [`org-${canary}/org.yaml`, orgFile(n, canary)],
            [`org-${canary}/weekly.yaml`, reportFile(n, canary)],
          ] as const;
          return files;
        }).flat(),
      ),
    ),
  );
  expect(jobs.diagnostics).toEqual([]);
  const requested: { n: number; key: string }[] = [];
  const api = await hostileServer();
  api.behave(canaryService((n, key) => requested.push({ n, key })));
  const mail = await createMailCatcher(join(root, 'mailbox'));
  const prefix = randomPrefix();
  const redis = new Redis(inject('redisUrl'));
  const log = recordingLog();
  const env = Object.fromEntries(Array.from({ length: orgs }, (_, n) => [`KEY_${n}`, keyOf(n)]));
  const config = readConfig({
    COMPLIANCE_API_URL: api.url,
    REDIS_URL: inject('redisUrl'),
    SMTP_URL: mail.url,
    MAIL_FROM: 'reports@docket.example',
    DOCKET_ARCHIVE: pathToFileURL(join(root, 'archive')).href,
  });
  let left = 0;
  let idle = deferred();
  const running = await composeDocket(
    { config, env, clock: systemClock, log, workingDirectory: root },
    {
      jobs: staticDefinitions(jobs),
      prefix,
      concurrency: 8,
      observe: (_order, event) => {
        if (event.type !== 'finished') return;
        left -= 1;
        if (left === 0) idle.tell();
      },
    },
  );
  onTestFinished(async () => {
    await running.close();
    await mail.close();
    await api.close();
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });
  const worker = running.store;
  /** Resolves when this number of runs has ended. */
  const ended = async (runs: number, start: () => Promise<unknown>) => {
    left = runs;
    idle = deferred();
    await start();
    await idle.promise;
  };
  return { root, jobs, worker, asked: requested, mail, redis, prefix, log, ended };
}

const orgFile = (n: number, canary: string) => `org: ${100 + n}
name: Name ${canary}
api_key: { env: KEY_${n} }
timezone: Europe/Zurich
classification: Secret of ${canary}
recipients: { domains: [${canary}.example] }
budget: { calls: 1000, window: 1 }
`;

const reportFile = (n: number, canary: string) => `version: 1
title: Title ${canary}
owner: owner@${canary}.example
period: previous_week
sections: [{ id: created, metrics: [profiles.created], dimensions: [profile.type] }]
outputs: [{ format: csv }${n % 10 === 0 ? ', { format: xlsx }' : ''}]
deliveries:
  - email: { to: [one@${canary}.example, two@${canary}.example], attach: [csv${n % 10 === 0 ? ', xlsx' : ''}], together: ${n % 2 === 0} }
  - directory: { path: "out/{{ org }}/{{ period.label }}" }
    send_if: changed
`;

test('none of fifty organizations gets data of another in mails, folders, archive, Redis or log', async () => {
  const ORGS = 50;
  // Every fifth organization shares its key with the next one.
  const keyOf = (n: number) => `key-${canaryOf(n % 5 === 1 ? n - 1 : n)}-secret`;
  const { root, jobs, worker, asked, mail, redis, prefix, log, ended } = await startDeployment(ORGS, keyOf);
  await ended(ORGS, () =>
    Promise.all(
      Array.from({ length: ORGS }, (_, n) =>
        worker.trigger({
          ...requireReport(jobs, `org-${canaryOf(n)}/weekly`),
          slot: n % 2 === 0 ? { trigger: `t-${n}` } : { scheduled: Date.UTC(2026, 10, 16, 7) },
          trigger: n % 2 === 0 ? 'on_demand' : 'schedule',
          priority: n % 2 === 0 ? 'on_demand' : 'scheduled',
          deliver: true,
        }),
      ),
    ),
  );
  expect((await worker.runs.list({ limit: 100 })).map(({ state }) => state)).toEqual(Array(ORGS).fill('done'));

  // Each organization made its requests with its own key.
  expect(new Set(asked.map(({ n }) => n)).size).toBe(ORGS);
  for (const { n, key } of asked) expect(key).toBe(`Api-Key ${keyOf(n)}`);

  // Mail: each recipient got one message, which contains only data of its own organization.
  expect(
    mail
      .messages()
      .flatMap(({ to }) => to)
      .sort(),
  ).toEqual(
    Array.from({ length: ORGS }, (_, n) => [`one@${canaryOf(n)}.example`, `two@${canaryOf(n)}.example`])
      .flat()
      .sort(),
  );
  let seen = 0;
  for await (const { path, text } of filesBelow(join(root, 'mailbox'))) {
    expect(canariesIn(path + text)).toEqual(canariesIn(path));
    expect(text).toContain(`1${canariesIn(path).values().next().value?.slice(2, 4).padStart(3, '0')}`);
    seen += 1;
  }
  expect(seen).toBe(2 * ORGS);

  // Folders and archive: the folder of an organization contains only its data.
  for (const [folder, least] of [
    ['out', 2],
    ['archive', 8],
  ] as const) {
    const entries = await readdir(join(root, folder), { withFileTypes: true });
    expect(entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))).toHaveLength(ORGS);
    let files = 0;
    for await (const { path, text } of filesBelow(join(root, folder))) {
      const [own] = canariesIn(path);
      const name = relative(join(root, folder), path);
      // The marker of the archive at the top belongs to no organization.
      if (name.includes(sep) && !name.startsWith('.')) expect(own, path).toBeDefined();
      expect(
        [...canariesIn(text)].filter((canary) => canary !== own),
        path,
      ).toEqual([]);
      expect(text).not.toContain('-secret');
      files += 1;
    }
    expect(files).toBeGreaterThanOrEqual(least * ORGS);
  }

  // Redis: no value contains data of two organizations or an API key.
  const reported = new Set<string>();
  for await (const { key, text } of redisValues(redis, prefix)) {
    const canaries = canariesIn(text);
    expect(canaries.size, `${key}: ${text.slice(0, 200)}`).toBeLessThanOrEqual(1);
    expect(text).not.toContain('-secret');
    for (const canary of canaries) reported.add(canary);
  }
  expect(reported.size).toBe(ORGS);

  // Log: the same for each line.
  expect(log.lines.length).toBeGreaterThanOrEqual(2 * ORGS);
  for (const line of log.lines) {
    const text = JSON.stringify(line);
    expect(canariesIn(text).size, text).toBeLessThanOrEqual(1);
    expect(text).not.toContain('-secret');
  }
});

test('a run is delivered once, even if it is triggered fifty times, requeued and replayed after its job is gone', async () => {
  const { jobs, worker, mail, redis, prefix, root, ended } = await startDeployment(1, () => 'key');
  const request = {
    ...requireReport(jobs, `org-${canaryOf(0)}/weekly`),
    slot: { trigger: 'once' },
    trigger: 'on_demand',
    priority: 'on_demand',
    deliver: true,
  } as const;
  let run = '';
  await ended(1, async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => worker.trigger(request)));
    expect(new Set(all.map(({ record }) => record.id)).size).toBe(1);
    run = all[0]?.record.id ?? '';
  });
  const sent = () => mail.messages().map(({ to }) => to.join());
  const once = ['one', 'two'].map((name) => `${name}@${canaryOf(0)}.example`);
  expect(sent()).toEqual(once);

  const queue = runQueue(redis, { prefix });
  onTestFinished(() => queue.close());
  const runs = redisRunStore(redis, { prefix, keepDays: 90 });
  const gone = () => waitFor('the job to be gone', async () => (await queue.findOrphaned([run])).includes(run));
  const record = await runs.get(run);
  if (record === undefined) throw new Error('no record');
  for (let replay = 0; replay < 3; replay += 1) {
    await gone();
    await queue.requeue(record);
  }
  await gone();
  // Like a Redis that lost its last seconds: the record is that from before the run, but the ledger has the deliveries.
  await redis.hset(redisKeys(prefix).record(run), 'state', 'queued');
  await ended(1, () => queue.requeue(record));
  expect((await runs.get(run))?.deliveries.map(({ state }) => state)).toEqual(['sent', 'sent', 'sent']);
  expect(sent()).toEqual(once);
  expect(await readdir(join(root, 'archive', `org-${canaryOf(0)}`, 'weekly'))).toEqual([run]);
});

test('an unmet condition skips its delivery with the reason, and the run is done', async () => {
  const { jobs, worker, mail, ended } = await startDeployment(1, () => 'key');
  const runs: string[] = [];
  for (const trigger of ['first', 'second']) {
    await ended(1, async () => {
      const report = requireReport(jobs, `org-${canaryOf(0)}/weekly`);
      const { record } = await worker.trigger({
        ...report,
        slot: { trigger },
        trigger: 'on_demand',
        priority: 'on_demand',
        deliver: true,
        again: true,
      });
      runs.push(record.id);
    });
  }
  const [first, second] = await Promise.all(runs.map((run) => worker.runs.get(run)));
  expect(first).toMatchObject({ state: 'done', error: null });
  expect(first?.deliveries.map(({ state }) => state)).toEqual(['sent', 'sent', 'sent']);
  expect(second).toMatchObject({ state: 'done', error: null });
  expect(second?.deliveries.map(({ target, state }) => [target, state])).toEqual([
    ['0-email', 'sent'],
    ['0-email', 'sent'],
    ['1-directory', 'skipped'],
  ]);
  expect(second?.deliveries[2]?.detail).toContain(`the same as those of run ${runs[0]}`);
  expect(mail.messages()).toHaveLength(4);
});
