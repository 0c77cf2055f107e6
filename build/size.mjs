// `node build/size.mjs`: prints lines, files and exports of each folder, and what is too large. Fails if a folder
// exceeds its budget of code lines.
//
//   node build/size.mjs [--check]     --check prints only what exceeds its budget; `npm run lint` runs it
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { parseSync } from 'vite';

/**
 * Code lines: not blank, and more than a comment. If you make a folder smaller, lower its number. Raising one needs a
 * reason.
 */
const BUDGET = {
  build: 891,
  'src/admin': 15_467,
  'src/base': 2775,
  'src/cli': 9626,
  'src/compose': 3979,
  'src/contract': 376,
  'src/definitions': 7343,
  'src/deliver': 12_487,
  'src/demo': 677,
  'src/features': 9413,
  'src/fetch': 7327,
  'src/i18n': 2034,
  'src/library': 73,
  src: 7,
  'src/plan': 2985,
  'src/queue': 4121,
  'src/redis': 996,
  'src/render': 16_464,
  'src/run': 3883,
  'src/sandbox': 2918,
  'src/services': 11_736,
  templates: 1285,
  test: 120_341,
};
/**
 * Words that identify each feature. Outside of `src/features/`, only the files below may contain them; CONTRIBUTING.md
 * says what for.
 */
const FEATURE_WORDS = {
  accounts: /oidc|openid p/i,
  search: /['"`]\/(api\/)?search\b|ById\('search'\)|\.search input/,
  'workbook-template': /workbook.?template/i,
};
const FEATURE_SEAMS =
  /^src\/(base\/error\.ts|admin\/problem\.ts|cli\/program\/|admin\/page\/assets\/|admin\/(api|access)\/|definitions\/schema\/)/;
/** Files with more lines are listed. */
const LARGE_FILE = 350;

const ROOT = join(import.meta.dirname, '..');
const NOT_COUNTED = /^test\/(recorded|(?:wording|features)\/.*\.txt)|^build\/out\/|\/node_modules\//;
const SCRIPT = /^\.m?[jt]sx?$/;
/** How to find comments in files without a parser. Liquid templates have none. */
const COMMENTS = {
  '.lua': /--.*/g,
  '.typ': /(?<![:"])\/\/.*/g,
  '.css': /\/\*[\s\S]*?\*\//g,
  '.py': /^\s*#.*/gm,
  '.mjml': /<!--[\s\S]*?-->/g,
  '.liquid': /(?!)/g,
};

/** The text, with spans replaced by white space. */
function without(text, spans) {
  let result = '';
  let at = 0;
  for (const [start, end] of spans) {
    result += text.slice(at, start) + text.slice(start, end).replace(/\S/g, ' ');
    at = end;
  }
  return result + text.slice(at);
}

function measure(file) {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  const isScript = SCRIPT.test(extname(file));
  const parsed = isScript ? parseSync(file, text) : undefined;
  const spans =
    parsed?.comments.map(({ start, end }) => [start, end]) ??
    Array.from(text.matchAll(COMMENTS[extname(file)]), ({ 0: { length }, index }) => [index, index + length]);
  const code = without(text, spans);
  const blank = text.split('\n').filter((line) => line.trim() === '').length - (text.endsWith('\n') ? 1 : 0);
  const codeLines = code.split('\n').filter((line) => line.trim() !== '').length;
  const count = (pattern) => (isScript ? (code.match(pattern)?.length ?? 0) : 0);
  return {
    file,
    lines,
    code: codeLines,
    comment: lines - codeLines - blank,
    blank,
    exports: parsed?.module.staticExports.reduce((sum, { entries }) => sum + entries.length, 0) ?? 0,
    picks: count(/\bPick</g),
    ports: count(/\b(?:interface|type) \w*Ports\b/g),
    names: Object.entries(FEATURE_WORDS).flatMap(([feature, words]) => {
      const found = text.split('\n').filter((line) => words.test(line)).length;
      return found === 0 ? [] : [{ feature, file, found }];
    }),
  };
}

/** The part that a file belongs to, each with its own budget: a folder of `src/`, or another whole folder. */
const partOf = (file) => (/^src\/[^/]+\//.test(file) ? file.split('/').slice(0, 2).join('/') : file.split('/')[0]);

const files = ['src', 'templates', 'build', 'test'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && (SCRIPT.test(extname(entry.name)) || extname(entry.name) in COMMENTS))
    .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)))
    .filter((file) => !NOT_COUNTED.test(file)),
);
const measured = files.sort().map(measure);
const FIELDS = ['code', 'comment', 'blank', 'exports', 'picks', 'ports'];
const sumOf = (parts) =>
  Object.fromEntries(FIELDS.map((field) => [field, parts.reduce((sum, part) => sum + part[field], 0)]));
const rowOf = (part, of) => ({
  part,
  budget: BUDGET[part],
  ...sumOf(of),
  files: of.length,
  largest: of.toSorted((one, other) => other.lines - one.lines)[0],
});
const rows = [...new Set(measured.map(({ file }) => partOf(file)))].map((part) =>
  rowOf(
    part,
    measured.filter(({ file }) => partOf(file) === part),
  ),
);
const over = rows.filter(({ code, budget = 0 }) => code > budget);

/** Lines outside of the features that name one of them. */
const named = measured.filter(({ file }) => /^src\/(?!features\/)/.test(file)).flatMap(({ names }) => names);
const misplaced = named.filter(({ file }) => !FEATURE_SEAMS.test(file));

if (!process.argv.includes('--check')) {
  const ofSource = measured.filter(({ file }) => file.startsWith('src/'));
  const head = ['', 'code', 'budget', 'comment', 'blank', 'files', 'exports', 'Pick<', '*Ports', 'largest file'];
  const lineOf = ({ part, code, budget, comment, blank, files: count, exports, picks, ports, largest }) => [
    ...[part, code, budget ?? '', comment, blank, count, exports, picks, ports],
    `${largest.lines} ${largest.file}`,
  ];
  const all = rowOf('src in all', ofSource);
  for (const cells of [head, ...[...rows, all].map(lineOf)])
    console.log(
      cells
        .map((cell, at) => (at % 9 === 0 ? `${cell}`.padEnd(16) : `${cell}`.padStart(8)))
        .join(' ')
        .trimEnd(),
    );
  console.log('\nLines that name a feature outside of it:');
  for (const { feature, file, found } of named) console.log(`${found}\t${feature}\t${file}`);
  console.log(`\n${measured.length} files. Over ${LARGE_FILE} lines:`);
  for (const { file, lines } of measured.filter((each) => each.lines > LARGE_FILE)) console.log(`${lines}\t${file}`);
}
for (const { part, code, budget } of over)
  console.error(`${part}: ${code} lines of code, over the budget of ${budget ?? 'none'} (build/size.mjs).`);
for (const { feature, file } of misplaced)
  console.error(`${file} names the feature ${feature}; only the seams in build/size.mjs may (CONTRIBUTING.md).`);
process.exitCode = over.length + misplaced.length === 0 ? 0 : 1;
