// `node build/site/build.mjs`: the documentation as a site in `build/out/site`. It has every page of `docs/`, and pages
// that are made here: one for each error code, one for each recipe, and `llms.txt`. A dead link fails the build.
// Needs `npm run build` and `npm ci --prefix build/site`.
import { execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { build } from 'vitepress';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const PAGES = join(ROOT, 'build/out/site-pages');
const SITE = join(ROOT, 'build/out/site');
const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const write = (path, text) => {
  mkdirSync(dirname(join(PAGES, path)), { recursive: true });
  writeFileSync(join(PAGES, path), text);
};
/** The Markdown files below a folder, from `root`. */
const markdownIn = (root, folder) =>
  readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
const titleOf = (markdown) => /^# (.+)$/m.exec(markdown)?.[1] ?? '';

/** Copies a page. Links to files that the site does not have become text. */
function copyPage(path) {
  const text = read(path)
    .replace(/<!--[\s\S]*?-->\n*/g, '')
    .replace(/\[([^\]]+)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)/g, (link, label, target) => {
      const file = relative(ROOT, join(ROOT, dirname(path), target));
      return copied.has(file) || IMAGE.test(file) ? link : label;
    });
  write(path, text);
}

const IMAGE = /^docs\/images\//;
const copied = new Set([
  ...markdownIn(ROOT, 'docs'),
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'templates/README.md'],
]);

/** What a terminal shows of an error, from the examples that tests hold: code to lines. */
function errorExamples() {
  const examples = new Map();
  let lines = [];
  const keep = () => {
    const code = /\[([a-z_]+(?:\.[a-z_]+)?)\]$/.exec(lines[0] ?? '')?.[1];
    if (code !== undefined && !examples.has(code)) examples.set(code, lines);
  };
  for (const line of read('test/wording/errors.txt').split('\n')) {
    if (line.startsWith('  ')) lines.push(line);
    else {
      keep();
      lines = [line];
    }
  }
  keep();
  return examples;
}

/** A page for each row of the reference of error codes. */
function writeErrorPages() {
  const examples = errorExamples();
  const rows = read('docs/reference/error-codes.md')
    .split('\n')
    .flatMap((line) => {
      const cells = /^\| `([^`]+)` \| (.+) \| (.+) \| (\d+) \| (\w+) \|$/.exec(line);
      return cells === null ? [] : [cells.slice(1)];
    });
  for (const [code, cause, remedy, exit, again] of rows) {
    const example = examples.get(code);
    write(
      `docs/errors/${code}.md`,
      [
        `# \`${code}\``,
        `**Cause.** ${cause}`,
        `**Remedy.** ${remedy}`,
        `Exit code ${exit}. ${again === 'yes' ? 'It can be tried again without a change.' : 'It fails again until something is changed.'}`,
        ...(example === undefined ? [] : ['## Example', `\`\`\`text\n${example.join('\n')}\n\`\`\``]),
        '[All error codes](../reference/error-codes.md)',
      ].join('\n\n'),
    );
  }
  return rows.map(([code]) => code);
}

/** Pictures of what a recipe makes. */
const PICTURES = {
  'weekly-kpi': 'weekly-kpi.png',
  'board-pack': 'board-pack.png',
  'approved-pack': 'board-pack-pdf.png',
};

/** Starts the sandbox. Resolves with what commands need to use it. */
async function startSandbox() {
  const child = spawn(process.execPath, [join(ROOT, 'dist/main.js'), 'sandbox', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exported = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, value] = /export (\w+)=(\S+)/.exec(line) ?? [];
    if (name !== undefined) exported[name] = value;
    if (exported.COMPLIANCE_API_URL !== undefined && exported.DEMO_API_KEY !== undefined) break;
  }
  return { exported, stop: () => child.kill() };
}

