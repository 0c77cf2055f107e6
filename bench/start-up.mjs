// Measures how long a person waits for a command that does nothing, and for Tab: on the built code, a new process each
// time. Alternates with `node -e 0`, which is the minimum. Limits: a median of 200 ms until the help is printed, and
// 1.3 times Node's time. Also measures `docket run` of a report with a section, a call, a CSV and a workbook, from the
// start of the process to its end, with a service that answers at once; limit: 1.2 s.
//
//   npm run build && node build/modules.mjs && node bench/start-up.mjs [--quick] [--runs 25]
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { readOptions } from './support/options.mjs';
import { layOut, MAIN, ONE_CALL } from './support/processes.mjs';
import { percentile, reportOf, rounded } from './support/report.mjs';
import { tinyService } from './support/tiny-service.mjs';

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
// The first round warms the disk's cache. In turns, so that changing load affects all cases.
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

const service = await tinyService({ calls: 1_000, windowMs: 60_000 });
/** @type {import('./support/processes.mjs').ReportFile} */
const twoFiles = { ...ONE_CALL, outputs: [{ format: 'csv' }, { format: 'xlsx' }] };
const { folder, env, close } = await layOut({
  acme: { key: 'bench.key', settings: {}, reports: { report: twoFiles } },
});
// Reports the processor time of the process, including its threads, through a separate pipe.
const TOLD = `data:text/javascript,${encodeURIComponent(
  "import { writeSync } from 'node:fs'; import { isMainThread } from 'node:worker_threads'; if (isMainThread) process.on('exit', () => writeSync(3, JSON.stringify(process.cpuUsage())))",
)}`;

async function runOnce() {
  const began = performance.now();
  const args = ['--import', TOLD, MAIN, 'run', 'acme/report', '--no-deliver', '--out', join(folder, 'out')];
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, ...env, COMPLIANCE_API_URL: service.url },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  let told = '';
  child.stdio[3].on('data', (piece) => {
    told += piece;
  });
  const status = await new Promise((resolve) => child.once('close', resolve));
  if (status !== 0) throw new Error(`docket run ended with ${status}`);
  const { user, system } = JSON.parse(told);
  return { ms: performance.now() - began, cpuMs: (user + system) / 1_000 };
}

try {
  await runOnce();
  const all = [];
  for (let run = 0; run < Math.min(runs, 10); run += 1) all.push(await runOnce());
  const median = (of) => rounded(percentile(all.map(of), 0.5));
  const figures = { median_ms: median(({ ms }) => ms), cpu_ms: median(({ cpuMs }) => cpuMs) };
  report({ name: 'docket run', who: 'docket', ...figures, limit: { median_ms: 1_200 } });
} finally {
  await service.close();
  await close();
}
