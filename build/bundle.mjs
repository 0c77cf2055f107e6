// Builds `dist/`: the program in a few files, including most of its packages. docs/internals/build.md explains why and
// how.
//
//   node build/bundle.mjs [FOLDER]     the folder with `src/`; its packages are found from there. Default: this project
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { decode, encode } from '@jridgewell/sourcemap-codec';
import { rolldown } from 'rolldown';
import { isolatedDeclarationSync } from 'rolldown/experimental';
import { minifySync } from 'rolldown/utils';
import { isInstalled } from './installed.mjs';
import { licensesOf } from './licenses.mjs';
import { copyAssets } from './modules.mjs';

const PROJECT = resolve(import.meta.dirname, '..');
const folder = resolve(process.argv[2] ?? PROJECT);
const [source, target] = [join(folder, 'src'), join(folder, 'dist')];

/** What other programs import: `exports` of package.json. */
const LIBRARY = ['library/check', 'library/webhook'];
/**
 * The program, the modules that its threads run, and the library. Their paths in `dist/` are the same as in `src/`.
 */
const ENTRIES = ['main', 'compose/render-thread', 'compose/definition-thread', 'compose/forecast-thread', ...LIBRARY];

/** The folder in `dist/` for the files with packages. */
const PACKAGES = 'packages';

/**
 * A module of a package. Not `.docket-*`: tests make broken builds in such folders of `node_modules/`
 * (test/soak/broken-builds.ts).
 */
const PACKAGE = /[\\/]node_modules[\\/](?!\.docket-)/;
const packageOf = (module) => /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(module)?.[1] ?? '';
const isOfPackages = ({ name, moduleIds }) =>
  ![START, SHARED].includes(name) && moduleIds.some((id) => PACKAGE.test(id));

/**
 * The code that every command loads, even `--help`, in two files: opening a file costs Node as much time as 50 KB of
 * code.
 */
const [START, SHARED] = ['program', 'base'];
/** These packages are minified one by one, because our own code in the same file keeps its names and lines. */
const PACKAGES_OF_START = /[\\/]node_modules[\\/](commander|fast-string-(truncated-)?width)[\\/]/;

