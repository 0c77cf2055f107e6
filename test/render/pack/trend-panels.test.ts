import { describe, expect, it } from 'vitest';
import type { SourcedTarget } from '../../../src/definitions/schema/targets.ts';
import type { Table } from '../../../src/fetch/dataset.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import type { TrendPanel } from '../../../src/render/pack/pack.ts';
import { bucketColumn, countColumn, ratioColumn, row, table } from '../../support/dataset.ts';
import { judged, kpis, months, october, sectionOf, target } from './fixtures.ts';

const panelsOf = (of: Table, targets: readonly SourcedTarget[] = [], locale = 'en-GB'): readonly TrendPanel[] =>
  sectionOf(buildPack(judged(october([of]), targets), { locale }).sections, 'trend').panels;
const targetOf = (of: Table, metric: string, targets: readonly SourcedTarget[]) =>
  panelsOf(of, targets).find(({ column }) => column.name === metric)?.target;

describe('the panels of a trend section', () => {
  it('are one for each metric, with a point for each bucket in order of time', () => {
    const [first, ...rows] = months().rows as readonly ReturnType<typeof row>[];
    const panels = panelsOf(months({ rows: [...rows, first!] }));
    expect(panels.map(({ label }) => label)).toEqual(['Profiles created', 'Approval rate']);
    expect(panels[1]?.points).toMatchObject([
      { bucket: '2026-07-01', label: 'Jul 2026', value: 0.8, text: '80.0%', partial: false },
      { bucket: '2026-08-01', value: 0.83 },
      { bucket: '2026-09-01', value: 0.86 },
      { bucket: '2026-10-01', value: 0.89, partial: false },
    ]);
    expect(panels[0]?.description).toBe('Profiles created: from 900 (Jul 2026) to 1,200 (Oct 2026)');
  });

  it('have a gap for a bucket without a row and for one without a figure', () => {
    const [one, , three, four] = months().rows as readonly ReturnType<typeof row>[];
    const rows = [one!, row({ ...three!.values, [ratioColumn.name]: null }), four!];
    expect(panelsOf(months({ rows })).map(({ points }) => points.map(({ value }) => value))).toEqual([
      [900, null, 1100, 1200],
      [0.8, null, null, 0.89],
    ]);
  });

  it('mark buckets that are cut off and those that have not ended', () => {
    const cut = months({ range: { from: '2026-07-08', to: '2026-10-30' } });
    const partial = (of: Table) => panelsOf(of)[0]?.points.map((point) => point.partial);
    expect(partial(cut)).toEqual([true, false, false, true]);
    const running = months({
      rows: (months().rows as readonly ReturnType<typeof row>[]).map((each, index) => ({
        ...each,
        partial: index === 3,
      })),
    });
    expect(partial(running)).toEqual([false, false, false, true]);
    // A reading is of the last day in the bucket: nothing of it is cut off.
    expect(partial({ ...cut, readings: [] })).toEqual([false, false, false, false]);
  });

  it('label weeks and months in the language of the report', () => {
    const week = table({
      id: 'weeks',
      granularity: 'week',
      range: { from: '2026-11-02', to: '2026-11-15' },
      columns: [bucketColumn, countColumn],
      rows: [
        row({ bucket: '2026-11-02', [countColumn.name]: 1 }),
        row({ bucket: '2026-11-09', [countColumn.name]: 2 }),
      ],
      layout: { kind: 'trend' },
    });
    expect(panelsOf(week)[0]?.points.map(({ label }) => label)).toEqual(['2026-W45', '2026-W46']);
    const german = panelsOf(months(), [], 'de-CH')[1];
    expect(german?.points[3]).toMatchObject({ label: 'Okt. 2026', text: '89.0%' });
  });
});

describe('a breached metric', () => {
  const targets = [
    target({ metric: ratioColumn.name, target: '95%' }),
    target({ metric: countColumn.name, target: 1000 }),
  ];
  const panels = (...tables: Table[]) =>
    sectionOf(buildPack(judged(october(tables), targets)).sections, 'trend').panels.map(({ label, points }) => [
      label,
      points.map(({ value }) => value),
    ]);
  const both = { columns: [countColumn, ratioColumn] };

  it('comes first in a trend that has the metrics of the scorecard', () => {
    expect(panels(kpis(both), months()).map(([label]) => label)).toEqual(['Approval rate', 'Profiles created']);
    // A trend with another order keeps it.
    const reversed = months({ columns: [bucketColumn, countColumn, ratioColumn] });
    expect(panels(kpis({ columns: [ratioColumn, countColumn] }), reversed).map(([label]) => label)).toEqual([
      'Profiles created',
      'Approval rate',
    ]);
  });

  it('is added to the first trend with the points of the scorecard, even if the section does not list it', () => {
    const listed = months({ columns: [bucketColumn, countColumn] });
    expect(panels(kpis(both), listed)).toEqual([
      ['Profiles created', [900, 1000, 1100, 1200]],
      ['Approval rate', [0.8, 0.82, 0.85, 0.8997]],
    ]);
    expect(panels(kpis({ ...both, filters: [{ label: 'Risk', is: ['Severe'] }] }), listed)).toHaveLength(1);
    const weekly = kpis(both);
    expect(panels({ ...weekly, trend: { ...weekly.trend!, granularity: 'week' } }, listed)).toHaveLength(1);
  });
});

