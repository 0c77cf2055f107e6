import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../src/base/secrets/secret.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { HOOK_SECRET } from '../recorded/definitions.ts';
import { type Deployment, deployment, type RunningDocket } from '../recorded/deployment.ts';
import { type RecordedMailServer, recordedMailServer } from '../recorded/mail-server.ts';
import { programOf } from '../recorded/program.ts';
import {
  CHECKPOINTS,
  deliveriesSchema,
  MANIFEST,
  type RecordedRun,
  type Recording,
  readingsSchema,
  readRecording,
  restoreRecording,
  runsSchema,
  SIGNING_KEY,
} from '../recorded/recording.ts';
import { webhookReceiver } from '../recorded/webhook-receiver.ts';
import { captureStderr } from '../support/capture-stderr.ts';
import { type FaketimeRedis, faketimeRedis } from '../support/faketime-redis.ts';

const RECORDED = fileURLToPath(new URL('../recorded/', import.meta.url));
const folders = (await readdir(RECORDED, { recursive: true }))
  .filter((path) => path.endsWith(`/${MANIFEST}`))
  .map(dirname);

/** The processes start this long after the recording: its locks and outages are over, and the next slot is not due. */
const PAUSE_MS = 90_000;
const POLL = { interval: 250 };
const DECIDED = ['--reason', 'upgrade', '--by', 'ops', '--json'];

const idSchema = z.object({ id: z.string() });
const codeSchema = z.looseObject({ code: z.string() });
const reviewSchema = z.looseObject({ phase: z.string(), content: z.string().nullable() });
const runSchema = z.looseObject({
  state: z.string(),
  deliveries: z.array(z.looseObject({ target: z.string(), recipient: z.string(), state: z.string() })),
});
const listingSchema = z.object({
  runs: z.array(z.looseObject({ id: z.string(), slot: z.string(), state: z.string() })),
});
const shownSchema = z.looseObject({
  id: z.string(),
  record: z.looseObject({ state: z.string() }).nullable(),
  manifest: z.looseObject({ files: z.array(z.looseObject({ name: z.string(), sha256: z.string() })) }).nullable(),
});
const verifiedSchema = z.looseObject({ signed: z.int(), faulty: z.array(z.any()), archive_findings: z.array(z.any()) });
const pausedSchema = z.object({
  paused: z.array(z.looseObject({ organization: z.string(), report: z.string().nullable() })),
});

test('a recording exists', () => {
  expect(folders).not.toEqual([]);
});

