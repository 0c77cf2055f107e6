// Does everything for a release up to publishing; see docs/internals/releasing.md.
//
//   npm run release -- --dry-run [--skip-tests]   changes nothing
//   npm run release                               also tags the commit; pushing the tag starts the release workflow
//   npm run release -- --tagged                   in that workflow: the tag exists, and another job ran the tests
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const OUT = join(ROOT, 'build/out');
const options = process.argv.slice(2);
const unknown = options.filter((option) => !['--dry-run', '--skip-tests', '--tagged'].includes(option));
const dryRun = options.includes('--dry-run');
const isTagged = options.includes('--tagged');
const skipTests = options.includes('--skip-tests') || isTagged;

/** Prints what is wrong and what to do, and exits with 1. */
function fail(what, next) {
  console.error(`release: ${what}\n  do: ${next}`);
  process.exit(1);
}
const read = (command, ...args) =>
  execFileSync(command, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 << 20 }).trim();
function step(title, command, ...args) {
  console.log(`── ${title}`);
  try {
    execFileSync(command, args, { cwd: ROOT, stdio: 'inherit' });
  } catch {
    fail(`${title} failed`, `Run \`${command} ${args.join(' ')}\`, and fix what it reports.`);
  }
}

if (unknown.length > 0) fail(`unknown option ${unknown[0]}`, 'Use --dry-run, --skip-tests, --tagged or none.');
if (!dryRun && !isTagged && skipTests) fail('--skip-tests is for a dry run', 'Leave it out.');

const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const tag = `v${version}`;
const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
if (read('git', 'status', '--porcelain') !== '') fail('the working tree has changes', 'Commit or remove them.');
const section = changelog.split(/^(?=## )/m).find((part) => part.startsWith(`## [${version}] - `));
if (section === undefined)
  fail(`CHANGELOG.md has no section of ${version} with a date`, `Add "## [${version}] - YYYY-MM-DD".`);
if (isTagged && read('git', 'tag', '--points-at', 'HEAD', '--list', tag) === '')
  fail(`this commit has no tag ${tag}`, 'Tag the commit whose package.json has this version.');
if (!isTagged && read('git', 'tag', '--list', tag) !== '')
  fail(`${tag} exists`, 'Raise the version with `npm version --no-git-tag-version`.');

step('licenses and SBOM', 'node', 'build/check-licenses.mjs');
step('types', 'npm', 'run', '--silent', 'typecheck');
step('lint', 'npm', 'run', '--silent', 'lint');
if (!skipTests) step('tests', 'bash', '.ci/run');

console.log('── package');
mkdirSync(OUT, { recursive: true });
const [packed] = JSON.parse(read('npm', 'pack', '--json', '--pack-destination', OUT).replace(/^[\s\S]*?(?=^\[)/m, ''));
const paths = packed.files.map(({ path }) => path);
const foreign = paths.filter((path) => /^(?:src|test|bench|node_modules|\.ci|\.github)\/|\.env$/.test(path));
if (foreign.length > 0) fail(`the package has ${foreign[0]}`, 'Correct `files` of package.json.');
for (const needed of ['dist/main.js', 'package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'docs/README.md'])
  if (!paths.includes(needed)) fail(`the package lacks ${needed}`, 'Correct `files` of package.json, or build first.');
writeFileSync(join(OUT, 'notes.md'), section.split('\n').slice(1).join('\n').trim());
console.log(`${packed.filename}: ${paths.length} files, ${Math.round(packed.size / 1024)} KB`);

if (isTagged) process.exit(0);
if (!dryRun) step('tag', 'git', 'tag', '--annotate', tag, '--message', `${name} ${version}`);
console.log(
  dryRun
    ? `── dry run: nothing was tagged or published. \`npm run release\` tags ${tag}.`
    : `── tagged ${tag}. \`git push origin ${tag}\` starts .github/workflows/release.yml, which publishes the package and the image.`,
);
