// Installs the missing Debian packages that tests name in `program('soffice', 'libreoffice-calc')`, with one call of apt.
// With names, installs only these programs: node test/support/install-programs.mjs faketime
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const LOCK = '/tmp/docket-tests-apt.lock';
const TESTS = fileURLToPath(new URL('..', import.meta.url));

function* programsOfTests() {
  for (const path of readdirSync(TESTS, { recursive: true })) {
    if (!path.endsWith('.ts')) continue;
    const text = readFileSync(join(TESTS, path), 'utf8');
    for (const [, name, debianPackage] of text.matchAll(/\bprogram\(\s*'([^']+)',\s*'([^']+)',?\s*\)/g))
      yield [name, debianPackage];
  }
}

const isThere = (name) => (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)));
// One call at a time: apt refuses a second one, and a test file may be installing.
const apt = (...args) =>
  spawnSync('flock', [LOCK, 'apt-get', ...args], {
    stdio: 'inherit',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }).status === 0;

const asked = process.argv.slice(2);
const programs = [...programsOfTests()].filter(([name]) => asked.length === 0 || asked.includes(name));
const packages = new Set(programs.filter(([name]) => !isThere(name)).map(([, debianPackage]) => debianPackage));
// Fonts with the same widths as Excel's: see `officeFonts` in debian.ts. Installing them again changes nothing.
if (asked.length === 0) for (const fonts of ['fonts-crosextra-carlito', 'fonts-liberation']) packages.add(fonts);
const install = () => apt('install', '-qqy', '--no-install-recommends', ...packages);
// Try the existing package lists first, then update them.
if (packages.size > 0 && !install() && !(apt('update', '-qq') && install())) process.exitCode = 1;
