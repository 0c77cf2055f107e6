import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { expect, onTestFinished, test } from 'vitest';
import { splitSlug } from '../../../src/definitions/split.ts';
import { assertOnlyOf, canaryDeskService, DESKS, deskAddress, desksIn, deskValue } from '../../support/canary-desks.ts';
import { correctionsHarness } from '../../support/corrections-harness.ts';
import { hostileServer } from '../../support/hostile-server.ts';
import { definitionOf } from '../../support/reports.ts';

/** An address outside the organization's domain, which is not allowed at first. */
const OTHER = (n: number) => deskAddress(n).replace('acme', 'other');

const definition = definitionOf(
  [
    { id: 'totals', metrics: ['profiles.created', 'profiles.decided'], compare: 'previous_period' },
    { id: 'reasons', metrics: ['profiles.created'], dimensions: ['profile.reason'], totals: true },
    { id: 'own', metrics: ['profiles.created'], dimensions: ['profile.group'], granularity: 'week', totals: true },
    { id: 'market', metrics: ['profiles.created'], split: false },
  ],
  {
    title: 'Casework',
    period: 'previous_month',
    split: {
      by: 'profile.group',
      to: {
        [deskValue(1)]: [deskAddress(1)],
        [deskValue(2)]: [deskAddress(2), OTHER(2)],
        [deskValue(3)]: [OTHER(3)],
        [deskValue(4)]: [deskAddress(4)],
      },
      others: 'hold',
    },
    deliveries: [{ email: { to: 'split', attach: ['xlsx', 'csv', 'pdf'] } }],
    outputs: [
      { format: 'xlsx', name: '{{ split.value }}' },
      { format: 'csv', name: '{{ split.label }} {{ section.id }}' },
      { format: 'pdf', name: 'pack' },
    ],
    corrections: { watch: 30 * 86_400, materiality: 0.0001, on_correction: 'send' },
  },
);

test('corrected packs, found by the watch or opened by hand, contain no word and no figure of another desk', async () => {
  const more = new Map<number, number>();
  const api = await hostileServer();
  onTestFinished(() => api.close());
  const harness = await correctionsHarness({}, { url: async () => api.url });
  const { now } = harness.clock;
  api.behave(canaryDeskService({ more: (n) => more.get(n) ?? 0, maxRows: 40, now }));
  const { service, records, frozen, orgs, settings } = harness;
  const executeLast = async () => {
    const record = [...records.values()].at(-1)!;
    expect(await harness.execute(record, frozen.get(record.digest)!.definition)).toMatchObject({ kind: 'done' });
    return record.id;
  };
  let seen = 0;
  /** Checks the new messages and all files of a run. @returns the recipients */
  const check = async (run: string) => {
    for (const n of [1, 2, 3, 4]) {
      const own = join(harness.folder, 'archive/acme/pack', run, 'files', splitSlug(deskValue(n)));
      await assertOnlyOf(own, n).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    }
    const fresh = harness.mail.messages().slice(seen);
    seen += fresh.length;
    for (const { to, path } of fresh) {
      const desk = DESKS.find((n) => to[0]?.includes(deskValue(n)));
      const { headers, subject, text, html, attachments } = await PostalMime.parse(await readFile(path));
      const marks = desksIn(
        JSON.stringify([headers, subject, text, html, attachments.map(({ filename }) => filename)]),
      );
      expect([to[0], ...marks]).toEqual([to[0], desk]);
    }
    return fresh.map(({ to }) => to[0]).sort();
  };

  const first = await harness.deliver(definition);
  expect(await check(first.id)).toEqual([deskAddress(1), deskAddress(2), deskAddress(4)]);

  // By hand: those whose delivery was refused get the edition without its mark.
  orgs.set(settings.id, { ...settings, recipients: { domains: ['acme.example', 'other.example'], addresses: [] } });
  more.set(4, 300);
  const comment = 'Now {{ totals.profiles.created }} profiles.';
  await service.open(first, { reason: 'a wrong register', comment }, { by: 'anna' });
  expect(await check(await executeLast())).toEqual(
    [deskAddress(1), deskAddress(2), OTHER(2), OTHER(3), deskAddress(4)].sort(),
  );

  // Found by the watch.
  for (const n of [1, 2]) more.set(n, 500);
  for (let day = 0; day < 4 && (await service.list('*')).length < 2; day += 1) await harness.nextDay(6);
  expect((await service.list('*'))[0]).toMatchObject({ state: 'sent', values: [1, 2].map(deskValue) });
  expect(await check(await executeLast())).toEqual([deskAddress(1), deskAddress(2), OTHER(2)].sort());
}, 120_000);
