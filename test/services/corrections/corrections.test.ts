import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { DAY_MS } from '../../../src/base/time.ts';
import type { OrgSettings } from '../../../src/definitions/schema/org-settings.ts';
import type { Definition } from '../../../src/definitions/schema/report-definition.ts';
import { verifyArchive } from '../../../src/deliver/archive/verify/verify-archive.ts';
import type { Budget } from '../../../src/fetch/rate-limit/budget.ts';
import { parseFault } from '../../../src/sandbox/sandbox.ts';
import { nextCheckAt } from '../../../src/services/corrections/watch-index.ts';
import { findDeliveredInArchive } from '../../../src/services/runs/already-delivered.ts';
import { correctionsHarness, memoryWatchIndex } from '../../support/corrections-harness.ts';
import { definitionOf, type SectionInput } from '../../support/reports.ts';

const DAILY: SectionInput = { id: 'onboarding', metrics: ['profiles.created'], granularity: 'day', totals: true };

const report = (more: Partial<Definition> = {}, ...first: readonly SectionInput[]): Definition =>
  definitionOf(
    [
      ...first,
      { id: 'rate', metrics: ['profiles.approval_rate', 'profiles.created'], totals: true },
      // Current counts are never corrected.
      { id: 'queue', metrics: ['alerts.open'] },
    ],
    {
      period: 'previous_month',
      deliveries: [
        { email: { to: ['mlro@acme.example', 'board@acme.example', 'x@other.example'], attach: [] } },
        { email: { to: ['late@acme.example'], attach: [] }, send_if: 'profiles.created > 1000000' },
      ],
      corrections: { watch: 3 * 86_400, materiality: 0.02, on_correction: 'notify_owner' },
      ...more,
    },
  );

