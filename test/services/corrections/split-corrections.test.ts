import { readFile } from 'node:fs/promises';
import PostalMime from 'postal-mime';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Definition } from '../../../src/definitions/schema/report-definition.ts';
import { splitSlug } from '../../../src/definitions/split.ts';
import { runProblems } from '../../../src/deliver/archive/verify/verify-run.ts';
import type { RunPorts } from '../../../src/run/run-context.ts';
import { correctionsHarness, mortal } from '../../support/corrections-harness.ts';
import { definitionOf } from '../../support/reports.ts';
import { tamperingService } from '../../support/tampering-service.ts';

const DESKS = ['Retail', 'Merchants', 'Marketplace', 'Partners'];
const addressOf = (desk: string) => `${desk.toLowerCase()}@acme.example`;

const report = (more: Partial<Definition> = {}): Definition =>
  definitionOf(
    [
      { id: 'totals', metrics: ['profiles.created', 'profiles.approval_rate'] },
      { id: 'days', metrics: ['profiles.created'], granularity: 'day', totals: true },
      { id: 'market', metrics: ['transaction_alerts.closed'], split: false },
    ],
    {
      title: 'Desks',
      period: 'previous_month',
      split: {
        by: 'profile.group',
        to: Object.fromEntries(DESKS.map((desk) => [desk, [addressOf(desk)]])),
        others: 'hold',
      },
      deliveries: [{ email: { to: 'split', attach: ['csv'] } }],
      outputs: [{ format: 'csv', name: '{{ split.slug }}-{{ section.id }}' }],
      corrections: { watch: 30 * 86_400, materiality: 0.02, on_correction: 'send' },
      ...more,
    },
  );

/** A service that later reports more created profiles for some desks. */
async function desksHarness() {
  const more = new Map<string, number>();
  const service = { key: 'acme', url: async (sandbox: string) => (await begin(sandbox)).url };
  const begin = async (sandbox: string) => {
    const proxy = await tamperingService(sandbox);
    onTestFinished(() => proxy.close());
    proxy.tell({
      report: ({ rows }) => {
        for (const row of rows) {
          if (typeof row['transaction_alerts.closed'] === 'number')
            row['transaction_alerts.closed'] += more.get('market') ?? 0;
          const added = more.get(String(row['profile.group'])) ?? 0;
          if (typeof row['profiles.created'] === 'number') row['profiles.created'] += added;
        }
      },
    });
    return proxy;
  };
  const harness = await correctionsHarness({}, service);
  /** Number of messages that `received` has returned already. */
  let seen = 0;
  const received = async () => {
    const messages = harness.mail.messages().slice(seen);
    seen += messages.length;
    return Promise.all(
      messages.map(async ({ to, path }) => {
        const { subject = '', text = '', html = '', attachments } = await PostalMime.parse(await readFile(path));
        const files = attachments.map(({ filename, content }) => `${filename} ${Buffer.from(content as ArrayBuffer)}`);
        const all = [subject, text, html, ...files].join('\n');
        const others = DESKS.filter((desk) => !to[0]?.startsWith(desk.toLowerCase()));
        const foreign = others.flatMap((desk) => [desk, addressOf(desk), splitSlug(desk)]);
        expect(foreign.filter((word) => all.includes(word))).toEqual([]);
        return { to: to[0], edition: /^Corrected, edition (\d+)/.exec(subject)?.[1] ?? null, all };
      }),
    );
  };
  /** Lets days pass until the watch has found this many corrections. */
  const untilFound = async (count: number) => {
    for (let day = 0; day < 4 && (await harness.service.list('*')).length < count; day += 1) await harness.nextDay(2);
    const all = await harness.service.list('*');
    expect(all).toHaveLength(count);
    return all[0]!;
  };
  /** Executes the run that was opened last. @param state its expected end, or `any` */
  const executeNext = async (state = 'done', change: Partial<RunPorts> = {}) => {
    const record = [...harness.records.values()].at(-1)!;
    const { definition } = harness.frozen.get(record.digest)!;
    const outcome = await harness.execute(record, definition, change);
    if (state !== 'any') expect(outcome, JSON.stringify(outcome)).toMatchObject({ kind: 'done', value: { state } });
    return record;
  };
  return { ...harness, more, received, untilFound, executeNext };
}

