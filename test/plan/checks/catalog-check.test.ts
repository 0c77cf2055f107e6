import { describe, expect, test } from 'vitest';
import { findCatalogDiagnostics } from '../../../src/plan/checks/catalog-check.ts';
import { CATALOG, definitionOf, type SectionInput } from '../../support/reports.ts';

const checkAgainstCatalog = (...of: Parameters<typeof findCatalogDiagnostics>) => [...findCatalogDiagnostics(...of)];

const faults = (section: Partial<SectionInput>, first: SectionInput[] = []) =>
  checkAgainstCatalog(definitionOf([...first, { id: 'a', ...section }]), CATALOG);

test('a section that fits the catalog has no errors', () => {
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

test('the error of an unknown metric proposes a similar one', () => {
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

test('the error of a metric without a similar one points to the catalog', () => {
  expect(faults({ metrics: ['revenue'] })[0]?.next).toContain('catalog');
});

test('the error of a metric or dimension with an unreadable description says so instead of calling it unknown', () => {
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

test('the error quotes the unreadable description of the metric itself', () => {
  const unread = [
    { id: 'first.metric', why: 'unit: odd' },
    { id: 'odd.metric', why: 'granularities: odd' },
  ];
  const [found] = checkAgainstCatalog(definitionOf([{ id: 'a', metrics: ['odd.metric'] }]), { ...CATALOG, unread });
  expect(found?.next).toContain('granularities: odd');
});

test('an unknown metric causes no further errors about dimensions, filters and granularity', () => {
  const section = {
    metrics: ['profiles.created', 'revenue'],
    dimensions: ['profile.risk'],
    granularity: 'day' as const,
  };
  expect(faults(section)).toMatchObject([{ path: ['sections', 0, 'metrics', 1] }]);
  const filters = [{ dimension: 'profile.risk', values: ['high'] }];
  expect(faults({ ...section, filters })).toHaveLength(1);
});

test('a deprecated metric is no error', () => {
  expect(faults({ metrics: ['profiles.opened'] })).toEqual([]);
});

describe('current counts', () => {
  test('have no granularity', () => {
    expect(faults({ metrics: ['alerts.open'], granularity: 'day' })).toMatchObject([
      { path: ['sections', 0, 'granularity'], got: '"day" with "alerts.open"' },
    ]);
  });

  test('beside other metrics should be moved from a section with granularity, even if they have readings', () => {
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

  test('must not be beside metrics of a period', () => {
    expect(faults({ metrics: ['profiles.created', 'alerts.open'] })).toMatchObject([
      { path: ['sections', 0, 'metrics', 1], got: '"alerts.open" beside metrics of a period' },
    ]);
  });
});

test('the error of a metric without any granularity says that it takes none', () => {
  const folded = { ...CATALOG.metrics[0]!, id: 'profiles.ever', granularities: [] };
  const definition = definitionOf([{ id: 'a', metrics: ['profiles.ever'], granularity: 'day' }]);
  expect(checkAgainstCatalog(definition, { ...CATALOG, metrics: [folded] })).toMatchObject([
    { path: ['sections', 0, 'metrics', 0], got: '"profiles.ever", which takes no granularity' },
  ]);
});

test('the error of a granularity that a metric lacks is at the metric', () => {
  expect(faults({ metrics: ['profiles.created', 'cohort.completion_rate'], granularity: 'day' })).toMatchObject([
    { path: ['sections', 0, 'metrics', 1], got: '"cohort.completion_rate", which takes "week", "month"' },
  ]);
});

describe('an error about dimensions', () => {
  test('proposes a similar dimension for an unknown one', () => {
    expect(faults({ metrics: ['profiles.created'], dimensions: ['profile.typ'] })).toMatchObject([
      { path: ['sections', 0, 'dimensions', 0], next: 'Did you mean "profile.type"?' },
    ]);
  });

  test('names the metric that does not accept a dimension, and the accepted dimensions', () => {
    expect(faults({ metrics: ['profiles.created', 'alerts.open'], dimensions: ['profile.risk'] })).toContainEqual(
      expect.objectContaining({
        path: ['sections', 0, 'dimensions', 0],
        expected: 'a dimension that every metric of the section accepts: "profile.type"',
        got: '"profile.risk", which "alerts.open" does not accept',
      }),
    );
  });

  test('says if the metrics share no dimension', () => {
    expect(faults({ metrics: ['profiles.created', 'screening.hits'], dimensions: ['hit.kind'] })[0]?.expected).toBe(
      'no dimension: these metrics share none',
    );
  });

  test('names all metrics that do not accept a dimension', () => {
    const got = faults({ metrics: ['alerts.open', 'rfis.open'], dimensions: ['profile.risk'] })[0]?.got;
    expect(got).toBe('"profile.risk", which "alerts.open", "rfis.open" do not accept');
  });

  test('says how many dimensions the catalog of the organization allows', () => {
    const definition = definitionOf([
      { id: 'a', metrics: ['profiles.created'], dimensions: ['profile.type', 'profile.risk'] },
    ]);
    const catalog = { ...CATALOG, limits: { ...CATALOG.limits, max_dimensions: 1 } };
    expect(checkAgainstCatalog(definition, catalog)).toMatchObject([
      { path: ['sections', 0, 'dimensions'], expected: 'at most 1 dimensions', got: '2' },
    ]);
  });
});

describe('an error about a filter', () => {
  const filtered = (filter: NonNullable<SectionInput['filters']>[number]) =>
    faults({ metrics: ['profiles.created'], filters: [filter] });

  test('is at the unknown value, and lists the values of the dimension', () => {
    expect(filtered({ dimension: 'profile.risk', op: 'in', values: ['high', 'sever'] })).toMatchObject([
      {
        path: ['sections', 0, 'filters', 0, 'values', 1],
        expected: 'a value that "profile.risk" takes: "low", "medium", "high", "severe"',
        got: '"sever"',
        next: 'Did you mean "severe"?',
      },
    ]);
  });

  test('lists twelve values of a dimension, and how many more there are', () => {
    const values = Array.from({ length: 14 }, (_, index) => ({ value: `group_${index}`, label: `Group ${index}` }));
    const group = { ...CATALOG.dimensions[0]!, id: 'profile.type', values };
    const definition = definitionOf([
      { id: 'a', metrics: ['profiles.created'], filters: [{ dimension: 'profile.type', values: ['nobody'] }] },
    ]);
    const [fault] = checkAgainstCatalog(definition, { ...CATALOG, dimensions: [group] });
    expect(fault?.expected).toMatch(/: "group_0", .*"group_11" and 2 more$/);
    expect(fault?.next).toBe('Use one of the values above.');
  });

  test('lists all values of a dimension with twelve', () => {
    const values = Array.from({ length: 12 }, (_, index) => ({ value: `group_${index}`, label: `Group ${index}` }));
    const group = { ...CATALOG.dimensions[0]!, values };
    const definition = definitionOf([
      { id: 'a', metrics: ['profiles.created'], filters: [{ dimension: group.id, values: ['nobody'] }] },
    ]);
    const [fault] = checkAgainstCatalog(definition, { ...CATALOG, dimensions: [group] });
    expect(fault?.expected).toMatch(/"group_10", "group_11"$/);
  });

  test('does not mention the values of an unknown dimension', () => {
    expect(filtered({ dimension: 'colour', values: ['red', 'green'] })).toMatchObject([
      { path: ['sections', 0, 'filters', 0, 'dimension'], got: '"colour"' },
    ]);
  });

  test('names the value for a label', () => {
    expect(filtered({ dimension: 'profile.type', op: 'eq', values: 'Individual (KYC)' })[0]?.next).toBe(
      'Write "individual": "Individual (KYC)" is its label.',
    );
  });

  test('is at a dimension that the metrics do not accept', () => {
    expect(filtered({ dimension: 'hit.kind', op: 'eq', values: 'pep' })).toMatchObject([
      { path: ['sections', 0, 'filters', 0, 'dimension'] },
    ]);
  });
});

test('a limit above that of the catalog is an error', () => {
  const catalog = { ...CATALOG, limits: { ...CATALOG.limits, max_rows: 100 } };
  const definition = definitionOf([{ id: 'a', metrics: ['profiles.created'], limit: 101 }]);
  expect(checkAgainstCatalog(definition, catalog)).toMatchObject([{ path: ['sections', 0, 'limit'], got: '101' }]);
});

test('all errors of all sections are reported at once, in the order of the file', () => {
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
