import { expect, test } from 'vitest';
import { checkReadings } from '../../../src/plan/checks/reading-check.ts';
import { CATALOG } from '../../support/reports.ts';

const check = (metrics: readonly string[], by: readonly string[] = [], catalog = CATALOG) =>
  checkReadings({ at: '22:30', metrics: [...metrics], by: [...by] }, catalog);

test('a dimension that one of the current counts accepts is allowed', () => {
  expect(check(['alerts.open', 'rfis.open'], ['profile.type'])).toEqual([]);
});

test('the error of an unknown metric proposes a similar one, or else lists the current counts', () => {
  expect(check(['alerts.open', 'alerts.opn', 'revenue'])).toEqual([
    expect.objectContaining({
      path: ['readings', 'metrics', 1],
      got: '"alerts.opn"',
      next: 'did you mean "alerts.open"?',
    }),
    expect.objectContaining({
      path: ['readings', 'metrics', 2],
      got: '"revenue"',
      next: expect.stringMatching(/alerts\.open, rfis\.open$/),
    }),
  ]);
});

test('the error of a metric with a history differs from that of an unknown metric', () => {
  const [known] = check(['profiles.created']);
  const [unknown] = check(['profiles.banana']);
  expect(known?.path).toEqual(['readings', 'metrics', 0]);
  expect(known?.got).toMatch(/^"profiles\.created", .+history/);
  expect(known?.next).toMatch(/^Remove/);
  expect(unknown?.got).toBe('"profiles.banana"');
  expect(known?.expected).toBe(unknown?.expected);
  expect(known?.expected).toContain('current count');
});

test('the error of an unknown dimension proposes a similar one, or else lists those of the catalog', () => {
  expect(check(['alerts.open'], ['profile.type', 'profile.typ', 'colour'])).toEqual([
    expect.objectContaining({
      path: ['readings', 'by', 1],
      expected: expect.stringContaining('dimension'),
      got: '"profile.typ"',
      next: 'did you mean "profile.type"?',
    }),
    expect.objectContaining({
      path: ['readings', 'by', 2],
      got: '"colour"',
      next: expect.stringMatching(/profile\.type, profile\.risk, hit\.kind$/),
    }),
  ]);
});

test('the error of a dimension that no metric accepts names current counts that accept it', () => {
  const metrics = CATALOG.metrics.map((metric) =>
    ['rfis.open', 'alerts.open'].includes(metric.id) ? { ...metric, dimensions: ['profile.risk'] } : metric,
  );
  const closed = { ...CATALOG.metrics.find(({ id }) => id === 'alerts.open')!, id: 'alerts.closed', dimensions: [] };
  const catalog = { ...CATALOG, metrics: [...metrics, closed] };
  const [found, ...others] = check(['alerts.closed'], ['profile.risk'], catalog);
  expect(others).toEqual([]);
  expect(found).toMatchObject({ path: ['readings', 'by', 0], got: '"profile.risk"' });
  expect(found?.expected).toContain('accepts');
  expect(found?.next).toContain('add alerts.open or rfis.open');
  // Metrics with a history accept it, but are not proposed.
  const [none] = check(['alerts.closed'], ['hit.kind'], catalog);
  expect(none?.next).toMatch(/^Remove it: no current count/);
});

test('an error lists at most twelve proposals', () => {
  const first = CATALOG.dimensions[0]!;
  const dimensions = Array.from({ length: 14 }, (_, index) => ({ ...first, id: `branch.${index + 10}` }));
  const [found] = check(['alerts.open'], ['colour'], { ...CATALOG, dimensions });
  expect(found?.next.match(/branch\.\d+/g)).toEqual(dimensions.slice(0, 12).map(({ id }) => id));
});
