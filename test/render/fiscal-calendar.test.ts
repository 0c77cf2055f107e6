import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FiscalCalendar } from '../../src/definitions/periods/fiscal-calendar.ts';
import { FORMATS } from '../../src/render/formats/registry.ts';
import { buildPack } from '../../src/render/pack/build-pack.ts';
import { createRenderer } from '../../src/render/renderer.ts';
import { countColumn, dataset, groupColumn, MADE_AT, PERIOD, row, table } from '../support/dataset.ts';
import { cellsOf, readWorkbook } from '../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../support/render-folder.ts';

const { folder } = useRenderFolder();

/** A month of a year that begins on 6 April. The month before has one day more. */
const FISCAL: FiscalCalendar = { fiscal_year_start: { month: 4, day: 6, named_by: 'end' } };
const MONTH = { from: '2026-04-06', to: '2026-05-05' };
const BEFORE = { from: '2026-03-06', to: '2026-04-05' };
const values = (count: number) => ({ [countColumn.name]: count });
const data = dataset(
  [
    table({
      id: 'groups',
      period: { ...PERIOD, ...MONTH },
      range: MONTH,
      comparisons: [{ kind: 'previous_period', range: BEFORE }],
      columns: [groupColumn, countColumn],
      rows: [row({ [groupColumn.name]: 'Low', ...values(1200) })],
      // Filtered, because totals of the whole report make no takeaway.
      filters: [{ label: 'Risk', is: ['High'], of: { dimension: 'profile.risk', values: ['high'] } }],
      totals: { values: values(1200), compare: { previous_period: { values: values(1000) } } },
    }),
    table({
      id: 'all',
      period: { ...PERIOD, ...MONTH },
      range: MONTH,
      columns: [countColumn],
      rows: [row(values(5000))],
    }),
  ],
  { period: { ...PERIOD, ...MONTH, label: '2026-04' }, headlines: [] },
);

/** The takeaway of the section in the workbook, in the PDF and in the e-mail. */
async function takeaways(calendar: FiscalCalendar): Promise<readonly string[]> {
  const [into, templates] = [await folder(), await folder()];
  const request = (format: 'xlsx' | 'pdf') => ({
    dataset: data,
    outputs: [{ format }],
    files: { folder: into, digest: 'd'.repeat(64), ...(format === 'pdf' ? { templates } : {}) },
    mail: {},
    run: 'r'.repeat(32),
    madeAt: MADE_AT,
    calendar,
  });
  const render = createRenderer(FORMATS);
  const { signal } = new AbortController();
  const { artifacts, mail } = await render(request('xlsx'), signal);
  const cells = cellsOf(readWorkbook(artifactNamed(artifacts, '.xlsx').path), 'groups').flat();
  // A template that panics reveals its data.
  await mkdir(join(templates, 'pack'));
  await writeFile(join(templates, 'pack', 'pack.typ'), '#panic(json("pack.json").sections.first().takeaway)\n');
  const failed: unknown = await render(request('pdf'), signal).catch((error: unknown) => error);
  const inPdf = failed instanceof Error ? JSON.stringify({ ...failed, message: failed.message }) : '';
  return [cells.map((cell) => String(cell?.v ?? '')).join('\n'), inPdf, mail.text];
}

describe('a month of a fiscal year that begins within a calendar month', () => {
  it('is compared with the month before in workbook, PDF and e-mail', async () => {
    const [section] = buildPack(data, { calendar: FISCAL }).sections;
    const sentence = section?.takeaway ?? '';
    expect(sentence).toContain('200');
    for (const text of await takeaways(FISCAL)) expect(text).toContain(sentence);
    for (const text of await takeaways({})) expect(text).not.toContain(sentence);
  });
});
