import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadReview } from '../../../src/run/review/load-review.ts';
import { SIGN_INS, VERSIONS } from '../../support/review-world/reports.ts';
import { type AnsweringService, recordedAnswers } from '../../support/review-world/service.ts';
import { reviewWorld } from '../../support/review-world/world.ts';

let folder: string;
let answering: (truncated: () => boolean) => AnsweringService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-recipients-'));
  answering = await recordedAnswers();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const TYPIST = SIGN_INS[5]!.by;
const [ANN, BOB, CEM] = [SIGN_INS[0]!.by, SIGN_INS[2]!.by, SIGN_INS[3]!.by];
const RECIPIENTS = (to: unknown) => to as readonly string[];

/** Delivers a run of this version. @param refused addresses that the mail server refuses */
async function delivered(
  version: (typeof VERSIONS)[number],
  refused: readonly string[] = [],
  approvers: readonly (typeof ANN)[] = [],
) {
  const mails: string[] = [];
  const raw = new Map<string, string>();
  const bad = new Set(refused);
  const world = reviewWorld(
    folder,
    answering(() => false),
    (mail) => {
      if (bad.has(mail.to)) return { kind: 'refused', response: '550 5.1.1 no such user' };
      const isNotice = mail.to.startsWith('owner@') || /^Subject: Approval/m.test(mail.raw);
      if (!isNotice) mails.push(mail.to);
      raw.set(mail.to, mail.raw);
      return undefined;
    },
  );
  const here = world.process();
  const { record } = await here.trigger({
    ...version.frozen,
    slot: { trigger: 't' },
    trigger: 'on_demand',
    priority: 'on_demand',
    deliver: true,
    by: 'dora',
  });
  await world.settle();
  for (const by of approvers) {
    const { state } = await loadReview(here.reviews, record);
    await here.service.approve(record.id, state.content ?? '', 'ok', by);
  }
  // The recorded figures are incomplete.
  if (world.records.get(record.id)?.state === 'held')
    await here.decisions.release(record.id, { by: 'ops', reason: 'r' });
  await world.settle();
  const rows = async () =>
    Object.fromEntries((await here.ledger.list(record.id)).map(({ recipient, state }) => [recipient, state]));
  return { world, here, id: record.id, mails, raw, bad, rows, state: () => world.records.get(record.id)?.state };
}

const toOf = ({ frozen }: (typeof VERSIONS)[number]) =>
  RECIPIENTS((frozen.definition.deliveries[0] as { email: { to: unknown } }).email.to);
const plain = VERSIONS.find(
  (each) =>
    each.frozen.definition.approval === undefined &&
    toOf(each).length === 2 &&
    each.frozen.definition.sections.every(({ commentary }) => commentary === undefined),
)!;
const two = VERSIONS.find(({ policy, frozen }) => policy?.need === 2 && policy.fourEyes && frozen.definition.approval)!;

test('a corrected address gets the files, and the refused address is never attempted again', async () => {
  const { world, here, id, mails, rows, state } = await delivered(plain, ['board@acme.example']);
  expect([state(), mails]).toEqual(['partly_delivered', ['lead@acme.example']]);
  const request = { to: 'board2@acme.example', replaces: 'Board@acme.example' };
  const added = await here.recipients.send(id, request, 'typing error', TYPIST);
  expect(added).toMatchObject({ waits: null, delivery: { recipient: 'board2@acme.example', target: '0-email' } });
  expect(await rows()).toMatchObject({
    'lead@acme.example': 'sent',
    'board@acme.example': 'replaced',
    'board2@acme.example': 'pending',
  });
  await world.settle();
  expect(mails).toEqual(['lead@acme.example', 'board2@acme.example']);
  expect(state()).toBe('done');
  expect(await rows()).toMatchObject({ 'board@acme.example': 'replaced', 'board2@acme.example': 'sent' });
  // Neither a retry nor a decision opens the replaced row.
  const replaced = (await here.ledger.list(id)).find((row) => row.state === 'replaced');
  await expect(here.decisions.resolve(replaced?.id ?? '', 'resend', { by: 'ops', reason: 'r' })).rejects.toMatchObject({
    code: 'delivery.conflict',
  });
  await expect(here.recipients.send(id, { to: 'board2@acme.example' }, 'again', TYPIST)).rejects.toMatchObject({
    code: 'delivery.conflict',
  });
  // Redis is lost, but the archive has both rows.
  world.flushRedis();
  await here.decisions.recover(replaced?.id ?? '', '*');
  expect(mails).toHaveLength(2);
});

test('a recipient who has or may have the files is refused, as is an address that is not allowed', async () => {
  const { here, id, mails } = await delivered(plain);
  const send = (to: string, replaces?: string) => here.recipients.send(id, { to, replaces }, 'r', TYPIST);
  await expect(send('LEAD@acme.example')).rejects.toMatchObject({ code: 'delivery.conflict' });
  await expect(send('x@acme.example', 'lead@acme.example')).rejects.toMatchObject({ code: 'delivery.conflict' });
  await expect(send('x@evil.example')).rejects.toMatchObject({ code: 'deliver.recipient_refused' });
  expect(mails).toHaveLength(2);
});

test('an address that is no longer allowed when its message would be sent gets nothing', async () => {
  const { world, here, id, mails, rows } = await delivered(plain);
  const settings = world.orgs.get('acme')!;
  await here.recipients.send(id, { to: 'late@acme.example' }, 'r', TYPIST);
  world.orgs.set('acme', { ...settings, recipients: { domains: [], addresses: [...mails] } });
  await world.settle();
  expect(mails).toHaveLength(2);
  expect(await rows()).toMatchObject({ 'late@acme.example': 'refused' });
});

test('a recipient added to an approved report needs as many approvals as the report, none by the person who added it', async () => {
  const { world, here, id, mails, rows, state, raw } = await delivered(two, [], [ANN, BOB]);
  expect(state()).toBe('done');
  const before = mails.length;
  const first = await here.recipients.send(id, { to: 'new@acme.example' }, 'auditors', CEM);
  expect(first.waits).toMatchObject({ state: 'waiting', approvals: [] });
  await world.settle();
  expect(await rows()).not.toHaveProperty('new@acme.example');
  expect(raw.get('ann@acme.example')).toContain('Approval of a recipient needed');
  const decide = (by: typeof ANN) => here.recipients.decide(id, first.delivery.id, true, 'ok', by);
  await expect(decide(CEM)).rejects.toMatchObject({ code: 'review.not_allowed' });
  await expect(decide(TYPIST)).rejects.toMatchObject({ code: 'review.not_allowed' });
  await decide(ANN);
  // The same person with another token.
  await decide(SIGN_INS[1]!.by);
  await world.settle();
  expect(mails).toHaveLength(before);
  expect((await decide(BOB)).waits).toBeNull();
  await world.settle();
  expect(mails.slice(before)).toEqual(['new@acme.example']);
});

test('a rejected recipient gets nothing', async () => {
  const { world, here, id, mails } = await delivered(two, [], [ANN, BOB]);
  const before = mails.length;
  const { delivery } = await here.recipients.send(id, { to: 'new@acme.example' }, 'auditors', TYPIST);
  await here.recipients.decide(id, delivery.id, false, 'no', ANN);
  await expect(here.recipients.decide(id, delivery.id, true, 'ok', BOB)).rejects.toMatchObject({
    code: 'delivery.conflict',
  });
  await world.settle();
  expect(mails).toHaveLength(before);
});
