import { describe, expect, test } from 'vitest';
import { DocketError } from '../../src/base/error.ts';
import { reportRequestSchema } from '../../src/contract/report.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import type { Plan } from '../../src/plan/plan.ts';
import { CATALOG, definitionOf, type SectionInput, settingsOf, WEEK } from '../support/reports.ts';

const compile = (sections: SectionInput[], more: Parameters<typeof definitionOf>[1] = {}): Plan =>
  compilePlan({ definition: definitionOf(sections, more), settings: settingsOf(), period: WEEK, catalog: CATALOG });
const requests = (plan: Plan) => plan.calls.map((call) => (call.kind === 'report' ? call.request : call.list));
const served = (plan: Plan) =>
  plan.calls.map(({ id }) => plan.sections.filter(({ call }) => call === id).map(({ section }) => section.id));

describe('a call', () => {
  test('requests what the section defines, over the period and in its time zone', () => {
    const [request] = requests(
      compile(
        [
          {
            id: 'a',
            metrics: ['profiles.created', 'profiles.decided'],
            dimensions: ['profile.type'],
            granularity: 'day',
            filters: [{ dimension: 'profile.risk', op: 'in', values: ['severe', 'high'] }],
            order: [{ by: 'profiles.created', dir: 'desc' }],
            limit: 10,
            totals: true,
          },
        ],
        { compare: 'previous_period' },
      ),
    );
    expect(request).toEqual({
      metrics: ['profiles.created', 'profiles.decided'],
      dimensions: ['profile.type'],
      filters: [{ dimension: 'profile.risk', op: 'in', values: ['high', 'severe'] }],
      time: {
        from: '2026-11-09',
        to: '2026-11-15',
        timezone: 'Europe/Zurich',
        granularity: 'day',
        compare: 'previous_period',
      },
      order: [{ by: 'profiles.created', dir: 'desc' }],
      limit: 10,
      include: ['totals'],
    });
    expect(reportRequestSchema.safeParse(request).success).toBe(true);
  });

  test('for current counts has neither range nor comparison', () => {
    const [request] = requests(compile([{ id: 'a', metrics: ['alerts.open'] }], { compare: 'previous_period' }));
    expect(request).toEqual({ metrics: ['alerts.open'], time: { timezone: 'Europe/Zurich' } });
  });

  test('has the same ID as another call exactly if both request the same', () => {
    const ids = (sections: SectionInput[]) => compile(sections).calls.map(({ id }) => id);
    const base: SectionInput = { id: 'a', metrics: ['profiles.created'], dimensions: ['profile.type'] };
    const filtered = (...values: string[]): SectionInput => ({
      ...base,
      filters: [{ dimension: 'profile.risk', values }],
    });
    expect(ids([filtered('high', 'severe')])).toEqual(ids([{ ...filtered('severe', 'high'), id: 'b', title: 'B' }]));
    expect(ids([filtered('high')])).toEqual(
      ids([{ ...base, filters: [{ dimension: 'profile.risk', op: 'eq', values: 'high' }] }]),
    );
    const [risk, type] = [
      { dimension: 'profile.risk', values: ['high'] },
      { dimension: 'profile.type', values: ['entity'] },
    ];
    expect(ids([{ ...base, filters: [risk, type] }])).toEqual(ids([{ ...base, filters: [type, risk, type] }]));
    const different = [
      base,
      filtered('high'),
      filtered('low'),
      { ...base, granularity: 'day' as const },
      { ...base, totals: true },
    ];
    expect(new Set(different.flatMap((section) => ids([section]))).size).toBe(different.length);
    expect(ids([base])[0]).toMatch(/^[0-9a-f]{16}$/);
  });
});

