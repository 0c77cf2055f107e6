import { expect, test } from 'vitest';
import { type Artifact, artifactKind, storedKind } from '../../src/render/artifact.ts';
import { renderFileName } from '../../src/render/file-names.ts';
import { workbookKind } from '../../src/render/formats/xlsx/xlsx-output.ts';
import { WEEK } from '../support/reports.ts';

const artifact = (mediaType: string): Artifact => ({
  ...{ name: 'board', format: 'xlsx', mediaType, path: '/board', bytes: 1, sha256: 'ab' },
});
const { mediaType: PLAIN } = workbookKind({});
const { mediaType: MACROS } = workbookKind({ template: 'board.xltm' });

test.each([
  ['board.xlsx', undefined, '.xlsx', PLAIN],
  ['board.xltx', undefined, '.xlsx', PLAIN],
  ['board.xlsm', undefined, '.xlsm', MACROS],
  ['BOARD.XLTM', 'keep', '.xlsm', MACROS],
  ['board.xlsm', 'remove', '.xlsx', PLAIN],
] as const)(
  'the template %s with macros %s makes a file %s, whatever its name ends with',
  (template, macros, ...kind) => {
    const { extension, mediaType } = workbookKind({ template, macros });
    expect([extension, mediaType]).toEqual(kind);
    const variables = { period: WEEK, org: 'acme', report: 'weekly', title: 'Weekly' };
    for (const name of ['Board', 'Board.xlsx', 'Board.xlsm'])
      expect(renderFileName(name, variables, extension)).toBe(`Board${extension}`);
  },
);

test('a manifest names the media type of a workbook only where it has macros, and older ones are read', () => {
  expect(MACROS).not.toBe(PLAIN);
  expect(storedKind(artifact(PLAIN))).toEqual({ format: 'xlsx' });
  expect(storedKind(artifact(MACROS))).toEqual({ format: 'xlsx', media_type: MACROS });
  for (const type of [PLAIN, MACROS]) expect(artifactKind(storedKind(artifact(type)))).toEqual({ mediaType: type });
});
