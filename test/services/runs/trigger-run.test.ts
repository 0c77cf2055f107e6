import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { DAY_MS } from '../../../src/base/time.ts';
import { reportFileSchema } from '../../../src/compose/built-in-kinds.ts';
import { localRedis } from '../../../src/demo/local-redis.ts';
import { definitionStore } from '../../../src/queue/definitions/definition-store.ts';
import { requeueOrphans } from '../../../src/queue/jobs/requeue-orphans.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import { triggerRun } from '../../../src/services/runs/trigger-run.ts';
import { manualClock } from '../../support/manual-clock.ts';
import {
  anOrder,
  onDemand,
  openQueueHarness,
  type QueueHarness,
  recordingLog,
  reportDefinition,
} from '../../support/queue-harness.ts';

const MONDAY = Date.parse('2026-11-16T07:00:00Z');

describe('a trigger', () => {
  let harness: QueueHarness;
  beforeAll(async () => {
    harness = await openQueueHarness();
  });
  afterAll(() => harness.close());

  it('opens one run for fifty simultaneous triggers of a slot', async () => {
    const other = await openQueueHarness(undefined, harness.prefix);
    const report = reportDefinition();
    const request = {
      ...report,
      slot: { scheduled: MONDAY },
      trigger: 'schedule',
      priority: 'scheduled',
      deliver: true,
    } as const;
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? harness : other).trigger(request)),
    );
    expect(all.filter(({ opened }) => opened)).toHaveLength(1);
    expect(new Set(all.map(({ record }) => record.id)).size).toBe(1);
    expect(await harness.runs.list({ report: 'weekly', limit: 10 })).toHaveLength(1);
    expect(await harness.producer.zcard(`${harness.prefix}:bull:runs:prioritized`)).toBe(1);
  });

  it.each(['on_demand', 'cli'] as const)(
    'refuses a recipient outside the allow-list before anything is opened (%s)',
    async (kind) => {
      const slot = { trigger: `strangers-${kind}` };
      const report = reportDefinition(`strangers-${kind}`);
      const to = ['lead@acme.example', 'rival@elsewhere.example'];
      const definition = { ...report.definition, deliveries: [{ email: { to, attach: [] } }] };
      const request = { ...report, definition, slot, trigger: kind, priority: 'on_demand', deliver: true } as const;
      await expect(harness.trigger(request)).rejects.toMatchObject({
        code: 'deliver.recipient_refused',
        retryable: false,
        message: expect.stringContaining('rival@elsewhere.example'),
      });
      expect(await harness.runs.list({ report: definition.report, limit: 10 })).toEqual([]);
      // A slot has no caller, so its run ends with the refusal and notifies its owner.
      const scheduled = { ...request, slot: { scheduled: MONDAY }, trigger: 'schedule' } as const;
      expect((await harness.trigger(scheduled)).opened).toBe(true);
      // Without delivery, recipients do not matter.
      expect((await harness.trigger({ ...request, deliver: false })).opened).toBe(true);
    },
  );

  it('stores neither a definition nor a record when Redis is full', async () => {
    const server = await localRedis({ ...process.env, REDIS_URL: undefined });
    onTestFinished(() => server.close());
    const own = await openQueueHarness(systemClock, undefined, silentLog, server.url);
    onTestFinished(() => own.close());
    const request = onDemand(reportDefinition('full'));
    await own.producer.config('SET', 'maxmemory', '1');
    await expect(own.trigger(request)).rejects.toMatchObject({ code: 'redis.out_of_memory' });
    await own.producer.config('SET', 'maxmemory', '0');
    expect(await own.producer.keys(`${own.prefix}:*`)).toEqual([]);
    expect(await own.trigger(request)).toMatchObject({ opened: true });
  });

  it('renews the expiry of a definition together with that of its record', async () => {
    const report = reportDefinition('renewed');
    const { record } = await harness.trigger(onDemand(report, 'renewed-1'));
    const keys = redisKeys(harness.prefix);
    const definition = keys.definition(record.digest);
    await harness.producer.pexpire(definition, 60_000);
    await harness.trigger(onDemand(report, 'renewed-2'));
    expect(await harness.producer.pttl(definition)).toBeGreaterThan(39 * DAY_MS);
    // A repeated request renews the expiry as well, because its run may be continued for as long as a new one.
    await harness.producer.pexpire(definition, 60_000);
    expect(await harness.trigger(onDemand(report, 'renewed-1'))).toMatchObject({ opened: false });
    expect(await harness.producer.pttl(definition)).toBeGreaterThan(39 * DAY_MS);
  });

  it('freezes the period of the slot, not of the present', async () => {
    const { record } = await harness.trigger({
      ...reportDefinition('frozen'),
      slot: { scheduled: MONDAY },
      trigger: 'schedule',
      priority: 'scheduled',
      deliver: true,
    });
    expect(record).toMatchObject({
      slot: '2026-11-16T07:00:00.000Z',
      period: { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich' },
    });
  });

  it('freezes the definition, so that every worker uses the same version', async () => {
    const report = reportDefinition('version');
    const { record } = await harness.trigger(onDemand(report));
    expect(record.digest).toBe(report.definition.digest);
    const store = definitionStore(harness.worker, {
      prefix: harness.prefix,
      keepDays: 30,
      reportSchema: reportFileSchema,
    });
    expect(await store.get(record.digest)).toEqual(report);
    expect(await store.get('unknown')).toBeUndefined();
  });

  it('leaves a stored definition unreadable if this version does not know one of its fields', async () => {
    const store = definitionStore(harness.producer, {
      prefix: harness.prefix,
      keepDays: 30,
      reportSchema: reportFileSchema,
    });
    const report = reportDefinition('broken');
    await store.put(report);
    const key = `${harness.prefix}:definition:${report.definition.digest}`;
    const stored = JSON.parse((await harness.producer.get(key)) ?? '');
    stored.definition.file.sections[0].surprise = true;
    await harness.producer.set(key, JSON.stringify(stored));
    await expect(store.get(report.definition.digest)).rejects.toMatchObject({ code: 'definition.invalid' });
  });

  it('returns the first run for an id that was used, and refuses a different request with it', async () => {
    const report = reportDefinition('again');
    const first = await harness.trigger(onDemand(report, 'key-1'));
    const same = await harness.trigger(onDemand(report, 'key-1'));
    expect(same).toEqual({ opened: false, record: first.record });
    await expect(harness.trigger({ ...onDemand(report, 'key-1'), deliver: false })).rejects.toMatchObject({
      code: 'run.conflict',
    });
    await expect(harness.trigger({ ...onDemand(report, 'key-1'), period: 'previous_day' })).rejects.toMatchObject({
      code: 'run.conflict',
    });
    await expect(harness.trigger(onDemand(report, 'key-2'))).resolves.toMatchObject({ opened: true });
    const ofDays = (to: string) => ({ ...onDemand(report, 'key-3'), period: { from: '2026-11-02', to } });
    const days = await harness.trigger(ofDays('2026-11-08'));
    expect(await harness.trigger(ofDays('2026-11-08'))).toEqual({ opened: false, record: days.record });
    await expect(harness.trigger(ofDays('2026-11-09'))).rejects.toMatchObject({ code: 'run.conflict' });
  });

  it('enqueues the run with the priority it got with its record, whether the id is new or not', async () => {
    const own = await openQueueHarness();
    const place = async (id: string, isNew: boolean) => {
      const request = onDemand(reportDefinition('placed'), id);
      const { record } = await own.trigger({ ...request, slot: { trigger: id, isNew } });
      return Number(await own.producer.hget(`${own.prefix}:bull:runs:${record.id}`, 'priority'));
    };
    const places = [await place('one', true), await place('two', false), await place('three', true)];
    expect(places).toEqual([...new Set(places)].sort((a, b) => a - b));
    await own.close();
  });

  it('keeps only the run id and its organization in the job', async () => {
    const { record } = await harness.trigger(onDemand(reportDefinition('ids')));
    const job = await harness.producer.hgetall(`${harness.prefix}:bull:runs:${record.id}`);
    expect(JSON.parse(job.data ?? '')).toEqual({ run: record.id });
    expect(job.name).toBe('acme');
    expect(JSON.stringify({ ...job, name: '' })).not.toMatch(/acme|ids/);
  });

  it('that died before it added the job is completed by the reconciler', async () => {
    const own = await openQueueHarness();
    const clock = manualClock(Date.now());
    const dying = { ...own.queue, enqueue: () => Promise.reject(new Error('killed')) };
    const request = onDemand(reportDefinition());
    const ports = { runs: own.runs, queue: own.queue, clock, log: silentLog };
    const opened: string[] = [];
    const reported = { ...request, onOpened: async ({ id }: { readonly id: string }) => void opened.push(id) };
    await expect(triggerRun(reported, { ...ports, queue: dying })).rejects.toThrow('killed');
    // The run will be executed, so the audit log gets its entry at once.
    expect(opened).toHaveLength(1);
    const log = recordingLog();
    expect(await requeueOrphans({ ...own, clock, log })).toBe(0);
    clock.advance(31_000);
    expect(await requeueOrphans({ ...own, clock, log })).toBe(1);
    expect(log.lines).toMatchObject([{ level: 'warn', run: expect.any(String) }]);
    expect(await own.producer.zcard(`${own.prefix}:bull:runs:prioritized`)).toBe(1);
    expect(await requeueOrphans({ ...own, clock, log })).toBe(0);
    await own.close();
  });

  it('is completed by the reconciler even if another run’s record cannot be read', async () => {
    const own = await openQueueHarness();
    const log = recordingLog();
    const [bad, good] = [anOrder({ createdAt: Date.now() - 2_000 }), anOrder({ createdAt: Date.now() - 1_000 })];
    for (const order of [bad, good]) await own.runs.open(order);
    await own.producer.hset(`${own.prefix}:record:${bad.id}`, 'files', '"not a list"');
    expect(await requeueOrphans({ ...own, clock: manualClock(Date.now() + 31_000), log })).toBe(1);
    expect(log.lines).toMatchObject([
      { level: 'error', run: bad.id },
      { level: 'warn', run: good.id },
    ]);
    expect(await own.queue.findOrphaned([bad.id, good.id])).toEqual([bad.id]);
    await own.close();
  });

  it('that died adds the job when it is repeated', async () => {
    const own = await openQueueHarness();
    const request = onDemand(reportDefinition(), 'same');
    const { record } = await own.trigger(request);
    await own.producer.del(`${own.prefix}:bull:runs:prioritized`, `${own.prefix}:bull:runs:${record.id}`);
    expect(await own.trigger(request)).toMatchObject({ opened: false });
    expect(await own.producer.zcard(`${own.prefix}:bull:runs:prioritized`)).toBe(1);
    await own.close();
  });
});
