// Which folder of src/ may import which. `npm run lint` fails on any other import, type-only ones included.
// A name is a whole folder; a path is this file alone. src/demo/ and src/cli/ may import all of them, and only these two import compose/.
const LAYERS = {
  base: [],
  redis: ['base'],
  contract: ['base'],
  i18n: ['contract', 'base'],
  definitions: ['i18n', 'contract', 'base'],
  plan: ['definitions', 'contract', 'base'],
  fetch: ['plan', 'definitions', 'i18n', 'contract', 'redis', 'base'],
  render: ['fetch/dataset.ts', 'fetch/notes.ts', 'fetch/rows.ts', 'plan', 'definitions', 'i18n', 'contract', 'base'],
  deliver: ['render/artifact.ts', 'fetch/dataset.ts', 'fetch/notes.ts', 'plan', 'definitions', 'redis', 'base'],
  run: ['deliver', 'render', 'fetch', 'plan', 'definitions', 'i18n', 'contract', 'base'],
  queue: ['run', 'deliver/ledger/ledger.ts', 'fetch/rate-limit/budget.ts', 'definitions', 'redis', 'base'],
  services: ['queue', 'run', 'deliver', 'render', 'fetch', 'plan', 'definitions', 'i18n', 'contract', 'redis', 'base'],
  admin: ['services', 'queue', 'run', 'fetch/rate-limit/budget.ts', 'definitions', 'redis', 'base'],
  sandbox: ['contract', 'base'],
  compose: [
    'sandbox',
    'admin',
    'services',
    'queue',
    'run',
    'deliver',
    'render',
    'fetch',
    'plan',
    'definitions',
    'i18n',
    'contract',
    'redis',
    'base',
  ],
};
/** Packages that one folder alone may import. */
const OWNED = { bullmq: 'queue' };

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseSync } from 'vite';

const lineOf = (text, at) => text.slice(0, at).split('\n').length;

/** Every module that a file names: imports, exports from elsewhere, `import()` of a text. */
function importsOf(file, text) {
  const { module } = parseSync(file, text);
  return [
    ...module.staticImports.map(({ moduleRequest: { value, start } }) => ({ value, start })),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest: request }) =>
        request ? [{ value: request.value, start: request.start }] : [],
      ),
    ),
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => ({
      value: text.slice(start + 1, end - 1),
      start,
    })),
  ];
}

/** Every file of a folder whose name ends so, with its modules. */
function* modulesOf(folder, ending) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !ending.test(file)) continue;
    const text = readFileSync(file, 'utf8');
    for (const { value, start } of importsOf(file, text)) {
      yield { file, value, where: `${file}:${lineOf(text, start)}`, target: join(dirname(file), value) };
    }
  }
}

const findings = new Set();
for (const { file, value, where, target: path } of modulesOf('src', /\.tsx?$/)) {
  const [folder] = relative('src', file).split('/');
  const owner = OWNED[value.split('/')[0]];
  if (owner !== undefined && owner !== folder) findings.add(`${where}: only src/${owner}/ may import ${value}.`);
  if (!value.startsWith('.') || !(folder in LAYERS)) continue;
  const target = relative('src', path);
  const allowed = [folder, ...LAYERS[folder]];
  if (target.startsWith('..') || allowed.some((name) => target === name || target.startsWith(`${name}/`))) continue;
  const others = LAYERS[folder].length === 0 ? 'no other folder' : `only ${LAYERS[folder].join(', ')}`;
  findings.add(`${where}: imports ${target}, but src/${folder}/ may import ${others} (layers.mjs).`);
}
// The clock is a parameter: tests and a machine whose clock steps depend on it.
for (const entry of readdirSync('src', { recursive: true, encoding: 'utf8' })) {
  if (!/\.tsx?$/.test(entry) || entry.startsWith('base/')) continue;
  const text = readFileSync(join('src', entry), 'utf8');
  for (const { index } of text.matchAll(/\bDate\.now\(|\bnew Date\(\)/g))
    findings.add(`src/${entry}:${lineOf(text, index)}: only src/base/ may read the wall clock; take a Clock.`);
}
// A check that shares code with what it checks agrees with its faults. What makes random packs may know the catalog.
for (const { file, where, target } of modulesOf('test/support/pack-oracle', /(?<!random-\w+)\.ts$/)) {
  if (target.startsWith('src/')) findings.add(`${where}: ${file} may import nothing from src/.`);
}
// What was built of a file that is gone stays in dist-modules/, where neither a bench nor its types would miss it.
for (const { value, where, target } of modulesOf('bench', /\.mjs$/)) {
  if (!value.startsWith('.') || !target.startsWith('dist-modules/')) continue;
  const source = target.replace(/^dist-modules/, 'src').replace(/\.js$/, '.ts');
  if (!existsSync(source) && !existsSync(`${source}x`))
    findings.add(`${where}: imports ${target}, but there is no ${source}.`);
}
for (const finding of findings) console.error(finding);
process.exitCode = findings.size === 0 ? 0 : 1;
