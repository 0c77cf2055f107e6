import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Page } from 'playwright-core';
import PostalMime from 'postal-mime';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { openChromium, visitor } from '../support/browser.ts';
import { builtMain } from '../support/built-main.ts';
import { type ScannerFetch, scanMail } from '../support/mail-scanner.ts';
import { waitFor } from '../support/wait-for.ts';

const violationsSchema = z.array(
  z.looseObject({ id: z.string(), nodes: z.array(z.looseObject({ html: z.string() })) }),
);
const manifestSchema = z.looseObject({
  review: z.looseObject({ content: z.string(), approved_by: z.array(z.looseObject({ person: z.string() })) }),
});

/** Starts `docket demo --page` and reads what it prints. */
async function startDemo() {
  const folder = await mkdtemp(join(tmpdir(), 'docket-review-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const child = spawn(process.execPath, [builtMain(), 'demo', '--page', '--out', 'out'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  /** Resolves with the first group of the pattern when a line matches. */
  const said = (pattern: RegExp): Promise<string> =>
    waitFor(`the demo to say ${pattern}`, () => {
      if (child.exitCode !== null) throw new Error(`it has ended: ${lines.slice(-5).join('\n')}`);
      return lines.flatMap((line) => pattern.exec(line)?.[1] ?? [])[0];
    });
  /** The messages that have arrived so far, by file name. Until the end they are in a separate folder. */
  const mailbox = async (): Promise<readonly { readonly name: string; readonly raw: Buffer }[]> => {
    const files = (await readdir(folder, { recursive: true })).filter((file) => /mailbox\/[^/]*\.eml$/.test(file));
    return Promise.all(files.sort().map(async (name) => ({ name, raw: await readFile(join(folder, name)) })));
  };
  return { folder, lines, said, mailbox, exited };
}

const signIn = async (page: Page, address: string, token: string): Promise<void> => {
  await page.goto(address);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#review').waitFor();
};
const phase = (page: Page) => page.locator('#review').getAttribute('data-phase');

async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
  const found = violationsSchema.parse(await page.evaluate('axe.run().then(({ violations }) => violations)'));
  expect(found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')).toBe(0);
}

test('the demo’s board pack is commented, approved and sent on the page, and a mail scanner changes nothing', async () => {
  const demo = await startDemo();
  const browser = await openChromium();
  onTestFinished(() => browser.close());
  const isBoards = ({ name }: { readonly name: string }): boolean => name.includes('board@acme.example');

  // The analyst writes the missing comment, with a number that is not in the report.
  const analystToken = await demo.said(/sign in as analyst with the token (docket_\S+)/);
  const address = await demo.said(/^\s+(http:\/\/\S+\/runs\/[0-9a-f]{32})#review$/);
  const analyst = await visitor(browser, { viewport: { width: 1280, height: 900 }, bypassCSP: true });
  await signIn(analyst.page, address, analystToken);
  expect(await phase(analyst.page)).toBe('comments');
  await analyst.page.locator('#comment-scorecard summary').click();
  await expectAccessible(analyst.page);
  const text = '**{{ scorecard.profiles.created }}** clients, not 987654.\n\n- <script>alert(1)</script>';
  await analyst.page.locator('#comment-text-scorecard').fill(text);
  await analyst.page.getByRole('button', { name: 'Store the comment' }).click();
  expect(await analyst.page.locator('.notice[role=status]').textContent()).toContain('987654');
  expect(await phase(analyst.page)).toBe('approval');
  expect(await analyst.page.locator('#approve').count()).toBe(0);
  const printed = (page: Page) => page.locator('#comment-scorecard .printed-comment');
  expect(await printed(analyst.page).locator('strong').textContent()).toMatch(/^[\d,.]+$/);
  expect(await printed(analyst.page).locator('li').textContent()).toBe('<script>alert(1)</script>');

  // The approver sees exactly that, on a phone.
  const mlroToken = await demo.said(/sign in as mlro with the token (docket_\S+)/);
  const mlro = await visitor(browser, {
    viewport: { width: 375, height: 800 },
    colorScheme: 'dark',
    bypassCSP: true,
  });
  await signIn(mlro.page, address, mlroToken);
  const content = await mlro.page.locator('#approve input[name=content]').getAttribute('value');
  expect(await printed(mlro.page).textContent()).toBe(await printed(analyst.page).textContent());
  expect(await mlro.page.locator('textarea').count()).toBe(0);
  await expectAccessible(mlro.page);
  const files = await mlro.page.locator('#review a[download]').evaluateAll((links) => links.map(String));
  const pdf = files.find((file) => file.endsWith('.pdf')) ?? '';
  expect((await (await mlro.page.request.get(pdf)).body()).subarray(0, 5).toString('latin1')).toBe('%PDF-');
  const preview = await mlro.page.request.get(`${address.replace('/runs/', '/api/runs/')}/review/preview`);
  expect(preview.headers()['content-security-policy']).toContain('sandbox');
  expect(await preview.text()).toContain('&lt;script&gt;');

  // Only notices have been sent so far. Opening all of their links and forms decides nothing.
  const messages = await demo.mailbox();
  expect(messages.filter(isBoards)).toEqual([]);
  const parsed = await Promise.all(messages.map(({ raw }) => PostalMime.parse(raw)));
  const send: ScannerFetch = (method, url, fields) =>
    fetch(url, {
      method,
      redirect: 'manual',
      headers: { accept: 'text/html' },
      ...(fields === undefined || method === 'GET' ? {} : { body: new URLSearchParams(fields) }),
    });
  const { origin } = new URL(address);
  const texts = [`<a href="${address}">`, ...parsed.flatMap(({ html = '', text: plain = '' }) => [html, plain])];
  const scanned = await scanMail(texts, { origin, send });
  expect(scanned).toContainEqual({ method: 'POST', url: `${origin}/sign-in`, status: expect.any(Number) });
  await mlro.page.reload();
  expect(await phase(mlro.page)).toBe('approval');
  expect(await mlro.page.locator('#approve input[name=content]').getAttribute('value')).toBe(content);
  expect((await demo.mailbox()).filter(isBoards)).toEqual([]);

  // The approver decides about what the page shows. The demo ends when the pack is sent.
  await mlro.page.getByRole('button', { name: 'Approve' }).click();
  await mlro.page.locator('.notice[role=status]').waitFor();
  expect((await demo.exited)[0]).toBe(0);
  expect((await demo.mailbox()).filter(isBoards)).toHaveLength(1);
  const archived = (await readdir(demo.folder, { recursive: true })).filter((file) =>
    /^out\/archive\/demo\/board-pack\/[0-9a-f]{32}\/manifest\.json$/.test(file),
  );
  const [manifest] = await Promise.all(archived.map((file) => readFile(join(demo.folder, file), 'utf8')));
  const { review } = manifestSchema.parse(JSON.parse(manifest ?? ''));
  expect([review.content, review.approved_by.map(({ person }) => person)]).toEqual([content, ['mlro']]);
  for (const { seen } of [analyst, mlro])
    expect(seen.requests.filter((requested) => !requested.startsWith(origin))).toEqual([]);
});
