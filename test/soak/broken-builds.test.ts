import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { BROKEN_BUILDS } from './broken-builds.ts';

const DEFECTS = BROKEN_BUILDS.flatMap(({ defects }) => defects);

test.each(DEFECTS)('the source still contains the code that the build breaks so that $name', ({ edits }) => {
  for (const [file, text] of edits) expect(readFileSync(`src/${file}`, 'utf8'), file).toContain(text);
});

test.each(BROKEN_BUILDS)('the defects of a build break different lines of the table', ({ defects }) => {
  expect(new Set(defects.map(({ breaks }) => breaks)).size).toBe(defects.length);
});
