import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkFilled } from './support/check-filled.ts';
import { figuresOf, SIZES, type SizeName } from './support/figures.ts';
import { fill } from './support/fill-recorded.ts';
import { expectedFacts, recordedTemplates, templatePath } from './support/recorded.ts';
import { inDialect, XML_DIALECTS } from './support/xml-dialects.ts';

const DIALECTS_OF = ['everything', 'pivot-tables', 'unbound-tables', 'names'];

// A filled template must equal the workbook that its own tool builds with the same figures: values, formulas, ranges,
// anchors and cached points. All other parts must equal the template's, byte for byte.
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

  test.each(Object.entries(XML_DIALECTS))('are filled in the same way with %s', async (_, change) => {
    for (const recorded of recordedTemplates().filter(({ name }) => DIALECTS_OF.includes(name))) {
      const template = inDialect(await readFile(templatePath(recorded)), change);
      const path = join(folder, `dialect.${recorded.ending}`);
      const to = join(folder, `dialect-filled.${recorded.ending}`);
      await writeFile(path, template);
      await rm(to, { force: true });
      await fill(path, to, figuresOf(SIZES['10']));
      expect(checkFilled(template, await readFile(to), expected[recorded.name]?.package['10'] ?? [])).toEqual([]);
    }
  });

  test('are filled with the same bytes every time', async () => {
    const recorded = recordedTemplates().find(({ name }) => name === 'everything');
    if (recorded === undefined) throw new Error('the template is gone');
    const files = await Promise.all(
      ['one', 'other'].map(async (name) => {
        const to = join(folder, `${name}.xlsx`);
        await fill(templatePath(recorded), to, figuresOf(SIZES['10']));
        return readFile(to);
      }),
    );
    expect(files[0]?.equals(files[1] ?? Buffer.alloc(0))).toBe(true);
  });
});
