import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const page = readFileSync('docs/security.md', 'utf8');
const section = page.slice(page.indexOf('## OWASP'), page.indexOf('## What an attack found'));
const rows = section.split('\n').filter((line) => /^\| API\d/.test(line));

describe('docs/security.md', () => {
  it('goes through the ten items', () => {
    expect(rows.map((row) => /^\| (API\d+)/.exec(row)?.[1])).toEqual(
      Array.from({ length: 10 }, (_, index) => `API${index + 1}`),
    );
  });

  it('names only files that are there', () => {
    const named = [...page.matchAll(/`((?:src|test|docs)\/[\w./-]+)`/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !existsSync(name))).toEqual([]);
  });

  it('names only tests that are there, and some for each item', () => {
    const tests = readdirSync('test', { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.test.ts') && path !== 'admin/security.test.ts')
      .map((path) => readFileSync(`test/${path}`, 'utf8'))
      .join('\n');
    for (const row of rows) {
      const named = [...(row.split('|').at(-2) ?? '').matchAll(/"([^"]+)"/g)].map(([, name = '']) => name);
      expect(named.length).toBeGreaterThan(0);
      expect(named.filter((name) => !tests.includes(name))).toEqual([]);
    }
  });
});
