// Measures the operator's pages as a browser gets them, with the maximum rows of a page: bytes of the first paint (HTML
// uncompressed; style, script and icon compressed, as sent), and when Chromium has painted it with an empty cache. The
// list of deliveries is empty, because an admin process alone sends nothing. test/admin/page/page.test.ts counts the
// bytes of a hundred rows of everything. Needs the distribution's Chromium; if it is missing, the output says so.
//
//   npm run build && node build/modules.mjs && node bench/page.mjs [--quick] [--loads 10] [--rows 100]
import { spawnSync } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';
import { chromium } from 'playwright-core';
import { startDocket } from './support/deployment.mjs';
import { readOptions } from './support/options.mjs';
import { ONE_CALL } from './support/processes.mjs';
import { privateRedis } from './support/redis.mjs';
import { percentile, reportOf, rounded } from './support/report.mjs';

const { loads, rows } = readOptions({ loads: 10, rows: 100 }, { loads: 2 });
const report = reportOf('page');
const MAX_BYTES = 80 * 1024;

/** Loads a page once, with an empty cache. */
async function load(page, session, url) {
  await session.send('Network.clearBrowserCache');
  const parts = [];
  const keep = (response) => parts.push(response);
  page.on('response', keep);
  await page.goto(url, { waitUntil: 'load' });
  const painted = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const seen = (entries) => entries.find(({ name }) => name === 'first-contentful-paint')?.startTime;
        // @ts-expect-error: Node's types, which are in force here, do not know a browser's entries.
        const there = seen(performance.getEntriesByType('paint'));
        if (there !== undefined) return resolve(there);
        // @ts-expect-error: as above.
        new PerformanceObserver((list) => resolve(seen(list.getEntries()))).observe({ type: 'paint' });
      }),
  );
  const first_byte = await page.evaluate(
    () =>
      // @ts-expect-error: as above.
      performance.getEntriesByType('navigation')[0].responseStart,
  );
  page.off('response', keep);
  // What the script requests later is not part of the first paint.
  const first = parts.filter((part) => part.request().isNavigationRequest() || part.url().includes('/assets/'));
  const sizes = await Promise.all(first.map((part) => part.request().sizes()));
  return { bytes: sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0), painted, first_byte };
}

async function measure(executablePath) {
  const redis = await privateRedis();
  const scheduled = { ...ONE_CALL, schedule: { cron: '0 * * * *' } };
  const others = Object.fromEntries(
    Array.from({ length: Math.max(0, rows / 2 - 1) }, (_, index) => [`report-${index}`, scheduled]),
  );
  const docket = await startDocket({
    redisUrl: redis.url,
    // An admin process makes no calls to the service.
    apiUrl: 'http://127.0.0.1:9',
    keys: { acme: 'bench0.key', globex: 'bench1.key' },
    budget: { calls: 30, window: 60 },
    report: scheduled,
    others,
    role: 'admin',
  });
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  try {
    let run = '';
    for (let index = 0; index < rows; index += 1) {
      const answer = await fetch(`${docket.url}/api/reports/${index % 2 ? 'acme' : 'globex'}/report/runs`, {
        method: 'POST',
        headers: docket.headers,
        body: '{"deliver":false}',
      });
      run = /** @type {{ id: string }} */ (await answer.json()).id;
    }
    const pages = {
      'the overview': '/',
      'the list of reports': '/reports',
      'a report': '/reports/acme/report',
      'the list of runs': '/runs',
      'a run': `/runs/${run}`,
      'the list of deliveries, empty': '/deliveries',
      'the list of slots': '/slots',
      pauses: '/pauses',
      'the audit log': '/audit',
    };
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    const session = await page.context().newCDPSession(page);
    await page.goto(docket.url);
    await page.getByLabel('Token').fill(docket.headers.Authorization.replace('Bearer ', ''));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Overview' }).waitFor();
    for (const [name, path] of Object.entries(pages)) {
      await load(page, session, docket.url + path);
      const seen = [];
      for (let index = 0; index < loads; index += 1) seen.push(await load(page, session, docket.url + path));
      const of = (figure) => seen.map((each) => each[figure]);
      const bytes = Math.max(...of('bytes'));
      report({
        name,
        rows,
        bytes,
        bytes_of_limit: rounded(bytes / MAX_BYTES),
        first_byte_p50_ms: rounded(percentile(of('first_byte'), 0.5), 0),
        painted_p50_ms: rounded(percentile(of('painted'), 0.5), 0),
        painted_p95_ms: rounded(percentile(of('painted'), 0.95), 0),
        loads,
        load: rounded(loadavg()[0], 1),
        cores: availableParallelism(),
        limit: { bytes: MAX_BYTES },
      });
    }
  } finally {
    await browser.close();
    await docket.close();
    await redis.close();
  }
}

const path = spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout.trim();
if (path === '') report({ name: 'the overview', absent: 'no chromium on the PATH' });
else await measure(path);
