import { readFile } from 'node:fs/promises';
import PostalMime from 'postal-mime';
import { expect, test } from 'vitest';
import type { Definition } from '../../../src/definitions/schema/report-definition.ts';
import { parseFault } from '../../../src/sandbox/sandbox.ts';
import { correctionsHarness } from '../../support/corrections-harness.ts';
import { definitionOf } from '../../support/reports.ts';

const report = (more: Partial<Definition> = {}): Definition =>
  definitionOf([{ id: 'rate', metrics: ['profiles.approval_rate', 'profiles.created'], totals: true }], {
    period: 'previous_month',
    deliveries: [{ email: { to: ['mlro@acme.example'], attach: [] } }],
    corrections: { watch: 30 * 86_400, materiality: 0.02, on_correction: 'send' },
    ...more,
  });

type Harness = Awaited<ReturnType<typeof correctionsHarness>>;

/** On each day the service alternates between two responses. Docket's own runs are executed. */
async function flip(harness: Harness, definition: Definition, days: readonly number[]): Promise<void> {
  const { sandbox, queued, records } = harness;
  for (const day of days) {
    sandbox.setFaults(day % 2 === 1 ? [parseFault('history=60')] : []);
    await harness.nextDay(2);
    for (const id of queued.splice(0)) {
      const record = records.get(id);
      if (record === undefined) throw new Error(`no record of ${id}`);
      const { kind } = await harness.execute(record, definition);
      records.set(id, { ...record, state: kind === 'done' ? 'done' : 'failed' });
    }
    await harness.nextDay(2);
  }
}

const subjects = ({ mail }: Harness): Promise<readonly (string | undefined)[]> =>
  Promise.all(mail.messages().map(async ({ path }) => (await PostalMime.parse(await readFile(path))).subject));

test('Docket sends two corrected editions by itself while a service keeps flipping its figures; then a person decides', async () => {
  const harness = await correctionsHarness();
  const { service, records, index, frozen } = harness;
  const definition = report();
  await harness.deliver(definition);
  await flip(harness, definition, [1, 2]);
  expect(harness.notified).toEqual([]);
  // A restart after Redis has lost everything.
  records.clear();
  frozen.clear();
  index.lose();
  await harness.process()();
  await flip(harness, definition, [3, 4, 5]);
  const mails = await subjects(harness);
  expect(mails.map((subject = '') => subject.split(': ')[0])).toEqual([
    mails[0]?.split(': ')[0],
    'Corrected, edition 2',
    'Corrected, edition 3',
  ]);
  const [open] = await service.list('*');
  expect(open).toMatchObject({ state: 'open', notified: true });
  expect(harness.notified.length).toBeGreaterThan(0);

  // A person sends the next edition. This does not allow Docket to send more by itself.
  const { record } = await service.send(open!, { by: 'anna', reason: 'checked with the service' });
  harness.queued.length = 0;
  expect((await harness.execute(record, definition)).kind).toBe('done');
  records.set(record.id, { ...record, state: 'done' });
  await flip(harness, definition, [6, 7, 8]);
  expect((await subjects(harness)).map((subject = '') => subject.split(': ')[0]).slice(3)).toEqual([
    'Corrected, edition 4',
  ]);
  const waiting = (await service.list('*')).filter(({ state }) => state === 'open');
  expect(waiting.map(({ run }) => run.id)).toEqual([record.id]);
});
