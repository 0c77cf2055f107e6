import { Redis } from 'ioredis';
import { DateTime } from 'luxon';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parseZoneChoice } from '../../../src/admin/page/page.tsx';
import { createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import { done, failed, held, organizations, runOf, runs, unknown } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const PAGES = [
  '/',
  '/reports',
  '/reports/acme/weekly-kpi',
  '/runs',
  `/runs/${failed.id}`,
  `/runs/${held.id}`,
  '/deliveries',
  `/deliveries/${unknown.id}`,
  '/slots',
  '/pauses',
];

/** The time zone in the header. */
const zoneOf = (html: string): string | undefined =>
  /<summary[^>]*>Times: (\S+?)(?: [+-]\d\d:\d\d)?<\/summary>/.exec(html)?.[1];

interface Shown {
  readonly at: string;
  /** The last time of day in its text. */
  readonly clock: string;
  readonly offset: string | undefined;
}

const timesOf = (html: string): readonly Shown[] =>
  [...html.matchAll(/<time [^>]*datetime="([^"]+)"[^>]*>(.*?)<\/time>/g)].map(([, at = '', inner = '']) => {
    const text = inner.replaceAll(/<[^>]+>/g, '');
    const [clock = ''] = [...text.matchAll(/\d\d:\d\d(?::\d\d)?(?! ago)/g)].map(String);
    return { at, clock, offset: /(?<= )(UTC|[+-]\d\d:\d\d)$/.exec(text)?.[0] };
  });

