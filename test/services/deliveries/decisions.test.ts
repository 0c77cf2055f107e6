import { afterAll, beforeAll, expect, test } from 'vitest';
import { deliveryId } from '../../../src/deliver/ledger/ledger.ts';
import { type DecisionHarness, decisionHarness } from '../../support/decision-harness.ts';
import {
  anOrder,
  type LogLine,
  openQueueHarness,
  type QueueHarness,
  recordingLog,
} from '../../support/queue-harness.ts';

const WHO = { by: 'ops', reason: 'asked by phone' };
const log = recordingLog();
let harness: QueueHarness;
let desk: DecisionHarness;
beforeAll(async () => {
  harness = await openQueueHarness();
  desk = decisionHarness(harness, { log });
});
afterAll(() => harness.close());

const states = async (run: string) => (await desk.ledger.list(run)).map(({ state }) => state);
const inLine = async (run: string) => (await harness.queue.findOrphaned([run])).length === 0;
const conflict = { code: 'delivery.conflict' };

test('an unknown delivery can be marked as sent once, with person and reason, and nothing is sent', async () => {
  const { id, deliveries } = await desk.ended('partly_delivered', ['sent', 'unknown', 'unknown']);
  const [, second = ''] = deliveries;
  expect((await desk.decisions.list({ orgs: '*', state: 'unknown', limit: 50 })).map((row) => row.id)).toEqual(
    expect.arrayContaining(deliveries.slice(1)),
  );

  const row = await desk.decisions.resolve(second, 'sent', WHO);

  expect(row).toMatchObject({ state: 'sent', epoch: 1, decisions: [{ to: 'sent', ...WHO }] });
  expect(await states(id)).toEqual(['sent', 'sent', 'unknown']);
  expect((await harness.runs.get(id))?.state).toBe('partly_delivered');
  expect((await harness.runs.get(id))?.deliveries[1]).toMatchObject({ state: 'sent' });
  expect(await inLine(id)).toBe(false);
  expect(desk.kept).toContain(`${second} sent 1 ops`);
  expect(log.lines).toContainEqual(
    expect.objectContaining<Partial<LogLine>>({ message: 'Delivery resolved', delivery: second, run: id, who: 'ops' }),
  );
  await expect(desk.decisions.resolve(second, 'sent', WHO)).rejects.toMatchObject(conflict);
  expect((await desk.decisions.list({ orgs: '*', state: 'unknown', limit: 50 })).map((one) => one.id)).not.toContain(
    second,
  );
});

test('a run is continued once its last unknown delivery is marked as sent', async () => {
  const { id, deliveries } = await desk.ended('partly_delivered', ['sent', 'unknown']);
  await desk.decisions.resolve(deliveries[1] ?? '', 'sent', WHO);
  expect(await harness.runs.get(id)).toMatchObject({ state: 'queued', reopened: [{ what: 'settle', ...WHO }] });
  expect(await inLine(id)).toBe(true);
});

test.each(['unknown', 'refused'] as const)(
  'a delivery that is %s can be sent again: only its row opens, in a new epoch that refuses the old attempt',
  async (state) => {
    const { id, deliveries } = await desk.ended('partly_delivered', ['sent', state, 'unknown', 'refused']);
    const [, again = ''] = deliveries;
    const row = await desk.decisions.resolve(again, 'resend', WHO);
    expect(row).toMatchObject({ state: 'pending', epoch: 2 });
    expect(await states(id)).toEqual(['sent', 'pending', 'unknown', 'refused']);
    expect(await harness.runs.get(id)).toMatchObject({
      state: 'queued',
      startedAt: null,
      reopened: [{ what: 'resend' }],
    });
    expect(await inLine(id)).toBe(true);
    expect(await desk.ledger.settle(again, 1, 'sent', 'late truth', 9)).toBe(false);
    expect(await desk.ledger.begin(again, 9)).toBe(3);
  },
);

test.each([
  ['sent', 'resend'],
  ['pending', 'resend'],
  ['sent', 'sent'],
  ['pending', 'sent'],
  ['refused', 'sent'],
] as const)('a delivery that is %s cannot be resolved to %s', async (state, as) => {
  const { id, deliveries } = await desk.ended('failed', [state]);
  await expect(desk.decisions.resolve(deliveries[0] ?? '', as, WHO)).rejects.toMatchObject({ ...conflict, got: state });
  expect((await harness.runs.get(id))?.state).toBe('failed');
});

