import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SourcedTarget } from '../../../src/definitions/schema/targets.ts';
import type { Dataset } from '../../../src/fetch/dataset.ts';
import { headlineFigures } from '../../../src/render/figures/headline-figures.ts';
import { buildHeadlines, type HeadlineFigure, headlineText } from '../../../src/render/figures/headlines.ts';
import { judgeDataset } from '../../../src/render/figures/judge.ts';
import { dataset, onboarding, ratioColumn, row, table, typeColumn, workload } from '../../support/dataset.ts';

const WEEK_BEFORE = { from: '2026-11-02', to: '2026-11-08' };
const figure = (more: Partial<HeadlineFigure> = {}): HeadlineFigure => ({
  section: 'kpis',
  title: 'KPIs',
  key: '',
  place: 'own',
  comparisons: [],
  metric: 'reviews.overdue',
  label: 'Reviews overdue',
  scope: '',
  value: 62,
  unit: 'count',
  quantity: { kind: 'count' },
  ...more,
});
const against = (value: number | null, more: Partial<HeadlineFigure['comparisons'][number]> = {}) =>
  ({ kind: 'previous_period', value, days: WEEK_BEFORE, unlike: false, ...more }) as const;
const BREACHED = { status: 'breached', target: 0 } as const;
const ratio = { unit: 'ratio', quantity: { kind: 'ratio' }, label: 'Approval rate' } as const;
const duration = { unit: 'seconds', quantity: { kind: 'duration', scale: 'days' }, label: 'Time to decision' } as const;

describe('a headline', () => {
  test.each<[Partial<HeadlineFigure>, string, string]>([
    [
      { judged: BREACHED, comparisons: [against(54)] },
      'Reviews overdue: 62, target 0, breached (8 more than the week before)',
      'Reviews overdue: 62, Ziel 0, verfehlt (8 mehr als in der Vorwoche)',
    ],
    [
      { comparisons: [against(70)] },
      'Reviews overdue: 62 (8 fewer than the week before)',
      'Reviews overdue: 62 (8 weniger als in der Vorwoche)',
    ],
    [
      { comparisons: [against(62)] },
      'Reviews overdue: 62 (the same as the week before)',
      'Reviews overdue: 62 (wie in der Vorwoche)',
    ],
    [
      { comparisons: [against(0)] },
      'Reviews overdue: 62 (62 more than the week before)',
      'Reviews overdue: 62 (62 mehr als in der Vorwoche)',
    ],
    [{ comparisons: [against(null)] }, 'Reviews overdue: 62', 'Reviews overdue: 62'],
    [{ comparisons: [against(54, { unlike: true })] }, 'Reviews overdue: 62', 'Reviews overdue: 62'],
    [
      { ...ratio, value: 0.86, judged: { status: 'watch', target: 0.9 }, comparisons: [against(0.8)] },
      'Approval rate: 86.0%, target 90.0%, watch (6.0 pp higher than the week before)',
      'Approval rate: 86,0 %, Ziel 90,0 %, beobachten (6,0 PP höher als in der Vorwoche)',
    ],
    [
      { ...duration, value: 90_000, judged: { status: 'breached', target: 86_400 }, comparisons: [against(97_200)] },
      'Time to decision: 1.04 days, target 1.0 days, breached (0.09 days shorter than the week before)',
      'Time to decision: 1,04 Tage, Ziel 1,0 Tage, verfehlt (0,09 Tage kürzer als in der Vorwoche)',
    ],
    [
      { scope: 'Risk is High', comparisons: [against(54, { kind: 'previous_year' })] },
      'Reviews overdue (Risk is High): 62 (8 more than a year before)',
      'Reviews overdue (Risk is High): 62 (8 mehr als ein Jahr zuvor)',
    ],
  ])('states figure, target and change in English and German: %j', (more, english, german) => {
    expect(headlineText(figure(more), 'en-GB')).toBe(english);
    expect(headlineText(figure(more), 'de-DE')?.replaceAll('\u00a0', ' ')).toBe(german);
  });

  test.each([
    ['2026-10-01', '2026-10-31', 'the month before'],
    ['2026-07-01', '2026-09-30', 'the quarter before'],
    ['2026-06-01', '2026-08-31', 'the 3 months before'],
    ['2025-01-01', '2025-12-31', 'the year before'],
    ['2024-02-01', '2024-02-29', 'the month before'],
    ['2026-11-08', '2026-11-08', 'the day before'],
    ['2026-11-01', '2026-11-14', 'the 14 days before'],
  ])('names %s to %s %s', (from, to, name) => {
    expect(headlineText(figure({ comparisons: [against(54, { days: { from, to } })] }), 'en-GB')).toContain(
      `than ${name})`,
    );
  });

  test('is not written for a figure without a value', () => {
    expect(headlineText(figure({ value: null, judged: { status: 'undefined', target: 0 } }), 'en-GB')).toBeUndefined();
  });
});

