import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { AdminApp } from '../../../src/admin/hono-env.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { redisAuditLog } from '../../../src/services/audit-log.ts';
import { createTestAdmin } from '../../support/admin.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const who = {
  root: createToken('root'),
  eyes: createToken('eyes', { role: 'viewer' }),
  acme: createToken('acme', { role: 'viewer', orgs: ['acme'] }),
};
let redis: Redis;
let app: AdminApp;
beforeAll(async () => {
  redis = new Redis(inject('redisUrl'));
  const audit = redisAuditLog(redis, { prefix: randomPrefix(), clock: systemClock, log: silentLog });
  await audit.record({ event: 'session.opened', who: 'root', from: '192.0.2.1' });
  await audit.record({ event: 'run.triggered', who: 'root', org: 'rival', report: 'weekly', run: 'f'.repeat(32) });
  await audit.record({ event: 'schedule.paused', who: 'ann', from: '192.0.2.1', org: 'acme', why: 'checked' });
  app = createTestAdmin(
    Object.values(who).map(({ entry }) => entry),
    { audit },
  );
});
afterAll(() => redis.quit());

const get = async (as: keyof typeof who, query = '') => {
  const headers = { authorization: `Bearer ${who[as].token}` };
  const response = await app.request(`/api/audit${query}`, { headers });
  return { status: response.status, link: response.headers.get('link'), body: (await response.json()) as Body };
};
interface Body {
  readonly entries: readonly { readonly event: string }[];
  readonly next: string | null;
}
const events = async (as: keyof typeof who, query?: string) =>
  (await get(as, query)).body.entries.map(({ event }) => event);

it('lists who did what, newest first', async () => {
  expect((await get('acme')).body).toEqual({
    entries: [
      {
        id: expect.stringMatching(/^\d+-\d+$/),
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        event: 'schedule.paused',
        who: 'ann',
        account: null,
        from: '192.0.2.1',
        organization: 'acme',
        report: null,
        run: null,
        delivery: null,
        why: 'checked',
      },
    ],
    next: null,
  });
});

it('shows a token the entries of its organizations only, and sign-ins only to an operator of all organizations', async () => {
  expect(await events('root')).toEqual(['schedule.paused', 'run.triggered', 'session.opened']);
  expect(await events('eyes')).toEqual(['schedule.paused', 'run.triggered']);
  expect(await events('root', '?org=rival')).toEqual(['run.triggered']);
  expect((await get('acme', '?org=rival')).status).toBe(404);
});

it('filters the entries and pages through them', async () => {
  expect(await events('root', '?who=root')).toEqual(['run.triggered', 'session.opened']);
  expect(await events('root', '?event=session.opened')).toEqual(['session.opened']);
  const first = await get('root', '?limit=2');
  expect(first.link).toBe(`</api/audit?limit=2&after=${first.body.next}>; rel="next"`);
  expect(await events('root', `?limit=2&after=${first.body.next}`)).toEqual(['session.opened']);
});

it.each(['?after=x', '?event=moon.landed', '?limit=0', '?nonsense=1'])('refuses %s', async (query) => {
  expect((await get('root', query)).status).toBe(422);
});