test('all unknown deliveries of a run can be marked as sent together, and the run is continued', async () => {
  const { id, deliveries } = await desk.ended('partly_delivered', ['sent', 'unknown', 'unknown', 'unknown']);
  const rows = await desk.decisions.resolveMany(id, 'all', 'sent', WHO);
  expect(rows.map((row) => row.id).sort()).toEqual(deliveries.slice(1).sort());
  expect(rows).toMatchObject([1, 2, 3].map(() => ({ state: 'sent', decisions: [{ to: 'sent', ...WHO }] })));
  expect(await harness.runs.get(id)).toMatchObject({ state: 'queued', reopened: [{ what: 'settle', ...WHO }] });
  for (const delivery of deliveries.slice(1)) expect(desk.kept).toContain(`${delivery} sent 1 ops`);
  await expect(desk.decisions.resolveMany(id, 'all', 'sent', WHO)).rejects.toMatchObject(conflict);
});

test('several deliveries can be sent again together: only their rows open, and the run is reopened once', async () => {
  const { id, deliveries } = await desk.ended('partly_delivered', ['unknown', 'unknown', 'refused', 'unknown']);
  const [first = '', second = '', third = ''] = deliveries;
  // Only one delivery that may have arrived can be resent at a time.
  for (const which of ['all', [first, second]] as const)
    await expect(desk.decisions.resolveMany(id, which, 'resend', WHO)).rejects.toMatchObject(conflict);
  expect(await states(id)).toEqual(['unknown', 'unknown', 'refused', 'unknown']);
  await desk.decisions.resolveMany(id, [first, third, first], 'resend', WHO);
  expect(await states(id)).toEqual(['pending', 'unknown', 'pending', 'unknown']);
  expect((await harness.runs.get(id))?.reopened).toMatchObject([{ what: 'resend', ...WHO }]);
  expect(await inLine(id)).toBe(true);
  // The others can be decided while the run continues.
  await desk.decisions.resolveMany(id, [second], 'sent', WHO);
  expect(await states(id)).toEqual(['pending', 'sent', 'pending', 'unknown']);
});

test('a decision about several deliveries changes nothing if it does not fit one of them', async () => {
  const { id, deliveries } = await desk.ended('partly_delivered', ['unknown', 'refused', 'sent']);
  const other = await desk.ended('partly_delivered', ['unknown']);
  const [unknown = '', refused = '', sent = ''] = deliveries;
  const decide = (which: readonly string[], as: 'sent' | 'resend') => desk.decisions.resolveMany(id, which, as, WHO);
  await expect(decide([unknown, refused], 'sent')).rejects.toMatchObject({ ...conflict, got: 'refused' });
  await expect(decide([unknown, sent], 'resend')).rejects.toMatchObject({ ...conflict, got: 'sent' });
  for (const id of [other.deliveries[0] ?? '', 'f'.repeat(32)]) {
    await expect(decide([unknown, id], 'sent')).rejects.toMatchObject({ code: 'delivery.not_found' });
  }
  desk.gone.add(id);
  await expect(decide([unknown], 'resend')).rejects.toMatchObject({ code: 'run.conflict' });
  expect(await states(id)).toEqual(['unknown', 'refused', 'sent']);
  expect(await states(other.id)).toEqual(['unknown']);
  expect((await harness.runs.get(id))?.state).toBe('partly_delivered');
});

test('a notice to the owner is neither listed as undecided nor included in `all`', async () => {
  const { id } = await desk.ended('partly_delivered', ['sent', 'unknown']);
  const notice = {
    id: deliveryId(id, 'notice', 'o@acme.example'),
    run: id,
    org: 'acme',
    report: 'weekly',
    target: 'notice',
    recipient: 'o@acme.example',
  };
  await desk.ledger.open(notice, 1);
  await desk.ledger.settle(notice.id, (await desk.ledger.begin(notice.id, 2)) ?? 0, 'unknown', 'cut', 3);
  const undecided = await desk.decisions.list({ orgs: '*', state: 'unknown', limit: 500 });
  expect(undecided.filter(({ run }) => run === id).map(({ target }) => target)).toEqual(['0-email']);
  expect(await desk.decisions.resolveMany(id, 'all', 'sent', WHO)).toHaveLength(1);
  expect((await harness.runs.get(id))?.state).toBe('queued');
  expect((await desk.ledger.find(notice.id))?.state).toBe('unknown');
  await expect(desk.decisions.resolveMany(id, [notice.id], 'sent', WHO)).rejects.toMatchObject({
    code: 'delivery.not_found',
  });
});

