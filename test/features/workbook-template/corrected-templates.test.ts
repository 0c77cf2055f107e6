import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sha256 } from '../../../src/base/sha256.ts';
import { verifyArchive } from '../../../src/deliver/archive/verify/verify-archive.ts';
import { outlineOfDefinition } from '../../../src/features/workbook-template/binding/outline.ts';
import { createStarterWorkbook } from '../../../src/features/workbook-template/starter/starter-workbook.ts';
import { parseFault } from '../../../src/sandbox/sandbox.ts';
import { correctionsHarness } from '../../support/corrections-harness.ts';
import { jobsFolder } from '../../support/jobs-folder.ts';
import { definitionOf } from '../../support/reports.ts';

const REPORT = definitionOf([{ id: 'rate', metrics: ['profiles.approval_rate', 'profiles.created'], totals: true }], {
  period: 'previous_month',
  outputs: [{ format: 'xlsx', template: 'board.xlsx' }],
  deliveries: [{ email: { to: ['mlro@acme.example'], attach: ['xlsx'] } }],
  corrections: { watch: 3 * 86_400, materiality: 0.02, on_correction: 'send' },
});

test('a corrected edition uses the template of the first edition, even if the file has changed or is gone', async () => {
  const template = await createStarterWorkbook(outlineOfDefinition(REPORT), {
    title: 'Board',
    locale: 'en-GB',
    judged: new Set(),
    madeAt: 0,
  });
  const definitionsFolder = await jobsFolder({ 'acme/board.xlsx': template });
  const harness = await correctionsHarness();
  const first = await harness.deliver(REPORT, undefined, { definitionsFolder });
  const workbook = { template: 'board.xlsx', sha256: sha256(template), tables: [{ section: 'rate', rows: 1 }] };
  const manifestOf = async (run: typeof first) => (await harness.archive.peek(run))?.manifest;
  expect((await manifestOf(first))?.files).toMatchObject([{ format: 'xlsx', workbook }]);

  await writeFile(join(definitionsFolder, 'acme/board.xlsx'), 'no workbook any more');
  harness.sandbox.setFaults([parseFault('history=30')]);
  await harness.nextDay();
  const [id = ''] = harness.queued;
  const order = harness.records.get(id) ?? expect.fail('no correction was sent');
  const outcome = await harness.execute(order, REPORT, { definitionsFolder });
  expect(outcome).toMatchObject({ kind: 'done' });
  const corrected = await manifestOf(order);
  expect(corrected).toMatchObject({ corrects: { run: first.id }, files: [{ format: 'xlsx', workbook }] });
  expect(corrected?.files[0]?.sha256).not.toBe((await manifestOf(first))?.files[0]?.sha256);
  expect(harness.mail.messages()).toHaveLength(2);

  const findings = async () => {
    for await (const each of verifyArchive(harness.storage, { now: harness.clock.now() }))
      if (each.findings.length > 0) return each.findings;
    return [];
  };
  expect(await findings()).toEqual([]);
  const stored = `.corrections/acme/weekly/${first.id}/files/${sha256(template)}`;
  await harness.storage.metadata.put(stored, 'changed');
  expect(await findings()).toMatchObject([{ code: 'correction.figures_changed' }]);
  await expect(harness.corrections.getFile(first, sha256(template))).rejects.toMatchObject({ code: 'archive.corrupt' });
});
