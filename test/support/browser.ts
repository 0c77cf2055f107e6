import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { program } from './debian.ts';

/** What a page has done that it must not. */
export interface Seen {
  /** Errors in its console, violations of its policy among them, and exceptions of its script. */
  readonly errors: string[];
  /** Addresses that it asked for, of whatever host. */
  readonly requests: string[];
}

/** A browser profile of its own, with all of its pages watched. */
export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly seen: Seen;
}

/** The distribution's Chromium, without what it asks of its makers by itself. */
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
