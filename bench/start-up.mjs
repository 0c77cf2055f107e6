// How long somebody waits for a command that does nothing, and for Tab: on the built code, a process each. Measured in turns with
// `node -e 0`, which nobody can be faster than. Limits: 200 ms (the median) until the help stands there, and 1.3 times Node's.
//
//   npm run build && npm run build:modules && node bench/start-up.mjs [--quick] [--runs 25]
import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { readOptions } from './support/options.mjs';
import { percentile, reportOf, rounded } from './support/report.mjs';

const { runs } = readOptions({ runs: 25 }, { runs: 7 });
const [LIMIT_MS, LIMIT_TIMES_NODE] = [200, 1.3];
const report = reportOf('start-up');

const CASES = [
  { name: '--help', args: ['dist/main.js', '--help'], limit: { median_ms: LIMIT_MS, times_node: LIMIT_TIMES_NODE } },
  { name: '--version', args: ['dist/main.js', '--version'], limit: {} },
  { name: 'Tab', args: ['dist/main.js', '__complete', '--', 'run', ''], limit: {} },
];
const NOTHING = { name: 'node', args: ['-e', '0'] };

function once(args) {
  const began = performance.now();
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}`);
  return performance.now() - began;
}

const all = [NOTHING, ...CASES];
const took = new Map(all.map(({ name }) => [name, []]));
// The first of each warms the disk's cache. In turns: a load that comes and goes meets all of them.
for (let run = 0; run <= runs; run += 1) {
  for (const { name, args } of all) {
    const ms = once(args);
    if (run > 0) took.get(name).push(ms);
  }
}

const at = (name, share) => percentile(took.get(name), share);
for (const { name, limit } of CASES) {
  const [median, p90] = [at(name, 0.5), at(name, 0.9)];
  const times = rounded(median / at(NOTHING.name, 0.5));
  report({ name, who: 'docket', median_ms: rounded(median), p90_ms: rounded(p90), times_node: times, limit });
  report({ name, who: 'node -e 0', median_ms: rounded(at(NOTHING.name, 0.5)), limit: {} });
}
