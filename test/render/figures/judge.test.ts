import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Section } from '../../../src/definitions/schema/report-definition.ts';
import type { SourcedTarget } from '../../../src/definitions/schema/targets.ts';
import type { Judgement, Table } from '../../../src/fetch/dataset.ts';
import { findBetter } from '../../../src/render/figures/better.ts';
import { currentJudgements } from '../../../src/render/figures/current-statuses.ts';
import { judgeDataset, judgeFigure } from '../../../src/render/figures/judge.ts';
import { isWholePeriod } from '../../../src/render/figures/whole-period.ts';
import {
  bucketColumn,
  countColumn,
  dataset,
  durationColumn,
  onboarding,
  ratioColumn,
  row,
  table,
  typeColumn,
  workload,
} from '../../support/dataset.ts';

const COUNT = countColumn.name;
const RATE = ratioColumn.name;
const entry = (target: Partial<SourcedTarget>): SourcedTarget => ({
  metric: RATE,
  better: 'higher',
  source: 'organization',
  ...target,
});

type Filters = Section['filters'];
const judge = (tables: readonly Table[], targets: readonly SourcedTarget[], filters?: Filters, calendar = {}) =>
  judgeDataset(dataset(tables), targets, {
    sections: tables.map(({ id }) => ({ id, filters })),
    calendar,
  });
const statuses = (tables: readonly Table[], targets: readonly SourcedTarget[], filters?: Filters) =>
  (judge(tables, targets, filters).judgements ?? []).map(({ bucket, group, status }) => [
    bucket ?? group?.value ?? 'total',
    status,
  ]);

const totals = (rate: number | null): Table =>
  table({ id: 'kpis', columns: [ratioColumn], rows: [row({ [RATE]: rate })], totals: { values: { [RATE]: rate } } });

test.each([
  [0.9, 'on_target'],
  [0.899, 'watch'],
  [0.85, 'watch'],
  [0.8499, 'breached'],
  [null, 'undefined'],
])('a figure of %s with a target of 90 %% and a watch limit of 85 %% is %s', (rate, status) => {
  expect(statuses([totals(rate)], [entry({ target: '90%', watch: '85%' })])).toEqual([['total', status]]);
});

test('a figure equal to its target is on target, whichever direction is better', () => {
  const target = { target: 86_400, watch: 129_600 };
  expect(judgeFigure(86_400, { better: 'lower', ...target })).toBe('on_target');
  expect(judgeFigure(86_401, { better: 'lower', ...target })).toBe('watch');
  expect(judgeFigure(129_601, { better: 'lower', ...target })).toBe('breached');
  expect(judgeFigure(1, { better: 'lower', target: 0 })).toBe('breached');
});

test('a status never improves as the figure gets worse', () => {
  const order = ['on_target', 'watch', 'breached'];
  fc.assert(
    fc.property(fc.integer(), fc.integer(), fc.integer(), fc.nat(), fc.boolean(), (a, b, target, gap, higher) => {
      const better = higher ? ('higher' as const) : ('lower' as const);
      const bounds = { better, target, watch: higher ? target - gap : target + gap };
      const [worse, fine] = (higher ? a < b : a > b) ? [a, b] : [b, a];
      expect(order.indexOf(judgeFigure(worse, bounds))).toBeGreaterThanOrEqual(
        order.indexOf(judgeFigure(fine, bounds)),
      );
    }),
  );
});

test('the target in force in the period judges, and the dataset keeps it with numbers in the raw unit', () => {
  const targets = [
    entry({ target: '80%', from: '2026-01-01' }),
    entry({ target: '90%', watch: '85%', from: '2026-11-15', owner: 'mlro@acme.example' }),
    entry({ target: '99%', from: '2026-11-16' }),
  ];
  const judged = judge([totals(0.86)], targets);
  expect(judged.targets).toEqual([
    {
      metric: RATE,
      better: 'higher',
      target: 0.9,
      watch: 0.85,
      from: '2026-11-15',
      owner: 'mlro@acme.example',
      source: 'organization',
    },
  ]);
  expect(judged.judgements).toEqual([
    {
      section: 'kpis',
      metric: RATE,
      bucket: null,
      group: null,
      figure: 0.86,
      status: 'watch',
      target: 0,
      key: `${RATE}/2026-11-09/2026-11-15`,
    },
  ]);
});

test('a figure is not judged before the first target takes effect', () => {
  expect(statuses([totals(0.5)], [entry({ target: '80%', from: '2026-11-16' })])).toEqual([]);
});

