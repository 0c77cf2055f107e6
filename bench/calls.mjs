// Metrics calls a run of every definition in jobs/ takes: metric by metric as a query a chart series does (`naive`),
// section by section, as planned, and the number below which no plan can be (support/call-bound.mjs).
//
//   npm run build && node bench/calls.mjs [--quick]
import { fileURLToPath } from 'node:url';
import { Secret } from '../dist/base/secret.js';
import { loadJobs } from '../dist/define/load.js';
import { resolvePeriod } from '../dist/define/period.js';
import { createClient } from '../dist/fetch/client.js';
import { askedBy } from '../dist/plan/asked.js';
import { compilePlan } from '../dist/plan/compile.js';
import { explain } from '../dist/plan/explain.js';
import { startSandbox } from '../dist/sandbox/sandbox.js';
import { leastCalls } from './support/call-bound.mjs';
import { readOptions } from './support/options.mjs';
import { reportOf, rounded } from './support/report.mjs';
import { keyOf } from './support/service.mjs';

readOptions({}, {});
const NOW = Date.parse('2026-04-08T08:30:00Z');
/** What a plan may take of the naive way, where somebody was promised something. */
const PROMISED = { 'demo/board-pack': { of_naive: 0.5 } };

const report = reportOf('calls');
const sandbox = await startSandbox({ now: NOW });
try {
  const client = createClient({ baseUrl: sandbox.url, key: new Secret(keyOf(sandbox, 'acme')) });
  const catalog = await client.catalog('current', new AbortController().signal);
  await client.close();
  const jobs = await loadJobs(fileURLToPath(new URL('../jobs', import.meta.url)));
  if (jobs.reports.size === 0 || jobs.faults.length > 0) throw new Error(`jobs/ has ${jobs.faults.length} faults`);
  for (const [name, definition] of jobs.reports) {
    const settings = jobs.orgs.get(definition.org);
    const period = resolvePeriod(definition.period, NOW, definition.timezone ?? settings.timezone);
    const document = explain(compilePlan({ definition, settings, period, catalog }), { catalog });
    const asked = askedBy(definition, period, catalog).flatMap(({ request }) => request ?? []);
    report({
      name,
      planned: document.tokens,
      by_section: document.section_calls,
      naive: document.naive_calls,
      bound: leastCalls(asked),
      of_naive: rounded(document.tokens / document.naive_calls),
      limit: PROMISED[name],
    });
    report({ name, who: 'metric by metric', planned: document.naive_calls, of_naive: 1 });
  }
} finally {
  await sandbox.close();
}
