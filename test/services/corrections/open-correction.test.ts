import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sha256 } from '../../../src/base/sha256.ts';
import type { Definition } from '../../../src/definitions/schema/report-definition.ts';
import { deliveryId } from '../../../src/deliver/ledger/ledger.ts';
import { parseFault } from '../../../src/sandbox/sandbox.ts';
import { createCorrectionService } from '../../../src/services/corrections/correction-service.ts';
import { correctionsHarness } from '../../support/corrections-harness.ts';
import { definitionOf } from '../../support/reports.ts';

const report = (more: Partial<Definition> = {}): Definition =>
  definitionOf([{ id: 'rate', metrics: ['profiles.approval_rate', 'profiles.created'], totals: true }], {
    period: 'previous_month',
    deliveries: [{ email: { to: ['mlro@acme.example', 'board@acme.example', 'x@other.example'], attach: ['csv'] } }],
    ...more,
  });
const WATCHED = { corrections: { watch: 30 * 86_400, materiality: 0.02, on_correction: 'notify_owner' as const } };
const ANNA = { by: 'anna', subject: 'https://id.example 7' };
interface Sent {
  readonly to: string | undefined;
  readonly subject: string;
  /** The message, with soft line breaks removed. */
  readonly text: string;
}
async function sentMail({ mail }: Awaited<ReturnType<typeof correctionsHarness>>, after = 0): Promise<Sent[]> {
  return Promise.all(
    mail
      .messages()
      .slice(after)
      .map(async ({ to, path }) => {
        const text = (await readFile(path, 'utf8')).replace(/=\r?\n/g, '');
        return { to: to[0], subject: /^Subject: (.*(?:\r?\n .*)*)/m.exec(text)?.[1] ?? '', text };
      }),
  );
}
const isDone = (outcome: { readonly kind: string }) => expect(outcome.kind, JSON.stringify(outcome)).toBe('done');
const REASON = 'page 3 had the figures of another team.';

test('a repeated run says so in its subject, its mail and its manifest, and keeps its file names', async () => {
  const harness = await correctionsHarness();
  const definition = report();
  const first = await harness.deliver(definition);
  const order = { ...(await harness.orderOf(definition, '2026-11-23T08:00:00.000Z')), again: true as const };
  isDone(
    await harness.execute(
      { ...order, repeats: [{ run: first.id, at: Date.parse('2026-11-03T09:56:00Z') }] },
      definition,
    ),
  );
  const [one, , again] = await sentMail(harness);
  expect(again?.subject).toBe(`Repeated copy: ${one?.subject}`);
  expect(again?.text).toContain('Repeated copy, after the delivery of 3 November 2026');
  expect(one?.text).not.toContain('Repeated copy');
  const names = (text = '') => text.match(/filename="?[^"\r\n]+/g);
  expect(names(again?.text)).toEqual(names(one?.text));
  expect((await harness.archive.peek(order))?.manifest.repeats).toMatchObject({ run: first.id });
});

test.each([
  [false, 'partly_delivered', 'is refused, and the first file stays'],
  [true, 'done', 'replaces the first file'],
])('a repeated workbook in the same folder with overwrite: %s ends %s: it %s', async (overwrite, state) => {
  const harness = await correctionsHarness();
  const deliveries = [
    { email: { to: ['mlro@acme.example'], attach: ['xlsx'] } },
    { directory: { path: 'out', overwrite } },
  ];
  const definition = report({ deliveries, outputs: [{ format: 'xlsx' }] } as Partial<Definition>);
  const first = await harness.deliver(definition);
  const order = await harness.orderOf(definition, '2026-11-23T08:00:00.000Z');
  const repeats = [{ run: first.id, at: Date.parse('2026-11-03T09:56:00Z') }];
  expect(await harness.execute({ ...order, repeats }, definition)).toMatchObject({ value: { state } });
  const out = join(harness.deployment.workingDirectory ?? '', 'out');
  const names = (await readdir(out, { recursive: true })).filter((name) => name.endsWith('.xlsx'));
  expect(names).toHaveLength(1);
  const kept = overwrite ? order : first;
  const published = (await harness.archive.peek(kept))?.manifest.files.find(({ format }) => format === 'xlsx');
  expect(sha256(await readFile(join(out, names[0] ?? '')))).toBe(published?.sha256);
});