describe('sections share a call', () => {
  test('if they have one row per bucket, with any metrics and totals', () => {
    const plan = compile([
      { id: 'a', metrics: ['profiles.created'], granularity: 'day' },
      { id: 'b', metrics: ['profiles.decided', 'profiles.created'], granularity: 'day', totals: true },
      { id: 'c', metrics: ['profiles.decided'], granularity: 'week' },
    ]);
    expect(served(plan)).toEqual([['a', 'b'], ['c']]);
    expect(requests(plan)[0]).toMatchObject({ metrics: ['profiles.created', 'profiles.decided'], include: ['totals'] });
  });

  test('if both show current counts', () => {
    const plan = compile([
      { id: 'a', metrics: ['alerts.open'] },
      { id: 'b', metrics: ['profiles.created'] },
      { id: 'c', metrics: ['rfis.open'] },
    ]);
    expect(served(plan)).toEqual([['a', 'c'], ['b']]);
  });

  test('with groups only if their metrics are the same, in any order', () => {
    const by: Partial<SectionInput> = { dimensions: ['profile.type'] };
    const plan = compile([
      { id: 'a', metrics: ['profiles.created', 'profiles.decided'], ...by },
      { id: 'b', metrics: ['profiles.decided', 'profiles.created'], ...by, totals: true },
      { id: 'c', metrics: ['profiles.created'], ...by },
    ]);
    expect(served(plan)).toEqual([['a', 'b'], ['c']]);
  });

  test.each<[string, Partial<SectionInput>]>([
    ['a filter', { filters: [{ dimension: 'profile.type', values: 'entity' }] }],
    ['a limit', { limit: 3 }],
    ['an order by a metric', { order: [{ by: 'profiles.decided', dir: 'desc' }] }],
    ['a descending order of buckets', { order: [{ by: 'bucket', dir: 'desc' }] }],
  ])('but not if one has %s', (_name, more) => {
    const plan = compile([
      { id: 'a', metrics: ['profiles.created'], granularity: 'day' },
      { id: 'b', metrics: ['profiles.decided'], granularity: 'day', ...more },
    ]);
    expect(plan.calls.length).toBe(2);
  });

  test('sorted by a metric only if their metrics are the same, because the order of ties is unspecified', () => {
    const order = [{ by: 'profiles.created', dir: 'desc' as const }];
    const plan = compile([
      { id: 'a', metrics: ['profiles.created'], granularity: 'day', order },
      { id: 'b', metrics: ['profiles.created', 'profiles.decided'], granularity: 'day', order },
      { id: 'c', metrics: ['profiles.decided', 'profiles.created'], granularity: 'day', order },
    ]);
    expect(served(plan)).toEqual([['a'], ['b', 'c']]);
  });

  test('with at most twenty metrics', () => {
    const many = Array.from({ length: 25 }, (_, index) => `m${index}`);
    const catalog = { ...CATALOG, metrics: many.map((id) => ({ ...CATALOG.metrics[0]!, id })) };
    const sections = many.map((id) => ({ id, metrics: [id], granularity: 'day' as const }));
    const plan = compilePlan({ definition: definitionOf(sections), settings: settingsOf(), period: WEEK, catalog });
    expect(served(plan).map((ids) => ids.length)).toEqual([20, 5]);
  });

  test('if they show the same list', () => {
    const plan = compile([
      { id: 'a', list: 'profiles', search: 'x' },
      { id: 'b', list: 'profiles', search: 'x' },
      { id: 'c', list: 'profiles' },
    ]);
    expect(served(plan)).toEqual([['a', 'b'], ['c']]);
  });
});

test('a plan is deeply frozen, and the definition is not', () => {
  const definition = definitionOf([{ id: 'a', metrics: ['profiles.created'], dimensions: ['profile.type'] }]);
  const plan = compilePlan({ definition, settings: settingsOf(), period: WEEK, catalog: CATALOG });
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    expect(Object.isFrozen(value)).toBe(true);
    Object.values(value).forEach(walk);
  };
  walk(plan);
  expect(Object.isFrozen(definition.sections)).toBe(false);
});

test('a section has only the fields that apply to it', () => {
  const fields = (section: SectionInput, more: Parameters<typeof definitionOf>[1] = {}) =>
    Object.keys(compile([section], more).sections[0] ?? {});
  const always = ['section', 'period', 'comparisons', 'call', 'partners'];
  const created = { id: 'a', metrics: ['profiles.created'] };
  expect(fields(created)).toEqual(always);
  expect(fields(created, { to_date: 'year' }).filter((name) => !always.includes(name))).toEqual(['toDate']);
  const opened = { id: 'a', metrics: ['profiles.opened'] };
  expect(fields(opened, { follow_replacements: true }).filter((name) => !always.includes(name))).toEqual(['replaced']);
});

test('the same input gives the same plan', () => {
  const sections: SectionInput[] = [
    { id: 'a', metrics: ['profiles.created'], granularity: 'day' },
    { id: 'b', list: 'profiles' },
  ];
  expect(compile(sections)).toEqual(compile(sections));
});

describe('a definition that does not fit the catalog is refused', () => {
  const refusal = (sections: SectionInput[]): DocketError => {
    try {
      compile(sections);
    } catch (error) {
      if (error instanceof DocketError) return error;
      throw error;
    }
    expect.unreachable();
  };
  const unknown: SectionInput = { id: 'a', metrics: ['profile.created'] };

  test('with the place of each error and the next step', () => {
    const { code, message, where, next } = refusal([
      unknown,
      { id: 'b', metrics: ['profiles.created'], dimensions: ['hit.kind'] },
    ]);
    expect([code, where]).toEqual(['plan.invalid', 'acme/weekly']);
    const [head, ...lines] = message.split('\n');
    expect(head).toMatch(/^acme\/weekly .*\b2 errors\b/);
    expect(lines.map((line) => line.trim().replace(/: .*/, ''))).toEqual([
      'sections[0].metrics[0]',
      'sections[1].dimensions[0]',
    ]);
    expect(lines[0]).toMatch(/expected .*catalog; got "profile\.created"\. Did you mean "profiles\.created"\?$/);
    expect(next).toContain('docket check');
  });

  test('with "1 error" in the singular', () => {
    expect(refusal([unknown]).message.split('\n')[0]).toMatch(/\b1 error\b/);
  });
});
