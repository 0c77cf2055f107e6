import { describe, expect, it } from 'vitest';
import type { Column, Dataset, Row, Table } from '../../../src/fetch/dataset.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { countColumn, durationColumn, groupColumn, ratioColumn, row, typeColumn } from '../../support/dataset.ts';
import { judged, monthTable, october, SEPTEMBER, target } from './fixtures.ts';

const COUNT = countColumn.name;
const RATE = ratioColumn.name;

type Move = readonly [group: string, now: number | null, before: number | null, more?: Partial<Row>];

/** One metric by group, October beside September. */
function groups(column: Column, moves: readonly Move[], change: Partial<Table> = {}): Table {
  return monthTable({
    id: 'groups',
    comparisons: [{ kind: 'previous_period', range: SEPTEMBER }],
    columns: [groupColumn, column],
    rows: moves.map(([group, now, before, more]) =>
      row(
        { [groupColumn.name]: group, [column.name]: now },
        { compare: { previous_period: { values: { [column.name]: before } } }, ...more },
      ),
    ),
    ...change,
  });
}
const cased = (now: number, before: number, [value]: readonly [number]): Partial<Row> => ({
  cases: { [RATE]: now },
  compare: { previous_period: { values: { [RATE]: value }, cases: { [RATE]: before } } },
});
const MOVES: readonly Move[] = [
  ['Low', 2100, 2060],
  ['High', 400, 420],
  ['Severe', 96, 50],
];

const takeaway = (table: Table, { locale = 'en', ...change }: Partial<Dataset> & { readonly locale?: string } = {}) =>
  buildPack(october([table], { small: 10, headlines: [], ...change }), { locale }).sections[0]?.takeaway;

