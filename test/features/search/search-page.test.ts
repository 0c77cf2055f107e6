import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import type { ReceivedFilter } from '../../../src/admin/access/deliveries.ts';
import type { RunsFilter } from '../../../src/admin/access/runs.ts';
import { DocketError } from '../../../src/base/error.ts';
import { partOver } from '../../../src/features/search/search-part.tsx';
import { createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import { received } from '../../support/page-data.ts';
import { textCollector } from '../../support/page-texts.ts';
import { randomPrefix } from '../../support/queue-harness.ts';
import { found, NOTHING_FOUND } from './sample.ts';

/** The opening tags of an element that contain this text. */
const tags = (html: string, name: string, part: string): string[] =>
  [...html.matchAll(new RegExp(`<${name}\\b[^>]*>`, 'g'))].map(([tag]) => tag).filter((tag) => tag.includes(part));

describe('the search on the page', () => {
  const anna = createToken('anna');
  const prefix = randomPrefix();
  let redis: Redis;
  let requested: (string | RunsFilter | ReceivedFilter)[] = [];
  beforeAll(() => {
    redis = new Redis(inject('redisUrl'));
  });
  afterAll(async () => {
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });

  const parts = [partOver(async (text) => (text.startsWith('board') ? found : NOTHING_FOUND))];
  const open = async (change: Partial<Access> = {}) => {
    requested = [];
    const visitor = await openPage({ redis, prefix }, [anna.entry], () => change, parts).visit(anna.token);
    return async (path: string) => {
      const response = await visitor.send('GET', path);
      return { status: response.status, html: await response.text(), location: response.headers.get('location') };
    };
  };

  it('is in the header of every page, as a form that works without a script', async () => {
    const get = await open();
    for (const path of ['/', '/runs', '/search?q=a%22b']) {
      const { html } = await get(path);
      expect(tags(html, 'form', 'action="/search"'), path).toHaveLength(1);
      expect(tags(html, 'input', 'name="q"'), path).toHaveLength(1);
    }
    expect(tags((await get('/search?q=a%22b')).html, 'input', 'name="q"')[0]).toContain('value="a&quot;b"');
  });

  it('shows reports, runs and recipients with their deliveries, the totals, and links to the rest', async () => {
    const get = await open();
    const { html } = await get('/search?q=board%40+october');
    expect([...html.matchAll(/<h2 id="(\w+)">([^<]*)</g)].map(([, id, heading]) => [id, heading])).toEqual([
      ['reports', '1 report'],
      ['runs', '200 runs or more'],
      ['recipients', '2 recipients'],
    ]);
    expect(tags(html, 'a', 'href="/runs?period=2026-10&amp;match=board"')).toHaveLength(1);
    const all = 'href="/deliveries?org=acme&amp;to=board%40acme.example&amp;period=2026-10"';
    expect(tags(html, 'a', all)).toHaveLength(1);
    for (const { row } of received) expect(tags(html, 'a', `href="/deliveries/${row.id}"`)).toHaveLength(1);
  });

  it('explains what can be searched when the query is empty', async () => {
    const get = await open();
    for (const path of ['/search', '/search?q=+']) {
      const { status, html } = await get(path);
      expect([path, status, html.includes('<code>board@ october</code>'), html.includes('<h2')]).toEqual([
        path,
        200,
        true,
        false,
      ]);
    }
  });

  it('passes on the filters of the lists, and shows an error beside an invalid filter', async () => {
    const refuse = async (filter: RunsFilter | ReceivedFilter) => {
      requested.push(filter);
      if (filter.period === 'nonsense') throw new DocketError('usage.invalid', 'Invalid period.');
    };
    const get = await open({
      runs: async (filter) => {
        await refuse(filter);
        return { runs: [], next: null };
      },
      received: async (filter) => {
        await refuse(filter);
        return { deliveries: received, next: null };
      },
    });
    // Ignore the requests of the page after the sign-in.
    requested = [];
    await get('/runs?match=board+pack&to=a%40&error=smtp&period=october');
    await get('/deliveries?to=a%40&period=october&state=sent');
    expect(requested).toMatchObject([
      { match: 'board pack', to: 'a@', error: 'smtp', period: 'october', limit: 50 },
      { to: 'a@', period: 'october', state: 'sent', limit: 50 },
    ]);
    for (const path of ['/runs?period=nonsense', '/deliveries?period=nonsense']) {
      const { status, html } = await get(path);
      expect([path, status, html.includes('usage.invalid')]).toEqual([path, 200, true]);
      expect(tags(html, 'input', 'name="period"')[0]).toContain('value="nonsense"');
    }
  });

  it('shows the recorded texts', async () => {
    const get = await open();
    const newTexts = textCollector();
    newTexts((await get('/')).html);
    const document: string[] = [];
    for (const path of ['/search', '/search?q=board%40+october', '/search?q=nobody'])
      document.push(`== ${path}`, ...newTexts((await get(path)).html), '');
    await expect(`${document.join('\n')}\n`).toMatchFileSnapshot('search-page.txt');
  });
});