const brief = (all: readonly { readonly to: string | undefined; readonly edition: string | null }[]) =>
  all.map(({ to, edition }) => [to, edition]);

test('only the packs that were delivered before are marked as repeated copies, each with its own delivery', async () => {
  const harness = await desksHarness();
  const definition = report();
  await harness.deliver(definition);
  await harness.received();
  const repeats = [
    { run: 'b'.repeat(32), at: Date.parse('2026-11-05T09:00:00Z'), packs: [splitSlug('Retail')] },
    { run: 'a'.repeat(32), at: Date.parse('2026-11-03T09:00:00Z'), packs: ['Retail', 'Merchants'].map(splitSlug) },
  ];
  const order = { ...(await harness.orderOf(definition, '2026-11-23T08:00:00.000Z')), repeats };
  expect(await harness.execute(order, definition)).toMatchObject({ kind: 'done', value: { state: 'done' } });
  const marks = (await harness.received()).map(({ to, all }) => [
    to,
    all.startsWith('Repeated copy: '),
    /Repeated copy, after the delivery of (\d+)/.exec(all)?.[1],
  ]);
  expect(marks).toEqual([
    [addressOf('Retail'), true, '5'],
    [addressOf('Merchants'), true, '3'],
    [addressOf('Marketplace'), false, undefined],
    [addressOf('Partners'), false, undefined],
  ]);
});

