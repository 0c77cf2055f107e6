import { expect, test } from 'vitest';
import { catalogSchema } from '../../src/contract/catalog.ts';
import { problemSchema } from '../../src/contract/problem.ts';
import { reportResponseSchema } from '../../src/contract/report.ts';

const METRIC = {
  id: 'profiles.created',
  label: 'Profiles created',
  type: 'integer',
  unit: 'count',
  time_field: 'created',
  granularities: ['day'],
  dimensions: [],
  additive_over_time: true,
};
const CATALOG = {
  registry_version: 7,
  metrics: [METRIC],
  dimensions: [],
  limits: { max_range_days: 366, max_dimensions: 2, max_rows: 5000 },
};

test('an unreadable descriptor is omitted and listed by its ID; the others are kept', () => {
  const values = [{ value: true, label: 'Yes' }];
  const catalog = catalogSchema.parse({
    ...CATALOG,
    metrics: [METRIC, { ...METRIC, id: 'odd.metric', granularities: 'day' }, 7],
    dimensions: [{ id: 'x.flag', label: 'Flag', type: 'enum', values }],
  });
  expect(catalog.metrics.map(({ id }) => id)).toEqual(['profiles.created']);
  expect(catalog.dimensions).toEqual([]);
  expect(catalog.unread?.map(({ id }) => id)).toEqual(['odd.metric', 'metrics[2]', 'x.flag']);
  expect(catalog.unread?.[2]?.why).toMatch(/^values\.0\.value: /);
});

test('a stored catalog still lists its unreadable descriptors when it is read', () => {
  const once = catalogSchema.parse({ ...CATALOG, metrics: [METRIC, { id: 'odd.metric' }] });
  expect(catalogSchema.parse(JSON.parse(JSON.stringify(once)))).toEqual(once);
});

test('a field of the service with the name `unread` does no harm', () => {
  expect(catalogSchema.parse({ ...CATALOG, unread: 3 }).metrics).toHaveLength(1);
});

const META = {
  as_of: '2026-04-08T08:30:00Z',
  cached: false,
  timezone: 'UTC',
  range: null,
  row_count: 0,
  truncated: false,
  registry_version: 7,
};
const metaOf = (change: object) =>
  reportResponseSchema.parse({ meta: { ...META, ...change }, columns: [], rows: [] }).meta;

test.each([
  ['2026-04-08T08:30:00', '2026-04-08T08:30:00Z'],
  ['2026-04-08 08:30:00.123456', '2026-04-08T08:30:00.123456Z'],
  ['2026-04-08t08:30:00z', '2026-04-08T08:30:00Z'],
  ['2026-04-08T10:30:00+02:00', '2026-04-08T10:30:00+02:00'],
  ['2026-04-08T08:30:00Z', '2026-04-08T08:30:00Z'],
  ['2026-04-08T25:30:00Z', null],
  ['2026-04-08', null],
  ['8 April 2026', null],
  [1_775_637_000_000, null],
  [null, null],
])('the instant %j is read as %j', (said, read) => {
  expect(metaOf({ as_of: said }).as_of).toBe(read);
  // A stored response is read again.
  expect(metaOf({ as_of: read }).as_of).toBe(read);
});

test('a field that is null in the first spelling is read from the second', () => {
  expect(metaOf({ row_count: null, rows_count: 3, truncated: null, is_truncated: true })).toMatchObject({
    row_count: 3,
    truncated: true,
  });
});

test.each([
  ['entries that are not a list', { errors: { field: ['x'] } }],
  ['null as entries', { errors: null }],
  ['a code that is a number', { code: 7 }],
])('a problem with %s is still read otherwise', (_name, odd) => {
  const { detail, correlation_id } = problemSchema.parse({ detail: 'No.', correlation_id: 'c-1', ...odd });
  expect([detail, correlation_id]).toEqual(['No.', 'c-1']);
});

test('an entry of a problem without readable metadata keeps its pointer', () => {
  expect(problemSchema.parse({ errors: [{ pointer: '/metrics/0', metadata: null }] }).errors).toMatchObject([
    { pointer: '/metrics/0' },
  ]);
});
