import { gunzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import type { RunRequest } from '../../../src/admin/access/runs.ts';
import { DocketError } from '../../../src/base/error.ts';
import type { StoredAuditEntry } from '../../../src/services/audit-log.ts';
import { cookieClient, createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import {
  done,
  failed,
  held,
  NOW,
  outline,
  pause,
  report,
  running,
  runs,
  sent,
  slots,
  unknown,
} from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const PAGES = [
  '/',
  '/reports',
  '/reports/acme/weekly-kpi',
  '/reports/acme/rfi-ageing',
  '/runs',
  `/runs/${running.id}`,
  `/runs/${failed.id}`,
  `/runs/${held.id}`,
  '/deliveries',
  `/deliveries/${unknown.id}`,
  '/slots',
  '/forecast',
  '/pauses',
  '/audit',
  '/processes',
  '/search',
  '/deliveries?to=board%40&period=october',
  '/runs?to=board%40&error=smtp',
];
const audited: StoredAuditEntry = {
  id: '1-0',
  at: NOW,
  event: 'run.retried',
  who: 'anna',
  why: 'The key was renewed by the operations team',
  from: '10.1.2.3',
  org: 'acme',
  report: 'weekly-kpi',
  run: done.id,
};
const RUN = '/reports/acme/weekly-kpi/run';

describe('the page', () => {
  const anna = createToken('anna');
  const ben = createToken('ben', { role: 'viewer' });
  const prefix = randomPrefix();
  let redis: Redis;
  let requested: RunRequest[] = [];
  let did: string[] = [];
  const acting: Partial<Access> = {
    trigger: async (_, __, request) => {
      requested.push(request);
      return { opened: requested.length === 1, record: running };
    },
    pause: async (org, report, reason) => {
      did.push(`pause ${org}/${report}: ${reason}`);
      return { org, report, who: 'anna', why: reason, since: NOW, key: null, run: null };
    },
    resume: async (org, report, reason) => {
      did.push(`resume ${org}/${report}: ${reason}`);
      return [];
    },
    decide: async (id, what, reason) => {
      if (what === 'release')
        throw new DocketError('run.conflict', 'The run is not held.', { next: 'Look at it again.' });
      did.push(`${what} ${id}: ${reason}`);
      return failed;
    },
    resolve: async (id, as, reason) => {
      did.push(`${as} ${id}: ${reason}`);
      return unknown;
    },
  };
  let openedPage: ReturnType<typeof openPage>;
  beforeAll(() => {
    redis = new Redis(inject('redisUrl'));
    openedPage = openPage({ redis, prefix }, [anna.entry, ben.entry], () => acting);
  });
  afterAll(() => redis.quit());

  it('requires a session, and redirects to the requested page after the sign-in', async () => {
    const browser = cookieClient(openedPage);
    for (const path of PAGES) {
      const answer = await browser.send('GET', path);
      expect([path, answer.status]).toEqual([path, 303]);
      expect(answer.headers.get('location')).toBe(
        path === '/' ? '/sign-in' : `/sign-in?to=${encodeURIComponent(path)}`,
      );
    }
    const form = await (await browser.send('GET', '/sign-in?to=%2Fruns')).text();
    expect(form).toContain('name="to" value="/runs"');
    const signedIn = await browser.send('POST', '/sign-in', { body: { token: anna.token, to: '/runs' } });
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/runs']);
    expect((await browser.send('GET', '/runs')).status).toBe(200);
  });

  it('rejects an invalid token, and does not repeat it', async () => {
    const browser = cookieClient(openedPage);
    const answer = await browser.send('POST', '/sign-in', { body: { token: 'docket_wrong', to: '/slots' } });
    const text = await answer.text();
    expect(answer.status).toBe(401);
    expect(text).toContain('role="alert"');
    expect(text).toContain('name="to" value="/slots"');
    expect(text).not.toContain('docket_wrong');
  });

  it.each([
    '//evil.example',
    '/\\evil.example',
    '/.//evil.example',
    'https://evil.example/',
    '/sign-out',
    '/\t/evil.example',
  ])('does not redirect to %j', async (to) => {
    const browser = cookieClient(openedPage);
    const answer = await browser.send('POST', '/sign-in', { body: { token: anna.token, to } });
    expect(answer.headers.get('location')).toBe('/');
  });

  it('ends the session at sign-out', async () => {
    const { post, send } = await openedPage.visit(anna.token);
    expect((await post('/sign-out', {})).headers.get('location')).toBe('/sign-in?did=out');
    expect((await send('GET', '/')).status).toBe(303);
  });

  it('is HTML without inline styles or scripts, with one heading, and with all text escaped', async () => {
    const { send } = await openedPage.visit(anna.token);
    for (const path of PAGES) {
      const answer = await send('GET', path);
      const html = await answer.text();
      expect([path, answer.status]).toEqual([path, 200]);
      expect(answer.headers.get('content-security-policy')).toContain("script-src 'self'");
      expect(html).toMatch(/^<!DOCTYPE html><html lang="en">/);
      expect(html.match(/<h1[ >]/g)).toHaveLength(1);
      expect(html).not.toMatch(/ style=| on\w+=|<style|javascript:|<script(?! src="\/assets\/)/i);
      expect(html).not.toContain('[object ');
    }
    const report = await (await send('GET', '/reports/acme/weekly-kpi')).text();
    expect(report).toContain('Onboarding &lt;b&gt;');
  });

  it('shows every instant in UTC and with its offset in the tooltip', async () => {
    const { send } = await openedPage.visit(anna.token);
    for (const path of PAGES) {
      const html = await (await send('GET', path)).text();
      const times = html.match(/<time .*?<\/time>/g) ?? [];
      expect([path, times.filter((time) => !/title="[^"]+ UTC · [^"]+ [+-]\d\d:\d\d"/.test(time))]).toEqual([path, []]);
    }
    const run = await (await send('GET', `/runs/${failed.id}`)).text();
    expect(run).toContain('title="2026-11-21 08:12:00 UTC · 09:12:00 +01:00">21 Nov 2026, 09:12:00</time>');
  });

  it('names reports by title and id, or by the id alone when the title is unknown', async () => {
    const { send } = await openedPage.visit(anna.token);
    for (const path of ['/', '/runs', '/slots', '/pauses', '/deliveries']) {
      const html = await (await send('GET', path)).text();
      const links = [...html.matchAll(/<a href="\/reports\/([^"]+)">([^<]+)<\/a>( <small>([^<]+)<\/small>)?/g)];
      expect([path, links.length > 0]).toEqual([path, true]);
      for (const [, id = '', text, , beside] of links) {
        const known = id !== 'acme/daily-queue';
        expect([path, text === id, beside]).toEqual([path, !known, known ? id : undefined]);
      }
    }
  });

  it('shows recipients, times, formats and figures of a report, and folds its YAML', async () => {
    const { send } = await openedPage.visit(anna.token);
    const html = await (await send('GET', '/reports/acme/weekly-kpi')).text();
    const part = (id: string): string => {
      const found = new RegExp(`<section aria-labelledby="${id}">.*?</section>`, 's').exec(html)?.[0] ?? '';
      return found.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
    };
    for (const { recipients } of outline.deliveries)
      for (const recipient of recipients) expect(part('recipients')).toContain(recipient);
    expect(part('recipients')).toContain('alerts.open &gt; 10');
    for (const { metrics, filters } of outline.sections) {
      for (const { id, label } of metrics)
        for (const name of [id, label ?? id]) expect(part('contents')).toContain(name);
      for (const { values } of filters) for (const value of values) expect(part('contents')).toContain(value);
    }
    for (const { metric, target } of outline.targets)
      for (const shown of [metric, String(target)]) expect(part('targets')).toContain(shown);
    expect(part('facts')).toContain('at 08:00, only on Monday');
    expect(part('facts')).toContain('2026-11-09 to 2026-11-15');
    expect(html).toMatch(/<details class="fold"><summary>[^<]+<\/summary><pre class="yaml">/);
  });

  it('shows a report without a loaded version', async () => {
    const own = openPage({ redis, prefix }, [anna.entry], () => ({
      report: async () => ({ ...report, text: null, outline: null, slots: [], schedules: [], scheduleWords: [] }),
      periods: async () => [],
    }));
    const answer = await (await own.visit(anna.token)).send('GET', '/reports/acme/weekly-kpi');
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toContain('aria-labelledby="contents"');
  });

  it('asks about all deliveries of a run in one form, and shows the conflict when one was decided meanwhile', async () => {
    let rows = [
      unknown,
      { ...unknown, id: 'c'.repeat(32), run: held.id },
      { ...unknown, id: 'd'.repeat(32), run: held.id },
    ];
    const own = openPage({ redis, prefix }, [anna.entry], () => ({
      deliveries: async ({ state }) => ({ deliveries: state === 'unknown' ? rows : [], next: null }),
      resolve: () => Promise.reject(new DocketError('delivery.conflict', 'It was decided by ben.')),
    }));
    const { post, send } = await own.visit(anna.token);
    const html = await (await send('GET', '/deliveries')).text();
    expect(html.match(/action="\/deliveries\/[^"]+"/g)).toEqual([`action="/deliveries/${unknown.id}/resolve"`]);
    expect(html).toContain(`href="/runs/${held.id}#decide"`);
    rows = [];
    const late = await post(`/deliveries/${unknown.id}/resolve`, { as: 'sent', reason: 'asked', from: '/deliveries' });
    expect([late.status, await late.text()]).toEqual([409, expect.stringContaining('It was decided by ben.')]);
  });

  it('answers an open page whether its session still exists, without data', async () => {
    const { send, post } = await openedPage.visit(anna.token);
    const pulse = await send('GET', '/pulse');
    expect([pulse.status, await pulse.text()]).toEqual([204, '']);
    await post('/sign-out', {});
    expect((await send('GET', '/pulse')).status).toBe(303);
  });

  it('shows a viewer everything, but no form except zone and sign-out', async () => {
    const { send } = await openedPage.visit(ben.token);
    for (const path of PAGES) {
      const html = await (await send('GET', path)).text();
      const forms = [...html.matchAll(/<form[^>]*method="post"[^>]*action="([^"]*)"/g)].map(([, action]) => action);
      expect([path, forms]).toEqual([path, ['/zone', '/sign-out']]);
    }
  });

  it('triggers one run per form and choice of days, however often the form is sent', async () => {
    requested = [];
    const { post } = await openedPage.visit(anna.token);
    const form = { trigger: 't1', period: 'last_30_days', from: '', to: '', deliver: 'no' };
    const first = await post(RUN, form);
    expect([first.status, first.headers.get('location')]).toEqual([303, `/runs/${running.id}?did=opened`]);
    const second = await post(RUN, form);
    expect(second.headers.get('location')).toBe(`/runs/${running.id}?did=repeated`);
    await post(RUN, { ...form, from: '2026-11-01', to: '2026-11-15', deliver: 'yes' });
    await post(RUN, { ...form, trigger: 't2' });
    await post(RUN, { trigger: 't2', period: '', from: '', to: '', deliver: 'yes' });
    expect(requested.map(({ period, deliver, priority }) => ({ period, deliver, priority }))).toEqual([
      { period: 'last_30_days', deliver: false, priority: 'on_demand' },
      { period: 'last_30_days', deliver: false, priority: 'on_demand' },
      { period: { from: '2026-11-01', to: '2026-11-15' }, deliver: true, priority: 'on_demand' },
      { period: 'last_30_days', deliver: false, priority: 'on_demand' },
      { period: undefined, deliver: true, priority: 'on_demand' },
    ]);
    const keys = requested.map(({ idempotencyKey }) => idempotencyKey);
    expect(keys[0]).toBe(keys[1]);
    expect(new Set(keys).size).toBe(4);
  });

  it.each([
    [{ from: '2026-11-15', to: '', deliver: 'no' }, 'usage.invalid', 'name="from" value="2026-11-15"'],
    [{ from: '2026-11-15', to: '2026-11-01', deliver: 'no' }, 'usage.invalid', 'name="to" value="2026-11-01"'],
    [{ period: 'next_week', deliver: 'no' }, 'usage.invalid', '<details class="action" open'],
    [{ period: 'previous_week' }, 'usage.invalid', '<option value="previous_week" selected'],
  ])('shows that %j is invalid on the form, and keeps the values', async (fields, code, kept) => {
    requested = [];
    const { post } = await openedPage.visit(anna.token);
    const answer = await post(RUN, { trigger: 't', ...fields });
    const html = await answer.text();
    expect(answer.status).toBe(422);
    expect(html).toContain('role="alert"');
    expect(html).toContain(`<code>${code}</code>`);
    expect(html).toContain(kept);
    expect(requested).toEqual([]);
  });

  it('triggers a new run for each failed report, once however often the form is sent', async () => {
    requested = [];
    const { post } = await openedPage.visit(anna.token);
    const form = { run: failed.id };
    expect((await post('/runs/again', form)).headers.get('location')).toBe('/?did=opened-many');
    await post('/runs/again', form);
    expect(requested).toMatchObject([
      { deliver: failed.deliver, again: false, priority: 'on_demand', idempotencyKey: expect.any(String) },
      { idempotencyKey: requested[0]?.idempotencyKey },
    ]);
    expect((await post('/runs/again', { run: 'none' })).status).toBe(422);
  });

  it('accepts unfinished days if the box is checked, and keeps it checked when the form is rejected', async () => {
    requested = [];
    const { post } = await openedPage.visit(anna.token);
    const form = { trigger: 'u1', period: '', from: '2026-11-01', to: '2026-11-30' };
    await post(RUN, { ...form, deliver: 'no' });
    await post(RUN, { ...form, deliver: 'no', unfinished: 'yes' });
    expect(requested.map(({ unfinished }) => unfinished)).toEqual([false, true]);
    const html = await (await post(RUN, { ...form, unfinished: 'yes' })).text();
    expect(html).toMatch(/name="unfinished" value="yes"[^>]* checked/);
  });

  it('rejects a period that was delivered, and delivers it again on request', async () => {
    const message = 'October 2026 went to 2 people on 3 Nov, 10:56 (run 83b1c195).';
    const requests: RunRequest[] = [];
    const own = openPage({ redis, prefix: randomPrefix() }, [anna.entry], () => ({
      ...acting,
      trigger: async (_, __, request) => {
        requests.push(request);
        if (!request.again) throw new DocketError('already_delivered', message, { next: 'Insist.' });
        return { opened: true, record: running };
      },
    }));
    const { post, send } = await own.visit(anna.token);
    expect(await (await send('GET', '/reports/acme/weekly-kpi')).text()).not.toContain('name="again"');
    const form = { trigger: 'first', period: 'previous_month', deliver: 'yes' };
    const refused = await post(RUN, form);
    const text = await refused.text();
    expect(refused.status).toBe(409);
    expect(text).toContain(message);
    expect(text).toMatch(/<option value="previous_month" selected/);
    expect(text).toMatch(/<input type="checkbox" name="again" value="yes"/);
    const [, trigger = ''] = /name="trigger" value="([^"]+)"/.exec(text) ?? [];
    expect((await post(RUN, { ...form, trigger })).status).toBe(409);
    const sent = await post(RUN, { ...form, trigger, again: 'yes' });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/runs/${running.id}?did=opened`]);
    expect(requests.map(({ again }) => again)).toEqual([false, false, true]);
    // A request with `again` has its own key. Sending it twice opens one run.
    expect(requests[2]?.idempotencyKey).not.toBe(requests[1]?.idempotencyKey);
    await post(RUN, { ...form, trigger, again: 'yes' });
    expect(requests[3]?.idempotencyKey).toBe(requests[2]?.idempotencyKey);
  });

  it('pauses, resumes, cancels, retries and resolves with a reason, and redirects to the page of the form', async () => {
    did = [];
    const { post } = await openedPage.visit(anna.token);
    const to = async (path: string, fields: Readonly<Record<string, string>>) =>
      (await post(path, { reason: ' because ', ...fields })).headers.get('location');
    const report = '/reports/acme/weekly-kpi';
    expect(await to(`${report}/pause`, { from: report })).toBe(`${report}?did=paused`);
    expect(await to(`${report}/resume`, { from: '/pauses' })).toBe('/pauses?did=resumed');
    expect(await to('/organizations/acme/pause', {})).toBe('/pauses?did=paused');
    expect(await to(`/runs/${failed.id}/retry`, {})).toBe(`/runs/${failed.id}?did=retry`);
    expect(await to(`/deliveries/${unknown.id}/resolve`, { as: 'sent', from: '/deliveries' })).toBe(
      '/deliveries?did=sent',
    );
    expect(did).toEqual([
      'pause acme/weekly-kpi: because',
      'resume acme/weekly-kpi: because',
      'pause acme/null: because',
      `retry ${failed.id}: because`,
      `sent ${unknown.id}: because`,
    ]);
  });

  it('does nothing without a reason, and shows a rejection on the form with the typed reason', async () => {
    did = [];
    const { post } = await openedPage.visit(anna.token);
    const without = await post(`/runs/${failed.id}/retry`, { reason: ' ' });
    expect(without.status).toBe(422);
    expect(await without.text()).toContain('<code>usage.invalid</code>');
    const undecided = await post(`/deliveries/${unknown.id}/resolve`, { reason: 'asked', from: '/deliveries' });
    expect(undecided.status).toBe(422);
    expect(await undecided.text()).toContain('<code>usage.invalid</code>');
    const refused = await post(`/runs/${held.id}/release`, { reason: 'looks &right' });
    const html = await refused.text();
    expect(refused.status).toBe(409);
    expect(html).toContain('The run is not held.');
    expect(html).toContain('Look at it again.');
    expect(html).toContain('value="looks &amp;right"');
    expect(did).toEqual([]);
  });

  it('rejects a form without the CSRF token or from another site, with an error page', async () => {
    did = [];
    const { send, csrf } = await openedPage.visit(anna.token);
    const body = { reason: 'because' };
    const path = '/organizations/acme/pause';
    for (const sent of [
      { body },
      { body: { ...body, csrf: 'wrong' } },
      { body: { ...body, csrf }, headers: { 'sec-fetch-site': 'cross-site' } },
    ]) {
      const answer = await send('POST', path, sent);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([403, 'text/html; charset=utf-8']);
      expect(await answer.text()).toContain('auth.cross_site');
    }
    expect(did).toEqual([]);
  });

  it('shows a missing resource and a failure as a page', async () => {
    const away = openPage({ redis, prefix }, [anna.entry], () => ({
      run: () => Promise.reject(new DocketError('request.not_found', 'There is nothing here.')),
      pauses: () => Promise.reject(new DocketError('redis.unreachable', 'Redis does not answer.')),
    }));
    const { send } = await openedPage.visit(anna.token);
    const cookie = (await away.visit(anna.token)).send;
    const missing = await cookie('GET', `/runs/${done.id}`);
    expect([missing.status, await missing.text()]).toEqual([
      404,
      expect.stringContaining('data-problem="request.not_found"'),
    ]);
    const down = await cookie('GET', '/pauses');
    expect([down.status, await down.text()]).toEqual([503, expect.stringContaining('redis.unreachable')]);
    expect((await send('GET', '/pauses')).status).toBe(200);
  });

  it('shows everything that needs a decision first, however many newer runs there are', async () => {
    const refused = { org: 'acme', report: null, who: 'docket', why: '401', since: NOW, key: 'k_1', run: null };
    const own = openPage({ redis, prefix }, [anna.entry], () => ({
      runs: async ({ states, since }) =>
        states?.includes('held')
          ? { runs: [held], next: null }
          : states?.includes('failed') && since === NOW - 86_400_000
            ? { runs: [failed], next: 'more' }
            : { runs: [], next: null },
      pauses: async () => [refused],
    }));
    const { send } = await own.visit(anna.token);
    const html = await (await send('GET', '/')).text();
    expect(html).toContain('<strong>1 run</strong>');
    expect(html).toContain(`href="/runs/${held.id}"`);
    expect(html).toContain('<strong>1+ runs in the last 24 hours failed</strong>');
    expect(html).toContain('<code>k_1</code>');
    expect(html).not.toContain('class="all-clear"');
  });

  it('says that nothing needs attention', async () => {
    const own = openPage({ redis, prefix }, [anna.entry], () => ({
      runs: async () => ({ runs: [], next: null }),
      deliveries: async () => ({ deliveries: [], next: null }),
      pauses: async () => [],
    }));
    const { send } = await own.visit(anna.token);
    expect(await (await send('GET', '/')).text()).toContain('class="all-clear"');
  });

  it('names the days whose readings were missed', async () => {
    const missed = ['whole', 'by-profile.risk'].map((question) => ({ day: '2026-11-12', question, why: null }));
    const own = openPage({ redis, prefix }, [anna.entry], () => ({
      runs: async () => ({ runs: [], next: null }),
      deliveries: async () => ({ deliveries: [], next: null }),
      pauses: async () => [],
      readings: async () => [{ org: 'acme', at: NOW, newest: null, missed }],
    }));
    const { send } = await own.visit(anna.token);
    const html = await (await send('GET', '/')).text();
    expect(html).toContain('<strong>2 missed readings</strong>');
    expect(html).toContain('2026-11-12');
    expect(html).not.toContain('class="all-clear"');
  });

  it('offers each period with its current days', async () => {
    const { send } = await openedPage.visit(anna.token);
    const html = await (await send('GET', '/reports/acme/weekly-kpi')).text();
    expect(html).toContain('as the definition says: 2026-11-09 to 2026-11-15</option>');
    expect(html).toContain('previous month: 2026-10-01 to 2026-10-31</option>');
    expect(html).toContain('previous day: 2026-11-20</option>');
    expect(html).toContain('in days of Europe/Zurich');
  });

  it('filters the runs by the form, and continues from its cursor', async () => {
    const filters: unknown[] = [];
    const own = openPage({ redis, prefix }, [anna.entry], () => ({
      runs: async (filter) => {
        filters.push(filter);
        return { runs, next: '1-abc' };
      },
    }));
    const { send } = await own.visit(anna.token);
    filters.length = 0;
    const html = await (
      await send('GET', '/runs?org=acme&state=failed&since=2026-11-01&until=2026-11-02&after=5-x')
    ).text();
    expect(filters).toEqual([
      {
        org: 'acme',
        states: ['failed'],
        since: Date.parse('2026-10-31T23:00:00Z'),
        until: Date.parse('2026-11-02T23:00:00Z'),
        after: '5-x',
        limit: 50,
      },
    ]);
    expect(html).toContain('/runs?org=acme&amp;state=failed&amp;since=2026-11-01&amp;until=2026-11-02&amp;after=1-abc');
    filters.length = 0;
    await send('GET', '/runs?state=nonsense&since=yesterday&org=');
    expect(filters).toEqual([{ limit: 50 }]);
  });

  it('serves assets that browsers cache forever, compressed for those that accept it', async () => {
    const { send } = await openedPage.visit(anna.token);
    const html = await (await send('GET', '/')).text();
    const paths = [...html.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
    expect(paths).toHaveLength(3);
    for (const path of paths) {
      const of = async (encoding?: string) => {
        const headers = { host: 'localhost', ...(encoding === undefined ? {} : { 'accept-encoding': encoding }) };
        const answer = await openedPage.app.request(path, { headers });
        expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
        expect(answer.headers.get('vary')).toContain('Accept-Encoding');
        return [answer.headers.get('content-encoding'), Buffer.from(await answer.arrayBuffer())] as const;
      };
      const [none, plain] = await of();
      expect([none, (await of('gzip;q=0, br'))[0]]).toEqual([null, null]);
      const [encoding, zipped] = await of('br, gzip');
      expect(encoding).toBe('gzip');
      expect(gunzipSync(zipped).equals(plain)).toBe(true);
    }
  });

  /** Everything that the first paint needs: the HTML and the compressed assets. */
  const firstPaintBytes = async ({ app, visit }: typeof openedPage, path: string): Promise<number> => {
    const { send } = await visit(anna.token);
    const html = await (await send('GET', path)).text();
    let bytes = Buffer.byteLength(html);
    for (const [, asset = ''] of html.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)) {
      const answer = await app.request(asset, { headers: { host: 'localhost', 'accept-encoding': 'gzip' } });
      bytes += (await answer.arrayBuffer()).byteLength;
    }
    return bytes;
  };

  it.each(PAGES)('needs at most 80 KB for the first paint with 100 rows: %s', async (path) => {
    const hundred = <Row>(row: (index: number) => Row) => Array.from({ length: 100 }, (_, index) => row(index));
    const many = openPage({ redis, prefix }, [anna.entry], () => ({
      runs: async ({ limit }) => ({ runs: hundred(() => done).slice(0, limit), next: 'more' }),
      reports: async ({ limit }) => ({ reports: hundred(() => report).slice(0, limit), next: 'acme/weekly-kpi' }),
      slots: async ({ limit }) =>
        hundred((index) => slots.slice(index % 4, (index % 4) + 1))
          .flat()
          .slice(0, limit),
      pauses: async () => hundred((index) => ({ ...pause, report: `report-${index}` })),
      audit: async ({ limit }) => ({ entries: hundred(() => audited).slice(0, limit), next: 'more' }),
      // Half of the deliveries belong to one run, the others to a run each.
      deliveries: async ({ state }) => ({
        deliveries: hundred((index) =>
          state !== 'unknown' ? sent : index % 2 === 0 ? unknown : { ...unknown, run: `${index}`.padStart(32, 'a') },
        ),
        next: 'more',
      }),
    }));
    expect(await firstPaintBytes(many, path)).toBeLessThan(80 * 1024);
  });
});
