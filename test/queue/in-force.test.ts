import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { atStart } from '../../src/define/fault.ts';
import type { Jobs } from '../../src/define/load.ts';
import { redisCursors } from '../../src/queue/cursors.ts';
import { definitionStore, type FrozenDefinition } from '../../src/queue/definition-store.ts';
import { openDue } from '../../src/queue/due.ts';
import { reportsInForce } from '../../src/queue/in-force.ts';
import { redisVersions } from '../../src/queue/versions.ts';
import { jobsOf } from '../support/jobs-of.ts';
import { type ManualClock, manualClock } from '../support/manual-clock.ts';
import { aBench, aReport, type Bench, linesLog } from '../support/queue-bench.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('reports in force', () => {
  let bench: Bench;
  let clock: ManualClock;
  let log: ReturnType<typeof linesLog>;
  beforeEach(async () => {
    clock = manualClock(Date.parse('2026-11-16T06:30:00Z'));
    log = linesLog();
    bench = await aBench(clock);
  });
  afterEach(() => bench.close());

  const versions = () => redisVersions(bench.producer, bench);
  /** A scheduler with these files. */
  const scheduler = (jobs: Jobs, by = 'host:1') => {
    let own = jobs;
    const inForce = reportsInForce({
      jobs: () => own,
      versions: versions(),
      definitions: definitionStore(bench.producer, { prefix: bench.prefix, keepDays: 30 }),
      by,
      clock,
      log,
    });
    return {
      ...inForce,
      digests: () => inForce.now().map(({ definition }) => definition.digest),
      /** As a reload does. */
      change: (to: Jobs) => {
        own = to;
        return inForce.adopt();
      },
      look: async () => {
        await inForce.follow();
        return openDue(inForce.now(), {
          cursors: redisCursors(bench.producer, bench),
          trigger: bench.trigger,
          runs: bench.runs,
          clock,
          log,
        });
      },
    };
  };
  const hourly = (catch_up: 'all' | 'latest' = 'all') =>
    aReport('hourly', { cron: '0 * * * *', timezone: 'UTC', catch_up });
  const again = ({ definition, settings }: FrozenDefinition, digest: string): FrozenDefinition => ({
    definition: { ...definition, digest: digest.repeat(64) },
    settings,
  });
  const slots = async () =>
    (await bench.runs.list({ limit: 100 })).map(({ slot, digest }) => [slot.slice(11, 16), digest]);

  it('are those of the scheduler that adopted last, for all of them', async () => {
    const [a, b] = [again(hourly(), 'a'), again(hourly(), 'b')];
    const [old, fresh] = [scheduler(jobsOf(a)), scheduler(jobsOf(b), 'host:2')];
    await old.adopt();
    await fresh.adopt();
    clock.set(Date.parse('2026-11-16T07:00:00Z'));
    await old.look();
    expect(old.digests()).toEqual([b.definition.digest]);
    // The old one looks again, and again; it does not bring its own files back.
    for (let hour = 0; hour < 2; hour += 1) {
      clock.advance(HOUR);
      await Promise.all([old.look(), fresh.look()]);
    }
    expect(await slots()).toEqual(['09:00', '08:00', '07:00'].map((slot) => [slot, b.definition.digest]));
    expect((await versions().read()).get('acme/hourly')).toMatchObject({ by: 'host:2', before: a.definition.digest });
  });

  it('say so when they go back to the version before', async () => {
    const [a, b] = [again(hourly(), 'a'), again(hourly(), 'b')];
    for (const jobs of [jobsOf(a), jobsOf(b)]) await scheduler(jobs).adopt();
    expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
    await scheduler(jobsOf(a)).adopt();
    expect(log.lines.filter(({ level }) => level === 'warn')).toMatchObject([{ count: 1, why: 'acme/hourly' }]);
  });

  it('keep the place of a schedule whose report changes otherwise, and open what is overdue with the new version', async () => {
    const report = hourly('latest');
    const before = scheduler(jobsOf(again(report, 'a')));
    await before.adopt();
    clock.set(Date.parse('2026-11-16T07:10:00Z'));
    const booting = Array.from({ length: 5 }, (_, n) => scheduler(jobsOf(again(report, 'b')), `host:${n}`));
    await Promise.all(booting.map((one) => one.adopt()));
    const ends = await Promise.all(booting.map((one) => one.look()));
    expect(ends.reduce((sum, { opened }) => sum + opened, 0)).toBe(1);
    expect(await slots()).toEqual([['07:00', 'b'.repeat(64)]]);
  });

  it('find no slot of the time in which a schedule was taken out', async () => {
    const report = hourly();
    const one = scheduler(jobsOf(report));
    await one.adopt();
    await one.change(jobsOf());
    expect(one.now()).toEqual([]);
    expect(await bench.producer.hlen(`${bench.prefix}:cursors`)).toBe(0);
    clock.advance(5 * HOUR);
    expect(await one.look()).toEqual({ opened: 0, skipped: 0, failed: 0 });
    await one.change(jobsOf(report));
    expect(await one.look()).toEqual({ opened: 0, skipped: 0, failed: 0 });
    clock.advance(HOUR);
    await one.look();
    expect((await slots()).map(([slot]) => slot)).toEqual(['12:00']);
  });

  it('leave no cursor of a schedule that was changed or removed beside others', async () => {
    const two = aReport('two', [
      { cron: '0 7 * * *', timezone: 'UTC' },
      { cron: '0 8 * * *', timezone: 'UTC' },
    ]);
    const one = scheduler(jobsOf(two));
    await one.adopt();
    const kept = await bench.producer.hkeys(`${bench.prefix}:cursors`);
    clock.advance(MINUTE);
    await one.change(
      jobsOf(
        aReport('two', [
          { cron: '0 8 * * *', timezone: 'UTC' },
          { cron: '0 9 * * *', timezone: 'UTC' },
        ]),
      ),
    );
    const now = await bench.producer.hgetall(`${bench.prefix}:cursors`);
    expect(Object.values(now).sort()).toEqual([clock.now() - MINUTE, clock.now()].map(String));
    expect(kept.filter((name) => name in now)).toHaveLength(1);
  });

  it('stay, after a restart as well, while a file has a fault', async () => {
    const report = hourly();
    const faulty: Jobs = {
      ...jobsOf(),
      orgs: new Map([['acme', report.settings]]),
      faults: [atStart('jobs/acme/hourly.yaml', 'a report', 'none', 'correct it')],
    };
    await scheduler(jobsOf(report)).adopt();
    const restarted = scheduler(faulty);
    await restarted.adopt();
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([{ path: 'jobs/acme/hourly.yaml:1:1' }]);
    clock.advance(HOUR);
    expect(await restarted.look()).toMatchObject({ opened: 1 });
    await scheduler({ ...faulty, faults: [] }).adopt();
    expect(await restarted.look().then(() => restarted.now())).toEqual([]);
  });

  it('stay when a scheduler starts with an empty folder, and not when it has an organization without reports', async () => {
    const one = scheduler(jobsOf(hourly()));
    await one.adopt();
    const empty = scheduler(jobsOf(), 'host:2');
    await empty.adopt();
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([{ path: 'jobs', count: 1 }]);
    clock.advance(HOUR);
    expect(await empty.look()).toMatchObject({ opened: 1 });
    expect(await one.look()).toMatchObject({ opened: 0 });
    await scheduler({ ...jobsOf(), orgs: new Map([['acme', hourly().settings]]) }).adopt();
    expect(await one.look().then(() => one.now())).toEqual([]);
  });

  it('keep their place when a day of the calendar is put right, and lose no slot that it puts into the past', async () => {
    clock.set(Date.parse('2026-12-01T08:00:00Z'));
    const report = aReport('second', { cron: '0 6 * * *', timezone: 'UTC', on: { business_day: 2 } });
    const calendar = { holidays: [], working_days: [], weekend: ['SAT', 'SUN'] as ('SAT' | 'SUN')[] };
    const off = (holidays: string[], digest: string) =>
      again({ ...report, settings: { ...report.settings, calendar: { ...calendar, holidays } } }, digest);
    const one = scheduler(jobsOf(off(['2026-12-01'], 'a')));
    await one.adopt();
    clock.set(Date.parse('2026-12-02T09:00:00Z'));
    expect(await one.look()).toMatchObject({ opened: 0 });
    await one.change(jobsOf(off([], 'b')));
    expect(await one.look()).toMatchObject({ opened: 1 });
    expect(await slots()).toEqual([['06:00', 'b'.repeat(64)]]);
  });

  it('do not stay with a recipient whom the organization no longer allows', async () => {
    const plain = hourly();
    const report: FrozenDefinition = {
      ...plain,
      definition: {
        ...plain.definition,
        deliveries: [{ email: { to: ['lead@acme.example'], attach: [] } }],
      },
    };
    await scheduler(jobsOf(report)).adopt();
    const restarted = scheduler({
      ...jobsOf(),
      orgs: new Map([['acme', { ...report.settings, recipients: { domains: [], addresses: [] } }]]),
      faults: [atStart('jobs/acme/hourly.yaml', 'a report', 'none', 'correct it')],
    });
    await restarted.adopt();
    expect(restarted.now()).toEqual([]);
  });

  it('are put in force again when Redis has lost them', async () => {
    const one = scheduler(jobsOf(hourly()));
    await one.adopt();
    await bench.producer.del(`${bench.prefix}:versions`, `${bench.prefix}:versions:revision`);
    await one.follow();
    expect([...(await versions().read()).keys()]).toEqual(['acme/hourly']);
  });

  it('are left to others where this Docket cannot read them', async () => {
    const one = scheduler(jobsOf(hourly()));
    await one.adopt();
    await bench.producer.set(`${bench.prefix}:definition:${'f'.repeat(64)}`, '{"of":"the future"}');
    await versions().adopt(
      { put: [{ name: 'acme/new', digest: 'f'.repeat(64), cursors: [] }], remove: [] },
      clock.now(),
      'x',
    );
    await one.follow();
    expect(one.now().map(({ definition }) => definition.report)).toEqual(['hourly']);
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([{ path: 'acme/new' }]);
  });

  it('cost one read while nothing changes, and last as long as they are in force', async () => {
    const report = hourly();
    const one = scheduler(jobsOf(report));
    await one.adopt();
    const key = `${bench.prefix}:definition:${report.definition.digest}`;
    await bench.producer.expire(key, 60);
    await one.keep();
    expect(await bench.producer.ttl(key)).toBeGreaterThan(29 * 86_400);
    await bench.producer.expire(key, 60);
    await scheduler(jobsOf(report)).keep();
    expect(await bench.producer.ttl(key)).toBeLessThanOrEqual(60);
    const sent = vi.spyOn(bench.producer, 'sendCommand');
    await one.follow();
    expect(sent.mock.calls.map(([{ name }]) => name)).toEqual(['get']);
  });
});