describe('the headlines', () => {
  const named = (metric: string, more: Partial<HeadlineFigure>) => figure({ metric, label: metric, ...more });
  const FIGURES = [
    named('small', { comparisons: [against(60)] }),
    named('large', { comparisons: [against(20)] }),
    named('same', { comparisons: [against(62)] }),
    named('plain', {}),
    named('watched', { judged: { status: 'watch', target: 1 } }),
    named('missed', { judged: BREACHED }),
    named('fine', { judged: { status: 'on_target', target: 99 } }),
    named('unlike', { comparisons: [against(1, { unlike: true })] }),
  ];
  const names = (wanted?: readonly string[]) =>
    buildHeadlines(FIGURES, wanted, 'en-GB').map((text) => text.replace(/:.*/, ''));

  test('list breached figures first, then figures on watch, then the largest changes', () => {
    expect(names()).toEqual(['missed', 'watched', 'large', 'small']);
  });

  test('are those that the report requests, in its order', () => {
    expect(names(['plain', 'missed', 'absent', 'small'])).toEqual(['plain', 'missed', 'small']);
  });

  test('are at most five, are never repeated, and state only numbers of their figures', () => {
    const anyFigure = fc.record({
      metric: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
      value: fc.option(fc.integer({ min: 0, max: 999 })),
      target: fc.option(fc.integer({ min: 0, max: 999 })),
      before: fc.option(fc.integer({ min: 0, max: 999 })),
      unlike: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(anyFigure, { maxLength: 12 }), (all) => {
        const texts = buildHeadlines(
          all.map(({ metric, value, target, before: was, unlike }) =>
            named(metric, {
              value,
              ...(target === null ? {} : { judged: { status: value === target ? 'on_target' : 'breached', target } }),
              comparisons: [against(was, { unlike })],
            }),
          ),
          undefined,
          'en-GB',
        );
        expect(texts.length).toBeLessThanOrEqual(5);
        expect(new Set(texts).size).toBe(texts.length);
        for (const text of texts) {
          const metric = text.charAt(0);
          const numbers = (text.slice(2).match(/\d+/g) ?? []).map(Number);
          const about = all.find(
            ({ metric: of, value, target, before: was, unlike }) =>
              of === metric &&
              numbers.every((number) =>
                [value, target, ...(unlike || was === null || value === null ? [] : [Math.abs(value - was)])].includes(
                  number,
                ),
              ),
          );
          expect(about, text).toBeDefined();
        }
      }),
    );
  });
});

describe('the headlines of a dataset', () => {
  const target = (more: Partial<SourcedTarget>): SourcedTarget => ({
    metric: 'alerts.open',
    better: 'lower',
    target: 0,
    source: 'organization',
    ...more,
  });
  const write = (of: Dataset, targets: readonly SourcedTarget[]) => {
    const judged = judgeDataset(of, targets, { sections: [] });
    return buildHeadlines(headlineFigures(judged, 'en-GB'), undefined, 'en-GB');
  };

  test('are about totals, current counts and rows that a target names', () => {
    const byType = table({
      id: 'by_type',
      columns: [typeColumn, ratioColumn],
      rows: [row({ [typeColumn.name]: 'entity', [ratioColumn.name]: 0.5 })],
    });
    const whole = { ...onboarding, running: false, filters: [] };
    expect(
      write(dataset([whole, workload, byType]), [
        target({}),
        target({
          metric: ratioColumn.name,
          better: 'higher',
          where: { [typeColumn.name]: 'entity' },
          target: '90%',
          watch: '40%',
        }),
      ]),
    ).toEqual([
      'Open alerts (now, 16 November 2026 at 07:59): 37, target 0, breached',
      'Time to decision (median): 5.3 hours (1.1 hours longer than the week before)',
      'Profiles created: 6,390 (100 more than the week before)',
      'Approval rate: 83.6% (0.6 pp higher than the week before)',
      'Approval rate (Profile type is Entity (KYB)): 50.0%, target 90.0%, watch',
    ]);
  });

  test('compare nothing while the period is running, or when the days are not comparable', () => {
    expect(write(dataset([{ ...onboarding, running: true }]), [])).toEqual([]);
    const shifted = { from: '2026-11-01', to: '2026-11-07' };
    expect(
      write(
        dataset([{ ...onboarding, running: false, comparisons: [{ kind: 'previous_period', range: shifted }] }]),
        [],
      ),
    ).toEqual([]);
  });
});
