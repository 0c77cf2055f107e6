import { describe, expect, test } from 'vitest';
import { findCatalogDiagnostics } from '../../../src/plan/checks/catalog-check.ts';
import { CATALOG, definitionOf, type SectionInput } from '../../support/reports.ts';

const checkAgainstCatalog = (...of: Parameters<typeof findCatalogDiagnostics>) => [...findCatalogDiagnostics(...of)];

const faults = (section: Partial<SectionInput>, first: SectionInput[] = []) =>
  checkAgainstCatalog(definitionOf([...first, { id: 'a', ...section }]), CATALOG);

test('a section that may be asked has no fault', () => {
  expect(
    faults({
      metrics: ['profiles.created', 'profiles.decided'],
      dimensions: ['profile.type', 'profile.risk'],
      granularity: 'day',
      filters: [{ dimension: 'profile.risk', op: 'in', values: ['high', 'severe'] }],
    }),
  ).toEqual([]);
  expect(faults({ metrics: ['alerts.open', 'rfis.open'], dimensions: ['profile.type'] })).toEqual([]);
  expect(faults({ list: 'profiles' })).toEqual([]);
});

test('an unknown metric is pointed at, with the one that was meant', () => {
  const before: SectionInput = { id: 'before', metrics: ['profiles.created'] };
  expect(faults({ metrics: ['profiles.decided', 'profile.created'] }, [before])).toMatchObject([
    {
      path: ['sections', 1, 'metrics', 1],
      expected: "a metric of the organization's catalog",
      got: '"profile.created"',
      next: 'Did you mean "profiles.created"?',
    },
  ]);
});

test('a metric that is like no other gets advice, not a guess', () => {
  expect(faults({ metrics: ['revenue'] })[0]?.next).toContain('catalog');
});

test('a metric or dimension that the catalog describes unreadably is told apart from one it does not have', () => {
  const unread = [
    { id: 'odd.metric', why: 'granularities: odd' },
    { id: 'x.flag', why: 'values: odd' },
  ];
  const definition = definitionOf([
    { id: 'a', metrics: ['odd.metric'] },
    { id: 'b', metrics: ['profiles.created'], dimensions: ['x.flag'] },
  ]);
  const found = checkAgainstCatalog(definition, { ...CATALOG, unread });
  expect(found.map(({ got }) => got)).toEqual(['"odd.metric"', '"x.flag"']);
  for (const { next } of found) expect(next).toContain('cannot read its description');
});

test('of several unreadable descriptions its own is told', () => {
  const unread = [
    { id: 'first.metric', why: 'unit: odd' },
    { id: 'odd.metric', why: 'granularities: odd' },
  ];
  const [found] = checkAgainstCatalog(definitionOf([{ id: 'a', metrics: ['odd.metric'] }]), { ...CATALOG, unread });
  expect(found?.next).toContain('granularities: odd');
});

test('an unknown metric says nothing about what the others accept', () => {
  const section = {
    metrics: ['profiles.created', 'revenue'],
    dimensions: ['profile.risk'],
    granularity: 'day' as const,
  };
  expect(faults(section)).toMatchObject([{ path: ['sections', 0, 'metrics', 1] }]);
  const filters = [{ dimension: 'profile.risk', values: ['high'] }];
  expect(faults({ ...section, filters })).toHaveLength(1);
});

test('a deprecated metric may be asked', () => {
  expect(faults({ metrics: ['profiles.opened'] })).toEqual([]);
});

describe('current counts', () => {
  test('take no granularity', () => {
    expect(faults({ metrics: ['alerts.open'], granularity: 'day' })).toMatchObject([
      { path: ['sections', 0, 'granularity'], got: '"day" with "alerts.open"' },
    ]);
  });

  test('are moved away where they keep others from a granularity, although they are read every day', () => {
    const section: SectionInput = { id: 'a', metrics: ['alerts.open', 'profiles.created'], granularity: 'day' };
    const readings = { at: '22:30', metrics: ['alerts.open', 'profiles.created'], by: [] };
    for (const settings of [undefined, readings]) {
      expect(checkAgainstCatalog(definitionOf([section]), CATALOG, settings)).toMatchObject([
        { path: ['sections', 0, 'granularity'], next: expect.stringMatching(/^Move/) },
      ]);
    }
    expect(checkAgainstCatalog(definitionOf([{ ...section, metrics: ['alerts.open'] }]), CATALOG, readings)).toEqual(
      [],
    );
  });

  test('are not beside metrics of a period', () => {
    expect(faults({ metrics: ['profiles.created', 'alerts.open'] })).toMatchObject([
      { path: ['sections', 0, 'metrics', 1], got: '"alerts.open" beside metrics of a period' },
    ]);
  });
});

test('a metric that folds any range and takes no granularity at all is told so', () => {
  const folded = { ...CATALOG.metrics[0]!, id: 'profiles.ever', granularities: [] };
  const definition = definitionOf([{ id: 'a', metrics: ['profiles.ever'], granularity: 'day' }]);
  expect(checkAgainstCatalog(definition, { ...CATALOG, metrics: [folded] })).toMatchObject([
    { path: ['sections', 0, 'metrics', 0], got: '"profiles.ever", which takes no granularity' },
  ]);
});

test('a granularity that a metric lacks is pointed at in the metric', () => {
  expect(faults({ metrics: ['profiles.created', 'cohort.completion_rate'], granularity: 'day' })).toMatchObject([
    { path: ['sections', 0, 'metrics', 1], got: '"cohort.completion_rate", which takes "week", "month"' },
  ]);
});

