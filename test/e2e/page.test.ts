import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { read, utils } from '@e965/xlsx';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { openChromium, type Visitor, visitor } from '../support/browser.ts';
import { docket } from '../support/docket.ts';
import { freePort } from '../support/free-port.ts';
import { type RestartableRedis, restartableRedis } from '../support/restartable-redis.ts';
import { type RunningProcess, startDocket } from '../support/running-docket.ts';
import { type ScriptedSmtp, scriptedSmtp } from '../support/smtp-script.ts';

// One call per two seconds, slow enough to watch.
const ORG = `org: current
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
recipients: { domains: [acme.example] }
budget: { calls: 1, window: 2 }
`;
const KPI = `version: 1
title: Weekly compliance KPIs
owner: ops@acme.example
schedule: { cron: "0 8 * * MON" }
period: previous_week
sections:
  - { id: onboarding, title: Onboarding, metrics: [profiles.created], granularity: day, chart: line }
  - { id: types, title: By type, metrics: [profiles.created], dimensions: [profile.type] }
  - { id: risks, title: By risk, metrics: [profiles.created], dimensions: [profile.risk] }
  - { id: open, title: Open alerts, metrics: [alerts.open] }
outputs:
  - { format: xlsx, name: "KPIs {{ period.label }}.xlsx" }
deliveries:
  - email: { to: [lead@acme.example], attach: [xlsx] }
`;
const QUIET = `version: 1
title: Alert queue
owner: ops@acme.example
period: previous_week
max_age: 0
sections: [{ id: open, metrics: [alerts.open] }]
outputs: [{ format: csv }]
deliveries:
  - email: { to: [lead@acme.example], attach: [csv] }
`;

const violationsSchema = z.array(
  z.looseObject({
    id: z.string(),
    nodes: z.array(z.looseObject({ html: z.string(), failureSummary: z.string().optional() })),
  }),
);

