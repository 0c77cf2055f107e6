import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const MODEL = 'docs/internals/threat-model.md';
const EVIDENCE = 'docs/internals/security-evidence.md';
const model = readFileSync(MODEL, 'utf8');
const evidence = readFileSync(EVIDENCE, 'utf8');

const titles = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') && path !== 'admin/security.test.ts')
  .map((path) => readFileSync(join('test', path), 'utf8'))
  .join('\n');
/** A title counts only as a whole string literal. */
const isTest = (name: string): boolean => ["'", '"', '`'].some((quote) => titles.includes(`${quote}${name}${quote}`));

const testsIn = (text: string): string[] => [...text.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name);
const filesIn = (text: string): string[] =>
  [...text.matchAll(/`((?:src|test|docs)\/[\w./-]+)`/g)].map(([, name = '']) => name);
/** The cells of each row of a table, without its head. */
const rowsIn = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line, index, lines) => /^\| /.test(line) && !lines[index + 1]?.startsWith('|---'))
    .map((line) => line.split(/ \| |^\| | \|$/).slice(1, -1));

describe('the threat model', () => {
  const attackers = model.split(/^## /m).slice(1);
  const rows = attackers.flatMap(rowsIn);

  it('covers all attackers and faults: what they hold, what stops them, and what does not', () => {
    expect(attackers.map((text) => text.slice(0, text.indexOf('\n')))).toEqual([
      'Viewer of one organization',
      'Operator of one organization',
      'Author of a definition',
      'Peers that lie or echo',
      'Somebody on the network',
      'Anyone who can write to Redis',
      'Anyone who can write to the archive',
      'Second deployment',
      'Failing machine',
    ]);
    for (const text of attackers) {
      expect(text.split('\n')[1]).toMatch(/\w/);
      expect(text).toMatch(/^\*\*Not stopped:\*\* /m);
      expect(rowsIn(text).length).toBeGreaterThan(1);
    }
  });

  it('has at most 115 lines', () => {
    expect(model.split('\n').length).toBeLessThanOrEqual(115);
  });

  it.each(rows)('%s: names existing files and tests', (...row) => {
    expect(row).toHaveLength(4);
    const [, , where = '', tests = ''] = row;
    expect(filesIn(where)).not.toEqual([]);
    expect(filesIn(where).filter((name) => !name.startsWith('src/') || !existsSync(name))).toEqual([]);
    expect(testsIn(tests)).not.toEqual([]);
    expect(testsIn(tests).filter((name) => !isTest(name))).toEqual([]);
  });
});

describe('the evidence', () => {
  const section = (from: string) => `${evidence}\n## `.split(`## ${from}`)[1]?.split('\n## ')[0] ?? '';
  const items = rowsIn(section('OWASP'));

  it('covers the ten items of OWASP', () => {
    expect(items.map(([item]) => /^API\d+/.exec(item ?? '')?.[0])).toEqual(
      Array.from({ length: 10 }, (_, index) => `API${index + 1}`),
    );
  });

  it.each([...items, ...rowsIn(section('Scope of reports'))])('%s: names existing tests', (...row) => {
    const tests = testsIn(row.at(-1) ?? '');
    expect(tests).not.toEqual([]);
    expect(tests.filter((name) => !isTest(name))).toEqual([]);
  });

  it('names only existing tests where it describes how repeated secrets are handled', () => {
    const tests = testsIn(section('Secrets that a peer repeats'));
    expect(tests.length).toBeGreaterThan(3);
    expect(tests.filter((name) => !isTest(name))).toEqual([]);
  });

  it('names only existing files', () => {
    const named = filesIn(evidence);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !existsSync(name))).toEqual([]);
  });
});

describe('links of the security pages', () => {
  const anchorOf = (heading: string): string =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s-]/gu, '')
      .replaceAll(' ', '-');
  const links = [MODEL, EVIDENCE, 'docs/internals/sign-in.md'].flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(
      ([, path, anchor]) => [page, path || undefined, anchor] as const,
    ),
  );

  it.each(links)('of %s lead somewhere: %s %s', (page, path, anchor) => {
    const target = path === undefined ? page : join(dirname(page), path);
    expect(existsSync(target)).toBe(true);
    if (anchor === undefined) return;
    const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
    expect(headings.map(anchorOf)).toContain(anchor);
  });
});