describe('the watch of a delivered edition', () => {
  test('finds material changes, and sends a corrected edition to those who received the first one', async () => {
    const harness = await correctionsHarness();
    const { sandbox, service, mail, orgs, settings } = harness;
    const first = await harness.deliver(report({}, DAILY));
    expect(mail.messages().map(({ to }) => to)).toEqual([['mlro@acme.example'], ['board@acme.example']]);

    // A day later nothing has changed.
    await harness.nextDay();
    expect([...(await harness.index.checks()).keys()]).toEqual([first.id]);
    expect(await service.list('*')).toEqual([]);

    // It also works after Redis was lost. A mail server that is down delays only the notice.
    sandbox.setFaults([parseFault('history=30')]);
    harness.frozen.clear();
    harness.index.lose();
    harness.clock.advance(DAY_MS);
    await harness.process({ notify: () => Promise.reject(new Error('no mail')) })();
    expect(await service.list('*')).toMatchObject([{ state: 'open', notified: false }]);
    expect([...(await harness.index.checks()).keys()]).toEqual([first.id]);
    await harness.round();
    const [found] = await service.list('*');
    expect(found).toMatchObject({ id: `${first.id}-1`, state: 'open', run: first });
    expect(harness.notified).toEqual([found?.id]);
    expect(found?.material).toBeGreaterThan(0);
    expect(new Set(found?.changes.map(({ section }) => section))).toEqual(new Set(['onboarding', 'rate']));
    const total = found?.changes.find(({ section, bucket }) => section === 'onboarding' && bucket === null);
    expect(total?.after).toBeGreaterThan(total?.before ?? Number.POSITIVE_INFINITY);

    // The same changes are not reported again.
    await harness.nextDay();
    expect(await service.list('*')).toHaveLength(1);
    expect(harness.notified).toHaveLength(1);

    // The board is no longer allowed. The others never received anything.
    orgs.set(settings.id, {
      ...settings,
      recipients: { domains: [], addresses: ['mlro@acme.example', 'late@acme.example'] },
    });
    const view = await service.find(found?.id.slice(0, 8).concat('-1') ?? '', ['acme']);
    expect(view?.recipients.map(({ recipient, receives }) => [recipient, receives])).toEqual([
      ['mlro@acme.example', true],
      ['board@acme.example', false],
    ]);
    expect(await service.find(found?.id ?? '', ['other'])).toBeUndefined();

    const sent = await service.send(found!, {
      by: 'anna',
      subject: 'https://id.example 7',
      reason: 'the register was late',
    });
    expect(sent.record).toMatchObject({
      corrects: first.id,
      slot: `correction:${first.id}:1`,
      by: 'anna',
      bySubject: 'https://id.example 7',
      state: 'queued',
    });
    expect((await service.send(found!, { by: 'eva', reason: 'again' })).record.id).toBe(sent.record.id);
    expect(harness.records.size).toBe(1);
    await expect(service.dismiss(found!, { by: 'eva', reason: 'no' })).rejects.toMatchObject({
      code: 'correction.conflict',
    });

    const { definition } = harness.frozen.get(sent.record.digest)!;
    const outcome = await harness.execute(sent.record, definition);
    expect(outcome.kind).toBe('done');
    expect(
      mail
        .messages()
        .map(({ to }) => to)
        .slice(2),
    ).toEqual([['mlro@acme.example']]);
    const published = await harness.archive.peek(sent.record);
    expect(published?.manifest.corrects).toMatchObject({ run: first.id, changes: expect.any(Number) });
    expect(published?.manifest.period).toEqual((await harness.archive.peek(first))?.manifest.period);
    const receipts = await harness.archive.getReceipts(published!);
    expect(receipts.map(({ recipient, state }) => [recipient, state])).toEqual([
      ['mlro@acme.example', 'sent'],
      ['board@acme.example', 'refused'],
      ['x@other.example', 'skipped'],
      ['late@acme.example', 'skipped'],
    ]);
  });

  test('ignores changes below the materiality, and withdraws a correction whose changes were taken back', async () => {
    const harness = await correctionsHarness();
    const { sandbox, service } = harness;
    await harness.deliver(
      report({ corrections: { watch: 10 * 86_400, materiality: 0.2, on_correction: 'notify_owner' } }),
    );
    sandbox.setFaults([parseFault('history=1')]);
    await harness.nextDay();
    expect(await service.list('*')).toEqual([]);
    sandbox.setFaults([parseFault('history=60')]);
    await harness.nextDay();
    const [found] = await service.list('*');
    expect(found?.state).toBe('open');
    sandbox.setFaults([]);
    await harness.nextDay();
    expect(await service.list('*')).toMatchObject([{ state: 'withdrawn' }]);
    await expect(service.send(found!, { by: 'anna', reason: 'late' })).rejects.toMatchObject({
      code: 'correction.conflict',
    });
    // A dismissed correction is not reported again, but other figures are.
    sandbox.setFaults([parseFault('history=60')]);
    await harness.nextDay();
    const [second] = await service.list('*');
    expect((await service.dismiss(second!, { by: 'anna', reason: 'known' })).state).toBe('dismissed');
    await harness.nextDay();
    expect((await service.list('*')).map(({ state }) => state)).toEqual(['dismissed', 'withdrawn']);
    sandbox.setFaults([parseFault('history=120')]);
    await harness.nextDay();
    expect((await service.list('*')).map(({ state }) => state)).toEqual(['open', 'dismissed', 'withdrawn']);
    expect(harness.queued).toEqual([]);
  });

  test('with on_correction: send sends a correction once, and then watches the corrected edition instead', async () => {
    const harness = await correctionsHarness();
    const { sandbox, service, mail } = harness;
    const first = await harness.deliver(
      report({ corrections: { watch: 10 * 86_400, materiality: 0.02, on_correction: 'send' } }),
    );
    sandbox.setFaults([parseFault('history=30')]);
    await harness.nextDay();
    expect(await service.list('*')).toMatchObject([{ state: 'sent', decision: { by: 'docket' } }]);
    const [id = ''] = harness.queued;
    // Redis lost the run's record, and the run is opened again.
    const order = harness.records.get(id)!;
    harness.records.clear();
    await harness.nextDay();
    expect(harness.records.get(id)).toMatchObject({ corrects: first.id, period: order.period });
    await harness.execute(
      order,
      report({ corrections: { watch: 10 * 86_400, materiality: 0.02, on_correction: 'send' } }),
    );
    expect(mail.messages()).toHaveLength(4);
    sandbox.setFaults([parseFault('history=80')]);
    await harness.nextDay(2);
    await harness.nextDay(2);
    const all = await service.list('*');
    expect(all.map(({ run, state }) => [run.id, state])).toEqual([
      [id, 'sent'],
      [first.id, 'sent'],
    ]);
    expect(harness.notified).toEqual([]);
  });

  test('with approval sends the approved correction only to first recipients who are still allowed', async () => {
    const harness = await correctionsHarness();
    const { sandbox, service, mail, orgs, settings } = harness;
    const approval = { by: ['eva'], need: 1, four_eyes: true, otherwise: 'hold' as const };
    const definition = report({ approval });
    const first = await harness.deliver(definition);
    expect(mail.messages()).toHaveLength(2);
    sandbox.setFaults([parseFault('history=30')]);
    await harness.nextDay();
    const [found] = await service.list('*');
    // Only Eva may approve, and who sends a correction may not approve it. Nothing is decided.
    await expect(service.send(found!, { by: 'eva', reason: 'late' })).rejects.toMatchObject({
      code: 'approval.unreachable',
    });
    expect(await service.list('*')).toMatchObject([{ state: 'open' }]);
    const { record } = await service.send(found!, { by: 'anna', reason: 'late' });
    const waiting = await harness.execute(record, definition);
    expect(waiting).toMatchObject({ kind: 'done', value: { state: 'awaiting_approval' } });
    expect((await service.send(found!, { by: 'eva', reason: 'again' })).record.id).toBe(record.id);
    // Meanwhile the allow-list loses the board, and gains an address that got nothing.
    orgs.set(settings.id, {
      ...settings,
      recipients: { domains: ['other.example'], addresses: ['mlro@acme.example', 'late@acme.example'] },
    });
    expect(await harness.execute(record, definition)).toMatchObject({ value: { state: 'awaiting_approval' } });
    expect(mail.messages()).toHaveLength(2);
    // The check for delivered periods finds the edition that was sent, not the waiting one.
    const delivered = findDeliveredInArchive(harness.storage, silentLog);
    const { org, report: name, period } = record;
    expect(await delivered({ org, report: name, period })).toMatchObject({ run: first.id, sent: { email: 2 } });
    expect((await harness.approve(record, definition)).kind).toBe('done');
    expect(await delivered({ org, report: name, period })).toMatchObject({ run: record.id, sent: { email: 1 } });
    expect(mail.messages().flatMap(({ to }) => to)).toEqual([
      'mlro@acme.example',
      'board@acme.example',
      'mlro@acme.example',
    ]);
    const published = await harness.archive.peek(record);
    expect(published?.manifest).toMatchObject({
      corrects: { run: first.id },
      review: { approved_by: [{ person: 'eva' }] },
    });
    await harness.execute(record, definition);
    expect(mail.messages()).toHaveLength(3);
    // The archive has everything that was frozen and decided, unchanged.
    const storage = harness.storage;
    for await (const { findings } of verifyArchive(storage, { now: harness.clock.now() })) expect(findings).toEqual([]);
  });

  test('does not reopen a correction that ended unsent after its record was lost, and leaves new findings to people', async () => {
    const harness = await correctionsHarness();
    const { sandbox, service, mail } = harness;
    const definition = report({ corrections: { watch: 20 * 86_400, materiality: 0.02, on_correction: 'send' } });
    await harness.deliver(definition);
    sandbox.setFaults([parseFault('history=30')]);
    await harness.nextDay();
    const [id = ''] = harness.queued;
    const order = harness.records.get(id)!;
    // Meanwhile the service has taken the change back.
    sandbox.setFaults([]);
    expect((await harness.execute(order, definition)).kind).toBe('done');
    expect(mail.messages()).toHaveLength(2);
    harness.records.set(id, { ...order, state: 'done' });
    await harness.nextDay();
    expect(await service.list('*')).toMatchObject([{ state: 'sent', ended: true }]);
    harness.records.clear();
    harness.index.lose();
    sandbox.setFaults([parseFault('history=60')]);
    await harness.nextDay();
    expect((await service.list('*')).map(({ state }) => state)).toEqual(['open', 'sent']);
    expect(harness.notified).toHaveLength(1);
    expect(harness.records.size).toBe(0);
    expect(mail.messages()).toHaveLength(2);
  });

  test('finds and sends a correction once, even if processes lose their claims or die before the decision', async () => {
    const harness = await correctionsHarness();
    const { sandbox, service, mail } = harness;
    const definition = report({ corrections: { watch: 10 * 86_400, materiality: 0.02, on_correction: 'send' } });
    const first = await harness.deliver(definition);
    sandbox.setFaults([parseFault('history=30')]);
    harness.clock.advance(DAY_MS);
    const dying = { ...service, send: () => Promise.reject(new Error('killed')) };
    const alone = (change: object = {}) => harness.process({ index: memoryWatchIndex(), ...change })();
    await Promise.all([alone({ service: dying }), alone({ service: dying })]);
    expect((await harness.corrections.events(first)).map(({ type }) => type)).toEqual(['found']);
    await Promise.all([alone(), alone()]);
    await alone();
    expect((await harness.corrections.events(first)).map(({ type }) => type)).toEqual(['found', 'sent']);
    expect(new Set(harness.queued).size).toBe(1);
    const [order] = harness.records.values();
    await harness.execute(order!, definition);
    await harness.execute(order!, definition);
    expect(mail.messages()).toHaveLength(4);
  });

  test('uses the newest figures for a correction, whatever max_age allows', async () => {
    const harness = await correctionsHarness();
    const { sandbox, service } = harness;
    const definition = report({ max_age: 86_400 });
    await harness.deliver(definition);
    harness.clock.advance(DAY_MS);
    // Another report makes the same call just before the service changes the figures.
    await harness.deliver(report({ report: 'other', max_age: 86_400, corrections: undefined }));
    sandbox.setFaults([parseFault('history=30')]);
    await harness.round();
    const [found] = await service.list('*');
    const { record } = await service.send(found!, { by: 'anna', reason: 'late' });
    await harness.execute(record, definition);
    const published = await harness.archive.peek(record);
    expect(published?.manifest.corrects?.changes).toBeGreaterThan(0);
  });

  test('needs no call for an edition without correctable figures', async () => {
    const harness = await correctionsHarness();
    const { corrections, deliveries } = report();
    const first = await harness.deliver(
      definitionOf([{ id: 'queue', metrics: ['alerts.open'] }], { corrections, deliveries }),
    );
    const budgets: string[] = [];
    const buildCheckPorts = async (settings: OrgSettings) => {
      const ports = await harness.inline.buildRunPorts(settings);
      const acquire: Budget['acquire'] = (request) => {
        budgets.push(request.id);
        return ports.budget.acquire(request);
      };
      return { ...ports, budget: { ...ports.budget, acquire } };
    };
    harness.clock.advance(DAY_MS);
    await harness.process({ buildCheckPorts })();
    expect([...(await harness.index.checks()).keys()]).toEqual([first.id]);
    expect(budgets).toEqual([]);
  });

  test('sends nothing and makes no call for a run that nobody decided to send as a correction', async () => {
    const harness = await correctionsHarness();
    const first = await harness.deliver(report());
    const record = { ...(await harness.service.list('*')), ...first };
    const outcome = await harness.execute(
      {
        ...record,
        id: 'f'.repeat(32),
        slot: `correction:${first.id}:1`,
        trigger: 'on_demand',
        priority: 'on_demand',
        period: { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: '2026-10' },
        digest: 'd'.repeat(64),
        deliver: true,
        createdAt: harness.clock.now(),
        corrects: first.id,
      },
      report(),
    );
    expect(outcome).toMatchObject({ kind: 'fail', error: { code: 'correction.not_found' } });
    expect(harness.mail.messages()).toHaveLength(2);
  });
});

test('an edition is checked once a day and at the end of its watch', () => {
  const times = (checkedAt?: number) => ({ deliveredAt: 0, watch: 2.5 * 86_400, checkedAt });
  expect(nextCheckAt(times(), 0)).toBe(DAY_MS);
  expect(nextCheckAt(times(DAY_MS), 0)).toBe(2 * DAY_MS);
  expect(nextCheckAt(times(2 * DAY_MS + 5), 0)).toBe(2.5 * DAY_MS);
  expect(nextCheckAt(times(2.5 * DAY_MS), 0)).toBeUndefined();
  // No process ran for weeks.
  expect(nextCheckAt(times(), 9 * DAY_MS)).toBe(DAY_MS);
  expect(nextCheckAt(times(), 10 * DAY_MS)).toBeUndefined();
});