describe('the largest change among the groups of a section', () => {
  it('is the group whose difference is largest, in points for rates and in the shown unit for durations', () => {
    expect(takeaway(groups(countColumn, MOVES))).toBe(
      'Largest change of Profiles created: Severe, 46 more than the month before',
    );
    const rates: Move[] = [
      ['Low', 0.91, 0.9],
      ['High', 0.802, 0.844],
    ];
    expect(takeaway(groups(ratioColumn, rates))).toBe(
      'Largest change of Approval rate: High, 4.2 pp lower than the month before',
    );
    const times: Move[] = [
      ['Low', 90_000, 86_400],
      ['High', 36_000, 72_000],
    ];
    expect(takeaway(groups({ ...durationColumn, shownIn: 'hours' }, times))).toBe(
      'Largest change of Time to decision (median): High, 10.0 hours shorter than the month before',
    );
  });

  it('is written in German when the locale is German', () => {
    expect(takeaway(groups(countColumn, MOVES), { locale: 'de-CH' })).toBe(
      'Grösste Veränderung bei Profiles created: Severe, 46 mehr als im Vormonat',
    );
  });

  it('names the values of all dimensions by their labels', () => {
    const of = groups(countColumn, MOVES);
    const rows = (of.rows as readonly Row[]).map((each) => ({
      ...each,
      values: { ...each.values, [typeColumn.name]: 'entity' },
    }));
    expect(takeaway({ ...of, columns: [typeColumn, groupColumn, countColumn], rows })).toContain(
      ': Entity (KYB), Severe, 46 more',
    );
  });

  it('has enough cases in both periods, and says so when a group of few cases changed more', () => {
    expect(takeaway(groups(countColumn, [...MOVES, ['New', 500, 5]]))).toBe(
      'Largest change of Profiles created, apart from groups of few cases: Severe, 46 more than the month before',
    );
    expect(takeaway(groups(countColumn, [...MOVES, ['New', 8, 5]]))).toContain('of Profiles created: Severe, 46');
    const rates: Move[] = [
      ['Low', 0.91, 0.9, cased(400, 400, [0.9])],
      ['High', 0.5, 0.9, cased(400, 9, [0.9])],
    ];
    expect(takeaway(groups(ratioColumn, rates))).toContain('apart from groups of few cases: Low, 1.0 pp higher');
  });

  it.each<[string, Table, { readonly older?: true }?]>([
    ['a figure of an older version', groups(countColumn, MOVES), { older: true }],
    ['a metric whose past figures still change', groups({ ...countColumn, provisional: true }, MOVES)],
    ['a running period', groups(countColumn, MOVES, { running: true })],
    ['one group', groups(countColumn, MOVES.slice(2))],
    [
      'groups of few cases',
      groups(countColumn, [
        ['Low', 9, 5],
        ['High', 3, 8],
      ]),
    ],
    [
      'groups that did not change',
      groups(countColumn, [
        ['Low', 90, 90],
        ['High', 80, 80],
      ]),
    ],
    [
      'a change that rounding hides',
      groups(ratioColumn, [
        ['Low', 0.9, 0.90001],
        ['High', 0.8, 0.8],
      ]),
    ],
    [
      'undefined figures',
      groups(countColumn, [
        ['Low', null, 50],
        ['High', 80, null],
        ['Severe', 90, 50],
      ]),
    ],
    [
      'exceptions, which do not show all groups',
      groups(countColumn, MOVES, { layout: { kind: 'exceptions', top: 2 } }),
    ],
    [
      'days that are not comparable',
      groups(countColumn, MOVES, {
        comparisons: [{ kind: 'previous_period', range: { from: '2026-09-04', to: '2026-09-30' } }],
      }),
    ],
  ])('is not stated for %s', (_, table, { older } = {}) => {
    const of = october([table], { headlines: [], ...(older ? {} : { small: 10 }) });
    expect(buildPack(of).sections[0]?.takeaway).toBeUndefined();
  });

  it('leaves out an impossible figure', () => {
    const wrong = [{ metric: COUNT, at: { bucket: null, group: ['Severe'] } }];
    expect(takeaway(groups(countColumn, MOVES, { wrong }))).toContain(': Low, 40 more');
  });

  it('is about the first metric of `headline` that the section has', () => {
    const both = groups(countColumn, MOVES);
    const rows = (both.rows as readonly Row[]).map((each, index) => ({
      ...each,
      values: { ...each.values, [RATE]: 0.8 + index / 100 },
      compare: { previous_period: { values: { ...each.compare?.previous_period?.values, [RATE]: 0.8 } } },
    }));
    const of = { ...both, columns: [...both.columns, ratioColumn], rows };
    expect(takeaway(of)).toContain('Profiles created');
    expect(takeaway(of, { headlineMetrics: [RATE, COUNT] })).toContain('of Approval rate: Severe, 2.0 pp higher');
    expect(takeaway(of, { headlineMetrics: ['alerts.created'] })).toBeUndefined();
  });
});

it('a takeaway names a breached group before the group that changed most', () => {
  const of = judged(october([groups(countColumn, MOVES)], { small: 10, headlines: [] }), [
    target({ metric: COUNT, target: 500, where: { [groupColumn.name]: 'High' } }),
  ]);
  expect(buildPack(of).sections[0]?.takeaway).toBe('Profiles created (Group is High): 400, target 500, breached');
});

it('a takeaway does not repeat the month of the report from a longer section', () => {
  const range = { from: '2026-09-01', to: '2026-10-31' };
  const trend = monthTable({
    id: 'trend',
    range,
    granularity: 'month',
    columns: [{ ...groupColumn, name: 'bucket', kind: 'time', type: 'date' }, countColumn],
    rows: [row({ bucket: '2026-09-01', [COUNT]: 460 }), row({ bucket: '2026-10-01', [COUNT]: 455 })],
  });
  const of = judged(october([trend], { small: 10, headlines: [] }), [
    target({ metric: COUNT, target: 500, per: 'month' }),
  ]);
  expect(of.judgements).toHaveLength(2);
  expect(buildPack(of).sections[0]).not.toHaveProperty('takeaway');
});
