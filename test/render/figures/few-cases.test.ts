import { expect, test } from 'vitest';
import type { Manifest } from '../../../src/deliver/archive/manifest.ts';
import type { Dataset, Table } from '../../../src/fetch/dataset.ts';
import { resultFields } from '../../../src/queue/runs/progress-recorder.ts';
import { renderEmail } from '../../../src/render/email/render-email.ts';
import { figureReferences } from '../../../src/render/figures/comments/references.ts';
import { countStatuses } from '../../../src/render/figures/current-statuses.ts';
import { fewText, isFewChange } from '../../../src/render/figures/few.ts';
import { headlineFigures } from '../../../src/render/figures/headline-figures.ts';
import { buildHeadlines } from '../../../src/render/figures/headlines.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { evaluateConditions } from '../../../src/run/delivery-conditions.ts';
import { createReviewInputs } from '../../../src/run/review/review-inputs.ts';
import { toWaitingResult } from '../../../src/run/run-result.ts';
import { countColumn, MADE_AT, ratioColumn, row, typeColumn } from '../../support/dataset.ts';
import { definitionOf } from '../../support/reports.ts';
import { judged, monthTable, october, SEPTEMBER, target } from '../pack/fixtures.ts';

const RATE = ratioColumn.name;
const COUNT = countColumn.name;
const P90 = { ...ratioColumn, name: 'time_p90', unit: 'seconds', aggregation: 'p90' };

test('a ratio of fewer cases than `small` shows the number of cases, a count never does', () => {
  const text = (
    cases: number | null | undefined,
    of = ratioColumn,
    rules: Parameters<typeof fewText>[0] = { small: 10 },
  ) => fewText(rules, of, 0.5, cases === undefined ? undefined : { [of.name]: cases });
  expect([9, 10, null, undefined].map((cases) => text(cases))).toEqual(['(n = 9)', undefined, undefined, undefined]);
  expect(text(9, countColumn)).toBeUndefined();
  expect(text(9, ratioColumn, {})).toBeUndefined();
  expect(text(9, ratioColumn, { small: 10, bases: [{ metric: RATE, base: COUNT, atMost: true }] })).toBe('(n ≤ 9)');
  expect(fewText({ small: 10 }, ratioColumn, null, { [RATE]: 0 })).toBeUndefined();
});

test('a change needs enough cases in both periods, and twice as many for a 90th percentile', () => {
  const few = (of: typeof ratioColumn, now: number, before: number) =>
    isFewChange(
      { small: 10 },
      of,
      { values: {}, cases: { [of.name]: now } },
      { values: {}, cases: { [of.name]: before } },
    );
  expect([few(ratioColumn, 10, 10), few(ratioColumn, 9, 400), few(ratioColumn, 400, 9)]).toEqual([false, true, true]);
  expect([few(P90, 19, 20), few(P90, 20, 20)]).toEqual([true, false]);
  const counts = (now: number, before: number) =>
    isFewChange({ small: 10 }, countColumn, { values: { [COUNT]: now } }, { values: { [COUNT]: before } });
  expect([counts(3, 400), counts(12, 10)]).toEqual([true, false]);
});

/** A rate and a count of `cases` in October, and of `before` in September. */
const card = (cases: number, before: number, change: Partial<Table> = {}): Table =>
  monthTable({
    id: 'kpis',
    layout: { kind: 'scorecard', groups: [] },
    comparisons: [{ kind: 'previous_period', range: SEPTEMBER }],
    columns: [ratioColumn, countColumn],
    rows: [
      row(
        { [RATE]: 2 / 3, [COUNT]: cases },
        {
          cases: { [RATE]: cases },
          compare: { previous_period: { values: { [RATE]: 0.5, [COUNT]: before }, cases: { [RATE]: before } } },
        },
      ),
    ],
    ...change,
  });