test('a target without `per` judges the totals and no bucket', () => {
  expect(statuses([onboarding], [entry({ target: '80%' })])).toEqual([['total', 'on_target']]);
});

describe('a target per day, week or longer period', () => {
  const per = (unit: SourcedTarget['per'], target = 5) => [entry({ metric: COUNT, per: unit, target })];
  const weekly = (range: Table['range']): Table =>
    table({
      id: 'weekly',
      granularity: 'week',
      range,
      columns: [bucketColumn, countColumn],
      rows: [
        row({ bucket: '2026-10-26', [COUNT]: 3 }),
        row({ bucket: '2026-11-02', [COUNT]: 5 }),
        row({ bucket: '2026-11-09', [COUNT]: 9 }, { partial: true }),
      ],
    });

  test('judges only complete buckets of that length', () => {
    expect(statuses([weekly({ from: '2026-10-28', to: '2026-11-15' })], per('week'))).toEqual([
      ['2026-11-02', 'on_target'],
    ]);
    expect(statuses([weekly({ from: '2026-10-26', to: '2026-11-15' })], per('week'))).toEqual([
      ['2026-10-26', 'breached'],
      ['2026-11-02', 'on_target'],
    ]);
    expect(statuses([weekly({ from: '2026-10-26', to: '2026-11-15' })], per('month'))).toEqual([]);
  });

  test('judges totals only when they cover one complete period of that length', () => {
    const of = (range: Table['range'], running = false): Table =>
      table({ id: 'kpis', range, running, columns: [countColumn], rows: [row({ [COUNT]: 7 })] });
    expect(statuses([of({ from: '2026-11-09', to: '2026-11-15' })], per('week'))).toEqual([['total', 'on_target']]);
    expect(statuses([of({ from: '2026-11-10', to: '2026-11-16' })], per('week'))).toEqual([]);
    expect(statuses([of({ from: '2026-11-09', to: '2026-11-15' }, true)], per('week'))).toEqual([]);
    expect(statuses([of({ from: '2026-10-01', to: '2026-10-31' })], per('month'))).toEqual([['total', 'on_target']]);
    expect(statuses([of({ from: '2026-10-01', to: '2026-10-31' })], per('week'))).toEqual([]);
  });

  test('judges no period in which the data of the metric begins', () => {
    const columns = [bucketColumn, { ...countColumn, availableFrom: '2026-10-28' }];
    const beginning = { ...weekly({ from: '2026-10-26', to: '2026-11-15' }), columns };
    expect(statuses([beginning], per('week'))).toEqual([['2026-11-02', 'on_target']]);
  });

  test('judges each bucket by the target in force on its days', () => {
    const targets = [
      entry({ metric: COUNT, per: 'week', target: 1 }),
      entry({ metric: COUNT, per: 'week', target: 6, from: '2026-11-08' }),
    ];
    expect(statuses([weekly({ from: '2026-10-26', to: '2026-11-15' })], targets)).toEqual([
      ['2026-10-26', 'on_target'],
      ['2026-11-02', 'breached'],
    ]);
  });

  test.each([
    [{ from: '2024-02-01', to: '2024-02-29' }, 'month', {}, true],
    [{ from: '2026-02-01', to: '2026-02-27' }, 'month', {}, false],
    [{ from: '2026-01-01', to: '2026-03-31' }, 'quarter', {}, true],
    [{ from: '2026-02-01', to: '2026-04-30' }, 'quarter', {}, false],
    [
      { from: '2026-02-01', to: '2026-04-30' },
      'quarter',
      { fiscal_year_start: { month: 2, day: 1, named_by: 'end' } },
      true,
    ],
    [
      { from: '2025-07-06', to: '2026-07-05' },
      'year',
      { fiscal_year_start: { month: 7, day: 6, named_by: 'end' } },
      true,
    ],
    [{ from: '2026-11-08', to: '2026-11-14' }, 'week', { week_start: 'SUN' }, true],
    [{ from: '2026-11-09', to: '2026-11-15' }, 'week', { week_start: 'SUN' }, false],
    [{ from: '2026-11-09', to: '2026-11-09' }, 'day', {}, true],
  ] as const)('takes %j for a whole %s with calendar %j: %s', (range, unit, calendar, whole) => {
    expect(isWholePeriod(range, unit, calendar)).toBe(whole);
  });
});

