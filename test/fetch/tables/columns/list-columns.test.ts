import { expect, test } from 'vitest';
import { type ListNames, listColumnCollector } from '../../../../src/fetch/internal/tables/columns/list-columns.ts';
import { LIST_CATALOG } from '../../list-catalog.ts';

const columnsOf = (names: ListNames | undefined, records: readonly Record<string, unknown>[]) => {
  const list = listColumnCollector('profiles', names);
  for (const [index, record] of records.entries()) list.addRecord({ id: index, ...record });
  return Object.fromEntries(list.columns().map(({ name, label, values }) => [name, { label, values }]));
};
const RECORDS = [
  { name: 'AP', review_status: 'AP', creation_source: 'intake_form', stage: 'AP' },
  { name: 'Other', review_status: 'PR', creation_source: 'api', stage: null },
];

test('codes in a field have the labels of the dimension with the same name', () => {
  const columns = columnsOf({ catalog: LIST_CATALOG }, RECORDS);
  expect(columns.review_status).toEqual({
    label: 'Review status',
    values: [
      { value: 'PR', label: 'Pending Review' },
      { value: 'AP', label: 'Approved' },
    ],
  });
  expect(columns.creation_source).toEqual({ label: 'Creation source', values: undefined });
  expect(columns.stage?.values).toBeUndefined();
});

test('labels of the report replace those of the catalog, and also label unlisted codes', () => {
  const labels = {
    review_status: 'Stage',
    'profile.creation_source': 'Origin',
    AP: 'Cleared',
    intake_form: 'Form',
    constructor: 'odd',
  };
  const columns = columnsOf({ catalog: LIST_CATALOG, labels }, RECORDS);
  expect(columns.review_status?.label).toBe('Stage');
  expect(columns.review_status?.values?.[1]).toEqual({ value: 'AP', label: 'Cleared' });
  expect(columns.creation_source).toEqual({ label: 'Origin', values: [{ value: 'intake_form', label: 'Form' }] });
  expect(columns.stage?.values).toEqual([{ value: 'AP', label: 'Cleared' }]);
  // The name of a record is no code.
  expect(columns.name?.values).toBeUndefined();
});

test('without catalog and labels, codes have no labels', () => {
  expect(columnsOf(undefined, RECORDS).review_status).toEqual({ label: 'Review status', values: undefined });
});
