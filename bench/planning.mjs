// Measures planning. First, the metrics calls of a run of every definition in jobs/: metric by metric, as one query per
// chart series; section by section; as planned; and the minimum for any plan (support/call-bound.mjs). Then, the cost
// of reading, checking and planning a growing number of definitions, and a report with a growing number of sections.
//
//   npm run build && node build/modules.mjs && node bench/planning.mjs [--quick] [--reports 10000]
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { Secret } from '../dist-modules/base/secrets/secret.js';
import { loadDefinitions } from '../dist-modules/compose/built-in-kinds.js';
import { resolvePeriod } from '../dist-modules/definitions/periods/period.js';
import { createClient } from '../dist-modules/fetch/client/compliance-client.js';
import { compilePlan } from '../dist-modules/plan/compile.js';
import { explain } from '../dist-modules/plan/explain.js';
import { sectionRequests } from '../dist-modules/plan/requests/section-requests.js';
import { startSandbox } from '../dist-modules/sandbox/sandbox.js';
import { leastCalls } from './support/call-bound.mjs';
import { costOf } from './support/cost.mjs';
import { readOptions } from './support/options.mjs';
import { reportGrowth, reportOf, rounded, sizesTo } from './support/report.mjs';
import { keyOf } from './support/service.mjs';

const { reports: most } = readOptions({ reports: 10_000 }, { reports: 1_000 });
const NOW = Date.parse('2026-04-08T08:30:00Z');
/** Documented limits: the share of the naive number of calls that a plan may need. */
const PROMISED = { 'demo/board-pack': { of_naive: 0.5 } };
const JOBS = fileURLToPath(new URL('../jobs', import.meta.url));
/** Reports per organization. */
const EACH = 100;
/** Sections of a report. A definition may have a hundred. */
const SECTIONS = [1, 10, 100];
/** How often a report with so many sections is planned: once takes too little time to measure. */
const TIMES = 50;

const report = reportOf('planning');

async function catalogOf(sandbox) {
  const client = createClient({ baseUrl: sandbox.url, key: new Secret(keyOf(sandbox, 'acme')) });
  try {
    return await client.catalog('current', new AbortController().signal);
  } finally {
    await client.close();
  }
}

/** @typedef {import('../dist-modules/definitions/load/load-definitions.js').Definitions} Definitions */
/** @typedef {import('../dist-modules/definitions/schema/report-definition.js').Definition} Definition */
/** @typedef {import('../dist-modules/definitions/schema/org-settings.js').OrgSettings} OrgSettings */
/** @typedef {import('../dist-modules/contract/catalog.js').Catalog} Catalog */

async function load(folder) {
  const jobs = await loadDefinitions(folder);
  if (jobs.reports.size === 0 || jobs.diagnostics.length > 0)
    throw new Error(`${folder} has ${jobs.diagnostics.length} faults`);
  return jobs;
}

/** @type {(definition: Definition, settings: OrgSettings, catalog: Catalog) => import('../dist-modules/plan/compile.js').PlanInput} */
function inputOf(definition, settings, catalog) {
  const period = resolvePeriod(definition.period, NOW, definition.timezone ?? settings.timezone);
  return { definition, settings, period, catalog };
}

/** @type {(jobs: Definitions, catalog: Catalog) => void} */
function reportCalls(jobs, catalog) {
  for (const [name, definition] of jobs.reports) {
    const input = inputOf(definition, jobs.orgs.get(definition.org), catalog);
    const document = explain(compilePlan(input), { catalog });
    const asked = sectionRequests(input).flatMap(({ request, partners }) =>
      request === undefined ? [] : [request, ...partners.map((partner) => partner.request)],
    );
    const figures = { planned: document.tokens, by_section: document.section_calls, bound: leastCalls(asked) };
    const ofNaive = rounded(document.tokens / document.naive_calls);
    report({ name, ...figures, of_naive: ofNaive, limit: { planned: null, ...PROMISED[name] } });
    report({ name, who: 'metric by metric', planned: document.naive_calls, of_naive: 1 });
  }
}

/**
 * Copies of the weekly report of jobs/, a hundred per organization: reads their files, checks and plans them.
 *
 * @type {(catalog: Catalog) => Promise<void>}
 */
async function reportsGrow(catalog) {
  const [reading, planning] = [[], []];
  for (const n of sizesTo(most)) {
    const folder = await mkdtemp(join(tmpdir(), 'docket-bench-'));
    try {
      for (let org = 0; org * EACH < n; org += 1) {
        const own = join(folder, `org-${org}`);
        await mkdir(own);
        for (const file of ['org.yaml', 'logo.png']) await cp(join(JOBS, 'demo', file), join(own, file));
        for (let at = 0; at < Math.min(EACH, n - org * EACH); at += 1) {
          await cp(join(JOBS, 'demo', 'weekly-kpi.yaml'), join(own, `report-${at}.yaml`));
        }
      }
      let jobs;
      const read = await costOf(async () => {
        jobs = await load(folder);
      });
      if (jobs.reports.size !== n) throw new Error(`${jobs.reports.size} reports of ${n} were read`);
      const planned = await costOf(() => {
        for (const definition of jobs.reports.values()) {
          compilePlan(inputOf(definition, jobs.orgs.get(definition.org), catalog));
        }
      });
      reading.push({ n, cost: read.cpuMs });
      planning.push({ n, cost: planned.cpuMs });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  const { n, cost } = reading.at(-1);
  const text = await readFile(join(JOBS, 'demo', 'weekly-kpi.yaml'), 'utf8');
  const alone = await costOf(() => {
    for (let time = 0; time < n; time += 1) parse(text);
  });
  const name = `${n} definitions, read and checked`;
  report({ name, cpu_ms_per_definition: rounded(cost / n), limit: { cpu_ms_per_definition: null } });
  report({ name, who: 'yaml, parsed alone', cpu_ms_per_definition: rounded(alone.cpuMs / n) });
  const growth = { by: 'reports', unit: 'ms of processor' };
  reportGrowth(report, { name: 'read definitions from their files and check them', ...growth, points: reading });
  reportGrowth(report, { name: 'plan them, five sections each', ...growth, points: planning });
}

/**
 * A report with a growing number of sections. They repeat the requests of the sections in jobs/, but no two are the
 * same.
 *
 * @type {(jobs: Definitions, catalog: Catalog) => Promise<void>}
 */
async function sectionsGrow(jobs, catalog) {
  const weekly = jobs.reports.get('demo/weekly-kpi');
  const settings = jobs.orgs.get('demo');
  const planned = async (n) => {
    const sections = Array.from({ length: n }, (_, at) => ({
      ...weekly.sections[at % weekly.sections.length],
      id: `section-${at}`,
      limit: 1 + at,
    }));
    const input = inputOf({ ...weekly, sections }, settings, catalog);
    const { cpuMs } = await costOf(() => {
      for (let time = 0; time < TIMES; time += 1) compilePlan(input);
    });
    return { n, cost: cpuMs / TIMES };
  };
  // Warms up the compiled code.
  await planned(10);
  const points = [];
  for (const n of SECTIONS) points.push(await planned(n));
  reportGrowth(report, { name: 'plan one report', by: 'sections', unit: 'ms of processor', points });
}

const sandbox = await startSandbox({ now: NOW });
try {
  const catalog = await catalogOf(sandbox);
  const jobs = await load(JOBS);
  reportCalls(jobs, catalog);
  await sectionsGrow(jobs, catalog);
  await reportsGrow(catalog);
} finally {
  await sandbox.close();
}
