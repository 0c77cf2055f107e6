import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { redisSelections } from '../../../src/queue/runs/selections.ts';
import type { AuditEntry } from '../../../src/services/audit-log.ts';
import {
  createSelectionService,
  type SelectionService,
} from '../../../src/services/selections/create-selection-service.ts';
import type { SelectionView } from '../../../src/services/selections/selection-service.ts';
import { type DecisionHarness, decisionHarness, NO_AUDIT } from '../../support/decision-harness.ts';
import { anOrder, openQueueHarness, type QueueHarness, randomPrefix } from '../../support/queue-harness.ts';

const WHO = { by: 'ops', reason: 'queued by mistake' };

/** A process with its own connections and services. */
interface Desk extends DecisionHarness {
  readonly bench: QueueHarness;
  readonly selections: SelectionService;
  readonly audited: AuditEntry[];
}

async function openDesk(prefix: string): Promise<Desk> {
  const bench = await openQueueHarness(systemClock, prefix);
  const audited: AuditEntry[] = [];
  const audit = { ...NO_AUDIT, record: async (entry: AuditEntry) => void audited.push(entry) };
  const desk = decisionHarness(bench, { audit });
  const ports = { runs: bench.runs, ledger: desk.ledger, redis: bench.producer, prefix, clock: systemClock };
  const selections = createSelectionService(ports, desk.decisions);
  return { ...desk, bench, selections, audited };
}

const prefix = randomPrefix();
let one: Desk;
let other: Desk;
beforeAll(async () => {
  [one, other] = await Promise.all([openDesk(prefix), openDesk(prefix)]);
});
afterAll(() => Promise.all([one.bench.close(), other.bench.close()]));

const report = (): string => `r-${Math.random().toString(36).slice(2, 10)}`;
const resultsOf = ({ items, outcomes }: SelectionView) => items.map(({ id }) => outcomes.get(id)?.result ?? null);
const queued = async (count: number, order: Parameters<typeof anOrder>[0] = {}): Promise<string[]> => {
  const ids: string[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const { id } = await one.ended('queued', [], order);
    await one.bench.runs.update(id, { finishedAt: null });
    ids.push(id);
  }
  return ids;
};

test('a preview changes nothing and lists the affected runs; a decision changes exactly these', async () => {
  const name = report();
  const ids = await queued(3, { report: name });
  const preview = await one.selections.preview({ action: 'cancel', filter: { org: 'acme', report: name } }, '*');
  expect(preview.items.map(({ id }) => id).sort()).toEqual([...ids].sort());
  expect(preview.digest).toMatch(/^[0-9a-f]{64}$/);
  expect((await one.bench.runs.get(ids[0] ?? ''))?.cancel).toBeNull();

  // This run matches the filter, but was not in the preview.
  const [later = ''] = await queued(1, { report: name });
  const decided = await one.selections.decide(preview.digest, WHO, '*');

  expect(resultsOf(decided)).toEqual(['decided', 'decided', 'decided']);
  for (const id of ids) expect(await one.bench.runs.get(id)).toMatchObject({ state: 'cancelled', cancel: WHO });
  expect(await one.bench.runs.get(later)).toMatchObject({ state: 'queued', cancel: null });
});

test('a run that has changed since the preview is not decided, and listed as changed', async () => {
  const [first = '', second = ''] = await queued(2);
  const preview = await one.selections.preview({ action: 'cancel', ids: [first, second] }, '*');
  await one.bench.runs.update(first, { state: 'done', finishedAt: 5 });
  const decided = await one.selections.decide(preview.digest, WHO, '*');
  expect(decided.outcomes.get(first)).toEqual({
    result: 'changed',
    why: 'It has changed since the preview: now done.',
  });
  expect(decided.outcomes.get(second)?.result).toBe('decided');
  expect(await one.bench.runs.get(first)).toMatchObject({ state: 'done', cancel: null });
});