/** A page for each recipe: its picture, its YAML, and the calls that it needs. */
async function writeRecipePages() {
  const jobs = join(ROOT, 'build/out/site-jobs');
  rmSync(jobs, { recursive: true, force: true });
  for (const name of ['org.yaml', 'targets.yaml', 'logo.png'])
    cpSync(join(ROOT, 'jobs/demo', name), join(jobs, 'demo', name));
  const recipes = read('docs/reference/cli.md')
    .split('### docket new')[1]
    .split('```')[3]
    .trim()
    .split('\n')
    .map((line) => /^(\S+)\s+(.+)$/.exec(line).slice(1));
  const sandbox = await startSandbox();
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DOCKET_JOBS: jobs, ...sandbox.exported };
  const docket = async (...args) =>
    (await run(process.execPath, [join(ROOT, 'dist/main.js'), ...args], { env, cwd: ROOT })).stdout;
  try {
    for (const [name, purpose] of recipes) {
      await docket('new', `demo/${name}`, '--from', name, '--to', 'mlro@acme.example');
      const yaml = readFileSync(join(jobs, 'demo', `${name}.yaml`), 'utf8');
      const calls = await docket('explain', `demo/${name}`);
      const picture = PICTURES[name];
      write(
        `docs/recipes/${name}.md`,
        [
          `# ${name}`,
          `${purpose[0].toUpperCase()}${purpose.slice(1)}.`,
          `\`\`\`sh\ndocket new acme/${name} --from ${name}\n\`\`\``,
          ...(picture === undefined ? [] : [`![What it makes](../images/${picture})`]),
          '## What it costs',
          `\`docket explain\` in the sandbox:\n\n\`\`\`text\n${calls.slice(0, calls.indexOf('\nOutputs')).trim()}\n\`\`\``,
          '## The definition',
          `\`\`\`yaml\n${yaml.trim()}\n\`\`\``,
        ].join('\n\n'),
      );
    }
  } finally {
    sandbox.stop();
    rmSync(jobs, { recursive: true });
  }
  const lines = recipes.map(([name, purpose]) => `- [${name}](${name}.md): ${purpose}`);
  write('docs/recipes/index.md', `# Recipes\n\n${lines.join('\n')}\n`);
  return recipes.map(([name]) => name);
}

rmSync(PAGES, { recursive: true, force: true });
rmSync(SITE, { recursive: true, force: true });
for (const path of copied) copyPage(path);
cpSync(join(ROOT, 'docs/images/board-pack.png'), join(PAGES, 'public/board-pack.png'));
cpSync(join(ROOT, 'docs/images'), join(PAGES, 'docs/images'), { recursive: true });
const codes = writeErrorPages();
const recipes = await writeRecipePages();
write('index.md', read('build/site/home.md'));

const all = markdownIn(PAGES, '.').sort();
const group = (folder) =>
  all
    .filter((path) => dirname(path) === folder && !path.endsWith('index.md'))
    .map((path) => ({
      text: titleOf(readFileSync(join(PAGES, path), 'utf8')).replaceAll('`', ''),
      link: `/${path.replace(/\.md$/, '')}`,
    }));
const { version, description } = JSON.parse(read('package.json'));
const sidebar = [
  { text: 'Tutorials', items: group('docs/tutorials') },
  { text: 'How-to guides', items: group('docs/how-to') },
  { text: 'Recipes', items: group('docs/recipes') },
  { text: 'Explanation', items: group('docs/explanation') },
  { text: 'Reference', items: group('docs/reference') },
  { text: 'Error codes', collapsed: true, items: group('docs/errors') },
  { text: 'For engineers', collapsed: true, items: group('docs/internals') },
];
// https://llmstxt.org
mkdirSync(join(PAGES, 'public'), { recursive: true });
write(
  'public/llms.txt',
  [
    `# Docket ${version}`,
    `> ${description}`,
    ...sidebar.map(
      ({ text, items }) => `## ${text}\n\n${items.map((page) => `- [${page.text}](${page.link}.html)`).join('\n')}`,
    ),
  ].join('\n\n'),
);
process.env.DOCKET_SITE = JSON.stringify({ pages: PAGES, out: SITE, version, sidebar });
await build(import.meta.dirname);
rmSync(PAGES, { recursive: true });
if (!existsSync(join(SITE, 'index.html'))) throw new Error('the site has no first page');
console.log(`${all.length} pages, ${codes.length} error codes, ${recipes.length} recipes: ${relative(ROOT, SITE)}`);
