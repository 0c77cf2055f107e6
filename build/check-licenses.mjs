// `node build/check-licenses.mjs`: fails on a dependency whose license is not on the list. Writes an SBOM (CycloneDX)
// of the packages that Docket contains or installs to build/out/sbom.cdx.json.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSbom } from './sbom.mjs';

const ROOT = join(import.meta.dirname, '..');
const SBOM = join(ROOT, 'build/out/sbom.cdx.json');

/** Licenses that allow use and distribution together with MIT. For "A OR B", one of them is enough. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC-BY-3.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'MPL-2.0',
  'OFL-1.1',
  'PostgreSQL',
  'PSF-2.0',
  'Unlicense',
  'Zlib',
]);

/** Packages whose package.json names no license, and the license that another of their files names. */
const NAMED_ELSEWHERE = new Map([
  ['humanize-number', 'MIT'], // Readme.md; a dependency of tests
  ['only', 'MIT'], // Readme.md; a dependency of tests
]);

/** @param {string} expression SPDX */
const isAllowed = (expression) =>
  expression
    .replace(/^\((.*)\)$/, '$1')
    .split(/ OR /)
    .some((choice) => choice.split(/ AND /).every((one) => ALLOWED.has(one.replace(/[()]/g, '').trim())));

const nameOf = (path) => path.replace(/^.*node_modules\//, '');

/**
 * The license in the lock file, or else in the package's own package.json. `not installed`: the package is for another
 * platform.
 */
function licenseOf(path, entry) {
  if (entry.license !== undefined) return entry.license;
  const file = join(ROOT, path, 'package.json');
  if (entry.optional && !existsSync(file)) return 'not installed';
  const { license, licenses } = JSON.parse(readFileSync(file, 'utf8'));
  return (
    license?.type ??
    license ??
    licenses?.map(({ type }) => type).join(' OR ') ??
    NAMED_ELSEWHERE.get(nameOf(path)) ??
    'none'
  );
}

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
const dependencies = Object.entries(packages).filter(([path]) => path !== '');
const counts = new Map();
const refused = [];
for (const [path, entry] of dependencies) {
  const license = licenseOf(path, entry);
  counts.set(license, (counts.get(license) ?? 0) + 1);
  if (license !== 'not installed' && !isAllowed(license)) refused.push(`${nameOf(path)} ${entry.version}: ${license}`);
}
for (const [license, count] of [...counts].sort(([, one], [, other]) => other - one))
  console.log(`${count}\t${license}`);
if (refused.length > 0) {
  console.error(`${refused.length} packages have a license that is not on the list:\n  ${refused.join('\n  ')}`);
  console.error('Replace the package, or add its license to ALLOWED in build/check-licenses.mjs after a review.');
  process.exit(1);
}

mkdirSync(join(ROOT, 'build/out'), { recursive: true });
writeFileSync(SBOM, createSbom());
console.log(`${dependencies.length} packages, all allowed. SBOM: build/out/sbom.cdx.json`);