describe.each(folders)('after an upgrade from version %s', (version) => {
  const from = join(RECORDED, version);
  let to: string;
  let recording: Recording;
  let redis: FaketimeRedis;
  let sandbox: Sandbox;
  let mail: RecordedMailServer;
  let hook: Awaited<ReturnType<typeof webhookReceiver>>;
  let docket: Deployment;
  /** The same folder, Redis and servers with the program of the recorded version. */
  let before: Deployment;
  let seconds: number;
  let running: RunningDocket;

  beforeAll(async () => {
    recording = await readRecording(from);
    to = await mkdtemp(join(tmpdir(), 'docket-upgrade-'));
    seconds = Math.round((Date.parse(recording.recordedAt) + PAUSE_MS - Date.now()) / 1000);
    redis = await faketimeRedis(await restoreRecording(from, to), seconds);
    sandbox = await startSandbox({ now: Date.parse(recording.serviceNow), windowMs: 1 });
    mail = await recordedMailServer();
    hook = await webhookReceiver();
    const shared = {
      folder: to,
      token: () => recording.token,
      onStderr: captureStderr,
      env: {
        REDIS_URL: redis.url,
        COMPLIANCE_API_URL: sandbox.url,
        ACME_KEY: keyOf('acme'),
        LAKESIDE_KEY: keyOf('lakeside'),
        NORTHWIND_KEY: keyOf('northwind'),
        NORTHWIND_HOOK: hook.url,
        NORTHWIND_HOOK_SECRET: HOOK_SECRET,
        NORTHWIND_SMTP: mail.url,
        SMTP_URL: mail.url,
        MAIL_FROM: 'reports@acme.example',
      },
    };
    docket = await deployment(shared);
    before = await deployment({ ...shared, main: await programOf('0.2.0') });
    await docket.setClock(seconds);
  });
  afterAll(async () => {
    await docket?.close();
    await before?.close();
    await hook?.close();
    await mail?.close();
    await sandbox?.close();
    await redis?.close();
    if (to !== undefined) await rm(to, { recursive: true, force: true });
  });

  const keyOf = (label: string): string => sandbox.keys.find((key) => key.label === label)?.key ?? '';
  const recorded = (name: string): RecordedRun => {
    const run = recording.runs.find((each) => each.name === name);
    if (run === undefined) throw new Error(`No run ${name} in the recording`);
    return run;
  };
  const rowOf = (name: string, recipient: string): string =>
    recorded(name).deliveries.find((row) => row.recipient === recipient)?.id ?? '';
  const lookAt = async (id: string) => runSchema.parse(await (await running.request(`/api/runs/${id}`)).json());
  const stateOf = async (id: string): Promise<string> => (await lookAt(id)).state;
  /** The recipients of messages of a run that arrived since the recording. */
  const readersOf = (run: string): string[] =>
    mail
      .arrived()
      .filter((each) => each.run === run)
      .flatMap(({ to: recipients }) => [...recipients])
      .sort();
  const ask = (report: string, body: object, key?: string): Promise<Response> =>
    running.request(`/api/reports/${report}/runs`, {
      body,
      headers: key === undefined ? {} : { 'idempotency-key': key },
    });
  const reviewOf = async (id: string) =>
    reviewSchema.parse(await (await running.request(`/api/runs/${id}/review`)).json());
  /** Comments on the scorecard of a run. Resolves when the run waits for approval. */
  const comment = async (id: string): Promise<void> => {
    const { code, stderr } = await docket.run(
      ['comment', id, '--section', 'scorecard', '--text', '{{ scorecard.profiles.created }} clients.'],
      { DOCKET_TOKEN: recording.token },
    );
    expect(code, stderr).toBe(0);
    await expect.poll(() => stateOf(id), POLL).toBe('awaiting_approval');
  };
  /** Returns the content that was approved. */
  const sendApproval = async (id: string): Promise<string | null> => {
    const { content } = await reviewOf(id);
    const { code, stderr } = await docket.run(
      ['runs', 'approve', id, '--content', content ?? '', '--reason', 'upgrade', '--again', '--json'],
      { DOCKET_TOKEN: recording.approver },
    );
    expect(code, stderr).toBe(0);
    return content;
  };
  const approve = async (id: string): Promise<void> => {
    await sendApproval(id);
    await expect.poll(() => stateOf(id), POLL).toBe('done');
  };
  const verify = () =>
    docket.json(
      verifiedSchema,
      ...['archive', 'verify', '--public-key', join(from, `${SIGNING_KEY}.pub`)],
      ...['--checkpoint', join(from, CHECKPOINTS)],
    );

  test('all recorded runs are listed with their deliveries', async () => {
    const { runs } = await docket.json(runsSchema, 'runs', '--limit', '500');
    expect(runs).toEqual(recording.runs.map(({ name: _, what: __, deliveries: ___, ...run }) => run));
    const { deliveries } = await docket.json(deliveriesSchema, 'deliveries', '--limit', '100');
    const rows = recording.runs.flatMap(({ id, deliveries: own }) => own.map((row) => ({ ...row, run: id })));
    expect(byId(deliveries)).toEqual(byId(rows));
    const unknown = await docket.json(deliveriesSchema, 'deliveries', '--unknown');
    expect(byId(unknown.deliveries)).toEqual(byId(rows.filter(({ state }) => state === 'unknown')));
    const { paused } = await docket.json(pausedSchema, 'pause');
    expect(
      paused.map(({ organization, report }) => (report === null ? organization : `${organization}/${report}`)).sort(),
    ).toEqual([...recording.pauses].sort());
  });

  test('each run is shown with its archived files, and the archive is verified', async () => {
    for (const { id, state, files } of recording.runs) {
      const shown = await docket.json(shownSchema, 'runs', 'show', id);
      expect(shown).toMatchObject({ id, record: { state } });
      const kept = shown.manifest?.files.map(({ name, sha256 }) => ({ name, sha256 })) ?? [];
      if (files.length > 0) expect(kept).toEqual(files);
    }
    const verified = await verify();
    expect(verified).toMatchObject({ faulty: [], archive_findings: [] });
    expect(verified.signed).toBeGreaterThan(0);
  });

  test('stored readings are listed', async () => {
    expect(recording.readings.readings).not.toEqual([]);
    const { readings } = await docket.json(readingsSchema, 'readings', 'acme');
    expect(readings).toEqual(expect.arrayContaining(recording.readings.readings));
  });

  test('a run copied from the archive has the same files', async () => {
    const { id, files, deliveries } = recorded('delivered');
    const out = join(to, 'copy');
    const { code } = await docket.run(['runs', 'get', id, '--out', out]);
    expect(code).toBe(0);
    const copied = await hashesIn(out);
    for (const { name, sha256 } of files) expect(copied.get(name)).toBe(sha256);
    const folder = deliveries.find(({ target }) => target === '1-directory')?.recipient ?? '';
    const delivered = await hashesIn(join(to, folder));
    expect(delivered.size).toBeGreaterThan(0);
    for (const [name, sha256] of delivered) expect(files).toContainEqual({ name, sha256 });
  });

  test('unfinished runs are finished without requesting stored responses again', async () => {
    running = await docket.start();
    const unfinished = ['queued', 'snoozed', 'hook-1', 'hook-2', 'hook-3'];
    for (const name of unfinished) await expect.poll(() => stateOf(recorded(name).id), POLL).toBe('done');
    await expect.poll(() => stateOf(recorded('killed').id), POLL).toBe('partly_delivered');

    expect(readersOf(recorded('queued').id)).toEqual(['lead@acme.example']);
    expect(readersOf(recorded('snoozed').id)).toEqual(['lead@lakeside.example']);
    const { stored, calls } = recording.snoozed;
    const fingerprint = new Secret(keyOf('lakeside')).fingerprint();
    const requested = sandbox.requests().filter(({ key }) => key === fingerprint);
    expect(stored).toBeGreaterThan(0);
    expect(requested).toHaveLength(calls - stored);
    const hooks = ['hook-1', 'hook-2', 'hook-3'].map((name) => recorded(name).id);
    expect([...hook.runs()].sort()).toEqual(hooks.sort());
    // The recorded mail server received the whole message and never replied.
    const killed = await lookAt(recorded('killed').id);
    expect(statesOf(killed)).toEqual({ 'hangs@acme.example': 'unknown', 'lead@acme.example': 'sent' });
  });

  test('an owner’s pending notice is sent', async () => {
    await expect.poll(() => readersOf(recorded('refused').id), POLL).toEqual(['owner@northwind.example']);
  });

  test('the token, the session and idempotency keys are accepted', async () => {
    expect((await running.request('/api/runs')).status).toBe(200);
    expect((await running.request('/api/runs', { headers: { authorization: 'Bearer docket_unknown' } })).status).toBe(
      401,
    );
    const page = (headers: Readonly<Record<string, string>>) => fetch(running.url, { headers, redirect: 'manual' });
    expect((await page({ cookie: recording.cookie })).status).toBe(200);
    expect((await page({})).status).toBe(303);

    const again = await ask('acme/delivered', { again: true }, 'delivered');
    expect(again.status).toBe(202);
    expect(idSchema.parse(await again.json()).id).toBe(recorded('delivered').id);
    expect((await ask('acme/delivered', { again: false }, 'delivered')).status).toBe(409);
  });

  test('delivered reports are not delivered again, with and without Redis', async () => {
    const refused = await ask('acme/delivered', {});
    expect(refused.status).toBe(409);
    expect(codeSchema.parse(await refused.json()).code).toBe('already_delivered');
    const { code, stdout } = await docket.run(['run', 'acme/alone', '--json'], { REDIS_URL: '' });
    expect(code).toBe(2);
    expect(z.object({ error: codeSchema }).parse(JSON.parse(stdout)).error.code).toBe('already_delivered');
  });

  test('unchanged figures are recognised from the previous run', async () => {
    const { id } = idSchema.parse(await (await ask('acme/changed', { again: true }, 'once-more')).json());
    await expect.poll(() => stateOf(id), POLL).toBe('done');
    expect(statesOf(await lookAt(id))).toEqual({ 'lead@acme.example': 'skipped' });
    expect(readersOf(id)).toEqual([]);
  });

  test('retried runs (failed, partly delivered or cancelled) send only what is missing', async () => {
    for (const name of ['failed', 'partly', 'cancelled', 'refused']) {
      const { id } = recorded(name);
      const { code, stderr } = await docket.run(['runs', 'retry', id, ...DECIDED]);
      expect(code, stderr).toBe(0);
      await expect.poll(() => stateOf(id), POLL).toBe('done');
    }
    expect(readersOf(recorded('failed').id)).toEqual(['deferred@acme.example']);
    expect(readersOf(recorded('partly').id)).toEqual(['refused@acme.example']);
    expect(readersOf(recorded('cancelled').id)).toEqual(['lead@acme.example']);
    expect(hook.runs().filter((run) => run === recorded('refused').id)).toHaveLength(1);
  });

  test('unknown deliveries are resolved, and held runs are released', async () => {
    const resolve = async (row: string, as: string): Promise<void> => {
      const { code, stderr } = await docket.run(['deliveries', 'resolve', row, as, ...DECIDED]);
      expect(code, stderr).toBe(0);
    };
    await resolve(rowOf('uncertain', 'lost-1@acme.example'), '--sent');
    await resolve(rowOf('uncertain', 'lost-2@acme.example'), '--resend');
    await resolve(rowOf('killed', 'hangs@acme.example'), '--sent');
    const { code } = await docket.run(['runs', 'release', recorded('held').id, ...DECIDED]);
    expect(code).toBe(0);
    for (const name of ['uncertain', 'killed', 'held']) {
      await expect.poll(() => stateOf(recorded(name).id), POLL).toBe('done');
    }
    expect(readersOf(recorded('uncertain').id)).toEqual(['lost-2@acme.example']);
    expect(readersOf(recorded('held').id)).toEqual(['lead@acme.example']);
    const { deliveries } = await docket.json(deliveriesSchema, 'deliveries', '--unknown');
    expect(deliveries).toEqual([]);
  });

  test('runs that wait for a comment or approval are sent once both are there', async () => {
    expect(await stateOf(recorded('comment').id)).toBe('held');
    await comment(recorded('comment').id);
    const waiting = ['comment', 'approval'].map((name) => recorded(name).id);
    // Another version renders other files, so what 0.2.0 rendered needs a new approval.
    const approved = await sendApproval(recorded('approval').id);
    await expect
      .poll(async () => {
        const { content } = await reviewOf(recorded('approval').id);
        return { state: await stateOf(recorded('approval').id), isAsBefore: content === approved };
      }, POLL)
      .toEqual({ state: 'awaiting_approval', isAsBefore: false });
    expect(waiting.flatMap(readersOf)).toEqual([]);
    for (const id of waiting) await approve(id);
    expect(waiting.flatMap(readersOf)).toEqual(['lead@acme.example', 'board@acme.example']);
  });

  test('a repeated backfill finds its runs', async () => {
    const past = recording.runs.filter(({ report }) => report === 'history');
    const [first = '', last = ''] = past.map(({ slot }) => slot.slice('trigger:backfill:'.length).slice(0, 7)).sort();
    const { runs } = await docket.json(
      z.object({ runs: z.array(z.looseObject({ id: z.string(), opened: z.boolean() })) }),
      ...['backfill', 'acme/history', '--from', first, '--to', last],
    );
    expect(byId(runs)).toMatchObject(byId(past.map(({ id }) => ({ id, opened: false }))));
  });

  test('schedules continue at their next slot; a pause lasts until it is lifted', async () => {
    expect(await running.stop()).toBe(0);
    seconds = Math.round((Date.parse(recording.nextSlot) + 60_000 - Date.now()) / 1000);
    await redis.setClock(seconds);
    await docket.setClock(seconds);
    running = await docket.start();
    const slotsOf = async (report: string): Promise<Record<string, string>> => {
      const { runs } = listingSchema.parse(await (await running.request(`/api/runs?org=acme&report=${report}`)).json());
      return Object.fromEntries(runs.map(({ slot, state }) => [slot, state]));
    };
    for (const report of ['hourly', 'skipping']) {
      const { slot, state } = recorded(report);
      await expect.poll(() => slotsOf(report), POLL).toEqual({ [slot]: state, [recording.nextSlot]: 'done' });
    }
    expect(await slotsOf('paused')).toEqual({});
    // The pause of the other organization is over, because its key works now.
    const { paused } = await docket.json(pausedSchema, 'pause');
    expect(paused).toMatchObject([{ organization: 'acme', report: 'paused' }]);

    const { code } = await docket.run(['resume', 'acme/paused', '--by', 'ops']);
    expect(code).toBe(0);
    // A scheduler scans at its start, and then once a minute.
    expect(await running.stop()).toBe(0);
    running = await docket.start();
    // With `catch_up: latest`, the earlier slot is superseded.
    const before = recorded('hourly').slot;
    await expect.poll(() => slotsOf('paused'), POLL).toEqual({ [before]: 'skipped', [recording.nextSlot]: 'done' });
    expect(await running.stop()).toBe(0);
  });

  test('the earlier version works again after a rollback, and so does this version afterwards', async () => {
    // Ignores notices to the owner.
    const boardOf = (run: string): string[] => readersOf(run).filter((reader) => reader.startsWith('board@'));
    running = await docket.start();
    const opened = idSchema.parse(await (await ask('acme/approval', { again: true }, 'before-roll-back')).json()).id;
    await expect.poll(() => stateOf(opened), POLL).toBe('held');
    await comment(opened);
    expect(await running.stop()).toBe(0);

    running = await before.start();
    const between = idSchema.parse(await (await ask('acme/queued', { again: true }, 'rolled-back')).json()).id;
    await expect.poll(() => stateOf(between), POLL).toBe('done');
    expect(readersOf(between)).toEqual(['lead@acme.example']);
    // The recorded version does not send what this version signed.
    expect(boardOf(opened)).toEqual([]);
    const listed = await before.json(runsSchema, 'runs', '--limit', '500');
    expect(listed.runs.map(({ id }) => id)).toEqual(expect.arrayContaining(recording.runs.map(({ id }) => id)));
    expect(await running.stop()).toBe(0);

    running = await docket.start();
    await expect.poll(() => stateOf(opened), POLL).toBe('awaiting_approval');
    await approve(opened);
    expect(boardOf(opened)).toEqual(['board@acme.example']);
    expect(await running.stop()).toBe(0);
  });

  test('nothing was sent twice or to other recipients, and the extended archive is verified', async () => {
    const sent = [...recording.mails, ...mail.arrived()];
    const resent = recording.mails.find(({ to: recipients }) => recipients.includes('lost-2@acme.example'));
    // Each message has one recipient, and each delivery its own Message-ID. The pair of run and recipient identifies a
    // delivery as well.
    expect(repeated(sent, ({ messageId }) => messageId)).toEqual([resent?.messageId]);
    const toReaders = sent.filter(({ to: recipients }) => !recipients.some((each) => each.startsWith('owner@')));
    expect(repeated(toReaders, ({ run, to: [recipient] }) => `${run} ${recipient}`)).toEqual([
      `${resent?.run} lost-2@acme.example`,
    ]);
    expect(repeated(hook.runs(), (run) => run)).toEqual([]);
    expect(mail.arrived().flatMap(({ to: recipients }) => recipients)).not.toContain('hangs@acme.example');

    const { runs } = await docket.json(runsSchema, 'runs', '--limit', '500');
    for (const { state } of runs) expect(['done', 'skipped']).toContain(state);
    const before = recording.runs.map(({ id }) => id);
    expect(runs.map(({ id }) => id)).toEqual(expect.arrayContaining(before));
    expect(await verify()).toMatchObject({ faulty: [], archive_findings: [] });
  });
});

const byId = <Row extends { readonly id: string }>(rows: readonly Row[]): Row[] =>
  [...rows].sort((one, other) => (one.id < other.id ? -1 : 1));

const statesOf = ({ deliveries }: z.infer<typeof runSchema>): Record<string, string> =>
  Object.fromEntries(deliveries.map(({ recipient, state }) => [recipient, state]));

/** The names that occur more than once, one entry for every further occurrence. */
function repeated<Item>(items: readonly Item[], nameOf: (item: Item) => string): string[] {
  const names = items.map(nameOf);
  return names.filter((name, index) => names.indexOf(name) < index);
}

/** The SHA-256 of each file below a folder, by name. */
async function hashesIn(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return new Map(
    await Promise.all(
      files.map(async ({ parentPath, name }): Promise<[string, string]> => {
        const bytes = await readFile(join(parentPath, name));
        return [name, createHash('sha256').update(bytes).digest('hex')];
      }),
    ),
  );
}
