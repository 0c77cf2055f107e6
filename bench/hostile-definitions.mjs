// Posts definitions that are designed to be as expensive as possible, up to 1 MB, to `docket start` with the roles
// worker and admin. Meanwhile it checks health every 20 ms, and runs are active. Prints the time of each response and
// the slowest health check.
//
//   npm run build && node build/modules.mjs && node bench/hostile-definitions.mjs [--quick] [--only templates,commas]
//
// Limits: a response within 2 s, health checks within 100 ms, and no run that starts twice or gets no response.
import { parseArgs } from 'node:util';
import { startSandbox } from '../dist-modules/sandbox/sandbox.js';
import { startDocket } from './support/deployment.mjs';
import { privateRedis } from './support/redis.mjs';
import { reportOf, rounded } from './support/report.mjs';

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } } });
const report = reportOf('hostile-definitions');
const ORG = 'acme';
/** The longest text that the route accepts, and the longest that is sent. */
const MOST = 256 * 1024;
const MB = 1024 * 1024;

const definition = (sections, deliveries = '') =>
  `version: 1
title: Hostile
owner: ops@acme.example
schedule: []
period: previous_month
sections:
${sections}outputs:
  - { format: csv }
${deliveries}`;
const SECTION = '  - { id: a, metrics: [profiles.created] }\n';
const repeated = (text, bytes = MOST - 1024) => text.repeat(Math.floor(bytes / text.length));
const numbered = (count, text) => Array.from({ length: count }, (_, index) => text(index)).join('');
const LOOPS = `{% assign a=(1..9) %}${'{% for i in a %}'.repeat(8)}${'{% endfor %}'.repeat(8)}`;
const aliased = (list) =>
  definition(
    `  - { id: s0, metrics: [profiles.created], filters: [{ dimension: profile.risk, values: &v [${list}] }] }\n${numbered(
      99,
      (index) =>
        `  - { id: s${index + 1}, metrics: [profiles.created], filters: [{ dimension: profile.risk, values: *v }] }\n`,
    )}`,
  );

const KINDS = {
  'nothing hostile': definition(SECTION),
  'templates of paths': definition(SECTION, `deliveries:\n${`  - directory: { path: "${LOOPS}" }\n`.repeat(50)}`),
  'templates of subjects': definition(
    SECTION,
    `deliveries:\n${`  - email: { to: [a@acme.example], subject: "${LOOPS}" }\n`.repeat(50)}`,
  ),
  'aliases of values': aliased(numbered(999, (index) => `v${index}, `)),
  'aliases of recipients': definition(
    SECTION,
    `deliveries:\n  - &m { email: { to: [${numbered(100, (index) => `x${index}@evil.example, `)}] } }\n${'  - *m\n'.repeat(49)}`,
  ),
  'aliases of aliases': numbered(
    9,
    (index) => `l${index}: &l${index} [${Array(9).fill(index === 0 ? 'x' : `*l${index - 1}`)}]\n`,
  ),
  'metrics nobody has': definition(
    numbered(
      100,
      (section) => `  - { id: s${section}, metrics: [${numbered(100, (index) => `profiles.creatd${index}, `)}] }\n`,
    ),
  ),
  'values nobody has': definition(
    numbered(
      30,
      (section) =>
        `  - { id: s${section}, metrics: [profiles.created], filters: [{ dimension: profile.risk, values: [${numbered(1000, (index) => `hgh${index}, `)}] }] }\n`,
    ),
  ),
  commas: `${definition(SECTION)}deliveries: [${repeated(',', MOST - 2048)}`,
  quotes: repeated('"'),
  'pairs of quotes': repeated('"" '),
  braces: repeated('{}'),
  'open braces': repeated('{'),
  'closing braces': repeated('}'),
  'open brackets': repeated('['),
  'lists in lists': repeated(`${'- '.repeat(60)}\n`),
  'a list of numbers': `[${repeated('1,')}]`,
  'a long key': `${repeated('a')}: 1`,
  'many keys': numbered(25_000, (index) => `k${index}: 1\n`),
  'one key again and again': repeated('a: 1\n'),
  tags: repeated('- !x a\n'),
  directives: repeated('%a\n'),
  anchors: repeated('- &a 1\n'),
  escapes: `"${repeated('\\q')}"`,
  'line breaks': repeated('\n'),
  secrets: repeated('- AKIAABCDEFGHIJKLMNOP\n'),
  'empty sections': `sections: [${repeated('~,')}]`,
  '1 MB of commas': `[${repeated(',', MB)}`,
  '1 MB of comment': repeated('#', MB),
};
const only = values.only?.split(',');
const kinds = Object.entries(KINDS)
  .filter(([name]) => only === undefined || only.includes(name))
  .slice(0, values.quick ? 6 : undefined);

