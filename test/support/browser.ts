import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { program } from './debian.ts';

/** What a page did that it must not do. */
export interface Seen {
  /** Console errors, including violations of the page's policy, and exceptions of its scripts. */
  readonly errors: string[];
  /** The addresses of all requests, to any host. */
  readonly requests: string[];
}

/** A separate browser profile whose pages are all watched. */
export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly seen: Seen;
}

/** The distribution's Chromium without its background requests to Google. */
export const openChromium = async (): Promise<Browser> =>
  chromium.launch({
    executablePath: await program('chromium', 'chromium'),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

export async function visitor(browser: Browser, options: BrowserContextOptions): Promise<Visitor> {
  const context = await browser.newContext(options);
  const seen: Seen = { errors: [], requests: [] };
  context.on('page', (page) => {
    page.on('console', (message) => {
      if (message.type() === 'error') seen.errors.push(`${message.text()} ${message.location().url}`);
    });
    page.on('pageerror', (error) => seen.errors.push(String(error)));
    page.on('request', (request) => seen.requests.push(request.url()));
  });
  return { context, page: await context.newPage(), seen };
}
