import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cases, within } from '../../support/fuzz.ts';
import { checkFilled } from './support/check-filled.ts';
import { fill } from './support/fill-recorded.ts';
import { packageFacts } from './support/package-facts.ts';
import { buildSheet, figuresOfSheet, randomSheet } from './support/random-sheets.ts';

// LibreOffice computes such sheets in test/e2e/workbook-templates.test.ts.
test('filled random sheets equal those that a writer builds', { timeout: within(10) }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'docket-random-sheets-'));
  const [template, filled] = [join(folder, 'template.xlsx'), join(folder, 'filled.xlsx')];
  try {
    await fc.assert(
      fc.asyncProperty(randomSheet, async (sheet) => {
        const bytes = buildSheet(sheet, 'template');
        await writeFile(template, bytes);
        await rm(filled, { force: true });
        await fill(template, filled, figuresOfSheet(sheet));
        expect(checkFilled(bytes, await readFile(filled), packageFacts(buildSheet(sheet, 'filled')))).toEqual([]);
      }),
      cases(150),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