test('two processes that decide about the same selection carry out each decision once', async () => {
  const ended = await Promise.all(Array.from({ length: 12 }, () => one.ended('partly_delivered', ['sent', 'refused'])));
  const ids = ended.map(({ id }) => id);
  const { digest } = await one.selections.preview({ action: 'retry', ids }, '*');
  const before = one.audited.length + other.audited.length;
  const both = await Promise.allSettled([
    one.selections.decide(digest, WHO, '*'),
    other.selections.decide(digest, WHO, '*'),
  ]);
  // The second process may be asked to try again, and then gets the same result.
  for (const each of both)
    if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'selection.conflict', retryable: true });
  expect(both.map(({ status }) => status)).toContain('fulfilled');
  const again = await other.selections.decide(digest, WHO, '*');
  expect(new Set(resultsOf(again))).toEqual(new Set(['decided']));
  for (const { id } of ended) {
    const record = await one.bench.runs.get(id);
    expect(record?.reopened).toMatchObject([{ what: 'retry', ...WHO }]);
    const rows = await one.ledger.list(id);
    expect(rows.map(({ state, decisions }) => [state, decisions.length])).toEqual([
      ['sent', 0],
      ['pending', 1],
    ]);
  }
  expect(one.audited.length + other.audited.length - before).toBe(12);
});

test('two previews of the same runs in two processes retry each run once, and list the others as changed', async () => {
  const ended = await Promise.all(Array.from({ length: 8 }, () => one.ended('failed', ['refused'])));
  const ids = ended.map(({ id }) => id);
  const [mine, theirs] = await Promise.all([
    one.selections.preview({ action: 'retry', ids }, '*'),
    other.selections.preview({ action: 'retry', ids }, '*'),
  ]);
  const [a, b] = await Promise.all([
    one.selections.decide(mine.digest, { by: 'anna', reason: 'mail is back' }, '*'),
    other.selections.decide(theirs.digest, { by: 'ben', reason: 'relay repaired' }, '*'),
  ]);
  for (const id of ids) {
    const record = await one.bench.runs.get(id);
    expect(record?.reopened).toHaveLength(1);
    expect(record?.state).toBe('queued');
  }
  const results = ids.map((id) => [a.outcomes.get(id)?.result, b.outcomes.get(id)?.result]);
  for (const pair of results) expect(pair.filter((result) => result === 'decided').length).toBeLessThanOrEqual(1);
  expect(results.flat().every((result) => result === 'decided' || result === 'changed')).toBe(true);
});

test('an interrupted decision continues where it stopped, and repeats nothing', async () => {
  const { id } = await one.ended('partly_delivered', ['sent', 'refused']);
  const { digest } = await one.selections.preview({ action: 'retry', ids: [id] }, '*');
  // A process has made the decision, and died before it recorded the result.
  await redisSelections(one.bench.producer, { prefix }).decide(digest, WHO);
  await one.decisions.retry(id, WHO);
  const decided = await other.selections.decide(digest, WHO, '*');
  expect(resultsOf(decided)).toEqual(['decided']);
  expect((await one.bench.runs.get(id))?.reopened).toHaveLength(1);
});

test('a second decision about a selection is refused; another person or reason needs a new preview', async () => {
  const [id = ''] = await queued(1);
  const { digest } = await one.selections.preview({ action: 'cancel', ids: [id] }, '*');
  await one.selections.decide(digest, WHO, '*');
  await expect(other.selections.decide(digest, { by: 'ben', reason: 'me too' }, '*')).rejects.toMatchObject({
    code: 'selection.conflict',
  });
});

test('runs of another organization are neither selected, shown nor decided', async () => {
  const [mine = ''] = await queued(1, { org: 'acme' });
  const [theirs = ''] = await queued(1, { org: 'globex' });
  const preview = await one.selections.preview({ action: 'cancel', ids: [mine, theirs] }, ['acme']);
  expect(preview.items.map(({ id }) => id)).toEqual([mine]);
  expect(preview.skipped).toEqual([{ id: theirs, why: 'There is no record of it.' }]);
  const filtered = await one.selections.preview({ action: 'cancel', filter: { states: ['queued'] } }, ['acme']);
  expect(new Set(filtered.items.map(({ org }) => org))).toEqual(new Set(['acme']));

  const foreign = await one.selections.preview({ action: 'cancel', ids: [theirs] }, '*');
  const missing = { code: 'selection.not_found' };
  await expect(one.selections.find(foreign.digest, ['acme'])).rejects.toMatchObject(missing);
  await expect(one.selections.decide(foreign.digest, WHO, ['acme'])).rejects.toMatchObject(missing);
  expect((await one.bench.runs.get(theirs))?.cancel).toBeNull();
});

