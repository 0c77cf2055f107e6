// Mutation testing: Stryker over TypeScript, our own few mutants over Lua. Part after part; exits 1 under `LEAST`.
//
//   node test/mutation/run.mjs [ledger budget plan] [--no-lua] [--only-lua] [--mutate src/plan/requests/split-request.ts]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { privateRedis } from '../../bench/support/redis.mjs';
import { mutateLua } from './lua.mjs';

/** Percent of the mutants that the tests must tell from the code. */
const LEAST = 85;
/** The quickest tests first. */
const PARTS = {
  ledger: {
    mutate: ['src/deliver/ledger/*ledger.ts'],
    lua: ['open-3', 'begin-1', 'settle-2', 'resolve-2', 'expiry'].map(
      (step) => `src/deliver/ledger/ledger-${step}.lua`,
    ),
    tests: ['redis-ledger', 'ledger', 'archived-ledger'].map((name) => `deliver/ledger/${name}`),
  },
  budget: {
    mutate: ['src/fetch/rate-limit/*budget.ts'],
    lua: ['src/fetch/rate-limit/budget-10.lua'],
    tests: ['bucket-clock', 'budget', 'budget-equivalence', 'redis-budget', 'redis-budget-clock'].map(
      (name) => `fetch/rate-limit/${name}`,
    ),
  },
  plan: {
    mutate: ['src/plan/**/*.ts'],
    lua: [],
    // Not those that compare whole tables or all calls (`…-property`, `board-pack-calls`): they take a minute each.
    tests: [
      ...[
        'answered-sections',
        'buckets',
        'compile',
        'compile-split',
        'explain',
        'filters',
        'like-for-like',
        'reading',
        'trend',
      ],
      ...['catalog-check', 'check-display', 'check-plan', 'check-targets', 'comparison-check', 'reading-check'].map(
        (name) => `checks/${name}`,
      ),
      ...['partition', 'partner-requests', 'requests', 'section-requests', 'share-totals', 'split-request'].map(
        (name) => `requests/${name}`,
      ),
    ].map((name) => `plan/${name}`),
  },
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    'no-lua': { type: 'boolean' },
    'only-lua': { type: 'boolean' },
    mutate: { type: 'string', multiple: true },
  },
});
// Its packages are in a manifest of its own; the mutants of Lua run beside the modules.
execFileSync('npm', ['ci', '--prefix', 'test/mutation', '--ignore-scripts', '--no-audit', '--no-fund'], {
  stdio: 'inherit',
});
execFileSync(process.execPath, ['build/modules.mjs'], { stdio: 'inherit' });
const redis = await privateRedis();
const scores = [];
try {
  for (const name of positionals.length > 0 ? positionals : Object.keys(PARTS)) {
    const part = PARTS[name];
    if (part === undefined) throw new Error(`"${name}" is none of ${Object.keys(PARTS).join(', ')}`);
    process.env.MUTATION_TESTS = part.tests.map((name) => `test/${name}.test.ts`).join(' ');
    process.env.MUTATION_REDIS = part.lua.length > 0 ? redis.url : '';
    const began = Date.now();
    const found = { killed: 0, all: 0 };
    for (const { killed, all } of [
      ...(values['only-lua'] ? [] : [await stryker(name, part)]),
      ...(values['no-lua'] || part.lua.length === 0 ? [] : [await mutateLua(part.lua)]),
    ]) {
      found.killed += killed;
      found.all += all;
    }
    scores.push({
      part: name,
      mutants: found.all,
      killed: found.killed,
      score: `${((found.killed / found.all) * 100).toFixed(1)} %`,
      minutes: Math.round((Date.now() - began) / 60_000),
    });
    if (found.killed / found.all < LEAST / 100) process.exitCode = 1;
  }
} finally {
  await redis.close();
}
console.table(scores);

async function stryker(name, { mutate }) {
  const report = `out/mutation-${name}.json`;
  const command = 'test/mutation/node_modules/@stryker-mutator/core/bin/stryker.js';
  const args = [command, 'run', 'test/mutation/stryker.config.mjs', '--mutate', (values.mutate ?? mutate).join()];
  const [code] = await once(
    spawn(process.execPath, args, { stdio: 'inherit', env: { ...process.env, MUTATION_REPORT: report } }),
    'exit',
  );
  if (code !== 0) throw new Error(`Stryker ended with ${code}`);
  const { files } = JSON.parse(readFileSync(report, 'utf8'));
  const states = Object.values(files).flatMap(({ mutants }) => mutants.map(({ status }) => status));
  const counted = states.filter((status) => !['CompileError', 'Ignored', 'RuntimeError'].includes(status));
  return { killed: counted.filter((status) => ['Killed', 'Timeout'].includes(status)).length, all: counted.length };
}
