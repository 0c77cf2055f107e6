import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { approvalSchema, peopleSchema } from '../../../src/definitions/schema/review.ts';
import { loadReview } from '../../../src/run/review/load-review.ts';
import { PEOPLE, SIGN_INS, VERSIONS } from '../../support/review-world/reports.ts';
import { type AnsweringService, recordedAnswers } from '../../support/review-world/service.ts';
import { reviewWorld } from '../../support/review-world/world.ts';

let folder: string;
let answering: (truncated: () => boolean) => AnsweringService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-delegate-'));
  answering = await recordedAnswers();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const token = (name: string) => ({ name, kind: 'token', subject: `token:${name}` }) as const;
const [ANN, BOB, CEM, OPS] = [SIGN_INS[0]!.by, SIGN_INS[2]!.by, SIGN_INS[3]!.by, SIGN_INS[5]!.by];
const [DORA, EVE] = [token('dora'), token('eve')];
const people = peopleSchema.parse({
  ...PEOPLE,
  deputy: { name: 'Dora', email: 'dora@acme.example', tokens: ['dora'] },
});
const REASON = { reason: 'on leave' };
const NOT_ALLOWED = { code: 'review.not_allowed' };

/** A run that needs the approval of two of Ann, Bob and Cem. */
async function waiting() {
  const notices: { readonly to: string; readonly raw: string }[] = [];
  const packs = new Map<string, string>();
  const world = reviewWorld(
    folder,
    answering(() => false),
    ({ to, raw }) => {
      if (raw.includes('filename=kpis.csv')) packs.set(to, raw);
      else notices.push({ to, raw });
      return undefined;
    },
  );
  const here = world.process();
  const { definition, settings } = VERSIONS[0]!.frozen;
  const approval = approvalSchema.parse({ by: ['mlro', 'bob', 'head'], need: 2, may_delegate: ['ops'] });
  const { record } = await here.trigger({
    definition: { ...definition, approval, digest: 'd'.repeat(64) },
    settings: { ...settings, people },
    slot: { trigger: 't' },
    trigger: 'on_demand',
    priority: 'on_demand',
    deliver: true,
    by: 'ted',
  });
  await world.settle();
  const view = async (by = ANN) => (await here.service.view(record.id, by))!;
  const approve = async (by: typeof ANN) =>
    here.service.approve(record.id, (await view()).state.content ?? '', 'ok', by);
  return { world, here, id: record.id, record, notices, packs, view, approve };
}

test('a deputy is notified, approves in the approver’s seat, and the manifest names both', async () => {
  const { world, here, id, record, notices, view, approve } = await waiting();
  expect((await view(CEM)).deputies).toEqual([
    { from: { id: 'head', name: 'Cem' }, to: [{ id: 'deputy', name: 'Dora' }] },
  ]);
  expect((await view(OPS)).deputies.map(({ from }) => from.id)).toEqual(['mlro', 'bob', 'head']);
  expect((await view(DORA)).deputies).toEqual([]);
  await here.service.delegate(id, { to: 'dora', until: '2026-11-25', ...REASON }, CEM);
  // The same delegation again changes nothing.
  const named = await here.service.delegate(
    id,
    { to: 'deputy', from: 'cem@acme.example', until: '2026-11-25', ...REASON },
    CEM,
  );
  expect(named.state.delegations).toMatchObject([
    { from: { name: 'Cem' }, to: { name: 'Dora' }, until: Date.parse('2026-11-26T00:00:00+01:00') },
  ]);
  expect(named).toMatchObject({
    reviewers: ['Ann', 'bob', 'Cem', 'Dora for Cem'],
    record: { state: 'awaiting_approval' },
  });
  await world.settle();
  const notice = await PostalMime.parse(notices.find(({ to }) => to === 'dora@acme.example')?.raw ?? '');
  expect(notice.subject).toMatch(/^Approval needed/);
  expect(notice.text).toContain('deputy of Cem until the end of Wednesday 25 November 2026');
  expect(notice.text).toContain('on leave');

  expect((await approve(DORA)).state.approvals).toMatchObject([{ by: { name: 'Dora', for: { name: 'Cem' } } }]);
  await expect(approve(CEM)).rejects.toMatchObject(NOT_ALLOWED);
  expect((await approve(ANN)).state.phase).toBe('ready');
  await world.settle();
  expect(world.records.get(id)?.state).toBe('done');
  const published = await here.archive.peek(record);
  expect(published?.manifest.review?.approved_by).toMatchObject([
    { person: 'deputy', for: { person: 'head', name: 'Cem' } },
    { person: 'mlro' },
  ]);
});

