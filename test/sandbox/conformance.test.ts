import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const page = readFileSync('docs/internals/conformance.md', 'utf8');
const tests = ['test/sandbox', 'test/contract']
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`))
  .filter((path) => path.endsWith('.ts'))
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n');

describe('docs/internals/conformance.md', () => {
  it('names only files that exist', () => {
    const named = [...page.matchAll(/`([\w/-]+\.ts)`/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(100);
    const places = (name: string) => [name, `src/sandbox/${name}`, `test/sandbox/${name}`];
    expect(named.filter((name) => !places(name).some((path) => existsSync(path)))).toEqual([]);
  });

  it('names only tests that exist', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('|'));
    const named = rows.flatMap((row) =>
      [...(row.split('|').at(-2) ?? '').matchAll(/"([^"]+)"/g)].map(([, name = '']) => name),
    );
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((name) => !tests.includes(name))).toEqual([]);
  });
});
