import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openChromium, type Visitor, visitor } from '../support/browser.ts';
import { docket } from '../support/docket.ts';
import { freePort } from '../support/free-port.ts';
import { startIdentityProvider, type TestProvider } from '../support/identity-provider.ts';
import { type RestartableRedis, restartableRedis } from '../support/restartable-redis.ts';
import { type RunningProcess, startDocket } from '../support/running-docket.ts';

const ORG =
  'org: current\napi_key: { env: ACME_KEY }\ntimezone: Europe/Zurich\nrecipients: { domains: [acme.example] }\n';
const ADA = { sub: 'ada', email: 'ada@acme.example', email_verified: true, groups: ['acme-ops'] };
const EVE = { sub: 'eve', email: 'eve@acme.example', email_verified: true, groups: ['staff', 'visitors'] };
const ACCOUNTS = '- group: acme-ops\n  role: operator\n  orgs: [acme]\n';
const violationsSchema = z.array(z.looseObject({ id: z.string() }));

// The provider is at 127.0.0.1 and Docket at localhost, so they are two sites, as in a company.
describe('sign-in with an account in a browser', () => {
  let folder: string;
  let redis: RestartableRedis;
  let idp: TestProvider;
  let process: RunningProcess;
  let browser: Browser;
  let url: string;
  let token: string;
  const visitors: Visitor[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-accounts-'));
    redis = await restartableRedis();
    const port = await freePort();
    url = `http://localhost:${port}`;
    idp = await startIdentityProvider({
      redirectUrls: [`${url}/sign-in/callback`],
      signOutUrls: [`${url}/sign-in`],
      accounts: [ADA, EVE],
    });
    await mkdir(join(folder, 'jobs', 'acme'), { recursive: true });
    await writeFile(join(folder, 'jobs', 'acme', 'org.yaml'), ORG);
    await writeFile(join(folder, 'accounts.yaml'), ACCOUNTS);
    const env = {
      REDIS_URL: redis.url,
      DOCKET_JOBS: join(folder, 'jobs'),
      DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
      DOCKET_ADMIN_TOKENS: join(folder, 'tokens.yaml'),
      DOCKET_ADMIN_PORT: String(port),
      DOCKET_OIDC_ISSUER: idp.issuer,
      DOCKET_OIDC_CLIENT_ID: 'docket',
      DOCKET_OIDC_CLIENT_SECRET: 'env:OIDC_SECRET',
      DOCKET_OIDC_REDIRECT_URL: `${url}/sign-in/callback`,
      DOCKET_OIDC_ACCOUNTS: join(folder, 'accounts.yaml'),
      OIDC_SECRET: idp.secret,
    };
    const created = await docket(['tokens', 'create', '--name', 'ops', '--role', 'operator'], { env, cwd: folder });
    token = /docket_[\w-]{43}/.exec(created.stdout)?.[0] ?? '';
    // Docket must start while the provider is down.
    idp.faults.down = true;
    process = startDocket(['--role', 'admin'], { env, cwd: folder });
    await process.logged(({ msg }) => msg === 'Docket runs');
    browser = await openChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await process?.stop();
    await idp?.close();
    await redis?.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(async () => {
    for (const { context } of visitors.splice(0)) await context.close();
  });

  const open = async (options: BrowserContextOptions = {}): Promise<Visitor> => {
    const made = await visitor(browser, options);
    visitors.push(made);
    return made;
  };
  /** Types a name into the provider's form. */
  const typeName = async (page: Page, name: string): Promise<void> => {
    await page.waitForURL((to) => to.origin === idp.issuer);
    await page.locator('input[name=login]').fill(name);
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
  };
  const signIn = async (page: Page, name: string, path = '/runs'): Promise<void> => {
    await page.goto(url + path);
    await page.getByRole('link', { name: /company account/ }).click();
    await typeName(page, name);
  };
  const violations = async (page: Page) => {
    await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
    return violationsSchema
      .parse(await page.evaluate('axe.run().then(({ violations }) => violations)'))
      .map(({ id }) => id);
  };
  const ownErrors = ({ seen }: Visitor) =>
    seen.errors.filter((text) => text.includes(url) && !/status of (4|5)\d\d/.test(text));

  test('shows that the provider is unavailable, and lets a token sign in', async () => {
    idp.faults.down = true;
    const { page } = await open();
    await page.goto(`${url}/runs`);
    await page.getByRole('link', { name: /company account/ }).click();
    await page.getByRole('alert').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${url}/runs`);
    idp.faults.down = false;
  });

  test.each([true, false])(
    'signs in at the provider and returns to the requested page (script: %s)',
    async (javaScriptEnabled) => {
      idp.faults.down = false;
      const guest = await open({ javaScriptEnabled });
      const { page, context } = guest;
      await signIn(page, 'ada', '/runs?org=acme');
      await page.waitForURL(`${url}/runs?org=acme`);
      expect(await page.locator('.account').innerText()).toContain('ada@acme.example');
      const cookies = await context.cookies(url);
      expect(cookies.map(({ name, httpOnly, sameSite }) => ({ name, httpOnly, sameSite }))).toEqual([
        { name: 'docket', httpOnly: true, sameSite: 'Strict' },
      ]);
      await page.goBack();
      await page.goto(`${url}/`);
      await page.getByRole('button', { name: 'Sign out' }).click();
      // The provider asks whether to end its own session as well.
      await page.waitForURL((to) => to.origin === idp.issuer);
      await page.locator('button[name=logout]').click();
      await page.waitForURL((to) => to.href.startsWith(`${url}/sign-in`));
      await page.goto(`${url}/runs`);
      await page.getByRole('link', { name: /company account/ }).click();
      await page.waitForURL((to) => to.origin === idp.issuer);
      expect(await page.locator('input[name=login]').count()).toBe(1);
      expect(ownErrors(guest)).toEqual([]);
    },
  );

  test('shows the name of an account that has no access', async () => {
    const guest = await open({ viewport: { width: 375, height: 800 } });
    const { page } = guest;
    await signIn(page, 'eve');
    await page.locator('[data-problem=no_access]').waitFor();
    const text = await page.locator('main').innerText();
    for (const part of ['eve@acme.example', idp.issuer, 'staff, visitors']) expect(text).toContain(part);
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(ownErrors(guest)).toEqual([]);
    await page.goto(`${url}/runs`);
    expect(page.url()).toContain('/sign-in');
  });

  test('rejects a callback URL in another browser', async () => {
    const [{ page, context }, thief] = [await open(), await open()];
    let stolen = '';
    context.on('request', (request) => {
      if (request.url().startsWith(`${url}/sign-in/callback`)) stolen = request.url();
    });
    await signIn(page, 'ada');
    await page.waitForURL(`${url}/runs`);
    const response = await thief.page.goto(stolen);
    expect(response?.status()).toBe(400);
    expect(await thief.context.cookies(url)).toEqual([]);
  });
});
