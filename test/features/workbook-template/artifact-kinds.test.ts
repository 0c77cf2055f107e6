import { expect, test } from 'vitest';
import { keepsMacros } from '../../../src/features/workbook-template/template-output.ts';
import { type Artifact, artifactKind, storedKind } from '../../../src/render/artifact.ts';
import { renderFileName } from '../../../src/render/file-names.ts';
import { WITH_MACROS, WITHOUT_MACROS } from '../../../src/render/formats/xlsx/xlsx-format.ts';
import { WEEK } from '../../support/reports.ts';

const artifact = (mediaType: string): Artifact => ({
  ...{ name: 'board', format: 'xlsx', mediaType, path: '/board', bytes: 1, sha256: 'ab' },
});
const { mediaType: PLAIN } = WITHOUT_MACROS;
const { mediaType: MACROS } = WITH_MACROS;

test.each([
  ['board.xlsx', undefined, '.xlsx', PLAIN],
  ['board.xltx', undefined, '.xlsx', PLAIN],
  ['board.xlsm', undefined, '.xlsm', MACROS],
  ['BOARD.XLTM', 'keep', '.xlsm', MACROS],
  ['board.xlsm', 'remove', '.xlsx', PLAIN],
] as const)(
  'the template %s with macros %s gives a file %s, whatever its configured name',
  (template, macros, ...kind) => {
    const { extension, mediaType } = keepsMacros({ template, macros }) ? WITH_MACROS : WITHOUT_MACROS;
    expect([extension, mediaType]).toEqual(kind);
    const variables = { period: WEEK, org: 'acme', report: 'weekly', title: 'Weekly' };
    for (const name of ['Board', 'Board.xlsx', 'Board.xlsm'])
      expect(renderFileName(name, variables, extension)).toBe(`Board${extension}`);
  },
);

test('a manifest stores the media type only of a workbook with macros, and older manifests can be read', () => {
  expect(MACROS).not.toBe(PLAIN);
  expect(storedKind(artifact(PLAIN))).toEqual({ format: 'xlsx' });
  expect(storedKind(artifact(MACROS))).toEqual({ format: 'xlsx', media_type: MACROS });
  for (const type of [PLAIN, MACROS]) expect(artifactKind(storedKind(artifact(type)))).toEqual({ mediaType: type });
});