describe('dimensions', () => {
  test('an unknown one is pointed at, with the one that was meant', () => {
    expect(faults({ metrics: ['profiles.created'], dimensions: ['profile.typ'] })).toMatchObject([
      { path: ['sections', 0, 'dimensions', 0], next: 'Did you mean "profile.type"?' },
    ]);
  });

  test('one that a metric does not accept names the metric and what is accepted', () => {
    expect(faults({ metrics: ['profiles.created', 'alerts.open'], dimensions: ['profile.risk'] })).toContainEqual(
      expect.objectContaining({
        path: ['sections', 0, 'dimensions', 0],
        expected: 'a dimension that every metric of the section accepts: "profile.type"',
        got: '"profile.risk", which "alerts.open" does not accept',
      }),
    );
  });

  test('metrics that share none say so', () => {
    expect(faults({ metrics: ['profiles.created', 'screening.hits'], dimensions: ['hit.kind'] })[0]?.expected).toBe(
      'no dimension: these metrics share none',
    );
  });

  test('all metrics that do not accept one are named', () => {
    const got = faults({ metrics: ['alerts.open', 'rfis.open'], dimensions: ['profile.risk'] })[0]?.got;
    expect(got).toBe('"profile.risk", which "alerts.open", "rfis.open" do not accept');
  });

  test('more of them than this organization’s catalog allows', () => {
    const definition = definitionOf([
      { id: 'a', metrics: ['profiles.created'], dimensions: ['profile.type', 'profile.risk'] },
    ]);
    const catalog = { ...CATALOG, limits: { ...CATALOG.limits, max_dimensions: 1 } };
    expect(checkAgainstCatalog(definition, catalog)).toMatchObject([
      { path: ['sections', 0, 'dimensions'], expected: 'at most 1 dimensions', got: '2' },
    ]);
  });
});

describe('filters', () => {
  const filtered = (filter: NonNullable<SectionInput['filters']>[number]) =>
    faults({ metrics: ['profiles.created'], filters: [filter] });

  test('a value the dimension does not take is pointed at, with those it takes', () => {
    expect(filtered({ dimension: 'profile.risk', op: 'in', values: ['high', 'sever'] })).toMatchObject([
      {
        path: ['sections', 0, 'filters', 0, 'values', 1],
        expected: 'a value that "profile.risk" takes: "low", "medium", "high", "severe"',
        got: '"sever"',
        next: 'Did you mean "severe"?',
      },
    ]);
  });

  test('of a dimension of many values a dozen are named, and how many more there are', () => {
    const values = Array.from({ length: 14 }, (_, index) => ({ value: `group_${index}`, label: `Group ${index}` }));
    const group = { ...CATALOG.dimensions[0]!, id: 'profile.type', values };
    const definition = definitionOf([
      { id: 'a', metrics: ['profiles.created'], filters: [{ dimension: 'profile.type', values: ['nobody'] }] },
    ]);
    const [fault] = checkAgainstCatalog(definition, { ...CATALOG, dimensions: [group] });
    expect(fault?.expected).toMatch(/: "group_0", .*"group_11" and 2 more$/);
    expect(fault?.next).toBe('Use one of the values above.');
  });

  test('of a dimension of a dozen values all are named', () => {
    const values = Array.from({ length: 12 }, (_, index) => ({ value: `group_${index}`, label: `Group ${index}` }));
    const group = { ...CATALOG.dimensions[0]!, values };
    const definition = definitionOf([
      { id: 'a', metrics: ['profiles.created'], filters: [{ dimension: group.id, values: ['nobody'] }] },
    ]);
    const [fault] = checkAgainstCatalog(definition, { ...CATALOG, dimensions: [group] });
    expect(fault?.expected).toMatch(/"group_10", "group_11"$/);
  });

  test('of an unknown dimension values are not checked', () => {
    expect(filtered({ dimension: 'colour', values: ['red', 'green'] })).toMatchObject([
      { path: ['sections', 0, 'filters', 0, 'dimension'], got: '"colour"' },
    ]);
  });

  test('a label in place of a value is translated', () => {
    expect(filtered({ dimension: 'profile.type', op: 'eq', values: 'Individual (KYC)' })[0]?.next).toBe(
      'Write "individual": "Individual (KYC)" is its label.',
    );
  });

  test('a dimension that the metrics cannot be filtered by', () => {
    expect(filtered({ dimension: 'hit.kind', op: 'eq', values: 'pep' })).toMatchObject([
      { path: ['sections', 0, 'filters', 0, 'dimension'] },
    ]);
  });
});

test('a limit above the catalog’s own', () => {
  const catalog = { ...CATALOG, limits: { ...CATALOG.limits, max_rows: 100 } };
  const definition = definitionOf([{ id: 'a', metrics: ['profiles.created'], limit: 101 }]);
  expect(checkAgainstCatalog(definition, catalog)).toMatchObject([{ path: ['sections', 0, 'limit'], got: '101' }]);
});

test('every fault of every section is found at once, in the order of the file', () => {
  const found = checkAgainstCatalog(
    definitionOf([
      { id: 'a', metrics: ['nope', 'nada'], dimensions: ['what'] },
      { id: 'b', metrics: ['profiles.created'], filters: [{ dimension: 'profile.risk', values: ['x'] }] },
    ]),
    CATALOG,
  );
  expect(found.map(({ path }) => path.join('.'))).toEqual([
    'sections.0.metrics.0',
    'sections.0.metrics.1',
    'sections.0.dimensions.0',
    'sections.1.filters.0.values.0',
  ]);
});