describe('the zone of a page', () => {
  const anna = createToken('anna');
  const ben = createToken('ben', { role: 'viewer', orgs: ['acme'] });
  const prefix = randomPrefix();
  let redis: Redis;
  let openedPage: ReturnType<typeof openPage>;
  beforeAll(() => {
    redis = new Redis(inject('redisUrl'));
    openedPage = openPage({ redis, prefix }, [anna.entry, ben.entry]);
  });
  afterAll(() => redis.quit());

  it.each([
    [undefined, { choice: 'org', viewer: null }],
    ['utc', { choice: 'utc', viewer: null }],
    ['org:Asia/Tokyo', { choice: 'org', viewer: null }],
    ['viewer:America/Argentina/Ushuaia', { choice: 'viewer', viewer: 'America/Argentina/Ushuaia' }],
    ['viewer', { choice: 'org', viewer: null }],
    ['viewer:Nowhere/At_all', { choice: 'org', viewer: null }],
    [`viewer:${'Etc/'.repeat(20)}UTC`, { choice: 'org', viewer: null }],
    ['constructor', { choice: 'org', viewer: null }],
  ])('reads %j', (text, expected) => {
    expect(parseZoneChoice(text)).toEqual(expected);
  });

  it.each([
    ['org', 'Europe/Zurich'],
    ['utc', 'UTC'],
    ['viewer:Asia/Kathmandu', 'Asia/Kathmandu'],
  ])('is chosen once and remembered: %s', async (choice, zone) => {
    const { send, post } = await openedPage.visit(ben.token);
    const answer = await post('/zone', { zone: choice, from: '/runs?org=acme' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/runs?org=acme']);
    for (const path of PAGES) {
      const html = await (await send('GET', path)).text();
      expect([path, zoneOf(html)]).toEqual([path, zone]);
      const times = timesOf(html);
      // Every time on the page is in that zone.
      for (const { at, clock } of times)
        expect([path, at, clock]).toEqual([
          path,
          at,
          DateTime.fromISO(at, { zone }).toFormat(clock.length > 5 ? 'HH:mm:ss' : 'HH:mm'),
        ]);
      expect([path, times.length > 0 || path === '/audit']).toEqual([path, true]);
    }
  });

  it('returns to no other site, and rejects a form of another site', async () => {
    const { send, post, csrf } = await openedPage.visit(ben.token);
    expect((await post('/zone', { zone: 'utc', from: '//evil.example' })).headers.get('location')).toBe('/');
    const headers = { 'sec-fetch-site': 'cross-site' };
    expect((await send('POST', '/zone', { body: { zone: 'org', csrf }, headers })).status).toBe(403);
    expect(zoneOf(await (await send('GET', '/')).text())).toBe('UTC');
  });

  it('is UTC when organizations have several zones, and the organization’s own on its pages', async () => {
    const [acme, globex] = organizations;
    const tokyo = { ...runOf('tokyo', 'done'), org: 'globex' };
    const far = { ...tokyo, period: { ...tokyo.period, timezone: 'Asia/Tokyo' } };
    const own = openPage({ redis, prefix }, [anna.entry], () => ({
      organizations: async () => (acme && globex ? [acme, { ...globex, timezone: 'Asia/Tokyo' }] : []),
      runs: async () => ({ runs: [...runs, far], next: null }),
      run: async () => far,
    }));
    const { send } = await own.visit(anna.token);
    const shown = async (path: string) => zoneOf(await (await send('GET', path)).text());
    expect(await shown('/')).toBe('UTC');
    expect(await shown('/runs')).toBe('UTC');
    expect(await shown('/runs?org=acme')).toBe('Europe/Zurich');
    expect(await shown('/slots?org=globex')).toBe('Asia/Tokyo');
    expect(await shown(`/runs/${far.id}`)).toBe('Asia/Tokyo');
    expect(await shown('/reports/acme/weekly-kpi')).toBe('Europe/Zurich');
    const list = timesOf(await (await send('GET', '/runs')).text());
    expect(list.find(({ at }) => at === new Date(done.createdAt).toISOString())?.clock).toBe('10:12');
  });

  it('shows the offset of an instant if it is not the current one, so that a repeated hour is unambiguous', async () => {
    const at = (text: string) => runOf(text, 'done', { createdAt: Date.parse(text) });
    const own = openPage({ redis, prefix }, [ben.entry], () => ({
      // Summer time ended on 25 October 2026 at 01:00 UTC.
      runs: async () => ({ runs: [at('2026-10-25T00:30:00Z'), at('2026-10-25T01:30:00Z')], next: null }),
    }));
    const { send, post } = await own.visit(ben.token);
    const shown = async () =>
      timesOf(await (await send('GET', '/runs')).text()).map(({ clock, offset }) => [clock, offset]);
    expect(await shown()).toEqual([
      ['02:30', '+02:00'],
      ['02:30', undefined],
    ]);
    await post('/zone', { zone: 'utc', from: '/' });
    expect(await shown()).toEqual([
      ['00:30', undefined],
      ['01:30', undefined],
    ]);
  });

  it('filters by the days of that zone, also by a day of 25 hours', async () => {
    const requested: unknown[] = [];
    const own = openPage({ redis, prefix }, [ben.entry], () => ({
      runs: async ({ since, until }) => {
        requested.push([since, until]);
        return { runs: [], next: null };
      },
    }));
    const { send, post } = await own.visit(ben.token);
    requested.length = 0;
    await send('GET', '/runs?since=2026-10-25&until=2026-10-25');
    await post('/zone', { zone: 'utc', from: '/' });
    await send('GET', '/runs?since=2026-10-25&until=2026-10-25');
    expect(requested).toEqual([
      [Date.parse('2026-10-24T22:00:00Z'), Date.parse('2026-10-25T23:00:00Z')],
      [Date.parse('2026-10-25T00:00:00Z'), Date.parse('2026-10-26T00:00:00Z')],
    ]);
  });

  it('shows the exact time beside a relative one, with seconds in the tooltip', async () => {
    const { send } = await openedPage.visit(ben.token);
    const html = await (await send('GET', '/runs')).text();
    expect(html).toContain(
      '<time class="when" datetime="2026-11-20T11:12:00.000Z" title="2026-11-20 11:12:00 UTC · 12:12:00 +01:00">' +
        '<span>1 d 2 h ago</span> <small>20 Nov, 12:12</small></time>',
    );
    expect(html).toContain('<span>3 h ago</span> <small>11:12</small>');
  });
});