test('simultaneous decisions of many people about all deliveries decide each delivery once', async () => {
  const { id, deliveries } = await desk.ended('partly_delivered', ['sent', 'unknown', 'unknown', 'unknown']);
  const answers = await Promise.allSettled(
    Array.from({ length: 6 }, (_, index) =>
      desk.decisions.resolveMany(id, 'all', 'sent', { by: `b${index}`, reason: 'r' }),
    ),
  );
  const decided = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value.map((row) => row.id) : []));
  expect(decided.sort()).toEqual(deliveries.slice(1).sort());
  expect((await harness.runs.get(id))?.reopened).toHaveLength(1);
});

test('simultaneous decisions of many people about one delivery have one winner', async () => {
  const { deliveries } = await desk.ended('partly_delivered', ['sent', 'unknown']);
  const requested = Array.from({ length: 10 }, (_, index) =>
    desk.decisions.resolve(deliveries[1] ?? '', index % 2 === 0 ? 'sent' : 'resend', { by: `b${index}`, reason: 'r' }),
  );
  const answers = await Promise.allSettled(requested);
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect((await desk.decisions.find(deliveries[1] ?? ''))?.decisions).toHaveLength(1);
});

test('a delivery without its files cannot be sent again, and an unknown id is not found', async () => {
  const { id, deliveries } = await desk.ended('partly_delivered', ['sent', 'unknown']);
  desk.gone.add(id);
  await expect(desk.decisions.resolve(deliveries[1] ?? '', 'resend', WHO)).rejects.toMatchObject({
    code: 'run.conflict',
  });
  expect(await states(id)).toEqual(['sent', 'unknown']);
  await expect(desk.decisions.resolve('f'.repeat(32), 'sent', WHO)).rejects.toMatchObject({
    code: 'delivery.not_found',
  });
  await expect(desk.decisions.retry('f'.repeat(32), WHO)).rejects.toMatchObject({ code: 'run.not_found' });
});

test('the delivery of a dead attempt can be decided once its run is over, but not while the attempt may be alive', async () => {
  const rowOf = async (run: string, at: number) => {
    const recipient = 'left@acme.example';
    const id = deliveryId(run, '0-email', recipient);
    await desk.ledger.open({ id, run, org: 'acme', report: 'weekly', target: '0-email', recipient }, at);
    await desk.ledger.begin(id, at);
    return id;
  };
  const over = await desk.ended('cancelled');
  const left = await rowOf(over.id, 2);
  expect(await desk.decisions.resolve(left, 'sent', WHO)).toMatchObject({ state: 'sent', decisions: [WHO] });
  for (const [state, at] of [
    ['running', 2],
    ['cancelled', Date.now()],
  ] as const) {
    const { id } = await desk.ended(state);
    const sending = await rowOf(id, at);
    await expect(desk.decisions.resolve(sending, 'resend', WHO)).rejects.toMatchObject({ got: 'sending' });
  }
  const waiting = await desk.ended('waiting');
  const row = await rowOf(waiting.id, 2);
  await desk.decisions.cancel(waiting.id, WHO);
  expect((await desk.decisions.list({ orgs: '*', state: 'unknown', limit: 500 })).map(({ id }) => id)).toContain(row);
});

test('a retry reopens refused and pending deliveries, and leaves unknown ones to a decision', async () => {
  const { id } = await desk.ended('partly_delivered', ['sent', 'refused', 'pending', 'unknown']);
  await desk.decisions.retry(id, WHO);
  expect(await states(id)).toEqual(['sent', 'pending', 'pending', 'unknown']);
  expect(await harness.runs.get(id)).toMatchObject({ state: 'queued', reopened: [{ what: 'retry', ...WHO }] });
  expect(await inLine(id)).toBe(true);

  const only = await desk.ended('partly_delivered', ['sent', 'unknown']);
  await expect(desk.decisions.retry(only.id, WHO)).rejects.toMatchObject({ code: 'run.conflict' });
});