test('a run that was approved with `again` is marked as a repeated copy', async () => {
  const harness = await correctionsHarness();
  const approval = { by: ['eva'], need: 1, four_eyes: true, otherwise: 'hold' as const };
  const definition = report({ approval });
  const order = await harness.orderOf(definition);
  expect(await harness.execute(order, definition)).toMatchObject({ value: { state: 'awaiting_approval' } });
  const repeats = [{ run: 'f'.repeat(32), at: Date.parse('2026-11-03T09:56:00Z') }];
  isDone(await harness.approve(order, definition, undefined, { again: true, repeats }));
  for (const { subject, text } of await sentMail(harness)) {
    expect(subject).toMatch(/^Repeated copy: /);
    expect(text).toContain('Repeated copy, after the delivery of 3 November 2026');
  }
  expect((await harness.archive.peek(order))?.manifest).toMatchObject({ repeats: { run: 'f'.repeat(32) }, review: {} });
});

describe('a correction that a person opens', () => {
  test('goes marked to those who received the edition, unmarked to those whose delivery it withdrew, and to nobody else', async () => {
    const harness = await correctionsHarness();
    const { service, mail, ledger, orgs, settings } = harness;
    const first = await harness.deliver(report());
    const rowOf = (recipient: string) => deliveryId(first.id, '0-email', recipient);
    expect((await ledger.list(first.id)).map(({ state }) => state)).toEqual(['sent', 'sent', 'refused']);
    // The address is allowed now, and the new definition names one more.
    orgs.set(settings.id, { ...settings, recipients: { domains: ['acme.example', 'other.example'], addresses: [] } });
    const changed = report({
      title: 'The right title',
      deliveries: [{ email: { to: ['new@acme.example', 'mlro@acme.example', 'x@other.example'], attach: ['csv'] } }],
    });
    const definition = { definition: { ...changed, digest: 'e'.repeat(64) }, settings };
    const opened = await service.open(first, { reason: REASON, comment: 'Ask **Eva**.', definition }, ANNA);
    expect(opened.record).toMatchObject({
      corrects: first.id,
      by: 'anna',
      bySubject: ANNA.subject,
      digest: definition.definition.digest,
      state: 'queued',
    });
    expect(opened.correction).toMatchObject({ id: `${first.id}-1`, state: 'sent', byHand: { redefined: true } });
    expect(
      opened.correction.recipients.map(({ recipient, receives, marked }) => [recipient, receives, marked]),
    ).toEqual([
      ['mlro@acme.example', true, true],
      ['board@acme.example', true, true],
      ['x@other.example', true, false],
      ['new@acme.example', false, false],
    ]);
    expect(await ledger.find(rowOf('x@other.example'))).toMatchObject({ state: 'withdrawn' });
    // The same request completes an interrupted one. Another request has to wait for its run.
    const request = { reason: REASON, comment: 'Ask **Eva**.', definition };
    expect((await service.open(first, request, ANNA)).record.id).toBe(opened.record.id);
    for (const other of [
      { reason: 'again' },
      { ...request, definition: undefined },
      { ...request, comment: 'Ask Eve.' },
    ])
      await expect(service.open(first, other, ANNA)).rejects.toMatchObject({ code: 'correction.conflict' });
    await expect(service.open(first, request, { by: 'bob' })).rejects.toMatchObject({ code: 'correction.conflict' });

    // After Redis was lost, the archive still has the definition.
    harness.frozen.clear();
    harness.records.clear();
    const order = await service.reopen(opened.correction);
    expect(order.id).toBe(opened.record.id);
    isDone(await harness.execute(order, definition.definition));
    const sent = await sentMail(harness, 2);
    expect(sent.map(({ to, subject }) => [to, /^Corrected, edition 2: /.test(subject)])).toEqual([
      ['mlro@acme.example', true],
      ['board@acme.example', true],
      ['x@other.example', false],
    ]);
    for (const [index, { text }] of sent.entries()) {
      expect(/replaces the edition of/.test(text)).toBe(index < 2);
      expect(/page 3 had the figures of another team/.test(text)).toBe(index < 2);
      expect(text).toMatch(/Eva/);
      expect(text).toMatch(/The right title/);
      expect(text.match(/^Content-Disposition: attachment/gm)).toHaveLength(1);
    }
    const published = await harness.archive.peek(order);
    const receipts = await harness.archive.getReceipts(published!);
    expect(receipts.map(({ recipient, state }) => [recipient, state]).sort()).toEqual([
      ['board@acme.example', 'sent'],
      ['mlro@acme.example', 'sent'],
      ['new@acme.example', 'skipped'],
      ['x@other.example', 'sent'],
    ]);
    // Neither a repeated attempt nor the replaced run sends anything.
    await harness.execute(order, definition.definition);
    await harness.execute({ ...order, ...first, corrects: undefined } as never, report());
    expect(mail.messages()).toHaveLength(5);
    // The next correction corrects the edition that was delivered last.
    await expect(service.open(first, { reason: 'again' }, ANNA)).rejects.toMatchObject({
      next: expect.stringContaining(order.id),
    });
    const second = await service.open({ ...first, id: order.id }, { reason: 'third time' }, ANNA);
    await harness.execute(second.record, definition.definition);
    expect((await sentMail(harness, 5)).map(({ subject }) => subject.slice(0, 20))).toEqual(
      Array(3).fill('Corrected, edition 3'),
    );
  });

  test('lists the changes if the figures were stored, and replaces a waiting correction', async () => {
    const harness = await correctionsHarness();
    const { service, sandbox } = harness;
    const definition = report(WATCHED);
    const first = await harness.deliver(definition);
    sandbox.setFaults([parseFault('history=30')]);
    await harness.nextDay();
    expect(await service.list('*')).toMatchObject([{ number: 1, state: 'open' }]);
    const { record } = await service.open(first, { reason: REASON }, ANNA);
    expect((await service.list('*')).map(({ number, state }) => [number, state])).toEqual([
      [2, 'sent'],
      [1, 'replaced'],
    ]);
    await harness.nextDay();
    expect(await service.list('*')).toHaveLength(2);
    await harness.execute(record, definition);
    const published = await harness.archive.peek(record);
    expect(published?.manifest.corrects).toMatchObject({ edition: 2, automatic: 0, changes: expect.any(Number) });
    expect(published?.manifest.corrects?.changes).toBeGreaterThan(0);
    expect((await sentMail(harness)).at(-1)?.text).toMatch(/figures? changed/);
  });

  test.each([
    { kept: 'were kept', more: WATCHED, says: true },
    { kept: 'were not kept', more: {}, says: false },
  ])('says that no figure changed if its figures $kept: $says', async ({ more, says }) => {
    const harness = await correctionsHarness();
    const definition = report(more);
    const first = await harness.deliver(definition);
    const { record } = await harness.service.open(first, { reason: 'A footnote was wrong.' }, ANNA);
    isDone(await harness.execute(record, definition));
    for (const { text } of await sentMail(harness, 2)) {
      expect(text).toContain('A footnote was wrong');
      expect(text.includes('No figure that can be compared has changed')).toBe(says);
    }
  });

  test('waits for messages of the edition that are being sent, and stops those not started', async () => {
    const harness = await correctionsHarness();
    const { service, ledger, mail, clock } = harness;
    const definition = report();
    const first = await harness.deliver(definition);
    const row = (name: string) => ({
      ...first,
      id: deliveryId(first.id, '0-email', `${name}@acme.example`),
      run: first.id,
      target: '0-email',
      recipient: `${name}@acme.example`,
    });
    for (const name of ['slow', 'dead', 'waiting']) await ledger.open(row(name), clock.now());
    for (const name of ['slow', 'dead']) await ledger.begin(row(name).id, clock.now());
    const { record } = await service.open(first, { reason: REASON }, ANNA);
    expect(await ledger.begin(row('waiting').id, clock.now())).toBeUndefined();
    expect(await harness.execute(record, definition)).toMatchObject({ kind: 'snooze' });
    expect(mail.messages()).toHaveLength(2);
    // One message ends. The other never reports a result.
    await ledger.settle(row('slow').id, 1, 'pending', '450', clock.now());
    clock.advance(11 * 60_000);
    isDone(await harness.execute(record, definition));
    expect((await sentMail(harness, 2)).map(({ to, subject }) => [to, subject.startsWith('Corrected')])).toEqual([
      ['mlro@acme.example', true],
      ['board@acme.example', true],
      ['dead@acme.example', true],
      ['slow@acme.example', false],
      ['waiting@acme.example', false],
    ]);
  });

  test('needs approval again, and cannot be replaced by a definition without approval', async () => {
    const harness = await correctionsHarness();
    const { service, mail, ledger } = harness;
    const approval = { by: ['eva'], need: 1, four_eyes: true, otherwise: 'hold' as const };
    const definition = report({ approval });
    const first = await harness.deliver(definition);
    await expect(service.open(first, { reason: REASON }, { by: 'eva' })).rejects.toMatchObject({
      code: 'approval.unreachable',
    });
    expect(await ledger.isWithdrawn(first.id)).toBe(false);
    const { record } = await service.open(first, { reason: REASON, comment: 'Read it.' }, ANNA);
    expect(await harness.execute(record, definition)).toMatchObject({ value: { state: 'awaiting_approval' } });
    expect(mail.messages()).toHaveLength(2);
    isDone(await harness.approve(record, definition));
    expect(
      mail
        .messages()
        .slice(2)
        .map(({ to }) => to[0]),
    ).toEqual(['mlro@acme.example', 'board@acme.example']);
    const published = await harness.archive.peek(record);
    expect(published?.manifest.unmarked?.manifest).toMatchObject({
      review: { approved_by: [{ person: 'eva' }] },
      corrects: { run: first.id },
    });
    expect((await sentMail(harness)).at(-1)?.text).toMatch(/Read it/);
    // A definition without approval cannot correct it.
    const unapproved = { definition: report(), settings: harness.settings };
    await expect(service.open(record, { reason: REASON, definition: unapproved }, ANNA)).rejects.toMatchObject({
      code: 'correction.conflict',
    });
  });

  test('is opened once by two people at the same time, and refused to the second one', async () => {
    const harness = await correctionsHarness();
    const { service } = harness;
    const definition = report();
    const first = await harness.deliver(definition);
    const opened = await Promise.allSettled([
      service.open(first, { reason: 'one' }, ANNA),
      service.open(first, { reason: 'two' }, { by: 'bob' }),
      service.open(first, { reason: 'one' }, ANNA),
    ]);
    const runs = new Set(opened.flatMap((each) => (each.status === 'fulfilled' ? each.value.record.id : [])));
    expect(runs.size).toBe(1);
    for (const each of opened)
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'correction.conflict' });
    expect(harness.records.size).toBe(1);
  });

  test('is refused before anything changes while an older process runs, or if the definition is gone', async () => {
    const harness = await correctionsHarness();
    const { service, ledger, frozen, deployment } = harness;
    const first = await harness.deliver(report());
    const beside = createCorrectionService(deployment, async () => true);
    await expect(beside.open(first, { reason: 'r' }, ANNA)).rejects.toMatchObject({ code: 'run.conflict' });
    frozen.clear();
    await expect(service.open(first, { reason: 'r' }, ANNA)).rejects.toMatchObject({ code: 'definition.not_found' });
    expect(await ledger.isWithdrawn(first.id)).toBe(false);
    expect([harness.records.size, await service.list('*')]).toEqual([0, []]);
  });

  test('is refused for an edition that nobody received, and can be opened again after its run ended unsent', async () => {
    const harness = await correctionsHarness();
    const { service, mail, records, ledger } = harness;
    const nobody = await harness
      .deliver(report({ deliveries: [{ email: { to: ['x@other.example'], attach: [] } }] }))
      .catch(() => undefined);
    expect(nobody).toBeUndefined();
    const definition = report({ report: 'second' });
    const first = await harness.deliver(definition);
    await expect(service.open({ ...first, id: 'f'.repeat(32) }, { reason: 'r' }, ANNA)).rejects.toMatchObject({
      code: 'correction.conflict',
    });
    await expect(service.open(first, { reason: 'r', comment: ' – ' }, ANNA)).rejects.toMatchObject({
      code: 'review.comment_invalid',
    });
    const { record } = await service.open(first, { reason: 'one' }, ANNA);
    records.set(record.id, { ...record, state: 'cancelled' });
    const again = await service.open(first, { reason: 'two' }, ANNA);
    expect(again.record.slot).toBe(`correction:${first.id}:2`);
    expect(await ledger.isWithdrawn(record.id)).toBe(true);
    // A retry of the first run sends nothing in addition to the second.
    expect(await harness.execute(record, definition)).toMatchObject({ kind: 'fail' });
    isDone(await harness.execute(again.record, definition));
    expect(mail.messages()).toHaveLength(4);
  });
});
