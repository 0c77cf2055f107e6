import { expect, test } from 'vitest';
import { FORMATS, mergeFormats } from '../../src/features/formats.ts';
import { FORMATS as BUILT_IN } from '../../src/render/formats/registry.ts';
import { outlineFormat } from '../support/outline-format.ts';

test('a format of a feature is added, or replaces the built-in format of the same name', () => {
  const names = BUILT_IN.map(({ format }) => format);
  expect(FORMATS.map(({ format }) => format)).toEqual(names);
  const csv = { ...outlineFormat, format: 'csv' };
  const merged = mergeFormats([outlineFormat, csv]);
  expect(merged.map(({ format }) => format)).toEqual([...names, 'outline']);
  expect(merged.find(({ format }) => format === 'csv')).toBe(csv);
});
