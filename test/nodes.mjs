// The fast and the integration tier under other majors of Node, from the registry's `node` package:
//   node test/nodes.mjs                 20, 22 and 24
//   node test/nodes.mjs 24           one of them
//   node test/nodes.mjs 24 test/base only the files whose paths hold one of these words
// Each gets a copy of the files as they are, and installs them itself, so that this checkout stays as it is.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const words = process.argv.slice(2);
const given = words.filter((word) => /^\d+$/.test(word));
const majors = given.length > 0 ? given : ['20', '22', '24'];
const filters = words.filter((word) => !/^\d+$/.test(word));
const npx = (node, cwd, command, options) =>
  spawnSync('npx', ['--yes', '-p', `node@${node}`, '--', ...command], { cwd, encoding: 'utf8', ...options });

// Tracked or new, but not ignored: node_modules, dist and what runs left behind stay here.
const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
}).split('\0');

const lines = [];
for (const major of majors) {
  const folder = mkdtempSync(join(tmpdir(), `docket-node${major}-`));
  try {
    const node = npx(major, folder, ['node', '--version'], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout?.trim();
    if (!node?.startsWith(`v${major}.`)) throw new Error(`npx gave ${node || 'no Node'} where node@${major} was meant`);
    for (const file of files.filter(Boolean)) cpSync(file, join(folder, file), { verbatimSymlinks: true });
    const started = Date.now();
    const steps = [
      ['npm', 'ci'],
      ['npm', 'test', '--', '--passWithNoTests', ...filters],
      ['npm', 'run', 'test:integration', '--', '--passWithNoTests', ...filters],
    ];
    const failed = steps.find((step) => npx(major, folder, step, { stdio: 'inherit' }).status !== 0);
    const minutes = ((Date.now() - started) / 60_000).toFixed(1);
    lines.push({
      ok: failed === undefined,
      text: `${node}  ${failed ? `${failed.join(' ')} failed` : 'passed'}  ${minutes} min`,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
for (const { text } of lines) console.log(text);
process.exitCode = lines.every(({ ok }) => ok) ? 0 : 1;
