import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newToken } from '../../src/admin/auth/tokens.ts';
import { type AdminServer, listenAdmin } from '../../src/admin/server.ts';
import { silentLog } from '../../src/base/log.ts';
import { anAdmin } from '../support/admin.ts';
import { openChromium, visitor } from '../support/browser.ts';
import { jobsOf } from '../support/jobs-of.ts';
import { aReport } from '../support/queue-bench.ts';

const { token, sha256 } = newToken();
let server: AdminServer;
let browser: Browser;
beforeAll(async () => {
  const jobs = jobsOf(aReport());
  const app = anAdmin([{ name: 'ben', sha256, role: 'viewer', orgs: ['acme'] }], { jobs: () => jobs });
  server = await listenAdmin(app, { host: '127.0.0.1', port: 0, log: silentLog });
  browser = await openChromium();
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

test('the page of the API reads without a token, tries with one, and breaks no policy', async () => {
  const { context, page, seen } = await visitor(browser, {});
  await page.goto(`${server.url}/api/docs`);
  const part = page.locator('details', {
    has: page.locator('form[data-method="GET"][data-path="/api/organizations"]'),
  });
  await part.locator('summary').click();
  const output = part.locator('output');
  await page.getByLabel('Token for trying').fill(token);
  await part.getByRole('button', { name: 'Send' }).click();
  await output.getByText('"acme"').waitFor();
  expect(await output.textContent()).toMatch(/^200 /);
  // The token is in the field alone: not in the address, nor anywhere that outlives the page.
  expect(page.url()).toBe(`${server.url}/api/docs`);
  expect(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')).toEqual([0, 0, '']);
  // A violation of its policy is an error of its console.
  expect(seen.errors).toEqual([]);
  expect(seen.requests.filter((asked) => !asked.startsWith(server.url) && !asked.startsWith('data:'))).toEqual([]);
  await context.close();
}, 120_000);
