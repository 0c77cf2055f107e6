import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import type { SelectionInput } from '../../../src/admin/access/selections.ts';
import { DocketError } from '../../../src/base/error.ts';
import type { SelectionView } from '../../../src/services/selections/selection-service.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import { running, runOf } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const anna = createToken('anna');
const ben = createToken('ben', { role: 'viewer' });
const prefix = randomPrefix();
let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());

const DIGEST = 'd'.repeat(64);
const lost = runOf('lost', 'queued');
const selection: SelectionView = {
  digest: DIGEST,
  action: 'cancel',
  at: 1,
  items: [running, lost].map(({ id, org, report, period, state }) => ({
    ...{ id, run: id, org, report, period: period.label, state, recipient: null },
    mark: '0.0',
  })),
  skipped: [{ id: 'e'.repeat(32), why: 'It has ended: done.' }],
  decision: null,
  outcomes: new Map(),
};

const visit = async (change: Partial<Access>, token = anna.token) =>
  openPage({ redis, prefix }, [anna.entry, ben.entry], () => change).visit(token);

test('operators get boxes in a form that works without a script, viewers get none', async () => {
  const page = await (await (await visit({})).send('GET', '/runs?org=acme&state=failed')).text();
  expect(page).toMatch(/<form method="post" action="\/selections">[\s\S]*type="checkbox" name="run"[\s\S]*<\/form>/);
  expect(page).toContain('<input type="hidden" name="state" value="failed"/>');
  expect(page).toContain('Preview all that match');
  const viewed = await (await (await visit({}, ben.token)).send('GET', '/runs')).text();
  expect(viewed).not.toContain('type="checkbox"');
  expect(viewed).not.toContain('/selections');
});

test('selected runs, or all that match the filters, are previewed before anything happens', async () => {
  const requested: SelectionInput[] = [];
  const change = {
    previewSelection: async (input: SelectionInput) => {
      requested.push(input);
      return selection;
    },
  };
  const { post } = await visit(change);
  const ids = `${running.id},${lost.id}`;
  const some = await post('/selections', { of: 'runs', action: 'cancel', which: 'selected', run: ids });
  expect([some.status, some.headers.get('location')]).toEqual([303, `/selections/${DIGEST}`]);
  const fields = { org: 'acme', state: 'queued', since: '1795000000000', run: lost.id };
  await post('/selections', { of: 'runs', action: 'cancel', which: 'all', ...fields });
  expect(requested).toEqual([
    { action: 'cancel', ids: [running.id, lost.id] },
    { action: 'cancel', filter: { org: 'acme', states: ['queued'], since: 1_795_000_000_000 } },
  ]);
});

test('the preview names each item, says what is left out and why, and asks for a reason', async () => {
  const page = await (
    await (await visit({ selection: async () => selection })).send('GET', `/selections/${DIGEST}`)
  ).text();
  expect(page).toContain('Cancel: 2 runs');
  expect(page).toContain('Nothing was changed yet.');
  expect(page).toContain(lost.id.slice(0, 8));
  expect(page).toContain('It has ended: done.');
  expect(page).toContain(`action="/selections/${DIGEST}/decide"`);
});

test('a decision takes a reason, and its result is shown per item', async () => {
  const decided: unknown[] = [];
  const after: SelectionView = {
    ...selection,
    decision: { by: 'anna', reason: 'by mistake' },
    outcomes: new Map([
      [running.id, { result: 'decided', why: null }],
      [lost.id, { result: 'changed', why: 'It has changed since the preview: now done.' }],
    ]),
  };
  const { post, send } = await visit({
    selection: async () => after,
    decideSelection: async (...args) => {
      decided.push(args);
      return after;
    },
  });
  const answer = await post(`/selections/${DIGEST}/decide`, { reason: 'by mistake' });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, `/selections/${DIGEST}`]);
  expect(decided).toEqual([[DIGEST, 'by mistake']]);
  const page = await (await send('GET', `/selections/${DIGEST}`)).text();
  expect(page).toContain('1 carried out, 1 had changed and were left out.');
  expect(page).toContain('It has changed since the preview: now done.');
  expect(page).not.toContain('name="reason"');
});

test('an empty or too large selection is rejected on the page of the list', async () => {
  const { post } = await visit({
    previewSelection: () => Promise.reject(new DocketError('usage.invalid', 'Too many at once.')),
  });
  const refused = await post('/selections', { of: 'runs', action: 'cancel', which: 'all', org: 'acme' });
  expect(refused.status).toBe(422);
  expect(await refused.text()).toContain('Too many at once.');
  const empty = await post('/selections', { of: 'runs', action: 'cancel', which: 'selected' });
  expect([empty.status, (await empty.text()).includes('Select what is decided about.')]).toEqual([422, true]);
});
