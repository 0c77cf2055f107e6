import { describe, expect, test } from 'vitest';
import { checkHeadlines } from '../support/pack-oracle/check-headlines.ts';
import { withoutCases } from '../support/pack-oracle/checked.ts';
import type { Days } from '../support/pack-oracle/days.ts';
import type { ExpectedSection, Figure, RawFilter } from '../support/pack-oracle/expected.ts';
import { inEnglish } from '../support/pack-oracle/german.ts';
import { fewStatuses, headlinesOf, type Said } from '../support/pack-oracle/headlines.ts';
import { judge } from '../support/pack-oracle/judged.ts';
import { checkTakeaway, takeawayOf } from '../support/pack-oracle/takeaways.ts';
import { usualOf } from '../support/pack-oracle/usual.ts';

// Shows that the oracle finds faults: each rule for figures is broken in three ways.

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

/** Headlines that break a rule, by rule. */
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

const byRisk = (totals: Readonly<Record<string, Figure>>): ExpectedSection => ({
  ...section('risk', totals),
  dimensions: ['profile.risk'],
  rows: (
    [
      ['low', 2100, 2060, 1900],
      ['high', 400, 420, 350],
      ['severe', 96, 50, 90],
      ['new', 60, 4, 12],
    ] as const
  ).map(([group, now, previous_period, previous_year]) => ({
    bucket: null,
    days: OCTOBER,
    groups: [group],
    over: true,
    figures: {
      'alerts.created': figure(now, { previous_period, previous_year }),
      'reviews.done': figure(now, { previous_period: now, previous_year: now }),
    },
  })),
});
const RISK = byRisk({
  'reviews.done': figure(62, { previous_period: 70 }),
  'alerts.created': figure(310, { previous_period: 250 }),
});
const HIGH = { dimension: 'profile.risk', value: 'high' };
const label = (_: string, value: string | null) => (value ?? '–').toUpperCase();

/** A rate or a duration with its number of cases, now and in the period before. */
const based = (
  now: number,
  cases: number,
  before: number,
  casesBefore: number,
  more: Partial<Figure> = {},
): Figure => ({
  ...figure(now),
  unit: 'ratio',
  cases,
  others: { previous_period: { value: before, comparable: true, like: true, cases: casesBefore } },
  ...more,
});
const P90 = { unit: 'seconds', isTail: true } as const;
const DAY = 86_400;
const FEW = [
  section('few', {
    'rate.breached': based(0.5, 3, 0.9, 400),
    'rate.before': based(0.5, 400, 0.9, 9),
    'rate.enough': based(0.8, 10, 0.7, 10),
    'rate.unknown': {
      ...based(0.75, 0, 0.7, 0),
      cases: null,
      others: { previous_period: { value: 0.7, comparable: true, like: true } },
    },
    'time.p90': based(2 * DAY, 19, DAY, 400, P90),
    'time.enough_p90': based(3 * DAY, 20, 2 * DAY, 20, P90),
    'alerts.few': figure(12, { previous_period: 9 }),
  }),
].map(({ metrics, total, ...rest }) => ({
  ...rest,
  total,
  metrics: metrics.map((metric) => ({ ...metric, unit: total?.[metric.id]?.unit ?? null })),
}));
const FEW_TARGETS = [
  { metric: 'rate.breached', better: 'higher', target: 0.9, report: false },
  { metric: 'rate.enough', better: 'higher', target: 0.9, report: false },
] as const;
const FEW_JUDGED = judge(FEW, FEW_TARGETS, FRAME);
const fewSaid = (wanted?: readonly string[]) => headlinesOf(FEW, FEW_JUDGED, wanted, OCTOBER, label);
const FEW_RIGHT = [
  'rate enough: 80.0%, target 90.0%, breached (10.0 pp higher than the month before)',
  'time enough_p90: 3.0 days (1.0 days longer than the month before)',
  'rate unknown: 75.0% (5.0 pp higher than the month before)',
];
const WANTED = ['rate.breached', 'time.p90', 'alerts.few', 'rate.before'];
const WANTED_RIGHT = [
  'rate breached: 50.0%, target 90.0%, breached',
  'time p90: 2.0 days',
  'alerts few: 12 (3 more than the month before)',
  'rate before: 50.0%',
];