const breached = (more: object = {}) => [target({ metric: RATE, target: '90%', ...more }), target({ metric: COUNT })];
const scorecardOf = (data: Dataset) => {
  const { summary } = buildPack(data, { locale: 'en' });
  return summary?.scorecard.groups[0]?.rows ?? [];
};
const headlinesOf = (data: Dataset) => buildHeadlines(headlineFigures(data, 'en'), undefined, 'en');

test('figures of few cases show the number of cases, without colour or percentage change', () => {
  const [rate, count] = scorecardOf(judged(october([card(3, 2)], { small: 10 }), breached()));
  expect(rate?.figure.text).toBe('66.7% (n = 3)');
  expect(rate?.compared[0]).toMatchObject({ text: '50.0% (n = 2)', tone: '', change: { text: '+16.7 pp' } });
  expect(rate?.status).toEqual({ status: 'undefined', text: '■ breached', word: 'breached' });
  expect(count?.compared[0]).toMatchObject({ tone: '', change: { text: '+1' } });
});

test('figures of enough cases, or of a dataset without `small`, show colour and percentage change', () => {
  for (const data of [october([card(30, 20)], { small: 10 }), october([card(3, 2)])]) {
    const [rate, count] = scorecardOf(judged(data, breached()));
    expect(rate?.figure.text).toBe('66.7%');
    expect(rate?.compared[0]).toMatchObject({ text: '50.0%', tone: 'better' });
    expect(rate?.status?.status).toBe('breached');
    expect(count?.compared[0]).toMatchObject({ tone: 'better', change: { text: '+50%' } });
  }
});

test('figures of few cases make no headline, and their statuses are counted separately', () => {
  const few = judged(october([card(3, 2)], { small: 10 }), breached());
  expect(headlinesOf(few)).toEqual([]);
  expect(countStatuses(few.judgements ?? [])).toEqual({});
  expect(countStatuses(few.judgements ?? [], true)).toEqual({ breached: 1 });
  expect(headlinesOf(judged(october([card(30, 20)], { small: 10 }), breached()))).not.toEqual([]);
});

test('a comment quotes the change of few cases as the scorecard shows it', () => {
  const of = (cases: number, before: number) => {
    const known = figureReferences(judged(october([card(cases, before)], { small: 10 }), breached()), 'en');
    return [COUNT, RATE].flatMap((metric) =>
      ['', '.previous', '.change'].map((suffix) => known.get(`kpis.${metric}${suffix}`)?.text),
    );
  };
  expect(of(3, 2)).toEqual(['3', '2', '+1', '66.7% (n = 3)', '50.0% (n = 2)', '+16.7 pp']);
  expect(of(30, 20)).toEqual(['30', '20', '+50%', '66.7%', '50.0%', '+16.7 pp']);
});

test('an e-mail shows figures of few cases in grey, in tiles, scorecards, rows and totals', async () => {
  const cells = { cases: { [RATE]: 3 } };
  const data = october(
    [
      card(3, 2),
      groups({
        rows: [row({ [typeColumn.name]: 'entity', [RATE]: 0.5 }, cells)],
        totals: { values: { [RATE]: 0.75 }, ...cells },
      }),
    ],
    { small: 10 },
  );
  const { html } = await renderEmail(data, [], { run: 'a'.repeat(32), madeAt: MADE_AT, locale: 'en' });
  const grey = (text: string) =>
    new RegExp(`class="n u"[^>]*>${text.replaceAll(/[().]/g, String.raw`\$&`)}`).test(html);
  expect(['66.7% (n = 3)', '50.0% (n = 3)', '75.0% (n = 3)'].map(grey)).toEqual([true, true, true]);
  expect(html).toMatch(/class="value few"[^>]*>66\.7% \(n = 3\)/);
  const many = await renderEmail(october([card(30, 20)], { small: 10 }), [], {
    run: 'a'.repeat(32),
    madeAt: MADE_AT,
    locale: 'en',
  });
  expect(many.html).not.toMatch(/class="(?:n u|value few)"/);
});

