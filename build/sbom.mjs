import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/**
 * Creates an SBOM (CycloneDX) of the packages that Docket contains or installs. Works in a copy without development
 * dependencies and peers: `npm sbom --omit dev` of npm 11 leaves out every package that a development dependency needs
 * too, such as BullMQ.
 */
export function createSbom() {
  const scratch = mkdtempSync(join(tmpdir(), 'docket-sbom-'));
  // npm names the root package after its folder.
  const cwd = join(scratch, 'docket');
  const npm = (...args) => execFileSync('npm', args, { cwd, encoding: 'utf8', maxBuffer: 64 << 20 });
  try {
    mkdirSync(cwd);
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const { devDependencies, peerDependencies, peerDependenciesMeta, ...runtime } = manifest;
    writeFileSync(join(cwd, 'package.json'), JSON.stringify(runtime));
    cpSync(join(ROOT, 'package-lock.json'), join(cwd, 'package-lock.json'));
    npm('install', '--package-lock-only', '--ignore-scripts', '--offline', '--no-audit', '--no-fund');
    return npm('sbom', '--sbom-format', 'cyclonedx', '--package-lock-only');
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
