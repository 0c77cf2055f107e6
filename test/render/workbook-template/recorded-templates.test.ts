import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkFilled } from '../../support/workbook-template/check-filled.ts';
import { figuresOf, SIZES, type SizeName } from '../../support/workbook-template/figures.ts';
import { fill } from '../../support/workbook-template/fill-recorded.ts';
import { expectedFacts, recordedTemplates, templatePath } from '../../support/workbook-template/recorded.ts';

// Each template, filled, is the workbook that its own tool has built with these figures: the same values, formulas, ranges,
// anchors and cached points; every other part is the template's, byte for byte.
describe('templates made by other tools', () => {
  const expected = expectedFacts();
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-recorded-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(recordedTemplates())('$name by $tool', async (recorded) => {
    const path = templatePath(recorded);
    const template = await readFile(path);
    const sizes = expected[recorded.name]?.package ?? {};
    expect(Object.keys(sizes).length).toBeGreaterThanOrEqual(3);
    for (const [size, facts] of Object.entries(sizes)) {
      const to = join(folder, `${recorded.name}-${size}.${recorded.ending}`);
      await fill(path, to, figuresOf(SIZES[size as SizeName]));
      expect(checkFilled(template, await readFile(to), facts, recorded.compared), size).toEqual([]);
    }
  });
});
