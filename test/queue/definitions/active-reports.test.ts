import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { reportFileSchema } from '../../../src/compose/built-in-kinds.ts';
import { fileDiagnostic } from '../../../src/definitions/diagnostics/diagnostic.ts';
import type { Definitions } from '../../../src/definitions/load/load-definitions.ts';
import { TARGETS } from '../../../src/deliver/targets/registry.ts';
import { createActiveReports } from '../../../src/queue/definitions/active-reports.ts';
import { redisActiveVersions } from '../../../src/queue/definitions/active-versions.ts';
import { definitionStore, type FrozenDefinition } from '../../../src/queue/definitions/definition-store.ts';
import { openDueSlots } from '../../../src/queue/schedules/open-due-slots.ts';
import { redisScheduleCursors } from '../../../src/queue/schedules/schedule-cursors.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';
import { openQueueHarness, type QueueHarness, recordingLog, reportDefinition } from '../../support/queue-harness.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('active report versions', () => {
  let harness: QueueHarness;
  let clock: ManualClock;
  let log: ReturnType<typeof recordingLog>;
  beforeEach(async () => {
    clock = manualClock(Date.parse('2026-11-16T06:30:00Z'));
    log = recordingLog();
    harness = await openQueueHarness(clock);
  });
  afterEach(() => harness.close());

  const versions = () => redisActiveVersions(harness.producer, harness);
  /** A scheduler that has loaded these files. */
  const scheduler = (jobs: Definitions, by = 'host:1') => {
    let own = jobs;
    const inForce = createActiveReports({
      jobs: () => own,
      targets: TARGETS,
      versions: versions(),
      definitions: definitionStore(harness.producer, {
        prefix: harness.prefix,
        keepDays: 30,
        reportSchema: reportFileSchema,
      }),
      by,
      clock,
      log,
    });
    return {
      ...inForce,
      digests: () => inForce.current().map(({ definition }) => definition.digest),
      /** What a reload of the files does. */
      change: (to: Definitions) => {
        own = to;
        return inForce.activate();
      },
      look: async () => {
        await inForce.refresh();
        return openDueSlots(inForce.current(), {
          cursors: redisScheduleCursors(harness.producer, harness),
          trigger: harness.trigger,
          runs: harness.runs,
          clock,
          log,
        });
      },
    };
  };
  const hourly = (catch_up: 'all' | 'latest' = 'all') =>
    reportDefinition('hourly', { cron: '0 * * * *', timezone: 'UTC', catch_up });
  const again = ({ definition, settings }: FrozenDefinition, digest: string): FrozenDefinition => ({
    definition: { ...definition, digest: digest.repeat(64) },
    settings,
  });
  const slots = async () =>
    (await harness.runs.list({ limit: 100 })).map(({ slot, digest }) => [slot.slice(11, 16), digest]);

  it('come from the scheduler that activated last, on all schedulers', async () => {
    const [a, b] = [again(hourly(), 'a'), again(hourly(), 'b')];
    const [old, fresh] = [scheduler(loadedJobs(a)), scheduler(loadedJobs(b), 'host:2')];
    await old.activate();
    await fresh.activate();
    clock.set(Date.parse('2026-11-16T07:00:00Z'));
    await old.look();
    expect(old.digests()).toEqual([b.definition.digest]);
    // The old scheduler keeps looking, and must not bring its own files back.
    for (let hour = 0; hour < 2; hour += 1) {
      clock.advance(HOUR);
      await Promise.all([old.look(), fresh.look()]);
    }
    expect(await slots()).toEqual(['09:00', '08:00', '07:00'].map((slot) => [slot, b.definition.digest]));
    expect((await versions().read()).get('acme/hourly')).toMatchObject({ by: 'host:2', before: a.definition.digest });
  });

  it('keep a protected workbook’s version with figures in plain text, but a new one is not activated', async () => {
    const report = hourly();
    const clear: Partial<FrozenDefinition['definition']> = {
      outputs: [{ format: 'xlsx', password: { env: 'PW' } }],
      deliveries: [{ email: { to: ['lead@acme.example'], attach: ['xlsx'] } }],
    };
    const [a, b] = ['a', 'b'].map((digest) =>
      again({ ...report, definition: { ...report.definition, ...clear } }, digest),
    );
    if (a === undefined || b === undefined) throw new Error('two versions');
    // Activated by an older version of Docket that did not check for this.
    await versions().activate([{ name: 'acme/hourly', digest: a.definition.digest, cursors: [] }], [], 1, 'host:0');
    const own = scheduler(loadedJobs(a));
    await own.activate();
    expect(own.digests()).toEqual([a.definition.digest]);
    await own.change(loadedJobs(b));
    expect((await versions().read()).get('acme/hourly')).toMatchObject({ digest: a.definition.digest });
    expect(log.lines).toContainEqual(expect.objectContaining({ level: 'error', path: 'acme/hourly' }));
    const meant = b.definition.deliveries.map((each) => ({ ...each, unprotected: true }));
    await own.change(loadedJobs({ ...b, definition: { ...b.definition, deliveries: meant } }));
    expect((await versions().read()).get('acme/hourly')).toMatchObject({ digest: b.definition.digest });
  });

  it('have their definition stored even if the files change during activation', async () => {
    const [a, b] = [again(hourly(), 'a'), again(hourly(), 'b')];
    const definitions = definitionStore(harness.producer, {
      prefix: harness.prefix,
      keepDays: 30,
      reportSchema: reportFileSchema,
    });
    let own = loadedJobs(a);
    const reading: typeof versions = () => ({
      ...versions(),
      read: async () => {
        own = loadedJobs(b);
        return versions().read();
      },
    });
    const ports = { jobs: () => own, targets: TARGETS, versions: reading(), definitions, by: 'host:1', clock, log };
    await createActiveReports(ports).activate();
    const active = (await versions().read()).get('acme/hourly')?.digest ?? '';
    expect((await definitions.get(active))?.definition.digest).toBe(active);
  });

  it('log a warning when a report goes back to its previous version', async () => {
    const [a, b] = [again(hourly(), 'a'), again(hourly(), 'b')];
    for (const jobs of [loadedJobs(a), loadedJobs(b)]) await scheduler(jobs).activate();
    expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
    await scheduler(loadedJobs(a)).activate();
    expect(log.lines.filter(({ level }) => level === 'warn')).toMatchObject([{ count: 1, why: 'acme/hourly' }]);
  });

  it('keep their schedule position when the rest of a report changes, and overdue slots use the new version', async () => {
    const report = hourly('latest');
    const before = scheduler(loadedJobs(again(report, 'a')));
    await before.activate();
    clock.set(Date.parse('2026-11-16T07:10:00Z'));
    const booting = Array.from({ length: 5 }, (_, n) => scheduler(loadedJobs(again(report, 'b')), `host:${n}`));
    await Promise.all(booting.map((one) => one.activate()));
    const ends = await Promise.all(booting.map((one) => one.look()));
    expect(ends.reduce((sum, { opened }) => sum + opened, 0)).toBe(1);
    expect(await slots()).toEqual([['07:00', 'b'.repeat(64)]]);
  });

  it('open no slots for the time in which a schedule was removed', async () => {
    const report = hourly();
    const one = scheduler(loadedJobs(report));
    await one.activate();
    await one.change(loadedJobs());
    expect(one.current()).toEqual([]);
    expect(await harness.producer.hlen(`${harness.prefix}:cursors`)).toBe(0);
    clock.advance(5 * HOUR);
    expect(await one.look()).toEqual({ opened: 0, skipped: 0, failed: 0 });
    await one.change(loadedJobs(report));
    expect(await one.look()).toEqual({ opened: 0, skipped: 0, failed: 0 });
    clock.advance(HOUR);
    await one.look();
    expect((await slots()).map(([slot]) => slot)).toEqual(['12:00']);
  });

  it('delete the cursor of a changed or removed schedule, and keep those of unchanged ones', async () => {
    const two = reportDefinition('two', [
      { cron: '0 7 * * *', timezone: 'UTC' },
      { cron: '0 8 * * *', timezone: 'UTC' },
    ]);
    const one = scheduler(loadedJobs(two));
    await one.activate();
    const kept = await harness.producer.hkeys(`${harness.prefix}:cursors`);
    clock.advance(MINUTE);
    await one.change(
      loadedJobs(
        reportDefinition('two', [
          { cron: '0 8 * * *', timezone: 'UTC' },
          { cron: '0 9 * * *', timezone: 'UTC' },
        ]),
      ),
    );
    const now = await harness.producer.hgetall(`${harness.prefix}:cursors`);
    expect(Object.values(now).sort()).toEqual([clock.now() - MINUTE, clock.now()].map(String));
    expect(kept.filter((name) => name in now)).toHaveLength(1);
  });

  it('stay active while their file has a fault, also after a restart', async () => {
    const report = hourly();
    const faulty: Definitions = {
      ...loadedJobs(),
      orgs: new Map([['acme', report.settings]]),
      diagnostics: [fileDiagnostic('jobs/acme/hourly.yaml', 'a report', 'none', 'correct it')],
    };
    await scheduler(loadedJobs(report)).activate();
    const restarted = scheduler(faulty);
    await restarted.activate();
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([{ path: 'jobs/acme/hourly.yaml:1:1' }]);
    clock.advance(HOUR);
    expect(await restarted.look()).toMatchObject({ opened: 1 });
    await scheduler({ ...faulty, diagnostics: [] }).activate();
    expect(await restarted.look().then(() => restarted.current())).toEqual([]);
  });

  it('stay active when a scheduler starts with an empty folder, but not when the organization has no reports', async () => {
    const one = scheduler(loadedJobs(hourly()));
    await one.activate();
    const empty = scheduler(loadedJobs(), 'host:2');
    await empty.activate();
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([{ path: 'jobs', count: 1 }]);
    clock.advance(HOUR);
    expect(await empty.look()).toMatchObject({ opened: 1 });
    expect(await one.look()).toMatchObject({ opened: 0 });
    await scheduler({ ...loadedJobs(), orgs: new Map([['acme', hourly().settings]]) }).activate();
    expect(await one.look().then(() => one.current())).toEqual([]);
  });

  it('lose no slot when a corrected holiday moves it into the past', async () => {
    clock.set(Date.parse('2026-12-01T08:00:00Z'));
    const report = reportDefinition('second', { cron: '0 6 * * *', timezone: 'UTC', on: { business_day: 2 } });
    const calendar = { holidays: [], working_days: [], weekend: ['SAT', 'SUN'] as ('SAT' | 'SUN')[] };
    const off = (holidays: string[], digest: string) =>
      again({ ...report, settings: { ...report.settings, calendar: { ...calendar, holidays } } }, digest);
    const one = scheduler(loadedJobs(off(['2026-12-01'], 'a')));
    await one.activate();
    clock.set(Date.parse('2026-12-02T09:00:00Z'));
    expect(await one.look()).toMatchObject({ opened: 0 });
    await one.change(loadedJobs(off([], 'b')));
    expect(await one.look()).toMatchObject({ opened: 1 });
    expect(await slots()).toEqual([['06:00', 'b'.repeat(64)]]);
  });

  it('are dropped when the organization no longer allows a recipient', async () => {
    const plain = hourly();
    const report: FrozenDefinition = {
      ...plain,
      definition: {
        ...plain.definition,
        deliveries: [{ email: { to: ['lead@acme.example'], attach: [] } }],
      },
    };
    await scheduler(loadedJobs(report)).activate();
    const restarted = scheduler({
      ...loadedJobs(),
      orgs: new Map([['acme', { ...report.settings, recipients: { domains: [], addresses: [] } }]]),
      diagnostics: [fileDiagnostic('jobs/acme/hourly.yaml', 'a report', 'none', 'correct it')],
    });
    await restarted.activate();
    expect(restarted.current()).toEqual([]);
  });

  it('are activated again after Redis has lost them', async () => {
    const one = scheduler(loadedJobs(hourly()));
    await one.activate();
    await harness.producer.del(`${harness.prefix}:versions`, `${harness.prefix}:versions:revision`);
    await one.refresh();
    expect([...(await versions().read()).keys()]).toEqual(['acme/hourly']);
  });

  it('are skipped with an error in the log where this version of Docket cannot read them', async () => {
    const one = scheduler(loadedJobs(hourly()));
    await one.activate();
    await harness.producer.set(`${harness.prefix}:definition:${'f'.repeat(64)}`, '{"of":"the future"}');
    const unreadable = { name: 'acme/new', digest: 'f'.repeat(64), cursors: [] };
    await versions().activate([unreadable], [], clock.now(), 'x');
    await one.refresh();
    expect(one.current().map(({ definition }) => definition.report)).toEqual(['hourly']);
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([{ path: 'acme/new' }]);
  });

  it('need one read while nothing changes, and are kept in Redis while they are active', async () => {
    const report = hourly();
    const one = scheduler(loadedJobs(report));
    await one.activate();
    const key = `${harness.prefix}:definition:${report.definition.digest}`;
    await harness.producer.expire(key, 60);
    await one.touch();
    expect(await harness.producer.ttl(key)).toBeGreaterThan(29 * 86_400);
    await harness.producer.expire(key, 60);
    await scheduler(loadedJobs(report)).touch();
    expect(await harness.producer.ttl(key)).toBeLessThanOrEqual(60);
    const sent = vi.spyOn(harness.producer, 'sendCommand');
    await one.refresh();
    expect(sent.mock.calls.map(([{ name }]) => name)).toEqual(['get']);
  });
});
