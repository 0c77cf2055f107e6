import { describe, expect, test } from 'vitest';
import type { ComparisonKind } from '../../../src/definitions/schema/comparison.ts';
import type { SourcedTarget } from '../../../src/definitions/schema/targets.ts';
import type { Column, Dataset, Table } from '../../../src/fetch/dataset.ts';
import { buildTiles } from '../../../src/render/email/tiles.ts';
import { countStatuses } from '../../../src/render/figures/current-statuses.ts';
import { headlineFigures } from '../../../src/render/figures/headline-figures.ts';
import { buildHeadlines } from '../../../src/render/figures/headlines.ts';
import { judgeDataset } from '../../../src/render/figures/judge.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { bucketColumn, countColumn, dataset, PERIOD, row, table, typeColumn } from '../../support/dataset.ts';

describe('in a report for October', () => {
  const OCTOBER = { from: '2026-10-01', to: '2026-10-31' };
  const SEPTEMBER = { from: '2026-09-01', to: '2026-09-30' };
  const YEAR_BEFORE = { from: '2025-10-01', to: '2025-10-31' };
  const HIGH = { label: 'Risk', is: ['High'], of: { dimension: 'profile.risk', values: ['high'] } };
  const CREATED = countColumn.name;
  const riskColumn: Column = {
    ...typeColumn,
    name: 'profile.risk',
    label: 'Risk',
    values: [{ value: 'high', label: 'High' }],
  };
  const kpis = (id: string, value: number, more: Partial<Table> = {}): Table =>
    table({
      id,
      title: id.toUpperCase(),
      range: OCTOBER,
      columns: [countColumn],
      rows: [row({ [CREATED]: value })],
      ...more,
    });
  const compared = (id: string, kind: ComparisonKind, before: number, value = 460): Table =>
    kpis(id, value, {
      comparisons: [{ kind, range: kind === 'previous_year' ? YEAR_BEFORE : SEPTEMBER }],
      rows: [row({ [CREATED]: value }, { compare: { [kind]: { values: { [CREATED]: before } } } })],
    });
  const months = (more: Partial<Table> = {}): Table =>
    kpis('months', 0, {
      granularity: 'month',
      range: { from: '2026-09-01', to: '2026-10-31' },
      columns: [bucketColumn, countColumn],
      rows: [row({ bucket: '2026-09-01', [CREATED]: 467 }), row({ bucket: '2026-10-01', [CREATED]: 460 })],
      ...more,
    });
  const weeks = months({
    id: 'weeks',
    granularity: 'week',
    range: { from: '2026-10-26', to: '2026-11-22' },
    rows: [row({ bucket: '2026-11-16', [CREATED]: 87 })],
  });
  const severe = kpis('severe', 9, { filters: [HIGH] });
  const created = (more: Partial<SourcedTarget>): SourcedTarget => ({
    metric: CREATED,
    better: 'higher',
    target: 400,
    source: 'organization',
    ...more,
  });
  const HIGH_TARGET = created({ where: { 'profile.risk': 'high' }, target: 20 });
  const judged = (tables: readonly Table[], targets: readonly SourcedTarget[] = []): Dataset => {
    const sections = tables.map(({ id, filters }) => ({
      id,
      filters: filters.flatMap((filter) =>
        'of' in filter && filter.of !== undefined
          ? [{ dimension: filter.of.dimension, op: 'in' as const, values: [...filter.of.values] }]
          : [],
      ),
    }));
    return judgeDataset(dataset([...tables], { period: { ...PERIOD, ...OCTOBER } }), targets, { sections });
  };
  const said = (of: Dataset, wanted?: readonly string[]) =>
    buildHeadlines(headlineFigures(of, 'en-GB'), wanted, 'en-GB');

  test('a figure with a different comparison in each of two sections is one headline with both', () => {
    const tables = [compared('one', 'previous_period', 467), compared('two', 'previous_year', 372)];
    expect(said(judged(tables))).toEqual([
      'Profiles created: 460 (7 fewer than the month before, 88 more than a year before)',
    ]);
    expect(buildTiles(judged(tables), 'en-GB')).toMatchObject([
      {
        label: 'Profiles created',
        change: '▼ 1% from 467 (previous period); ▲ 24% from 372 (year before)',
      },
    ]);
  });

  test('a month of a trend and the total of that month count as one figure', () => {
    const of = judged([kpis('whole', 460), months()], [created({ target: 500, per: 'month' })]);
    expect(of.judgements?.map(({ key }) => key)).toEqual([
      'profiles.created/2026-10-01/2026-10-31',
      'profiles.created/2026-09-01/2026-09-30',
      'profiles.created/2026-10-01/2026-10-31',
    ]);
    expect(said(of)).toEqual(['Profiles created: 460, target 500, breached']);
    expect(countStatuses(of.judgements ?? [])).toEqual({ breached: 1 });
    expect(buildPack(of).attention).toHaveLength(1);
  });

  test('the row of a group and a section filtered by that group count as one figure', () => {
    const byRisk = kpis('by_risk', 0, {
      columns: [riskColumn, countColumn],
      rows: [row({ 'profile.risk': 'high', [CREATED]: 9 })],
    });
    const of = judged([kpis('whole', 460), byRisk, severe], [HIGH_TARGET]);
    expect(of.judgements?.map(({ section, key }) => [section, key])).toEqual([
      ['by_risk', 'profiles.created/2026-10-01/2026-10-31/profile.risk=high'],
      ['severe', 'profiles.created/2026-10-01/2026-10-31/profile.risk=high'],
    ]);
    expect(said(of)).toEqual(['Profiles created (Risk is High): 9, target 20, breached']);
    expect(countStatuses(of.judgements ?? [])).toEqual({ breached: 1 });
  });

  test('two groups with the same label stay two figures', () => {
    const other = { label: 'Risk', is: ['High'], of: { dimension: 'profile.risk_level', values: ['H'] } };
    const of = judged([kpis('whole', 460), severe, kpis('level', 9, { filters: [other] })], [HIGH_TARGET]);
    expect(said(of)).toEqual(['Profiles created (SEVERE; Risk is High): 9, target 20, breached']);
  });

  test('filtered figures come last in the headlines, and only when they are on watch or breached', () => {
    const changed = compared('high', 'previous_period', 1, 9);
    const tables = [{ ...changed, filters: [HIGH] }, compared('whole', 'previous_period', 467)];
    expect(said(judged(tables))).toEqual(['Profiles created: 460 (7 fewer than the month before)']);
    expect(said(judged(tables, [HIGH_TARGET]))).toEqual([
      'Profiles created: 460 (7 fewer than the month before)',
      'Profiles created (Risk is High): 9, target 20, breached (8 more than the month before)',
    ]);
    expect(buildPack(judged(tables, [HIGH_TARGET])).attention.map(({ section }) => section)).toEqual(['high']);
  });

  test('the filter that all sections share is the scope of the report', () => {
    const both = { ...HIGH, is: ['High', 'Low'], of: { ...HIGH.of, values: ['high', 'low'] } };
    const reordered = { ...both, is: ['Low', 'High'], of: { ...both.of, values: ['low', 'high'] } };
    const tables = [
      { ...compared('one', 'previous_period', 467), filters: [both] },
      { ...compared('two', 'previous_year', 372), filters: [reordered] },
    ];
    expect(said(judged(tables))).toEqual([
      'Profiles created: 460 (7 fewer than the month before, 88 more than a year before)',
    ]);
  });

  test('a week is never a headline, even when the report requests its metric', () => {
    const of = judged([weeks], [created({ per: 'week', target: 100 })]);
    expect(said(of)).toEqual([]);
    expect(said(of, [CREATED])).toEqual([]);
    expect(buildTiles(of, 'en-GB')).toEqual([]);
    expect(buildPack(of).attention.map(({ text }) => text)).toEqual([
      'Profiles created (2026-W47 (from 16 Nov)): 87, target 100, breached',
    ]);
  });

  test('a requested metric is taken from a filtered section when no other section has it', () => {
    expect(said(judged([severe, weeks]), [CREATED])).toEqual(['Profiles created (Risk is High): 9']);
    expect(said(judged([severe, kpis('whole', 460)]), [CREATED])).toEqual(['Profiles created: 460']);
  });

  test('two different values of one figure are two headlines, each with its section', () => {
    const tables = [compared('one', 'previous_period', 450), compared('two', 'previous_period', 450, 461)];
    expect(said(judged(tables))).toEqual([
      'Profiles created (TWO): 461 (11 more than the month before)',
      'Profiles created (ONE): 460 (10 more than the month before)',
    ]);
  });

  test('in a split report, a section of the whole organization has no target and is not on page one', () => {
    const market = kpis('market', 460, { unsplit: true });
    const own = kpis('own', 187, { filters: [HIGH] });
    for (const tables of [
      [own, market],
      [market, own],
    ]) {
      const of = judged(tables, [created({})]);
      expect(headlineFigures(of, 'en-GB')).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ section: 'own', place: 'own', scope: '' }),
          expect.objectContaining({ section: 'market', place: 'other', scope: 'whole organization' }),
        ]),
      );
      expect(of.judgements).toEqual([]);
      const { summary } = buildPack(of);
      expect(summary?.scorecard.groups.flatMap(({ rows }) => rows.map((each) => each.section))).toEqual(['own']);
    }
  });

  describe('a reading', () => {
    const reading = (id: string, from: string, day = '2026-10-31'): Table =>
      kpis(id, 12, {
        range: { from, to: day },
        asOf: `${day}T21:30:00Z`,
        readings: [
          {
            of: 'rows',
            bucket: null,
            comparison: null,
            day,
            question: 'whole',
            asOf: `${day}T21:30:00Z`,
            correlationId: null,
          },
        ],
      });

    test('of the last day belongs to the period, whatever day its section begins with', () => {
      const tables = [reading('month', '2026-10-01'), reading('week', '2026-10-25')];
      expect(headlineFigures(judged(tables), 'en-GB')).toMatchObject([{ section: 'month', place: 'own', value: 12 }]);
      const scope = 'as read 31 October 2026 at 22:30';
      expect(headlineFigures(judged(tables.toReversed()), 'en-GB')).toMatchObject([{ section: 'week', scope }]);
    });

    test('of another day is shorter than the period, whatever day its section begins with', () => {
      const days = ['2026-10-12', '2026-08-01'].map((from) => reading(from, from, '2026-10-18'));
      for (const tables of [days, days.toReversed()]) {
        expect(headlineFigures(judged(tables), 'en-GB')).toMatchObject([{ place: 'shorter', value: 12 }]);
      }
    });
  });

  test('statuses of older manifests, which have no keys, are counted once per figure', () => {
    const of = judged([severe, kpis('again', 9, { filters: [HIGH] })], [HIGH_TARGET]);
    const old = (of.judgements ?? []).map(({ key: _, ...judgement }) => judgement);
    expect(countStatuses(old)).toEqual({ breached: 1 });
  });
});