describe('a correction of a report with split', () => {
  test('goes to the desks whose figures have changed, and each desk has its own edition numbers', async () => {
    const harness = await desksHarness();
    const { more, service, archive } = harness;
    const first = await harness.deliver(report());
    expect(brief(await harness.received())).toEqual(DESKS.map((desk) => [addressOf(desk), null]));
    await harness.nextDay();
    expect(await service.list('*')).toEqual([]);

    more.set('Retail', 500);
    const found = await harness.untilFound(1);
    expect(found).toMatchObject({ run: first, state: 'sent', values: ['Retail'] });
    expect(new Set(found.changes.map(({ value }) => value))).toEqual(new Set(['Retail']));
    expect((await service.find(found.id, ['acme']))?.recipients.map(({ recipient }) => recipient)).toEqual([
      addressOf('Retail'),
    ]);
    const second = await harness.executeNext();
    const corrected = await harness.received();
    expect(brief(corrected)).toEqual([[addressOf('Retail'), '2']]);
    expect(corrected[0]?.all).toMatch(/figures? changed/);
    const { manifest } = (await archive.peek(second))!;
    expect(manifest.packs?.map(({ value }) => value)).toEqual(['Retail']);
    expect(manifest.corrects).toMatchObject({ run: first.id, edition: 2, automatic: 1 });

    // The next watch checks the second edition, and knows what the other desks have.
    await harness.nextDay(2);
    expect(await service.list('*')).toHaveLength(1);
    more.set('Merchants', 500);
    more.set('Retail', 1_000);
    expect(await harness.untilFound(2)).toMatchObject({ run: { id: second.id }, values: ['Retail', 'Merchants'] });
    const third = await harness.executeNext();
    expect(brief(await harness.received())).toEqual([
      [addressOf('Retail'), '3'],
      [addressOf('Merchants'), '2'],
    ]);
    const packs = (await archive.peek(third))?.manifest.packs ?? [];
    expect(packs.map(({ manifest: own }) => own?.corrects?.run)).toEqual([second.id, first.id]);
    // A repeated attempt sends nothing.
    await harness.executeNext();
    expect(await harness.received()).toEqual([]);
  });

  test('goes to every desk if a section with the same figures in all packs has changed', async () => {
    const harness = await desksHarness();
    await harness.deliver(
      report({ corrections: { watch: 30 * 86_400, materiality: 0.02, on_correction: 'notify_owner' } }),
    );
    harness.more.set('market', 500);
    const found = await harness.untilFound(1);
    expect(found).toMatchObject({ state: 'open', values: DESKS, total: DESKS.length });
    expect(harness.notified).toEqual([found.id]);
    await harness.service.send(found, { by: 'anna', reason: 'the register was late' });
    await harness.received();
    await harness.executeNext();
    expect(brief(await harness.received())).toEqual(DESKS.map((desk) => [addressOf(desk), '2']));
  });

  test('goes to the changed desks, and unmarked to a desk whose delivery it withdrew, when a person opens it', async () => {
    const harness = await desksHarness();
    const { more, service, orgs, settings, ledger } = harness;
    const to = { Retail: ['retail@acme.example', 'retail.2@other.example'], Merchants: ['merchants@other.example'] };
    const split = { by: 'profile.group', to: { ...to, Partners: ['partners@acme.example'] }, others: 'skip' as const };
    const first = await harness.deliver(report({ split }));
    expect(brief(await harness.received())).toEqual([
      ['retail@acme.example', null],
      ['partners@acme.example', null],
    ]);
    orgs.set(settings.id, { ...settings, recipients: { domains: ['acme.example', 'other.example'], addresses: [] } });
    more.set('Retail', 500);
    const { correction, record } = await service.open(first, { reason: 'a wrong register' }, { by: 'anna' });
    expect(correction.recipients.map(({ recipient, marked }) => [recipient, marked])).toEqual([
      ['retail@acme.example', true],
      ['partners@acme.example', true],
      ['retail.2@other.example', false],
      ['merchants@other.example', false],
    ]);
    await harness.executeNext();
    const sent = await harness.received();
    expect(brief(sent)).toEqual([
      ['retail@acme.example', '2'],
      ['retail.2@other.example', null],
      ['merchants@other.example', null],
    ]);
    expect(sent.map(({ all }) => /a wrong register/.test(all))).toEqual([true, false, false]);
    expect((await ledger.list(record.id)).map(({ state }) => state)).toEqual(['sent', 'sent', 'sent']);
    await harness.executeNext();
    expect(await harness.received()).toEqual([]);
    expect(await runProblems((await harness.storage.find(record.id))!)).toEqual([]);
    // No figure shows that a text was wrong, so every desk gets the correction.
    const title = { definition: { ...report({ split, title: 'Packs' }), digest: 'e'.repeat(64) }, settings };
    await service.open(record, { reason: 'a wrong title', definition: title }, { by: 'anna' });
    await harness.executeNext();
    expect(brief(await harness.received()).sort()).toEqual([
      ['merchants@other.example', '3'],
      ['partners@acme.example', '2'],
      ['retail.2@other.example', '3'],
      ['retail@acme.example', '3'],
    ]);
    const other = {
      definition: { ...definitionOf([{ id: 'a', metrics: ['profiles.created'] }]), digest: 'f'.repeat(64) },
      settings,
    };
    await expect(
      service.open(
        { ...first, id: [...harness.records.keys()].at(-1)! },
        { reason: 'x', definition: other },
        { by: 'anna' },
      ),
    ).rejects.toMatchObject({ code: 'correction.conflict' });
  });

  test('is approved for the corrected packs only', async () => {
    const harness = await desksHarness();
    const approval = { by: ['eva'], need: 1 };
    harness.orgs.set(harness.settings.id, {
      ...harness.settings,
      people: { eva: { name: 'Eva', tokens: ['eva'] } },
    } as never);
    const definition = report({ approval } as never);
    await harness.deliver(definition);
    await harness.received();
    harness.more.set('Partners', 500);
    await harness.untilFound(1);
    const record = await harness.executeNext('awaiting_approval');
    expect(await harness.received()).toEqual([]);
    const outcome = await harness.approve(record, definition);
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect(brief(await harness.received())).toEqual([[addressOf('Partners'), '2']]);
    expect((await harness.archive.peek(record))?.manifest.edition_figures).toMatch(/^[0-9a-f]{64}$/);
  });

  test('reaches each changed desk once, wherever its run dies', async () => {
    const harness = await desksHarness();
    await harness.deliver(report());
    await harness.received();
    let corrected = 0;
    for (const left of [3, 12, 21]) {
      for (const desk of ['Retail', 'Partners']) harness.more.set(desk, (harness.more.get(desk) ?? 0) + 500);
      corrected += 1;
      // Docket sends two by itself.
      const found = await harness.untilFound(corrected);
      if (corrected > 2) await harness.service.send(found, { by: 'anna', reason: 'the register was late' });
      const lives = { left };
      const dead = { ledger: mortal(harness.ledger, lives), archive: mortal(harness.archive, lives) };
      await harness.executeNext('any', dead);
      harness.clock.advance(11 * 60_000);
      const record = await harness.executeNext('any');
      const rows = await harness.ledger.list(record.id);
      expect(rows.map(({ recipient }) => recipient).sort()).toEqual(['partners@acme.example', 'retail@acme.example']);
      const got = brief(await harness.received());
      for (const { recipient, state } of rows) {
        const own = got.filter(([to]) => to === recipient);
        if (state === 'sent') expect(own, `killed after ${left}`).toEqual([[recipient, `${corrected + 1}`]]);
        else expect([state, own.length < 2], `killed after ${left}`).toEqual(['unknown', true]);
      }
      expect(got.filter(([to]) => !rows.some(({ recipient }) => recipient === to))).toEqual([]);
    }
  });

  test('stops going by itself to a desk that got two, while other desks still get theirs', async () => {
    const { more, ...harness } = await desksHarness();
    await harness.deliver(report());
    await harness.received();
    const change = async (count: number, ...desks: string[]) => {
      for (const desk of desks) more.set(desk, (more.get(desk) ?? 0) + 500);
      return harness.untilFound(count);
    };
    for (const count of [1, 2]) {
      await change(count, 'Retail');
      await harness.executeNext();
      expect(brief(await harness.received())).toEqual([[addressOf('Retail'), `${count + 1}`]]);
    }
    const both = await change(3, 'Retail', 'Merchants');
    expect(both).toMatchObject({ state: 'sent', values: ['Retail', 'Merchants'] });
    const viewed = await harness.service.find(both.id, '*');
    expect(viewed?.recipients.map(({ recipient }) => recipient)).toEqual([addressOf('Merchants')]);
    await harness.executeNext();
    expect(brief(await harness.received())).toEqual([[addressOf('Merchants'), '2']]);
    expect(harness.notified).toEqual([]);

    const open = await harness.untilFound(4);
    expect(open).toMatchObject({ state: 'open', notified: true, values: ['Retail'] });
    expect(harness.notified).toEqual([open.id]);
    await harness.service.send(open, { by: 'anna', reason: 'the register was late' });
    await harness.executeNext();
    expect(brief(await harness.received())).toEqual([[addressOf('Retail'), '4']]);
  });

  test('is not opened for a desk whose pack nobody has', async () => {
    const harness = await desksHarness();
    const to = { Retail: ['retail@other.example'], Merchants: [addressOf('Merchants')] };
    await harness.deliver(report({ split: { by: 'profile.group', to, others: 'hold' } }));
    expect(brief(await harness.received())).toEqual([[addressOf('Merchants'), null]]);
    for (const desk of ['Retail', 'Partners']) harness.more.set(desk, 500);
    for (const _ of [1, 2]) await harness.nextDay(2);
    expect(await harness.service.list('*')).toEqual([]);
    harness.more.set('Merchants', 500);
    expect(await harness.untilFound(1)).toMatchObject({ values: ['Merchants'] });
  });

  test('reaches those who have a pack, after people moved and a desk left the list', async () => {
    const { more, service, settings, ...harness } = await desksHarness();
    const first = await harness.deliver(report());
    await harness.received();
    for (const desk of ['Retail', 'Partners']) more.set(desk, 500);
    // Retail and Merchants swap their people, Partners leaves the list, somebody joins Marketplace.
    const to = {
      Retail: [addressOf('Merchants')],
      Merchants: [addressOf('Retail')],
      Marketplace: [addressOf('Marketplace'), 'marketplace.2@acme.example'],
    };
    for (const [others, title] of [
      ['hold', 'Desks again'],
      ['skip', 'Desks at last'],
    ] as const) {
      const moved = report({ split: { by: 'profile.group', to, others }, title });
      const definition = {
        definition: { ...moved, digest: title.length.toString(16).repeat(64).slice(0, 64) },
        settings,
      };
      const run = [...harness.records.keys()].at(-1);
      const { correction } = await service.open(
        run === undefined ? first : { ...first, id: run },
        { reason: title, definition },
        { by: 'anna' },
      );
      expect(correction.recipients.map(({ recipient }) => recipient)).toEqual(DESKS.map(addressOf));
      await harness.executeNext();
      const got = await harness.received();
      expect(got.map(({ to: recipient }) => recipient).sort()).toEqual(DESKS.map(addressOf).sort());
    }
  });
});
