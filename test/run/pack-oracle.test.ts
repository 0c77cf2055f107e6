import { describe, expect, test } from 'vitest';
import { checkHeadlines } from '../support/pack-oracle/check-headlines.ts';
import type { Days } from '../support/pack-oracle/days.ts';
import type { ExpectedSection, Figure, RawFilter } from '../support/pack-oracle/expected.ts';
import { headlinesOf, type Said } from '../support/pack-oracle/headlines.ts';
import { judge } from '../support/pack-oracle/judged.ts';

// An oracle that notices nothing proves nothing: each rule of the contract on figures is broken three times here.

const OCTOBER: Days = { from: '2026-10-01', to: '2026-10-31' };
const WEEK: Days = { from: '2026-10-26', to: '2026-10-31' };
const SEVERE: RawFilter = { dimension: 'profile.risk', op: 'in', values: ['severe'] };

const figure = (now: number, others: Partial<Record<'previous_period' | 'previous_year', number>> = {}): Figure => ({
  now,
  others: Object.fromEntries(
    Object.entries(others).map(([kind, value]) => [kind, { value, comparable: true, like: true }]),
  ),
  toDate: null,
  provisional: false,
  unit: 'count',
});

const section = (
  id: string,
  total: Readonly<Record<string, Figure>>,
  { range = OCTOBER, filters = [] }: { readonly range?: Days; readonly filters?: readonly RawFilter[] } = {},
): ExpectedSection => ({
  id,
  metrics: Object.keys(total).map((metric) => ({
    id: metric,
    label: metric.replace('.', ' '),
    unit: 'count',
    additive: true,
    first: '2024-05-01',
  })),
  dimensions: [],
  granularity: undefined,
  filters,
  order: [],
  limit: undefined,
  totals: true,
  range,
  kinds: [...new Set(Object.values(total).flatMap(({ others }) => Object.keys(others)))] as ExpectedSection['kinds'],
  toDate: undefined,
  rows: [],
  total,
  over: true,
});

const SECTIONS = [
  section('month', {
    'reviews.done': figure(62, { previous_period: 70 }),
    'alerts.created': figure(310, { previous_period: 250 }),
    'profiles.created': figure(460, { previous_period: 455 }),
  }),
  section('again', { 'alerts.created': figure(310, { previous_year: 280 }) }),
  section('week', { 'profiles.created': figure(87) }, { range: WEEK }),
  section('severe', { 'reviews.done': figure(9, { previous_period: 12 }) }, { filters: [SEVERE] }),
];
const TARGETS = [
  { metric: 'reviews.done', better: 'higher', target: 80, watch: 75, report: false },
  {
    metric: 'reviews.done',
    better: 'higher',
    target: 10,
    watch: 5,
    where: { dimension: 'profile.risk', value: 'severe' },
    report: false,
  },
] as const;
const FRAME = { timezone: 'Etc/UTC', asOf: Date.parse('2026-11-02T08:00:00Z'), fiscal: undefined, ask: async () => [] };

const SAID: readonly Said[] = headlinesOf(SECTIONS, judge(SECTIONS, TARGETS, FRAME), undefined, OCTOBER, (_, value) =>
  value === 'severe' ? 'Severe' : (value ?? '–'),
);
const RIGHT = [
  'reviews done: 62, target 80, breached (8 fewer than the month before)',
  'alerts created: 310 (60 more than the month before, 30 more than a year before)',
  'profiles created: 460 (5 more than the month before)',
  'reviews done (Severe): 9, target 10, watch (3 fewer than the month before)',
];

/** Rule → what it forbids. */
const FAULTS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  figure: [
    RIGHT.with(0, 'reviews done: 63, target 80, breached (8 fewer than the month before)'),
    RIGHT.with(1, 'alerts created: 31 (60 more than the month before, 30 more than a year before)'),
    RIGHT.with(2, 'profiles created: 455 (5 more than the month before)'),
  ],
  period: [
    RIGHT.with(2, 'profiles created (26 – 31 October 2026): 87'),
    RIGHT.with(2, 'profiles created: 87'),
    RIGHT.with(1, 'alerts created: 310 (60 more than a year before, 30 more than a year before)'),
  ],
  scope: [
    RIGHT.with(3, 'reviews done: 9, target 10, watch (3 fewer than the month before)'),
    RIGHT.with(3, 'reviews done (High): 9, target 10, watch (3 fewer than the month before)'),
    RIGHT.with(0, 'reviews done (Severe): 62, target 80, breached (8 fewer than the month before)'),
  ],
  comparison: [
    RIGHT.with(0, 'reviews done: 62, target 80, breached (8 more than the month before)'),
    RIGHT.with(1, 'alerts created: 310 (60 more than the month before)'),
    RIGHT.with(2, 'profiles created: 460 (6 more than the month before)'),
  ],
  status: [
    RIGHT.with(0, 'reviews done: 62, target 80, watch (8 fewer than the month before)'),
    RIGHT.with(0, 'reviews done: 62, target 75, breached (8 fewer than the month before)'),
    RIGHT.with(3, 'reviews done (Severe): 9, target 10, on target (3 fewer than the month before)'),
  ],
  order: [
    [RIGHT[1], RIGHT[0], RIGHT[2], RIGHT[3]],
    [RIGHT[0], RIGHT[2], RIGHT[1], RIGHT[3]],
    [RIGHT[3], RIGHT[0], RIGHT[1], RIGHT[2]],
  ].map((sentences) => sentences.flatMap((sentence) => sentence ?? [])),
  uniqueness: [
    [...RIGHT, RIGHT[1] ?? ''],
    RIGHT.toSpliced(2, 0, RIGHT[1] ?? ''),
    RIGHT.toSpliced(
      1,
      1,
      'alerts created: 310 (60 more than the month before)',
      'alerts created: 310 (30 more than a year before)',
    ),
  ],
};

test('the headlines that the figures say are accepted', () => {
  expect(() => checkHeadlines(RIGHT, SAID)).not.toThrow();
});

describe.each(Object.entries(FAULTS))('a fault of %s is found', (_, faults) => {
  test.each(faults.map((sentences) => [sentences.filter((one) => !RIGHT.includes(one))[0] ?? 'order', sentences]))(
    '%s',
    (_name, sentences) => {
      expect(() => checkHeadlines(sentences, SAID)).toThrow();
    },
  );
});
