import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Pages that people read. */
const pages = async (): Promise<string[]> => {
  const docs = (await readdir('docs', { recursive: true })).filter((name) => name.endsWith('.md'));
  const roots = (await readdir('.')).filter((name) => name.endsWith('.md'));
  return [...roots, 'templates/README.md', ...docs.map((name) => join('docs', name))].sort();
};

const withoutCode = (text: string): string => text.replace(/^(```+)[\s\S]*?^\1$/gm, '').replace(/`[^`\n]*`/g, '');

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of text.replace(/^(```+)[\s\S]*?^\1$/gm, '').matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = anchorOf(heading.replaceAll('`', ''));
    const repeated = (count: number): string => (count === 0 ? anchor : `${anchor}-${count}`);
    let count = 0;
    while (anchors.has(repeated(count))) count += 1;
    anchors.add(repeated(count));
  }
  for (const [, id = ''] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

interface Link {
  readonly page: string;
  readonly target: string;
}

async function localLinks(): Promise<Link[]> {
  const links = await Promise.all(
    (await pages()).map(async (page) =>
      [...withoutCode(await readFile(page, 'utf8')).matchAll(/\]\(<?([^()\s>]+(?:\([^()\s]*\))?)>?(?: "[^"]*")?\)/g)]
        .map(([, target = '']) => ({ page, target }))
        .filter(({ target }) => !/^[a-z]+:/.test(target)),
    ),
  );
  return links.flat();
}

const isThere = (path: string): Promise<boolean> =>
  readFile(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code === 'EISDIR',
  );

describe('links of the documentation', () => {
  test('lead to files that exist', async () => {
    const links = await localLinks();
    expect(links.length).toBeGreaterThan(100);
    const broken: Link[] = [];
    for (const { page, target } of links) {
      const [path = ''] = target.split('#');
      if (path !== '' && !(await isThere(normalize(join(dirname(page), path))))) broken.push({ page, target });
    }
    expect(broken).toEqual([]);
  });

  test('lead to headings that exist', async () => {
    const broken: Link[] = [];
    for (const { page, target } of await localLinks()) {
      const [path = '', anchor] = target.split('#');
      if (anchor === undefined) continue;
      const file = path === '' ? page : normalize(join(dirname(page), path));
      if (!file.endsWith('.md') || !(await isThere(file))) continue;
      if (!anchorsOf(await readFile(file, 'utf8')).has(anchor)) broken.push({ page, target });
    }
    expect(broken).toEqual([]);
  });

  test('reach every page of docs/ from its index or from README', async () => {
    const reached = new Set(['README.md', 'docs/README.md']);
    const links = await localLinks();
    for (let before = 0; before !== reached.size; ) {
      before = reached.size;
      for (const { page, target } of links) {
        const [path = ''] = target.split('#');
        if (reached.has(page) && path !== '') reached.add(normalize(join(dirname(page), path)));
      }
    }
    expect((await pages()).filter((page) => page.startsWith('docs/') && !reached.has(page))).toEqual([]);
  });

  test('lead from code, alerts, the dashboard and deployment files to pages that exist', async () => {
    const folders = ['src', 'deploy', 'docs/observability', 'jobs', 'templates'];
    const names = await Promise.all(
      folders.map(async (folder) => (await readdir(folder, { recursive: true })).map((name) => join(folder, name))),
    );
    const missing: Link[] = [];
    for (const page of ['docker-compose.yml', 'Dockerfile', ...names.flat()]) {
      if (!/(?:\.(?:ts|tsx|js|lua|ya?ml|json|conf|service|example|md)|file)$/.test(page)) continue;
      for (const [target] of (await readFile(page, 'utf8')).matchAll(/\bdocs\/[\w./-]+\.(?:md|ya?ml|json)\b/g))
        if (!(await isThere(target))) missing.push({ page, target });
    }
    expect(missing).toEqual([]);
  });
});