test('a run for a period that has not begun is neither retried nor released', async () => {
  const period = { from: '2099-01-01', to: '2099-01-31', timezone: 'Europe/Zurich', label: '2099-01' };
  const failed = await desk.ended('failed', [], { period });
  await expect(desk.decisions.retry(failed.id, WHO)).rejects.toMatchObject({ code: 'period.not_begun' });
  const held = await desk.ended('held', [], { period });
  await expect(desk.decisions.release(held.id, WHO)).rejects.toMatchObject({ code: 'period.not_begun' });
});

test('a retry ends the wait of a waiting run, and is refused for a queued one', async () => {
  const order = anOrder();
  await harness.runs.open(order);
  await harness.queue.enqueue(order, 3_600_000);
  await harness.runs.update(order.id, { state: 'waiting', until: Date.now() + 3_600_000 });
  expect(await harness.queue.counts()).toMatchObject({ delayed: 1 });
  await expect(desk.decisions.retry(order.id, WHO)).resolves.toMatchObject({
    id: order.id,
    state: 'waiting',
    reopened: [{ what: 'retry', ...WHO }],
  });
  expect(await harness.queue.counts()).toMatchObject({ delayed: 0 });
  await expect(desk.decisions.retry(order.id, WHO)).rejects.toMatchObject({ code: 'run.conflict' });
});

test('a run that lacks only packs without recipients is not retried; its error points to split.to', async () => {
  const { id } = await desk.ended('partly_delivered', ['sent']);
  const held = { target: 'held:four-1234567890', recipient: 'four', state: 'refused', detail: 'Nobody is named' };
  await harness.runs.update(id, { deliveries: [held] });
  await expect(desk.decisions.retry(id, WHO)).rejects.toMatchObject({
    code: 'run.conflict',
    got: '1 held pack',
    next: expect.stringContaining('split.to'),
  });
  const mixed = await desk.ended('partly_delivered', ['sent', 'refused']);
  await harness.runs.update(mixed.id, { deliveries: [held] });
  await expect(desk.decisions.retry(mixed.id, WHO)).resolves.toMatchObject({ state: 'queued' });
});

test.each(['done', 'held', 'queued', 'running'] as const)('a run that is %s is not retried', async (state) => {
  const { id } = await desk.ended(state);
  await expect(desk.decisions.retry(id, WHO)).rejects.toMatchObject({ code: 'run.conflict', got: state });
});

test('a held run is released once; a run that is not held or delivers nothing cannot be released', async () => {
  const { id } = await desk.ended('held');
  expect(await desk.decisions.release(id, WHO)).toMatchObject({
    state: 'queued',
    reopened: [{ what: 'release', ...WHO }],
  });
  expect(desk.kept).toContain(`${id} released ops asked by phone`);
  await expect(desk.decisions.release(id, WHO)).rejects.toMatchObject({ code: 'run.conflict' });
  const silent = await desk.ended('held', [], { deliver: false });
  await expect(desk.decisions.release(silent.id, WHO)).rejects.toMatchObject({ code: 'run.conflict' });
});

test('deliveries are listed by visible organization, report, run and state', async () => {
  const own = await desk.ended('done', ['sent', 'sent'], { org: 'visible', report: 'one' });
  const other = await desk.ended('done', ['sent'], { org: 'visible', report: 'two' });
  const foreign = await desk.ended('partly_delivered', ['unknown'], { org: 'foreign' });
  const ids = async (filter: Partial<Parameters<DecisionHarness['decisions']['list']>[0]>) =>
    (await desk.decisions.list({ orgs: ['visible'], limit: 10, ...filter })).map(({ id }) => id).sort();
  expect(await ids({})).toEqual([...own.deliveries, ...other.deliveries].sort());
  expect(await ids({ report: 'two' })).toEqual(other.deliveries);
  expect(await ids({ run: own.id })).toEqual([...own.deliveries].sort());
  expect(await ids({ run: foreign.id })).toEqual([]);
  expect(await ids({ state: 'unknown' })).toEqual([]);
  expect(await ids({ orgs: ['foreign'], state: 'unknown' })).toEqual(foreign.deliveries);
});