test('the oracle accepts the right headlines for figures with few cases', () => {
  expect(() => checkHeadlines(FEW_RIGHT, fewSaid())).not.toThrow();
  expect(() => checkHeadlines(WANTED_RIGHT, fewSaid(WANTED))).not.toThrow();
  expect(fewStatuses(FEW, FEW_JUDGED, OCTOBER)).toEqual({ breached: 1, watch: 0 });
});

test.each([
  ['a status of few cases', [WANTED_RIGHT[0] ?? '', ...FEW_RIGHT]],
  ['a change of few cases', [...FEW_RIGHT, 'rate before: 50.0% (40.0 pp lower than the month before)']],
  ['a change from few cases', FEW_RIGHT.toSpliced(1, 0, 'rate before: 50.0%')],
  ['a 90th percentile of 19 cases', FEW_RIGHT.with(1, 'time p90: 2.0 days (1.0 days longer than the month before)')],
  ['a count from 9', [...FEW_RIGHT, 'alerts few: 12 (3 more than the month before)']],
  ['silence about exactly enough cases', FEW_RIGHT.slice(1)],
  ['silence about a 90th percentile of 20 cases', FEW_RIGHT.toSpliced(1, 1)],
  ['silence about a number that is not known', FEW_RIGHT.slice(0, 2)],
])('the oracle finds %s', (_, sentences) => {
  expect(() => checkHeadlines(sentences, fewSaid())).toThrow();
});

test.each([
  [
    'a rate',
    WANTED_RIGHT.with(0, 'rate breached: 50.0%, target 90.0%, breached (40.0 pp lower than the month before)'),
  ],
  ['a 90th percentile', WANTED_RIGHT.with(1, 'time p90: 2.0 days (1.0 days longer than the month before)')],
  ['a rate of few before', WANTED_RIGHT.with(3, 'rate before: 50.0% (40.0 pp lower than the month before)')],
])('the oracle finds a change of %s of few cases in a headline that the report requests', (_, sentences) => {
  expect(() => checkHeadlines(sentences, fewSaid(WANTED))).toThrow();
});

test.each([
  ['no number of cases', '50.0%', 3],
  ['another number', '50.0% (n = 4)', 3],
  ['the number of enough cases', '50.0% (n = 10)', 10],
  ['the number of unknown cases', '50.0% (n = 3)', null],
])('the oracle finds %s behind a rate', (_, text, cases) => {
  expect(() => withoutCases(text, 'ratio', 0.5, cases)).toThrow();
});
const takeaway = (targets: Parameters<typeof judge>[1]) =>
  takeawayOf(RISK, { sections: [RISK], judged: judge([RISK], targets, FRAME), labelOf: label }, undefined, OCTOBER);
const MOVED = 'Largest change of alerts created, apart from groups of few cases: SEVERE, 46 more than the month before';
const WORST = 'alerts created (HIGH): 400, target 390, breached';
const BEHIND = takeaway([{ metric: 'alerts.created', better: 'lower', target: 390, where: HIGH, report: false }]);

test('the oracle accepts the right takeaways', () => {
  expect(() => checkTakeaway(MOVED, takeaway([]))).not.toThrow();
  expect(() => checkTakeaway(WORST, BEHIND)).not.toThrow();
});

