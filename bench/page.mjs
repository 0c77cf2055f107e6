// The operator's page as a browser gets it: bytes of the first paint of the overview (HTML, CSS, script and icon as they are,
// nothing compressed), and when Chromium has painted it, with nothing in its cache. Needs the distribution's
// Chromium; where there is none, its line says so.
//
//   npm run build && node bench/page.mjs [--quick] [--loads 20] [--runs 40]
import { spawnSync } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';
import { chromium } from 'playwright-core';
import { startDocket } from './support/deployment.mjs';
import { readOptions } from './support/options.mjs';
import { ONE_CALL } from './support/processes.mjs';
import { privateRedis } from './support/redis.mjs';
import { percentile, reportOf, rounded } from './support/report.mjs';

const { loads, runs } = readOptions({ loads: 20, runs: 40 }, { loads: 3 });
const report = reportOf('page');

/** One visit with an empty cache. */
async function visit(browser, docket) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(docket.url);
  await page.getByLabel('Token').fill(docket.headers.Authorization.replace('Bearer ', ''));
  const session = await context.newCDPSession(page);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Overview' }).waitFor();
  await page.waitForLoadState('networkidle');
  const parts = [];
  page.on('response', (response) => parts.push(response));
  await session.send('Network.clearBrowserCache');
  await page.reload({ waitUntil: 'load' });
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
  // What the script asks for later is none of the first paint.
  const first = parts.filter((part) => part.request().isNavigationRequest() || part.url().includes('/assets/'));
  const bodies = await Promise.all(first.map((part) => part.body()));
  const first_byte = await page.evaluate(
    () =>
      // @ts-expect-error: as above.
      performance.getEntriesByType('navigation')[0].responseStart,
  );
  await context.close();
  return { bytes: bodies.reduce((sum, { length }) => sum + length, 0), painted, first_byte };
}

async function measure(executablePath) {
  const redis = await privateRedis();
  const docket = await startDocket({
    redisUrl: redis.url,
    // An admin process calls nothing.
    apiUrl: 'http://127.0.0.1:9',
    keys: Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`org${index}`, `bench${index}.key`])),
    budget: { calls: 30, window: 60 },
    report: { ...ONE_CALL, schedule: { cron: '0 * * * *' } },
    role: 'admin',
  });
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  try {
    for (let index = 0; index < runs; index += 1) {
      await fetch(`${docket.url}/api/reports/org${index % 5}/report/runs`, {
        method: 'POST',
        headers: docket.headers,
        body: '{"deliver":false}',
      });
    }
    await visit(browser, docket);
    const seen = [];
    for (let index = 0; index < loads; index += 1) seen.push(await visit(browser, docket));
    const times = seen.map(({ painted }) => painted);
    report({
      name: `the overview, ${runs} runs`,
      bytes: Math.max(...seen.map(({ bytes }) => bytes)),
      first_byte_p50_ms: rounded(
        percentile(
          seen.map(({ first_byte }) => first_byte),
          0.5,
        ),
        0,
      ),
      painted_p50_ms: rounded(percentile(times, 0.5), 0),
      painted_p95_ms: rounded(percentile(times, 0.95), 0),
      loads,
      load: rounded(loadavg()[0], 1),
      cores: availableParallelism(),
      limit: { bytes: 60 * 1024 },
    });
  } finally {
    await browser.close();
    await docket.close();
    await redis.close();
  }
}

const path = spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout.trim();
if (path === '') report({ name: `the overview, ${runs} runs`, absent: 'no chromium on the PATH' });
else await measure(path);
