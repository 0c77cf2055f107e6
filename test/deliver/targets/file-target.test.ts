import { expect, test } from 'vitest';
import { chosenFiles, requireFiles } from '../../../src/deliver/targets/file-target.ts';
import type { Artifact } from '../../../src/render/artifact.ts';

const file = (name: string, format: string, part?: Artifact['part']): Artifact => ({
  name,
  format,
  mediaType: 'text/csv',
  path: `/run/${name}`,
  bytes: 1,
  sha256: '0'.repeat(64),
  ...(part === undefined ? {} : { part }),
});
const companion = { of: 'csv', role: 'companion' } as const;
const FILES = [
  file('k.xlsx', 'xlsx'),
  file('a.csv', 'csv'),
  file('a.schema.json', 'schema', companion),
  file('a.totals.csv', 'csv'),
  file('a.totals.schema.json', 'schema', companion),
  file('all.zip', 'zip', { of: 'csv', role: 'bundle' }),
];
const names = (files?: readonly string[]) => chosenFiles(FILES, { files }).map(({ name }) => name);

test('a target writes every file except bundles by default, or the chosen files', () => {
  expect(names()).toEqual(['k.xlsx', 'a.csv', 'a.schema.json', 'a.totals.csv', 'a.totals.schema.json']);
  expect(names(['csv'])).toEqual(['a.csv']);
  expect(names(['xlsx', 'totals'])).toEqual(['k.xlsx', 'a.totals.csv']);
  expect(names(['csv', 'schema'])).toEqual(['a.csv', 'a.schema.json', 'a.totals.schema.json']);
});

test('a delivery of files that the run has not made is refused', () => {
  expect(() => requireFiles([file('k.xlsx', 'xlsx')], { files: ['totals'] })).toThrow(
    expect.objectContaining({ code: 'deliver.target_refused' }),
  );
});