test.each([
  ['row', MOVED.replace('SEVERE', 'LOW')],
  ['row of few cases', MOVED.replace('SEVERE, 46', 'NEW, 56')],
  ['row with its own difference', MOVED.replace('SEVERE, 46', 'LOW, 40')],
  ['period', MOVED.replace('the month before', 'a year before')],
  ['period with its own difference', MOVED.replace('46 more than the month', '6 more than a year')],
  ['direction', MOVED.replace('more', 'fewer')],
  ['difference', MOVED.replace('46', '47')],
  ['silence about few cases', MOVED.replace(', apart from groups of few cases', '')],
  ['metric', MOVED.replace('alerts created', 'reviews done')],
  ['company', 'alerts created: 310 (60 more than the month before)'],
  ['absence', undefined],
])('the oracle finds a wrong %s of a takeaway', (_, sentence) => {
  expect(() => checkTakeaway(sentence, takeaway([]))).toThrow();
});

test('the oracle finds a largest change where the takeaway should be the worst group', () => {
  for (const sentence of [MOVED, undefined, WORST.replace('HIGH', 'LOW'), WORST.replace('400', '420')])
    expect(() => checkTakeaway(sentence, BEHIND)).toThrow();
});

test('the oracle accepts the right headlines', () => {
  expect(() => checkHeadlines(RIGHT, SAID)).not.toThrow();
});

const GERMAN = [
  'reviews done: 62, Ziel 80, verfehlt (8 weniger als im Vormonat)',
  'alerts created: 310 (60 mehr als im Vormonat, 30 mehr als ein Jahr zuvor)',
  'profiles created: 460 (5 mehr als im Vormonat)',
  'reviews done (Severe): 9, Ziel 10, beobachten (3 weniger als im Vormonat)',
];
const germanAsEnglish = (sentences: readonly string[]): readonly string[] =>
  sentences.map((sentence, at) => inEnglish(sentence, SAID[at]?.label ?? ''));

test('the oracle accepts the right headlines in German', () => {
  expect(() => checkHeadlines(germanAsEnglish(GERMAN), SAID)).not.toThrow();
});

test.each([
  ['a figure', GERMAN.with(0, 'reviews done: 63, Ziel 80, verfehlt (8 weniger als im Vormonat)')],
  ['a thousand', GERMAN.with(1, 'alerts created: 3,10 (60 mehr als im Vormonat, 30 mehr als ein Jahr zuvor)')],
  ['a status', GERMAN.with(0, 'reviews done: 62, Ziel 80, beobachten (8 weniger als im Vormonat)')],
  ['a direction', GERMAN.with(2, 'profiles created: 460 (5 weniger als im Vormonat)')],
  ['a time', GERMAN.with(2, 'profiles created: 460 (5 mehr als ein Jahr zuvor)')],
  ['English', GERMAN.with(2, 'profiles created: 460 (5 more than the month before)')],
  ['a scope', GERMAN.with(3, 'reviews done: 9, Ziel 10, beobachten (3 weniger als im Vormonat)')],
])('the oracle finds a wrong part of a German headline: %s', (_, sentences) => {
  expect(() => checkHeadlines(germanAsEnglish(sentences), SAID)).toThrow();
});

describe.each(Object.entries(FAULTS))('the oracle finds headlines that break the rule on %s', (_, faults) => {
  test.each(faults.map((sentences) => [sentences.filter((one) => !RIGHT.includes(one))[0] ?? 'order', sentences]))(
    '%s',
    (_name, sentences) => {
      expect(() => checkHeadlines(sentences, SAID)).toThrow();
    },
  );
});

/** Computed by hand: m = 106 and w = 12.57. */
const EARLIER = [104, 108, 106, 112, 104, 110, 108, 104, 110, 102, 104, 100];

test.each([
  [118, 'usual'],
  [119, 'unusual'],
  [93, 'drifting'],
  [87, 'unusual'],
])('the oracle judges that %s after these figures is %s', (value, state) => {
  const points = [...EARLIER, value].map((each) => figure(each));
  expect(usualOf(points, 1)).toEqual({ low: 94, high: 118, state });
  expect(usualOf(points.slice(1), 1)).toBeUndefined();
  expect(usualOf(points.with(4, { ...figure(0.5), unit: 'ratio', cases: 9 }), 1)).toBeUndefined();
});