describe('the page in a browser', () => {
  let folder: string;
  let redis: RestartableRedis;
  let sandbox: Sandbox;
  let mail: ScriptedSmtp;
  let process: RunningProcess;
  let browser: Browser;
  let url: string;
  let tokens: { readonly operator: string; readonly viewer: string };
  const visitors: Visitor[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-page-'));
    redis = await restartableRedis();
    sandbox = await startSandbox();
    // The connection breaks during the first message, so that nobody knows whether it was accepted.
    mail = await scriptedSmtp((_, message) => (message === 0 ? { dot: 'FIN' } : {}));
    await mkdir(join(folder, 'jobs', 'acme'), { recursive: true });
    await writeFile(join(folder, 'jobs', 'acme', 'org.yaml'), ORG);
    await writeFile(join(folder, 'jobs', 'acme', 'weekly-kpi.yaml'), KPI);
    await writeFile(join(folder, 'jobs', 'acme', 'alert-queue.yaml'), QUIET);
    const env = {
      COMPLIANCE_API_URL: sandbox.url,
      ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
      REDIS_URL: redis.url,
      SMTP_URL: mail.url,
      MAIL_FROM: 'reports@acme.example',
      DOCKET_JOBS: join(folder, 'jobs'),
      DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
      DOCKET_ADMIN_TOKENS: join(folder, 'tokens.yaml'),
      DOCKET_ADMIN_PORT: String(await freePort()),
    };
    const token = async (name: string, role: string) => {
      const ended = await docket(['tokens', 'create', '--name', name, '--role', role], { env, cwd: folder });
      return ended.stdout.trim();
    };
    tokens = { operator: await token('anna', 'operator'), viewer: await token('ben', 'viewer') };
    process = startDocket([], { env, cwd: folder });
    url = (await process.logged(({ msg }) => msg === 'Docket runs')).url ?? '';
    browser = await openChromium();
  });
  afterEach(async () => {
    for (const { context, seen } of visitors.splice(0)) {
      await context.close();
      expect(seen.errors).toEqual([]);
      expect(
        seen.requests.filter((requested) => !requested.startsWith(url) && !/^(data|blob):/.test(requested)),
      ).toEqual([]);
    }
  });
  afterAll(async () => {
    await browser?.close();
    await process?.stop();
    await mail?.close();
    await sandbox?.close();
    await redis?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const visit = async (options: BrowserContextOptions = {}, token = tokens.operator): Promise<Page> => {
    const opened = await visitor(browser, { viewport: { width: 1280, height: 900 }, ...options });
    visitors.push(opened);
    const { page } = opened;
    await page.goto(url);
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Overview' }).waitFor();
    return page;
  };
  const heading = (page: Page) => page.locator('#headline .state');

  test('runs a report, shows its progress, offers its pack, and resolves an unknown delivery', async () => {
    const page = await visit();
    await page.getByRole('link', { name: 'Reports' }).click();
    await page.getByRole('link', { name: 'Weekly compliance KPIs' }).click();
    await page.getByText('Run now…').click();
    const offered = page.getByLabel('Period').locator('option');
    expect(await offered.first().textContent()).toMatch(/^as the definition says: \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d$/);
    await page.getByLabel('Period').selectOption('previous_week');
    await page.getByLabel('Deliver them to the recipients').check();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('The run is queued.').waitFor();
    const address = page.url();

    // The page updates without a reload until the end of the run.
    await page.getByText(/^[123] of 4 calls$/).waitFor({ timeout: 120_000 });
    await page.locator('#headline').getByText('Delivery unknown', { exact: true }).waitFor({ timeout: 120_000 });
    expect(page.url()).toBe(address);
    expect(await heading(page).textContent()).toBe('Delivery unknown');

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page
        .locator('#files-list')
        .getByRole('link', { name: /^KPIs .*\.xlsx$/ })
        .click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^KPIs \d{4}-W\d\d\.xlsx$/);
    const workbook = read(await readFile(await download.path()));
    const sheet = workbook.Sheets.Onboarding;
    expect(sheet === undefined ? '' : utils.sheet_to_csv(sheet)).toContain('Onboarding');

    // The form appeared without a reload of the page, with the details of the delivery.
    await page.locator('#decide').getByText('lead@acme.example').waitFor();
    await page.getByLabel('Send it again').check();
    await page.getByLabel('How do you know?').fill('The recipient has nothing');
    await page.getByRole('button', { name: 'Decide' }).click();
    await page.getByText('The delivery is queued to be sent again.').waitFor();
    await page.locator('#headline').getByText('Done', { exact: true }).waitFor({ timeout: 120_000 });
    await page.locator('#steps').getByText('The recipient has nothing').first().waitFor();
    await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
    await page.getByText('Nothing to decide').waitFor();
    await page.goto(address.replace(/\?.*/, ''));
    // The owner also got a notice about the first result, so look at one recipient only.
    const ids = mail.conversations
      .filter(({ commands }) => commands.some((command) => command.includes('<lead@acme.example>')))
      .map(({ body }) => /^message-id: (.*)$/im.exec(body.toString('latin1'))?.[1]);
    expect(ids).toHaveLength(2);
    expect(ids[0]).toBe(ids[1]);

    await page.getByRole('heading', { level: 1 }).getByRole('link', { name: 'Weekly compliance KPIs' }).click();
    const preview = page.frameLocator('iframe');
    await preview.getByText('Weekly compliance KPIs').first().waitFor();
    const width = await preview
      .locator('img')
      .first()
      .evaluate((image: { readonly naturalWidth: number }) => image.naturalWidth);
    expect(width).toBeGreaterThan(0);
  });

  test('pauses a report with a reason and resumes it, and signs out', async () => {
    const page = await visit();
    await page.goto(`${url}/reports/acme/weekly-kpi`);
    await page.getByText('Pause…').click();
    await page.getByLabel('Why is it paused?').fill('The figures are checked');
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByText('Paused: scheduled runs wait.').waitFor();
    await page.getByText('The figures are checked').waitFor();
    await page.goto(url);
    await page.locator('#pauses').getByText('The figures are checked').waitFor();
    await page.getByRole('link', { name: 'Pauses' }).click();
    await page.getByText('Resume acme/weekly-kpi…').click();
    await page.getByLabel('Why is it resumed?').fill('They are right');
    await page.getByRole('button', { name: 'Resume acme/weekly-kpi' }).click();
    await page.getByText('Nothing is paused').waitFor();
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByText('They are right').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    await page.goto(`${url}/reports`);
    await page.getByLabel('Token').waitFor();
  });

  test('shows a page for an unknown address, and the sign-in to visitors without a session', async () => {
    const page = await visit();
    await page.goto(`${url}/foo`);
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    visitors.at(-1)?.seen.errors.splice(0);
    await page.context().clearCookies();
    await page.goto(`${url}/foo?bar=1`);
    expect(page.url()).toBe(`${url}/sign-in?to=%2Ffoo%3Fbar%3D1`);
    const answer = await fetch(`${url}/foo`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([401, 'application/problem+json']);
  });

  /** Resolves when each page shows since when and why it is stale. */
  const allStale = (pages: readonly Page[], reason: string) =>
    Promise.all(
      pages.map(async (page) => {
        await page.getByText(/^Stale since \d+ \w+, \d\d:\d\d:\d\d /).waitFor();
        await page.locator('#stale').getByText(reason).waitFor();
      }),
    );
  const noneStale = (pages: readonly Page[]) =>
    Promise.all(pages.map((page) => page.locator('#stale p').waitFor({ state: 'detached' })));

  test('shows on every page since when and why it is stale, until it is current again', async () => {
    const overview = await visit();
    const pages = [overview];
    for (const path of ['/reports/acme/weekly-kpi', '/audit']) {
      const page = await overview.context().newPage();
      await page.goto(url + path);
      pages.push(page);
    }
    expect(await Promise.all(pages.map((page) => page.locator('#stale').textContent()))).toEqual(['', '', '']);
    const during = async (begin: () => unknown, end: () => unknown, reason: string) => {
      await begin();
      try {
        await allStale(pages, reason);
      } finally {
        await end();
      }
      await noneStale(pages);
    };
    await during(redis.freeze, redis.thaw, 'Docket cannot reach Redis.');
    await during(process.freeze, process.thaw, 'Docket does not answer.');
    const offline = (is: boolean) => overview.context().setOffline(is);
    await during(
      () => offline(true),
      () => offline(false),
      'This browser is offline.',
    );
    await overview.getByRole('button', { name: 'Sign out' }).click();
    await pages[2]?.locator('#stale').getByText('You are signed out.').waitFor();
    await pages[2]?.locator('#stale').getByRole('link', { name: 'Sign in' }).click();
    await pages[2]?.getByLabel('Token').waitFor();
    expect(pages[2]?.url()).toBe(`${url}/sign-in?to=%2Faudit`);
    visitors.at(-1)?.seen.errors.splice(0);
  });

  test('shows errors of its script, and reloads a page that could not be loaded', async () => {
    const page = await visit();
    await page.evaluate('setTimeout(() => { throw new Error("out of order") })');
    await page.locator('#stale').getByText('out of order').waitFor();
    redis.freeze();
    try {
      await page.goto(`${url}/runs`);
      await page.getByText('redis.unreachable').waitFor();
    } finally {
      redis.thaw();
    }
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    visitors.at(-1)?.seen.errors.splice(0);
  });

  test('shows times in the browser’s zone on every page if that is selected', async () => {
    const page = await visit({ timezoneId: 'Asia/Tokyo' });
    await page.getByText('Times: Europe/Zurich').click();
    await page.getByRole('button', { name: 'This browser Asia/Tokyo' }).click();
    await page.getByText('Times: Asia/Tokyo +09:00').waitFor();
    await page.goto(`${url}/slots`);
    const shown = page.locator('time').first();
    const at = Date.parse((await shown.getAttribute('datetime')) ?? '') + 9 * 3_600_000;
    expect(await shown.textContent()).toContain(`, ${new Date(at).toISOString().slice(11, 16)}`);
  });

  test('continues to show the progress of a run after an outage of Redis', async () => {
    const page = await visit();
    await page.goto(`${url}/reports/acme/weekly-kpi`);
    await page.getByText('Run now…').click();
    await page.getByLabel('Period').selectOption('last_30_days');
    await page.getByLabel('Keep them in the archive, send nothing').check();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText(/^[123] of 4 calls$/).waitFor({ timeout: 120_000 });
    redis.freeze();
    try {
      await allStale([page], 'Docket cannot reach Redis.');
    } finally {
      redis.thaw();
    }
    await noneStale([page]);
    // The run continues where it was, and the page follows it to the end.
    await page.locator('#headline').getByText('Done', { exact: true }).waitFor({ timeout: 120_000 });
    await page.locator('[data-events]').waitFor({ state: 'detached' });
    visitors.at(-1)?.seen.errors.splice(0);
  });

  test('triggers and follows a run and pauses an organization without JavaScript', async () => {
    const page = await visit({ javaScriptEnabled: false });
    await page.goto(`${url}/reports/acme/alert-queue`);
    await page.getByText('Run now…').click();
    await page.getByLabel('Keep them in the archive, send nothing').check();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('The run is queued.').waitFor();
    while ((await heading(page).textContent()) !== 'Done') {
      const again = page.getByRole('link', { name: 'Refresh' });
      if ((await again.count()) === 0) break;
      await again.click();
    }
    expect(await heading(page).textContent()).toBe('Done');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page
        .getByRole('link', { name: /\.csv$/ })
        .first()
        .click(),
    ]);
    expect(await readFile(await download.path(), 'utf8')).toContain('Open alerts');
    await page.goto(`${url}/pauses`);
    await page.getByText('Pause acme…').click();
    await page.getByLabel('Why is it paused?').fill('No script, no matter');
    await page.getByRole('button', { name: 'Pause acme' }).click();
    await page.getByText('No script, no matter').waitFor();
    await page.getByText('Resume acme…').click();
    await page.getByLabel('Why is it resumed?').fill('Enough');
    await page.getByRole('button', { name: 'Resume acme' }).click();
    await page.getByText('Nothing is paused').waitFor();
  });

  test('can be used with the keyboard only: to the content, into a form and out of it', async () => {
    const page = await visit();
    await page.goto(`${url}/reports/acme/alert-queue`);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent.trim()')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.id')).toBe('run-period');
  });

  test('moves through lists and to pages and actions with shortcuts, which can be turned off', async () => {
    const page = await visit();
    const focused = () =>
      page.evaluate('document.activeElement.className + document.activeElement.getAttribute("href")');
    // The shortcuts are ready only after the page has loaded.
    const open = (path: string) => page.goto(url + path, { waitUntil: 'networkidle' });
    await open('/runs');
    const ids = await page.locator('a.id').evaluateAll((all) => all.map((link) => `id${link.getAttribute('href')}`));
    const seen = [];
    for (const key of ['j', 'j', 'k']) {
      await page.keyboard.press(key);
      seen.push(await focused());
    }
    expect(seen).toEqual([ids[0], ids[1], ids[0]]);
    await page.keyboard.press('?');
    await page.keyboard.type('pauses page');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/pauses`, { waitUntil: 'networkidle' });
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to a page' }).fill('pause acme');
    await page.keyboard.press('Enter');
    await page.keyboard.type('by keys alone');
    expect(await page.getByLabel('Why is it paused?').first().inputValue()).toBe('by keys alone');
    await open('/runs');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('single keys');
    await page.keyboard.press('Enter');
    await page.keyboard.press('j');
    expect(await focused()).not.toMatch(/^id/);
  });

  test('shows a viewer the same pages without actions', async () => {
    const page = await visit({}, tokens.viewer);
    for (const path of ['/', '/reports/acme/weekly-kpi', '/runs', '/deliveries', '/pauses']) {
      await page.goto(url + path);
      // The only buttons sign out and filter. The only `details` are the zone, filters and the YAML.
      expect(await page.getByRole('button').allTextContents()).toEqual(
        ['/runs', '/deliveries'].includes(path) ? ['Sign out', 'Show'] : ['Sign out'],
      );
      const folded = await page.locator('details').evaluateAll((all) => all.map(({ className }) => className));
      const expected: Readonly<Record<string, string>> = {
        '/reports/acme/weekly-kpi': 'fold',
        '/runs': 'more-filters',
      };
      expect(folded).toEqual(['zone-choice', ...(path in expected ? [expected[path]] : [])]);
    }
  });

  test.each(['light', 'dark'] as const)(
    'passes all WCAG checks of axe on every view in %s, and never scrolls sideways',
    async (colorScheme) => {
      const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
      const page = await visit({ colorScheme, bypassCSP: true });
      await page.goto(`${url}/runs`);
      const run = await page.locator('a.id').first().getAttribute('href');
      await page.goto(`${url}/deliveries`);
      const delivery = await page.locator('a[href^="/deliveries/"]').first().getAttribute('href');
      const views = [
        '/',
        '/reports',
        '/reports/acme/weekly-kpi',
        '/runs',
        run,
        '/deliveries',
        delivery,
        '/slots',
        '/forecast',
        '/forecast?window=week',
        '/pauses',
        '/audit',
        '/processes',
        '/reports?match=kpi',
        '/runs?state=failed',
        '/search',
        '/search?q=acme',
        '/deliveries?to=acme',
        '/runs?period=nonsense&error=smtp',
        '/runs/none',
      ];
      const look = async (view: string) => {
        for (const width of [320, 375, 1280]) {
          await page.setViewportSize({ width, height: 900 });
          expect([view, width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
            view,
            width,
            width,
          ]);
        }
        await page.evaluate('document.querySelectorAll("details").forEach((each) => { each.open = true; })');
        await page.evaluate(axe);
        for (const width of [375, 1280]) {
          await page.setViewportSize({ width, height: 900 });
          const found = violationsSchema.parse(await page.evaluate('axe.run().then(({ violations }) => violations)'));
          expect([
            view,
            width,
            found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`),
          ]).toEqual([view, width, []]);
        }
      };
      for (const view of views) {
        await page.goto(`${url}${view}`);
        if (view === '/runs/none') visitors.at(-1)?.seen.errors.splice(0);
        await look(view ?? '');
      }
      await page.goto(`${url}/`);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await look('/sign-in');
    },
  );

  // This test is the last one, since Docket is gone afterwards.
  test('says that Docket cannot be reached after it was killed', async () => {
    const page = await visit();
    await page.goto(`${url}/pauses`);
    await process.kill();
    await allStale([page], 'Docket cannot be reached');
    visitors.at(-1)?.seen.errors.splice(0);
  });
});