test('a deputy can approve added recipients, unless the deputy has added one', async () => {
  const { world, here, id, notices, packs, approve } = await waiting();
  await approve(ANN);
  await approve(BOB);
  await world.settle();
  // Nothing is waiting for approval.
  await expect(here.service.delegate(id, { to: 'dora', ...REASON }, CEM)).rejects.toMatchObject({
    code: 'run.conflict',
  });
  const { delivery } = await here.recipients.send(id, { to: 'new@acme.example' }, 'auditors', OPS);
  await world.settle();
  await here.service.delegate(id, { to: 'dora', from: 'head', ...REASON }, OPS);
  await world.settle();
  expect(notices.filter(({ to }) => to === 'dora@acme.example')).toHaveLength(1);
  const decide = (by: typeof ANN, of = delivery.id) => here.recipients.decide(id, of, true, 'ok', by);
  const second = await here.recipients.send(id, { to: 'late@acme.example' }, 'board', DORA);
  await expect(decide(DORA)).rejects.toMatchObject(NOT_ALLOWED);
  await expect(decide(DORA, second.delivery.id)).rejects.toMatchObject(NOT_ALLOWED);
  await decide(ANN);
  await decide(CEM);
  await world.settle();
  expect([...packs.keys()]).toEqual(['lead@acme.example', 'new@acme.example']);
});

test('one seat decides about an added recipient only once', async () => {
  const { world, here, id, packs, approve } = await waiting();
  await here.service.delegate(id, { to: 'dora', ...REASON }, CEM);
  await approve(ANN);
  await approve(DORA);
  await world.settle();
  const { delivery } = await here.recipients.send(id, { to: 'new@acme.example' }, 'auditors', OPS);
  const decide = (by: typeof ANN) => here.recipients.decide(id, delivery.id, true, 'ok', by);
  expect((await decide(DORA)).waits).toMatchObject({ approvals: [{ name: 'Dora', for: { name: 'Cem' } }] });
  await expect(decide(CEM)).rejects.toMatchObject(NOT_ALLOWED);
  await decide(BOB);
  await world.settle();
  expect(packs.has('new@acme.example')).toBe(true);
});

test('a person added after the trigger cannot be a deputy, not even after figures are fetched again', async () => {
  const { world, here, id, record, view, approve } = await waiting();
  const later = peopleSchema.parse({ ...PEOPLE, eve: { tokens: ['eve', 'dora', 'ann'] }, mlro: { tokens: ['eve'] } });
  world.orgs.set('acme', { ...world.orgs.get('acme')!, people: later });
  const refused = async () => {
    await expect(here.service.delegate(id, { to: 'eve', ...REASON }, CEM)).rejects.toMatchObject(NOT_ALLOWED);
    await expect(here.service.delegate(id, { to: 'deputy', from: 'mlro', ...REASON }, EVE)).rejects.toMatchObject(
      NOT_ALLOWED,
    );
    await expect(approve(EVE)).rejects.toMatchObject(NOT_ALLOWED);
  };
  await refused();
  const { content } = (await loadReview(here.reviews, record)).state;
  await here.service.reject(id, content ?? '', { reason: 'again', refetch: true }, ANN);
  await world.settle();
  expect((await view()).state.phase).toBe('approval');
  await refused();
  expect((await here.reviews.events(record)).filter(({ type }) => type === 'delegate')).toEqual([]);
});

test('a deputy cannot approve after the last day of the delegation, and a delegation needs a future day', async () => {
  const { world, here, id, approve } = await waiting();
  await here.service.delegate(id, { to: 'deputy', until: '2026-11-23', ...REASON }, CEM);
  for (const until of ['2026-11-22', '2026-02-30'])
    await expect(here.service.delegate(id, { to: 'deputy', until, ...REASON }, CEM)).rejects.toMatchObject(NOT_ALLOWED);
  world.advance(24 * 3_600_000);
  await expect(approve(DORA)).rejects.toMatchObject(NOT_ALLOWED);
});
