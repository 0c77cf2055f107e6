// Which module may import which. `npm run lint` fails on any other import, including type-only ones;
// test/build/layers.test.ts proves it.
//
//   node build/layers.mjs [FOLDER]     the folder with `src/`; default: this project
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseSync } from 'vite';

const GROUND = ['contract', 'redis', 'base'];
const PIPELINE = ['services', 'queue', 'run', 'deliver', 'render', 'fetch', 'plan', 'definitions', 'i18n', ...GROUND];
/** The modules of compose/ that features may import. */
const COMPOSED = ['feature', 'built-in-kinds', 'probes/probe-context'].map((name) => `compose/${name}.ts`);
/**
 * The folders of src/ that a folder may import. A name is a whole folder, a path one file. src/demo/ and src/cli/ may
 * import all of them except features, which src/main.ts lists. Only src/demo/ and src/cli/ may import all of compose/;
 * features may import COMPOSED.
 */
const LAYERS = {
  base: [],
  redis: ['base'],
  contract: ['base'],
  i18n: ['contract', 'base'],
  definitions: ['i18n', 'contract', 'base'],
  plan: ['definitions', 'contract', 'base'],
  fetch: ['plan', 'definitions', 'i18n', ...GROUND],
  render: ['fetch/dataset.ts', 'fetch/notes.ts', 'fetch/rows.ts', 'plan', 'definitions', 'i18n', 'contract', 'base'],
  deliver: ['render/artifact.ts', 'fetch/dataset.ts', 'fetch/notes.ts', 'plan', 'definitions', 'i18n', 'redis', 'base'],
  run: ['deliver', 'render', 'fetch', 'plan', 'definitions', 'i18n', 'contract', 'base'],
  queue: ['run', 'deliver/ledger/ledger.ts', 'fetch/rate-limit/budget.ts', 'definitions', 'redis', 'base'],
  services: PIPELINE.slice(1),
  admin: ['services', 'queue', 'run', 'fetch/rate-limit/budget.ts', 'definitions', 'redis', 'base'],
  sandbox: ['contract', 'base'],
  library: ['base'],
  features: [...COMPOSED, 'admin', 'cli', ...PIPELINE],
  compose: ['features/index.ts', 'features/formats.ts', 'sandbox', 'admin', ...PIPELINE],
};
/** Packages that only one folder may import. */
const OWNED = { bullmq: 'queue' };

/**
 * Paths with restricted imports. `path`: its first group is the owner; `also`: other files that may import it; `why`:
 * the error's text.
 */
const PRIVATE = [
  {
    // As in Go: only the folder that contains internal/ may import files below it.
    path: /^(src\/(?:.*\/)?)internal\//,
    also: () => false,
    why: (owner) => `only ${owner} and its tests may import what is in ${owner}internal/`,
  },
  {
    path: /^(src\/features\/[^/]+\/)/,
    also: (file) => /^src\/features\/(index|formats)\.ts$/.test(file),
    why: (owner) => `only src/features/index.ts and its tests may import ${owner}`,
  },
];

const root = resolve(process.argv[2] ?? join(import.meta.dirname, '..'));
process.chdir(root);

const lineOf = (text, at) => text.slice(0, at).split('\n').length;

/** Every module that a file imports or re-exports, including `import()` with a literal. */
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

/** Every file in a folder that matches `ending`, with its text and imports. */
const read = (folder, ending) =>
  !existsSync(folder)
    ? []
    : readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter(({ name, parentPath }) => ending.test(name) && !/node_modules|recorded/.test(parentPath))
        .map(({ parentPath, name }) => {
          const file = join(parentPath, name);
          const text = readFileSync(file, 'utf8');
          const imports = importsOf(file, text).map(({ value, start }) => ({
            value,
            where: `${file}:${lineOf(text, start)}`,
            /** Relative to the root; empty for a package. */
            target: value.startsWith('.') ? join(dirname(file), value) : '',
          }));
          return { file, text, imports };
        });

const [source, tests, benches] = [read('src', /\.(tsx?|mjs)$/), read('test', /\.tsx?$/), read('bench', /\.mjs$/)];
const findings = new Set();
const isBelow = (path, folders) => folders.some((name) => path === `src/${name}` || path.startsWith(`src/${name}/`));

for (const { file, imports } of source) {
  const [, folder] = file.split('/');
  for (const { value, where, target } of imports) {
    const owner = OWNED[value.split('/')[0]];
    if (owner !== undefined && owner !== folder) findings.add(`${where}: only src/${owner}/ may import ${value}.`);
    if (!target.startsWith('src/') || !(folder in LAYERS) || isBelow(target, [folder, ...LAYERS[folder]])) continue;
    const others = LAYERS[folder].length === 0 ? 'no other folder' : `only ${LAYERS[folder].join(', ')}`;
    findings.add(`${where}: imports ${target}, but src/${folder}/ may import ${others} (build/layers.mjs).`);
  }
}
for (const { file, imports } of [...source, ...tests])
  for (const { where, target } of imports)
    for (const { path, also, why } of PRIVATE) {
      const owner = path.exec(target)?.[1];
      if (owner === undefined || also(file)) continue;
      if (!file.startsWith(owner) && !file.startsWith(owner.replace(/^src/, 'test')))
        findings.add(`${where}: ${why(owner)}.`);
    }
// package.json must list what runs, because audits, the SBOM and update bots read it.
const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
for (const { where, value } of source.flatMap(({ imports }) => imports)) {
  const [name] = /^(?:@[^/]+\/)?[^/]+/.exec(value) ?? [''];
  if (/^(?:\.|node:|$)/.test(value) || name in { ...dependencies, ...peerDependencies }) continue;
  findings.add(`${where}: ${name} is not in the dependencies of package.json.`);
}
for (const name of Object.keys(dependencies ?? {}))
  if (!source.some(({ text }) => text.includes(`'${name}`)))
    findings.add(`package.json: nothing in src/ uses the dependency ${name}.`);
// The clock must be a parameter: tests set it, and a machine's clock may step.
for (const { file, text } of source.filter((each) => !each.file.startsWith('src/base/')))
  for (const { index } of text.matchAll(/\bDate\.now\(|\bnew Date\(\)/g))
    findings.add(`${file}:${lineOf(text, index)}: only src/base/ may read the wall clock; take a Clock.`);
// A check that shares code with what it checks would share its faults. Generators of random packs may use the catalog.
for (const { file, imports } of tests.filter((each) =>
  /^test\/support\/pack-oracle\/(?!.*\brandom-\w+)/.test(each.file),
))
  for (const { where, target } of imports)
    if (target.startsWith('src/')) findings.add(`${where}: ${file} may import nothing from src/.`);
// The built file of a removed module stays in dist-modules/, so neither a benchmark nor its types would notice the
// removal.
for (const { where, target } of benches.flatMap(({ imports }) => imports)) {
  if (!target.startsWith('dist-modules/')) continue;
  const path = target.replace(/^dist-modules/, 'src').replace(/\.js$/, '.ts');
  if (!existsSync(path) && !existsSync(`${path}x`))
    findings.add(`${where}: imports ${target}, but there is no ${path}.`);
}
for (const finding of findings) console.error(finding);
process.exitCode = findings.size === 0 ? 0 : 1;
