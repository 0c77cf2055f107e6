import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createAccess } from '../../../src/admin/access/access.ts';
import { DocketError } from '../../../src/base/error.ts';
import { accessPorts } from '../../support/admin.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import { NOW } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const DENIED = [
  { name: 'ana@acme.example', by: 'hr', reason: 'left the company', since: NOW - 86_400_000 },
  {
    name: 'a.very.long.name.of.somebody.who.left@subsidiary-of-a-group.example',
    by: 'mira',
    reason: 'GDPR',
    since: NOW,
  },
  { name: 'former-partner.example', by: 'mira', reason: 'the contract ended', since: NOW },
];

const open = async (change: Parameters<typeof openPage>[2], orgs?: string[]) => {
  const redis = new Redis(inject('redisUrl'));
  onTestFinished(() => redis.disconnect());
  const { token, entry } = createToken('anna', orgs === undefined ? {} : { orgs });
  const opened = openPage({ redis, prefix: randomPrefix() }, [entry], change);
  return { ...opened, browser: await opened.visit(token) };
};

test('the page shows who is denied, denies more addresses, and takes addresses off the list', async () => {
  const did: unknown[] = [];
  const { browser } = await open(() => ({
    denials: async () => DENIED,
    deny: async (text, reason) => {
      if (text.includes('nobody'))
        throw new DocketError('usage.invalid', 'Not every line is an address.', { got: 'line 2 "nobody"' });
      did.push(['deny', text, reason]);
      return [];
    },
    allow: async (text, reason) => {
      did.push(['allow', text, reason]);
      return [];
    },
  }));
  const page = await (await browser.send('GET', '/denied')).text();
  for (const { name, reason } of DENIED) for (const text of [name, reason]) expect(page).toContain(text);
  const denied = await browser.post('/denied', { text: 'bob@acme.example', reason: 'left' });
  expect([denied.status, denied.headers.get('location')]).toEqual([303, '/denied?did=denied']);
  const removed = await browser.post('/denied/ana%40acme.example/remove', { reason: 'back' });
  expect(removed.headers.get('location')).toBe('/denied?did=allowed');
  expect(did).toEqual([
    ['deny', 'bob@acme.example', 'left'],
    ['allow', 'ana@acme.example', 'back'],
  ]);
  const bad = await browser.post('/denied', { text: 'bob@acme.example\nnobody', reason: 'left' });
  expect(bad.status).toBe(422);
  const shown = await bad.text();
  expect(shown).toContain('line 2');
  expect(shown, 'what was typed is kept').toContain('bob@acme.example\nnobody');
});

test('only users of all organizations see the denied addresses', async () => {
  const services = accessPorts();
  const { browser } = await open((principal) => ({ denials: createAccess(services, principal).denials }), ['acme']);
  expect((await browser.send('GET', '/denied')).status).toBe(404);
  expect(await (await browser.send('GET', '/pauses')).text()).not.toContain('href="/denied"');
});