test('a selection has at most 500 runs; 501 are refused', async () => {
  const ids = Array.from({ length: 501 }, (_, nth) => nth.toString(16).padStart(32, '0'));
  await expect(one.selections.preview({ action: 'cancel', ids }, '*')).rejects.toMatchObject({
    code: 'usage.invalid',
    got: '501',
  });
  const name = report();
  await Promise.all(ids.map((id) => one.bench.runs.open(anOrder({ id: `f${id.slice(1)}`, report: name }))));
  const filter = { org: 'acme', report: name };
  await expect(one.selections.preview({ action: 'cancel', filter }, '*')).rejects.toMatchObject({
    code: 'usage.invalid',
    got: 'more than 500',
  });
  await one.bench.runs.update(`f${(ids[0] ?? '').slice(1)}`, { state: 'done' });
  expect((await one.selections.preview({ action: 'cancel', filter }, '*')).items).toHaveLength(500);
});

test('a filter without a condition is refused', async () => {
  await expect(one.selections.preview({ action: 'cancel', filter: {} }, '*')).rejects.toMatchObject({
    code: 'usage.invalid',
  });
});

test('only refused deliveries can be sent again together, never unknown or sent ones', async () => {
  const { id, deliveries } = await one.ended('partly_delivered', ['sent', 'unknown', 'refused', 'refused']);
  const [sent = '', unknown = '', refused = '', turned = ''] = deliveries;
  const preview = await one.selections.preview({ action: 'resend', ids: deliveries }, '*');
  expect(preview.items.map((item) => item.id)).toEqual([refused, turned]);
  expect(preview.skipped.map((item) => item.id)).toEqual([sent, unknown]);
  // Meanwhile one of them is sent again, and its result is lost.
  await one.decisions.resolve(turned, 'resend', { by: 'ben', reason: 'she asked' });
  const epoch = await one.ledger.begin(turned, 9);
  await one.ledger.settle(turned, epoch ?? 0, 'unknown', 'connection broke', 10);

  const decided = await one.selections.decide(preview.digest, WHO, '*');

  expect([decided.outcomes.get(refused)?.result, decided.outcomes.get(turned)?.result]).toEqual(['decided', 'changed']);
  expect((await one.ledger.list(id)).map(({ state }) => state)).toEqual(['sent', 'unknown', 'pending', 'unknown']);
});

test('unknown deliveries can be marked as sent together, by recipient, and nothing is sent', async () => {
  const name = report();
  const first = await one.ended('partly_delivered', ['sent', 'unknown'], { report: name });
  const second = await one.ended('partly_delivered', ['unknown', 'unknown'], { report: name });
  const filter = { org: 'acme', report: name, recipients: ['acme/r1@acme.example'] };
  const preview = await one.selections.preview({ action: 'sent', filter }, '*');
  expect(preview.items.map(({ id, recipient }) => [id, recipient]).sort()).toEqual(
    [first.deliveries[1], second.deliveries[1]].map((id) => [id, 'r1@acme.example']).sort(),
  );
  await one.selections.decide(preview.digest, WHO, '*');
  expect((await one.ledger.list(first.id)).map(({ state }) => state)).toEqual(['sent', 'sent']);
  expect((await one.ledger.list(second.id)).map(({ state }) => state)).toEqual(['unknown', 'sent']);
});

test('runs with a review are never released together, and cancelled runs are retried only if the filter names their state', async () => {
  const held = await one.ended('held');
  const reviewed = await one.ended('held');
  await one.bench.runs.update(reviewed.id, { review: { seq: 1, phase: 'incomplete', content: null } });
  const waiting = await one.ended('awaiting_approval');
  const preview = await one.selections.preview({ action: 'release', ids: [held.id, reviewed.id, waiting.id] }, '*');
  expect(preview.items.map(({ id }) => id)).toEqual([held.id]);
  expect(preview.skipped.map(({ id }) => id)).toEqual([reviewed.id, waiting.id]);

  const name = report();
  const cancelled = await one.ended('cancelled', [], { report: name });
  const filter = { org: 'acme', report: name };
  expect((await one.selections.preview({ action: 'retry', filter }, '*')).items).toEqual([]);
  const named = await one.selections.preview({ action: 'retry', filter: { ...filter, states: ['cancelled'] } }, '*');
  expect(named.items.map(({ id }) => id)).toEqual([cancelled.id]);
});

test('a release without its files is refused, and the others are sent', async () => {
  const fine = await one.ended('held');
  const broken = await one.ended('held');
  one.gone.add(broken.id);
  const { digest } = await one.selections.preview({ action: 'release', ids: [fine.id, broken.id] }, '*');
  const decided = await one.selections.decide(digest, WHO, '*');
  expect(decided.outcomes.get(fine.id)?.result).toBe('decided');
  expect(decided.outcomes.get(broken.id)).toMatchObject({
    result: 'refused',
    why: `The files of run ${broken.id} are not in the archive.`,
  });
});