describe('the figure of a panel', () => {
  it('has enough decimals to tell it from its target', () => {
    const rows = (months().rows as readonly ReturnType<typeof row>[]).map(({ values }) =>
      row({ ...values, [ratioColumn.name]: 0.8996 }),
    );
    const [, rate] = panelsOf(months({ rows }), [target({ metric: ratioColumn.name, target: '90%' })]);
    expect(rate?.points.at(-1)?.text).toBe('89.96%');
  });
});

describe('the target line of a panel', () => {
  const all = [0.9, 0.9, 0.9, 0.9];

  it('shows the target of a rate at every point', () => {
    expect(targetOf(months(), ratioColumn.name, [target({ metric: ratioColumn.name, target: '90%' })])).toEqual({
      values: all,
      text: '90.0%',
    });
  });

  it('begins with the bucket in which the target takes effect', () => {
    const from = target({ metric: ratioColumn.name, target: '90%', from: '2026-09-15' });
    // September ends after that day.
    expect(targetOf(months(), ratioColumn.name, [from])?.values).toEqual([null, null, 0.9, 0.9]);
  });

  it('is missing for a count whose target is not for this length of bucket', () => {
    const whole = target({ metric: countColumn.name, target: 1000 });
    const weekly = target({ metric: countColumn.name, target: 250, per: 'week' });
    expect(targetOf(months(), countColumn.name, [whole])).toBeUndefined();
    expect(targetOf(months(), countColumn.name, [weekly])).toBeUndefined();
  });

  it('shows the target of a count for this length of bucket, and follows its changes', () => {
    const monthly = [
      target({ metric: countColumn.name, target: 1000, per: 'month' }),
      target({ metric: countColumn.name, target: 1100, per: 'month', from: '2026-09-01' }),
    ];
    expect(targetOf(months(), countColumn.name, monthly)).toEqual({
      values: [1000, 1000, 1100, 1100],
      text: '1,100',
    });
  });

  it('of a rate shows the target for its buckets rather than the target for the whole', () => {
    const both = [
      target({ metric: ratioColumn.name, target: '90%' }),
      target({ metric: ratioColumn.name, target: '85%', per: 'month' }),
    ];
    expect(targetOf(months(), ratioColumn.name, both)?.values).toEqual([0.85, 0.85, 0.85, 0.85]);
  });

  it('is shown for current counts, which are not added up', () => {
    const counts = { ...countColumn, counts: 'now' };
    const of = months({ columns: [bucketColumn, counts], readings: [] });
    expect(targetOf(of, countColumn.name, [target({ metric: countColumn.name, target: 0 })])?.values).toEqual([
      0, 0, 0, 0,
    ]);
  });

  it('is missing for the target of one group, and in a filtered section for the target of the whole', () => {
    const where = target({ metric: ratioColumn.name, target: '90%', where: { 'profile.risk': 'high' } });
    expect(targetOf(months(), ratioColumn.name, [where])).toBeUndefined();
    const filtered = months({ filters: [{ label: 'Risk', is: ['High'] }] });
    const plain = october([filtered], {
      targets: [{ metric: ratioColumn.name, better: 'higher', target: 0.9, source: 'organization' }],
    });
    expect(sectionOf(buildPack(plain).sections, 'trend').panels[1]).not.toHaveProperty('target');
  });

  it('is named below the charts, even when no bucket is judged by it', () => {
    const of = judged(october([months()]), [
      target({ metric: countColumn.name, target: 1000, per: 'month' }),
      target({ metric: ratioColumn.name, target: '90%' }),
    ]);
    const { notes } = sectionOf(buildPack(of).sections, 'trend');
    expect(notes).toEqual(['Targets: Profiles created: 1,000; Approval rate: 90.0%.']);
  });
});