/** Names a file by the package with the most modules in it. */
function largestPackage(modules) {
  const counts = new Map();
  for (const name of modules.map(packageOf)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const [largest] = [...counts].sort(([, one], [, other]) => other - one);
  return largest[0].replace('/', '-');
}

/** Placeholder for the path to `dist/`, until it is known which file the code goes into. */
const ROOT = '__DOCKET_DIST__/';

/** A module finds its assets and threads by its URL, so it keeps it: `src/a/b.ts` gets the URL of `dist/a/b.js`. */
const keepUrls = {
  name: 'keep-urls',
  transform: {
    filter: { id: { exclude: PACKAGE }, code: 'import.meta.url' },
    handler(code, id) {
      const path = posix.relative(source, id).replace(/\.tsx?$/, '.js');
      const url = `new URL('${ROOT}${path}', import.meta.url).href`;
      // On the same line, so that the lines of the source map stay right.
      return { code: code.replaceAll('import.meta.url', url), map: null };
    },
  },
  renderChunk(code, { fileName }) {
    if (!code.includes(ROOT)) return null;
    return { code: code.replaceAll(ROOT, `./${posix.relative(posix.dirname(fileName), '.')}/`), map: null };
  },
};

/** Parts of packages that Docket does not use, and their replacements. */
const UNUSED = [
  // BullMQ on PostgreSQL.
  [/bullmq\/dist\/esm\/postgres\/index\.js$/, 'export {};'],
  // zod's messages in fifty languages.
  [/zod\/v4\/locales\/index\.js$/, "export { default as en } from './en.js';"],
];
/** Modules that are not bundled. The code that imports each accepts null. */
const ABSENT = [
  // Native. msgpackr uses it to read, which BullMQ does not do.
  { name: 'msgpackr-extract', by: /[\\/]msgpackr[\\/]/ },
  // For colours, if another package happens to install it.
  { name: 'supports-color', by: /[\\/]debug[\\/]/ },
  // For exemplars, which Docket's metrics do not have.
  { name: '@opentelemetry/api', by: /[\\/]prom-client[\\/]/ },
  // For subcommands that are separate programs, which Docket does not have.
  { name: 'node:child_process', by: /[\\/]commander[\\/]/ },
];
const isAbsent = (id, importer = '') => ABSENT.some(({ name, by }) => name === id && by.test(importer));
const withoutUnused = {
  name: 'without-unused',
  resolveId: {
    filter: { id: ABSENT.map(({ name }) => new RegExp(`^${name}$`)) },
    handler: (id, importer) => (isAbsent(id, importer) ? `\0absent:${id}` : null),
  },
  load: {
    filter: { id: [/^\0absent:/, ...UNUSED.map(([id]) => id)] },
    handler: (id) => UNUSED.find(([path]) => path.test(id))?.[1] ?? 'module.exports = null;',
  },
};

/** Node warns about `new Buffer()` in code outside of `node_modules/`. */
const withoutWarning = {
  name: 'without-warning',
  transform: {
    filter: { id: PACKAGE, code: /\bnew Buffer\(/ },
    handler: (code) => ({ code: code.replaceAll(/\bnew Buffer\(/g, 'bufferOf(') + NEW_BUFFER, map: null }),
  },
};
const NEW_BUFFER = `
function bufferOf(from, encoding) {
  return typeof from === 'number' ? Buffer.alloc(from) : Buffer.from(from, encoding);
}`;

// Docket's own code keeps its names and lines for stack traces. Packages keep the names of functions and classes.
const KEPT = { function: true, class: true };
const SMALL = { compress: { target: 'node20', keepNames: KEPT }, mangle: { keepNames: KEPT } };

/** @type {(name: string, code: string, options?: object) => string} */
function minified(name, code, options) {
  const { code: small, errors } = minifySync(name, code, { ...SMALL, ...options });
  if (errors.length > 0) throw new Error(`${name}: ${errors[0].message}`);
  return small;
}

const withSmallStart = {
  name: 'with-small-start',
  transform: {
    filter: { id: PACKAGES_OF_START },
    handler: (code, id) => ({ code: minified(id, code), map: null }),
  },
};

/** All modules that this one reaches through imports of these kinds. */
function reached(from, kinds, moduleInfo) {
  const modules = new Set();
  const add = (id) => {
    if (modules.has(id)) return;
    modules.add(id);
    for (const kind of kinds) for (const imported of moduleInfo(id)?.[kind] ?? []) add(imported);
  };
  add(from);
  return modules;
}

/**
 * The modules that `main` loads before it runs. `shared` are those that threads may load too; threads must not load the
 * command line.
 */
const [start, shared] = [new Set(), new Set()];
const findStart = {
  name: 'find-start',
  buildEnd() {
    const [main, ...threads] = ENTRIES.map((name) => join(source, `${name}.ts`));
    const from = (id, kinds) => reached(id, kinds, (module) => this.getModuleInfo(module));
    const ofThreads = new Set(threads.flatMap((id) => [...from(id, ['importedIds', 'dynamicallyImportedIds'])]));
    // `main` waits at its top level. Modules imported during that wait must not wait for `main`.
    for (const id of from(main, ['importedIds'])) if (id !== main) (ofThreads.has(id) ? shared : start).add(id);
  },
};

/**
 * Importing a Node module by name loads everything its exports refer to: streams for `node:fs`, MIME types for
 * `node:util`. Code that every command loads must avoid that.
 */
const BUILTIN_IMPORT = /^import \{([^}]*)\} from "(node:[\w/]+)";$/gm;
const withoutFacades = {
  name: 'without-facades',
  renderChunk(code, { name }) {
    if (![START, SHARED].includes(name)) return null;
    return {
      code: code.replaceAll(BUILTIN_IMPORT, (_, names, id) => {
        const taken = names.replaceAll(' as ', ': ');
        return `const {${taken}} = process.getBuiltinModule("${id}");`;
      }),
      map: null,
    };
  },
};

/** A source map with lines but no columns, a fifth of the size. */
function withLinesOnly({ version, file, sources, mappings }) {
  const lines = decode(mappings).map((segments) =>
    segments.flatMap(([column, source, line], at) => {
      const [, sourceBefore, lineBefore] = segments[at - 1] ?? [];
      return source === sourceBefore && line === lineBefore ? [] : [[column, source, line, 0]];
    }),
  );
  return { version, file, sources, names: [], mappings: encode(lines) };
}

const bundle = await rolldown({
  input: Object.fromEntries(ENTRIES.map((name) => [name, join(source, `${name}.ts`)])),
  platform: 'node',
  // The same as in tsconfig.json, which does not apply to a folder in `node_modules/`.
  tsconfig: false,
  transform: { target: 'node20', jsx: { runtime: 'automatic', importSource: 'hono/jsx' } },
  external: (id, importer) => isInstalled(id) && !isAbsent(id, importer),
  // Prefers ES modules, so that only the used parts of a package are bundled.
  resolve: { mainFields: ['module', 'main'] },
  preserveEntrySignatures: 'allow-extension',
  plugins: [keepUrls, withoutUnused, withoutWarning, withSmallStart, findStart, withoutFacades],
  onLog(level, log, report) {
    // It would fail where Docket is installed.
    if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
    if (level !== 'info') report(level, log);
  },
});
rmSync(target, { recursive: true, force: true });
const { output } = await bundle.write({
  dir: target,
  format: 'esm',
  comments: false,
  sourcemap: true,
  sourcemapExcludeSources: true,
  chunkFileNames: (chunk) =>
    isOfPackages(chunk) ? `${PACKAGES}/${largestPackage(chunk.moduleIds)}.js` : 'chunks/[name].js',
  codeSplitting: {
    groups: [
      { name: START, test: (id) => start.has(id), includeDependenciesRecursively: false },
      { name: SHARED, test: (id) => shared.has(id), includeDependenciesRecursively: false },
      { name: PACKAGES, test: PACKAGE, entriesAware: true, includeDependenciesRecursively: false },
    ],
  },
});
await bundle.close();

const chunks = output.filter((file) => file.type === 'chunk');
for (const { fileName, code } of chunks.filter(isOfPackages))
  writeFileSync(join(target, fileName), minified(fileName, code, { module: true }));
for (const { fileName, source: map } of output.filter((file) => file.fileName.endsWith('.map'))) {
  const path = join(target, fileName);
  if (fileName.startsWith(`${PACKAGES}/`)) rmSync(path);
  else writeFileSync(path, JSON.stringify(withLinesOnly(JSON.parse(map))));
}
writeFileSync(
  join(target, 'LICENSES.md'),
  licensesOf(chunks.flatMap(({ moduleIds }) => moduleIds.filter((id) => PACKAGE.test(id)))),
);
for (const name of LIBRARY) {
  const file = join(source, `${name}.ts`);
  writeFileSync(join(target, `${name}.d.ts`), isolatedDeclarationSync(file, readFileSync(file, 'utf8')).code);
}
copyAssets(source, target);
chmodSync(join(target, 'main.js'), 0o755);