describe('a target with `where`', () => {
  const entity = entry({ where: { [typeColumn.name]: 'entity' }, target: '80%' });
  const byType = table({
    id: 'by_type',
    columns: [typeColumn, ratioColumn],
    rows: [row({ [typeColumn.name]: 'individual', [RATE]: 0.1 }), row({ [typeColumn.name]: 'entity', [RATE]: 0.7 })],
    totals: { values: { [RATE]: 0.4 } },
  });
  const only = (...values: string[]): Filters => [{ dimension: typeColumn.name, op: 'in', values }];

  test('judges only the rows of its value, not the totals', () => {
    expect(statuses([byType], [entity])).toEqual([['entity', 'breached']]);
    expect(statuses([byType], [entity, entry({ target: '30%' })])).toEqual([
      ['entity', 'breached'],
      ['total', 'on_target'],
    ]);
  });

  test('judges a section that is filtered by its value only, while a target without `where` does not', () => {
    const both = [entity, entry({ target: '30%' })];
    expect(statuses([totals(0.7)], both, only('entity'))).toEqual([['total', 'breached']]);
    expect(statuses([totals(0.7)], both, only('entity', 'individual'))).toEqual([]);
    expect(statuses([totals(0.7)], both, [{ dimension: 'profile.risk', op: 'in', values: ['high'] }])).toEqual([]);
  });

  test('judges no rows of two dimensions', () => {
    const two = { ...byType, columns: [typeColumn, { ...typeColumn, name: 'profile.risk' }, ratioColumn] };
    expect(statuses([two], [entity])).toEqual([]);
  });
});

test('a current count is judged by the target of the day on which it was read', () => {
  const target = (from: string, value: number) =>
    entry({ metric: 'alerts.open', better: 'lower', target: value, from });
  // Read on 16 November; the period ends on the 15th.
  expect(statuses([workload], [target('2026-01-01', 50), target('2026-11-16', 10)])).toEqual([['total', 'breached']]);
});

test('a target that does not fit the unit judges nothing, and a note says so', () => {
  const judged = judge([totals(0.5)], [entry({ target: '24h' })]);
  expect(judged.judgements).toEqual([]);
  expect(judged.tables[0]?.notes).toMatchObject([{ code: 'target_mismatch', incomplete: false }]);
});

test('a direction without a target colours changes and judges nothing', () => {
  const lower = entry({ metric: durationColumn.name, better: 'lower' });
  const judged = judge([onboarding], [lower]);
  expect(judged.judgements).toEqual([]);
  expect(findBetter(judged, onboarding, durationColumn.name)).toBe('lower');
  expect(findBetter(judged, onboarding, RATE)).toBeUndefined();
});

test('without targets the dataset stays as it is', () => {
  const plain = dataset([onboarding]);
  expect(judgeDataset(plain, [], { sections: [] })).toBe(plain);
});

test('only the last bucket of a series counts as current', () => {
  const of = (bucket: string | null, section = 'a'): Judgement => ({
    section,
    metric: COUNT,
    bucket,
    group: null,
    figure: 1,
    status: 'breached',
    target: 0,
  });
  const all = [of('2026-10-26'), of('2026-11-02'), of(null, 'b'), of('2026-11-02', 'b')];
  expect(currentJudgements(all)).toEqual([all[1], all[2]]);
});

test.each([
  ['higher', 0.99, 'on_target', undefined],
  ['higher', 0.87, 'watch', true],
  ['higher', 0.5, 'breached', true],
  ['higher', null, 'undefined', undefined],
  ['lower', 0.99, 'breached', undefined],
] as const)('a provisional share, better %s: %s is %s, marked “so far”: %s', (better, rate, status, soFar) => {
  const provisional = { ...totals(rate), columns: [{ ...ratioColumn, provisional: true }] };
  const watch = better === 'higher' ? '85%' : '95%';
  const [judgement] = judge([provisional], [entry({ better, target: '90%', watch })]).judgements ?? [];
  expect([judgement?.status, judgement?.soFar]).toEqual([status, soFar]);
  const [settled] = judge([totals(rate)], [entry({ better, target: '90%', watch })]).judgements ?? [];
  expect([settled?.status, settled?.soFar]).toEqual([status, undefined]);
});

test('an impossible figure has the status undefined, and other metrics keep theirs', () => {
  const target = entry({ target: '90%' });
  const wrong = { ...totals(1.7), wrong: [{ metric: RATE, at: 'totals' as const }] };
  expect(judge([wrong], [target]).judgements).toMatchObject([{ figure: 1.7, status: 'undefined', wrong: true }]);
  const other = { ...totals(0.95), wrong: [{ metric: COUNT, at: 'column' as const }] };
  expect(judge([other], [target]).judgements).toMatchObject([{ figure: 0.95, status: 'on_target' }]);
});
