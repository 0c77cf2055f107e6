import { describe, expect, it } from 'vitest';
import { inProcessSandbox } from '../../support/in-process-sandbox.ts';
import { manualClock } from '../../support/manual-clock.ts';

const START = Date.parse('2026-04-08T08:30:00Z');
const body = { metrics: ['profiles.created', 'alerts.open'], time: { from: '2026-03-01', to: '2026-04-30' } };

describe('cached reports (§4.5, §2.8)', () => {
  it('are returned for an hour with the instant of their computation, and then computed again', async () => {
    const clock = manualClock(START);
    const { answered } = inProcessSandbox({ clock });
    const first = await answered(body);
    expect(first.meta).toMatchObject({ cached: false, refresh_retry_after: null, as_of: '2026-04-08T08:30:00.000Z' });
    clock.advance(600_000);
    const second = await answered(body);
    expect(second.meta).toMatchObject({ cached: true, refresh_retry_after: 3000, as_of: first.meta.as_of });
    expect({ ...second, meta: null }).toEqual({ ...first, meta: null });
    clock.advance(2_999_999);
    expect((await answered(body)).meta).toMatchObject({ cached: true, refresh_retry_after: 1 });
    clock.advance(1);
    const third = await answered(body);
    expect(third.meta).toMatchObject({ cached: false, as_of: '2026-04-08T09:30:00.000Z' });
    expect(third.rows).not.toEqual(first.rows);
  });

  it('are shared by the keys of an organization, and by no other organization', async () => {
    const { answered } = inProcessSandbox({ clock: manualClock(START) });
    await answered(body, { key: 'all' });
    expect((await answered(body, { key: 'acme', org: 'current' })).meta.cached).toBe(true);
    expect((await answered(body, { org: 103 })).meta.cached).toBe(false);
  });

  it('are found by what a request means, however it is written', async () => {
    const { answered } = inProcessSandbox({ clock: manualClock(START) });
    await answered({ metrics: ['rfis.sent'] });
    const spelled = {
      time: { timezone: 'UTC', to: '2026-04-08', from: '2026-03-10' },
      limit: 5000,
      dimensions: [],
      metrics: ['rfis.sent'],
    };
    expect((await answered(spelled)).meta.cached).toBe(true);
    for (const other of [
      { ...spelled, limit: 4999 },
      { ...spelled, include: ['totals'] },
      { ...spelled, dimensions: ['profile.type'] },
      { ...spelled, filters: [{ dimension: 'profile.type', op: 'eq', values: ['entity'] }] },
      { ...spelled, time: { ...spelled.time, timezone: 'Europe/Zurich' } },
      { ...spelled, time: { ...spelled.time, compare: 'previous_period' } },
      { ...spelled, order: [{ by: 'rfis.sent', dir: 'desc' }] },
    ]) {
      expect((await answered(other)).meta.cached, JSON.stringify(other)).toBe(false);
    }
  });

  it('do not outlive the day when no range is sent', async () => {
    const clock = manualClock(Date.parse('2026-04-08T23:59:00Z'));
    const { answered } = inProcessSandbox({ clock });
    await answered({ metrics: ['rfis.sent'] });
    clock.advance(60_000);
    const next = await answered({ metrics: ['rfis.sent'] });
    expect(next.meta).toMatchObject({ cached: false, range: { to: '2026-04-09' } });
  });

  it('are not kept when the cache is off', async () => {
    const { answered } = inProcessSandbox({ now: START, cacheSeconds: 0 });
    await answered(body);
    expect((await answered(body)).meta.cached).toBe(false);
  });
});
