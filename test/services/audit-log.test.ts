import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { redisKeys } from '../../src/redis/keys.ts';
import { type AuditLog, redisAuditLog } from '../../src/services/audit-log.ts';
import { manualClock } from '../support/manual-clock.ts';
import { randomPrefix, recordingLog } from '../support/queue-harness.ts';

describe('the audit log', () => {
  const prefix = randomPrefix();
  const log = recordingLog();
  const clock = manualClock(1_000);
  let redis: Redis;
  let audit: AuditLog;
  beforeAll(async () => {
    redis = new Redis(inject('redisUrl'));
    audit = redisAuditLog(redis, { prefix, clock, log });
    await audit.record({ event: 'session.opened', who: 'ann', from: '192.0.2.1' });
    for (const [n, org] of ['acme', 'rival', 'acme'].entries()) {
      clock.advance(1_000);
      await audit.record({ event: 'run.triggered', who: 'ann', from: '192.0.2.1', org, report: 'weekly', run: `${n}` });
    }
    await audit.record({ event: 'schedule.paused', who: 'ben', org: 'acme', why: 'figures are checked' });
  });
  afterAll(() => redis.quit());
  const runs = async (...[filter]: Parameters<AuditLog['list']>) => {
    const { entries, next } = await audit.list(filter);
    return { of: entries.map(({ event, run }) => run ?? event), next };
  };

  it('writes each event to the log and to Redis, newest first', async () => {
    expect(log.lines[1]).toMatchObject({ level: 'info', event: 'run.triggered', who: 'ann', org: 'acme', run: '0' });
    const { entries } = await audit.list({ orgs: '*', includeGlobal: true, limit: 2 });
    expect(entries).toMatchObject([
      { event: 'schedule.paused', who: 'ben', org: 'acme', why: 'figures are checked', at: 4_000 },
      { event: 'run.triggered', who: 'ann', from: '192.0.2.1', report: 'weekly', run: '2', at: 4_000 },
    ]);
  });

  it('shows an organization its own entries only, and global entries to tokens that see everything', async () => {
    expect((await runs({ orgs: ['rival'], includeGlobal: false, limit: 10 })).of).toEqual(['1']);
    expect((await runs({ orgs: ['acme'], includeGlobal: false, limit: 10 })).of).toEqual(['schedule.paused', '2', '0']);
    expect((await runs({ orgs: [], includeGlobal: false, limit: 10 })).of).toEqual([]);
    const all = ['schedule.paused', '2', '1', '0'];
    expect((await runs({ orgs: '*', includeGlobal: false, limit: 10 })).of).toEqual(all);
    expect((await runs({ orgs: '*', includeGlobal: true, limit: 10 })).of).toEqual([...all, 'session.opened']);
  });

  it('is read in pages, each entry once', async () => {
    const first = await runs({ orgs: ['acme'], includeGlobal: false, limit: 2 });
    expect(first.of).toEqual(['schedule.paused', '2']);
    expect(await runs({ orgs: ['acme'], includeGlobal: false, limit: 2, after: first.next ?? '' })).toEqual({
      of: ['0'],
      next: null,
    });
  });

  it.each(['', 'x', '(1-1', '1', '9'.repeat(30), '+'])('refuses "%s" as a page cursor', async (after) => {
    await expect(audit.list({ orgs: '*', includeGlobal: true, limit: 5, after })).rejects.toMatchObject({
      code: 'usage.invalid',
    });
  });

  it('is filtered by event and person', async () => {
    expect((await runs({ orgs: '*', includeGlobal: true, event: 'run.triggered', limit: 10 })).of).toEqual([
      '2',
      '1',
      '0',
    ]);
    expect((await runs({ orgs: '*', includeGlobal: true, who: 'ben', limit: 10 })).of).toEqual(['schedule.paused']);
  });

  it('leaves out entries that it cannot read, such as those of a later version', async () => {
    const key = redisKeys(prefix).audit;
    await redis.xadd(key, '*', 'entry', '{"event":"moon.landed","who":"neil","at":1}');
    await redis.xadd(key, '*', 'entry', '{');
    await redis.xadd(key, '*', 'other', 'x');
    expect((await runs({ orgs: '*', includeGlobal: true, limit: 10 })).of).toHaveLength(5);
  });

  it('finds an entry behind a whole block of other organizations’ entries', async () => {
    const busy = redisAuditLog(redis, { prefix: randomPrefix(), clock, log: recordingLog() });
    await busy.record({ event: 'run.triggered', who: 'ann', org: 'acme' });
    await Promise.all(
      Array.from({ length: 600 }, () => busy.record({ event: 'run.triggered', who: 'ann', org: 'rival' })),
    );
    expect((await busy.list({ orgs: ['acme'], includeGlobal: false, limit: 5 })).entries).toHaveLength(1);
  });

  it('keeps about the last ten thousand entries', async () => {
    const full = randomPrefix();
    const key = redisKeys(full).audit;
    const pipeline = redis.pipeline();
    for (let n = 0; n < 10_300; n += 1) pipeline.xadd(key, '*', 'entry', '{}');
    await pipeline.exec();
    await redisAuditLog(redis, { prefix: full, clock, log }).record({ event: 'run.triggered', who: 'ann' });
    expect(await redis.xlen(key)).toBeLessThan(10_200);
    expect(await redis.xlen(key)).toBeGreaterThanOrEqual(10_000);
    await redis.del(key);
  });

  it('logs the event and the failed write when Redis refuses the entry, and does not throw', async () => {
    const lines = recordingLog();
    const gone = new Redis(inject('redisUrl'), { lazyConnect: true, enableOfflineQueue: false });
    await redisAuditLog(gone, { prefix, clock, log: lines }).record({ event: 'run.cancelled', who: 'ann', run: 'r1' });
    expect(lines.lines).toMatchObject([
      { level: 'info', event: 'run.cancelled', who: 'ann', run: 'r1' },
      { level: 'error', event: 'run.cancelled', who: 'ann', run: 'r1', error: { code: 'redis.unreachable' } },
    ]);
    gone.disconnect();
  });
});
