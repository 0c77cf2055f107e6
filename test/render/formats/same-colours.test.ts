import { expect, it } from 'vitest';
import type { Dataset, Row, Table, TargetRecord } from '../../../src/fetch/dataset.ts';
import { messagesFor } from '../../../src/i18n/messages.ts';
import { buildSummary } from '../../../src/render/email/summary.ts';
import { packData } from '../../../src/render/formats/pdf/data/pack-data.ts';
import type { Cell } from '../../../src/render/formats/xlsx/package/sheet-rows.ts';
import { sectionGrid } from '../../../src/render/formats/xlsx/sections/grid/section-grid.ts';
import { COLOURS } from '../../../src/render/formats/xlsx/style/styles.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { countColumn, groupColumn, MADE_AT, ratioColumn, row } from '../../support/dataset.ts';
import { monthTable, october, SEPTEMBER } from '../pack/fixtures.ts';

const COUNT = countColumn.name;
const GROUP = groupColumn.name;

const of = (group: string, now: number, before: number): Row =>
  row({ [GROUP]: group, [COUNT]: now }, { compare: { previous_period: { values: { [COUNT]: before } } } });
const groups = (change: Partial<Table> = {}): Table =>
  monthTable({
    id: 'groups',
    title: 'Groups',
    comparisons: [{ kind: 'previous_period', range: SEPTEMBER }],
    columns: [groupColumn, countColumn],
    rows: [of('Low', 30, 20), of('High', 20, 30), of('Few', 9, 30)],
    totals: { values: { [COUNT]: 59 }, compare: { previous_period: { values: { [COUNT]: 80 } } } },
    ...change,
  });

const TONES = { [COLOURS.better]: 'better', [COLOURS.worse]: 'worse' } as Record<string, string>;

/** The tones of the changes of Low, High, Few and the totals in workbook, PDF and mail; and the neutral marks of workbooks. */
function tones(targets: readonly Partial<TargetRecord>[], change: Partial<Table> = {}) {
  const data: Dataset = {
    ...october([groups(change)], { small: 10 }),
    targets: targets.map((each) => ({
      metric: COUNT,
      better: 'higher',
      target: null,
      source: 'organization',
      ...each,
    })),
  };
  const pack = buildPack(data, { locale: 'en' });
  const [section] = pack.sections;
  if (section?.kind !== 'table') throw new Error('no table');
  const { columns, cells } = section;
  const headings = { over: () => undefined, text: ({ header }: { header: string }) => header, name: () => '' };
  const grid = sectionGrid(data, section.table, columns, headings, messagesFor('en'), 'en', cells);
  const at = columns.findIndex(({ role }) => role === 'change');
  const colour = (line: readonly Cell[] | undefined) => TONES[line?.[at]?.style.font?.color?.argb ?? ''] ?? '';
  const xlsx = [...[...grid.rows].map(colour), colour(grid.totals)];
  const options = { run: 'r'.repeat(32), digest: 'd'.repeat(64), madeAt: MADE_AT, formats: ['pdf'] };
  const printed = packData(pack, data, options).sections[0]?.tables[0]?.rows ?? [];
  const [mail] = buildSummary({ dataset: data, locale: 'en' }).sections;
  const mailed = [...(mail?.table?.rows.map((each) => each.cells) ?? []), mail?.table?.totals ?? []];
  expect(printed.map(({ cells: line }) => line[at]?.tone)).toEqual(xlsx);
  // An e-mail has no column for previous figures.
  expect(mailed.map((line) => line[at - 1]?.tone)).toEqual(xlsx);
  return { xlsx, marks: grid.conditionalFormats.filter((_, index) => columns[index]?.role === 'change') };
}

const whereGroup = (value: string) => ({ where: { dimension: GROUP, value } });

it.each<[string, Partial<TargetRecord>[], string[]]>([
  ['none without targets', [], ['', '', '', '']],
  ['the totals by a target of the whole', [{}], ['', '', '', 'worse']],
  ['the group that a target names', [{ better: 'lower', ...whereGroup('High') }], ['', 'better', '', '']],
  [
    'totals and a group, each by its own target',
    [{}, { better: 'lower', ...whereGroup('Low') }],
    ['worse', '', '', 'worse'],
  ],
  ['all groups that a target covers', [{ rows: [GROUP] }], ['better', 'worse', '', 'worse']],
  ['none with few cases', [whereGroup('Few')], ['', '', '', '']],
])('changes have the same colour in workbook, PDF and mail: %s', (_, targets, expected) => {
  expect(tones(targets).xlsx).toEqual(expected);
});

it('a filtered section is coloured by the target of its filter, or else by the target of the whole', () => {
  const of = { dimension: 'risk', values: ['severe'] };
  const filters = [{ label: 'Risk', is: ['Severe'], of }];
  const severe = { where: { dimension: 'risk', value: 'severe' } };
  expect(tones([{}], { filters }).xlsx[3]).toBe('worse');
  expect(tones([{}, { better: 'lower', ...severe }], { filters }).xlsx[3]).toBe('better');
  expect(tones([{ better: 'lower', ...severe }]).xlsx[3]).toBe('');
  // Figures of 0.2.0 do not record the filter, so it may be of another group.
  expect(tones([{ better: 'lower', ...severe }], { filters: [{ label: 'Risk', is: ['Severe'] }] }).xlsx[3]).toBe('');
});

it('only metrics without a better direction keep the neutral mark', () => {
  const columns = [groupColumn, countColumn, ratioColumn];
  expect(tones([], { columns }).marks).toEqual(['change', 'change']);
  expect(tones([{}], { columns }).marks).toEqual([undefined, 'change']);
});