/** Checks the process's health every 20 ms. `slowest` returns the longest response time since the previous call. */
function watchHealth(url) {
  let open = true;
  let slowest = 0;
  const pending = new Set();
  const watching = (async () => {
    while (open) {
      const began = performance.now();
      const asked = fetch(`${url}/healthz`)
        .then((response) => response.arrayBuffer())
        // A connection that is not accepted within ten seconds counts as a response time of ten seconds.
        .catch(() => {})
        .then(() => {
          slowest = Math.max(slowest, performance.now() - began);
          pending.delete(asked);
        });
      pending.add(asked);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await Promise.all(pending);
  })();
  return {
    slowest: async () => {
      await Promise.all(pending);
      const found = slowest;
      slowest = 0;
      return found;
    },
    close: () => {
      open = false;
      return watching;
    },
  };
}

/**
 * Starts one run after the other, each with a call that takes three seconds. Counts the runs, and those that started
 * twice.
 */
function keepRunning(docket) {
  let open = true;
  const runs = { done: 0, again: 0, unanswered: 0 };
  const running = (async () => {
    for (let month = 1; open; month = (month % 12) + 1) {
      try {
        const run = await docket.ask(ORG, `2024-${String(month).padStart(2, '0')}`);
        runs.done += 1;
        if (run.attempts > 1) runs.again += 1;
      } catch {
        // The process no longer accepts connections.
        runs.unanswered += 1;
      }
    }
  })();
  return {
    close: async () => {
      open = false;
      await running;
      return runs;
    },
  };
}

const redis = await privateRedis();
const sandbox = await startSandbox({ faults: [{ kind: 'latency', value: 3_000 }] });
const docket = await startDocket({
  redisUrl: redis.url,
  apiUrl: sandbox.url,
  keys: { [ORG]: sandbox.keys.find(({ label }) => label === 'acme').key },
  budget: { calls: 30, window: 60 },
  role: 'worker,admin',
});
try {
  // From here on, the workers have a catalog to compare texts with.
  await docket.ask(ORG, '2025-01');
  const health = watchHealth(docket.url);
  const runs = keepRunning(docket);
  for (const [name, body] of kinds) {
    await health.slowest();
    const began = performance.now();
    const response = await fetch(`${docket.url}/api/reports/${ORG}/report/validate`, {
      method: 'POST',
      headers: { ...docket.headers, 'Content-Type': 'application/yaml' },
      body,
    });
    /** @typedef {import('zod').infer<typeof import('../dist-modules/admin/access/reports.js').validationSchema>} Validation */
    const answer = /** @type {Partial<Validation> & { code?: string }} */ (await response.json());
    const answer_ms = rounded(performance.now() - began, 0);
    report({
      name,
      bytes: body.length,
      status: response.status,
      faults: answer.faults?.length ?? 0,
      code: answer.code ?? answer.faults?.[0]?.code ?? null,
      answer_ms,
      healthz_ms: rounded(await health.slowest(), 0),
      limit: { answer_ms: 2_000, healthz_ms: 100 },
    });
  }
  report({ name: 'active runs meanwhile', ...(await runs.close()), limit: { again: 0, unanswered: 0 } });
  await health.close();
} finally {
  await docket.close();
  await sandbox.close();
  await redis.close();
}