test('the record of a run counts statuses of few cases separately', () => {
  const data = judged(october([card(3, 2), groups()], { small: 10 }), [
    ...breached(),
    target({ metric: RATE, target: '90%', where: { [typeColumn.name]: 'entity' } }),
  ]);
  const manifest = { judgements: data.judgements } as Manifest;
  const result = toWaitingResult('held', manifest, { seq: 1, phase: 'incomplete', content: null }, undefined);
  expect(result).toMatchObject({ statuses: { breached: 2 }, fewStatuses: { breached: 1 } });
  expect(resultFields({ ...result, calls: [] }, { planned: 0, made: 0, saved: 0 })).toMatchObject({
    statuses: { breached: 2 },
    fewStatuses: { breached: 1 },
  });
});

test('few cases count for send_if and required_if, unless the target ignores them', async () => {
  const settled = async (more: object) => {
    const data = judged(october([card(3, 2)], { small: 10 }), breached(more));
    const definition = definitionOf([{ id: 'kpis', metrics: [RATE, COUNT], commentary: { required_if: 'breached' } }], {
      deliveries: [{ directory: { path: 'out' }, send_if: 'breached' }],
    });
    const { conditions } = await evaluateConditions(data, definition, undefined);
    const { sections } = createReviewInputs(data, {}, definition, {}, { conditions });
    return [conditions[0]?.send, sections[0]?.required];
  };
  expect(await settled({})).toEqual([true, true]);
  expect(await settled({ few: 'ignore' })).toEqual([false, false]);
});

test('a status that is ignored because of few cases does not count as changed', async () => {
  const data = judged(october([card(3, 2)], { small: 10 }), breached({ few: 'ignore' }));
  const sent = {
    last: async () => ({ sent: { run: 'r', at: 0, figures: 'x', statuses: { [`kpis:${RATE}`]: 'watch' as const } } }),
  };
  const definition = definitionOf([{ id: 'kpis', metrics: [RATE] }], {
    deliveries: [{ directory: { path: 'out' }, send_if: 'status_changed' }],
  });
  const of = async (dataset: Dataset) =>
    (await evaluateConditions(dataset, definition, sent as never)).conditions[0]?.send;
  expect(await of(data)).toBe(false);
  expect(await of(judged(october([card(3, 2)], { small: 10 }), breached()))).toBe(true);
});

const groups = (change: Partial<Table> = {}): Table =>
  monthTable({
    id: 'groups',
    comparisons: [{ kind: 'previous_period', range: SEPTEMBER }],
    columns: [typeColumn, ratioColumn],
    rows: ['individual', 'entity'].map((type) =>
      row({ [typeColumn.name]: type, [RATE]: 0.8 }, { compare: { previous_period: { values: { [RATE]: 0.7 } } } }),
    ),
    totals: { values: { [RATE]: 0.8 }, compare: { previous_period: { values: { [RATE]: 0.7 } } } },
    ...change,
  });
/** Tones of the changes of the rows and of the totals, and the statuses of the rows. */
const colours = (more: object) => {
  const data = judged(october([groups()]), [target({ metric: RATE, target: '90%', ...more })]);
  const [section] = buildPack(data, { locale: 'en' }).sections;
  const view = section?.columns.find(({ role }) => role === 'change');
  const value = section?.columns.find(({ role }) => role === 'value');
  const { rows } = groups();
  if (section === undefined || view === undefined || value === undefined || 'path' in rows) throw new Error('no rows');
  return [
    rows.map((each) => section.cells.ofRow(view, each).tone),
    section.cells.ofTotals(view)?.tone,
    rows.map((each) => section.cells.ofRow(value, each).status?.status),
  ];
};

test('rows of a group have a colour and a status only when a target applies to them', () => {
  expect(colours({})).toEqual([['', ''], 'better', [undefined, undefined]]);
  expect(colours({ rows: [typeColumn.name] })).toEqual([['better', 'better'], 'better', ['breached', 'breached']]);
  expect(colours({ where: { [typeColumn.name]: 'entity' } })).toEqual([['', 'better'], '', [undefined, 'breached']]);
});
