import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { ERRORS } from '../../src/base/error.ts';
import { RECIPE_NAMES } from '../../src/cli/recipes/recipe.ts';

const run = promisify(execFile);
const SITE = 'build/out/site';

describe('the documentation site', () => {
  beforeAll(async () => {
    await run('npm', ['ci', '--prefix', 'build/site', '--ignore-scripts', '--no-audit', '--no-fund']);
    // A dead link, and a page that cannot be rendered, end it with an error.
    await run(process.execPath, ['build/site/build.mjs'], { maxBuffer: 64 * 1024 * 1024 });
  }, 1_200_000);

  test('has a page for each error code, recipe and page of docs/', async () => {
    const pages = new Set(await readdir(SITE, { recursive: true }));
    const written = (await readdir('docs', { recursive: true })).filter((name) => name.endsWith('.md'));
    const expected = [
      ...Object.keys(ERRORS).map((code) => `docs/errors/${code}.html`),
      ...RECIPE_NAMES.map((name) => `docs/recipes/${name}.html`),
      ...written.map((name) => `docs/${name.replace(/\.md$/, '.html')}`),
      ...['index.html', 'llms.txt', 'CHANGELOG.html'],
    ];
    expect(expected.filter((name) => !pages.has(name))).toEqual([]);
  });

  test('shows braces and angle brackets of the pages as text', async () => {
    const page = await readFile(`${SITE}/docs/how-to/one-pack-per-desk.html`, 'utf8');
    expect(page.replaceAll(/<[^>]*>/g, '')).toContain('{{ split.label }}');
    const commands = await readFile(`${SITE}/docs/reference/cli.html`, 'utf8');
    expect(commands).toContain('&lt;org&gt;/&lt;report&gt;');
  });

  test('says what each recipe costs', async () => {
    for (const name of RECIPE_NAMES)
      expect(await readFile(`${SITE}/docs/recipes/${name}.html`, 'utf8')).toMatch(/\d+ (metrics )?calls?\b/);
  });
});
