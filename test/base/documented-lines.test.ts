import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** The text of all source files. */
async function sources(): Promise<string> {
  const files = (await readdir('src', { recursive: true })).filter((path) => /\.tsx?$/.test(path));
  return (await Promise.all(files.map((path) => readFile(join('src', path), 'utf8')))).join('\n');
}

test('the code logs each documented line worth an alert word for word', async () => {
  const page = await readFile('docs/reference/logs.md', 'utf8');
  const table = page.slice(page.indexOf('## Lines worth an alert'), page.indexOf('## A run, from'));
  const lines = [...table.matchAll(/^\| `(.+)` \| (?:error|warn) \|/gm)].map(([, line = '']) => line);
  expect(lines.length).toBeGreaterThan(8);
  const code = await sources();
  const missing = lines.filter(
    (line) => !new RegExp(`(error|warn)\\(\\s*'${line.replaceAll(/[.?*+()]/g, '\\$&')}'`).test(code),
  );
  expect(missing).toEqual([]);
});

test('the code logs each sentence of the documented sample run', async () => {
  const page = await readFile('docs/reference/logs.md', 'utf8');
  const sample = page.slice(page.indexOf('## A run, from'));
  const said = [...sample.matchAll(/^\d\d:\S+Z (?:INFO |DEBUG) (.+?)(?: {2}\S+=.*)?$/gm)].map(([, line = '']) => line);
  expect(said.length).toBeGreaterThan(10);
  const code = await sources();
  expect(said.filter((line) => !code.includes(`('${line}'`))).toEqual([]);
});
