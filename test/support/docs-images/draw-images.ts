import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import { inlineImages } from '../../../src/render/artifact.ts';
import { encodePng } from '../../../src/render/charts/svg-rasterizer.ts';
import { openChromium } from '../browser.ts';
import { program } from '../debian.ts';
import { printToPdf } from '../libreoffice.ts';
import { outlineOf } from '../printed-pages.ts';
import { artifactNamed } from '../render-folder.ts';
import { adminPage, PAGE_URL, PAGES } from './admin-page.ts';
import type { Packs } from './image-sources.ts';

const run = promisify(execFile);

/** In CSS pixels. */
const MAIL_WIDTH = 720;
const MAIL_HEIGHT = 1_150;
const DESKTOP = { width: 1_280, height: 1_200 } as const;
/** The width of a printed page in a picture. */
const PAGE_WIDTH = 1_000;
/** The drawn sheets of the board pack's workbook. */
const SHEETS = ['Summary', 'Alerts by week'];
/** The resolution of printed pages. An A4 page of `PAGE_WIDTH` needs 86. */
const DPI = 130;

/** A PNG with a palette of 256 colours, a third of the size of the browser's. */
async function screenshot(
  browser: Browser,
  page: Page,
  options: Parameters<Page['screenshot']>[0] = {},
): Promise<Uint8Array> {
  const picture = (await page.screenshot({ animations: 'disabled', ...options })).toString('base64');
  // The browser that drew the picture also decodes it, since no package here decodes PNG.
  const reader = await browser.newPage();
  const { width, height, pixels } = bitmapSchema.parse(await reader.evaluate(`(${READ_PIXELS})('${picture}')`));
  await reader.close();
  return encodePng(coarse(Buffer.from(pixels, 'base64')), width, height);
}

/**
 * Replaces similar colours (five bits per channel) by the most frequent one. Otherwise the shades at the edges of letters
 * would leave no room in the palette for rare colours.
 */
function coarse(pixels: Buffer): Uint8Array {
  const exact = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += 4) {
    const colour = pixels.readUInt32BE(at);
    exact.set(colour, (exact.get(colour) ?? 0) + 1);
  }
  const similar = (colour: number): number => colour & 0xf8f8f800;
  const chosen = new Map<number, number>();
  for (const [colour] of [...exact].sort(([, one], [, other]) => one - other)) chosen.set(similar(colour), colour);
  const result = Buffer.alloc(pixels.length);
  for (let at = 0; at < pixels.length; at += 4)
    result.writeUInt32BE(chosen.get(similar(pixels.readUInt32BE(at))) ?? 0, at);
  return result;
}

const bitmapSchema = z.object({ width: z.number(), height: z.number(), pixels: z.string() });

/** Runs in the browser. Returns RGBA, row by row, as base64. */
const READ_PIXELS = `async (base64) => {
  const blob = await (await fetch('data:image/png;base64,' + base64)).blob();
  const bitmap = await createImageBitmap(blob);
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext('2d');
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  let text = '';
  for (let at = 0; at < data.length; at += 32768) text += String.fromCharCode(...data.subarray(at, at + 32768));
  return { width, height, pixels: btoa(text) };
}`;

/** Pages of a PDF as PNG files in base64. */
async function rasterize(pdf: string, numbers: readonly number[], folder: string): Promise<readonly string[]> {
  const pdftoppm = await program('pdftoppm', 'poppler-utils');
  await mkdir(folder, { recursive: true });
  return Promise.all(
    numbers.map(async (number) => {
      const stem = join(folder, `page-${number}`);
      await run(pdftoppm, ['-png', '-r', `${DPI}`, '-f', `${number}`, '-l', `${number}`, '-singlefile', pdf, stem]);
      return (await readFile(`${stem}.png`)).toString('base64');
    }),
  );
}

/** Pages of a PDF, one below the other, as paper on a grey background. */
async function drawPages(
  browser: Browser,
  pdf: string,
  numbers: readonly number[],
  folder: string,
): Promise<Uint8Array> {
  const pictures = await rasterize(pdf, numbers, folder);
  const page = await browser.newPage({ viewport: { width: PAGE_WIDTH + 48, height: 800 } });
  const images = pictures.map((picture) => `<img src="data:image/png;base64,${picture}">`);
  await page.setContent(
    `<style>body{margin:0;padding:24px;background:#d8dde5;display:grid;gap:24px}
    img{width:${PAGE_WIDTH}px;box-shadow:0 2px 8px #0004}</style>${images.join('')}`,
  );
  const picture = await screenshot(browser, page, { fullPage: true });
  await page.close();
  return picture;
}

/** The drawn pages of the board workbook: the first ones. */
const WORKBOOK_PAGES = [1, 2];
const SIDE_WIDTH = 900;

/** Draws a template on the left and the workbook made from it on the right, page by page. */
async function drawBeside(
  browser: Browser,
  [template, filled]: readonly [string, string],
  folder: string,
): Promise<Uint8Array> {
  const page = await browser.newPage({ viewport: { width: 2 * SIDE_WIDTH + 72, height: 800 } });
  const column = async (pdf: string, heading: string) => {
    const pictures = await rasterize(pdf, WORKBOOK_PAGES, join(folder, heading));
    return [`<h1>${heading}</h1>`, ...pictures.map((picture) => `<img src="data:image/png;base64,${picture}">`)];
  };
  const left = await column(template, 'Template');
  const right = await column(filled, 'Filled');
  await page.setContent(
    `<style>body{margin:0;padding:16px 24px 24px;background:#d8dde5;display:grid;gap:16px 24px;
    grid-template-columns:${SIDE_WIDTH}px ${SIDE_WIDTH}px;font-family:Arimo,'Liberation Sans',sans-serif;color:#1b2a41}
    h1{margin:0;font-size:22px}img{width:${SIDE_WIDTH}px;box-shadow:0 2px 8px #0004}</style>${left
      .map((cell, index) => cell + (right[index] ?? ''))
      .join('')}`,
  );
  const picture = await screenshot(browser, page, { fullPage: true });
  await page.close();
  return picture;
}

async function drawMail(browser: Browser, html: string): Promise<Uint8Array> {
  const page = await browser.newPage({ viewport: { width: MAIL_WIDTH, height: MAIL_HEIGHT }, colorScheme: 'light' });
  await page.setContent(html);
  const picture = await screenshot(browser, page);
  await page.close();
  return picture;
}

async function drawPage(
  browser: Browser,
  app: Awaited<ReturnType<typeof adminPage>>,
  path: string,
  colorScheme: 'light' | 'dark',
): Promise<Uint8Array> {
  const context = await browser.newContext({ viewport: DESKTOP, colorScheme, locale: 'en-GB' });
  await context.route('**/*', async (route) => {
    const { pathname, search } = new URL(route.request().url());
    // An event stream would never end.
    if (pathname.endsWith('/events')) return route.abort();
    const response = await app.request(PAGE_URL + pathname + search, { headers: { accept: 'text/html' } });
    const body = Buffer.from(await response.arrayBuffer());
    return route.fulfill({ status: response.status, headers: Object.fromEntries(response.headers), body });
  });
  const page = await context.newPage();
  await page.goto(PAGE_URL + path);
  for (const frame of await page.locator('iframe').all()) await frame.scrollIntoViewIfNeeded();
  await page.waitForLoadState('networkidle');
  await page.evaluate('window.scrollTo(0, 0)');
  const picture = await screenshot(browser, page, { fullPage: true, clip: { x: 0, y: 0, ...DESKTOP } });
  await context.close();
  return picture;
}

/** Draws all pictures of `imageContents`, by file name. @param folder for intermediate files */
export async function drawImages(packs: Packs, folder: string): Promise<Readonly<Record<string, Uint8Array>>> {
  await mkdir(folder, { recursive: true });
  const board = packs['board-pack'];
  const book = packs['board-book'];
  const [pdf = '', template = '', filled = ''] = await printToPdf(
    [artifactNamed(board.artifacts, '.xlsx').path, 'jobs/demo/board.xlsx', artifactNamed(book.artifacts, '.xlsx').path],
    folder,
  );
  const document = artifactNamed(board.artifacts, '.pdf').path;
  const sheets = await outlineOf(pdf);
  const pages = SHEETS.flatMap((name) => sheets.find(({ title }) => title === name)?.page ?? []);
  const app = await adminPage(packs['weekly-kpi']);
  const browser = await openChromium();
  try {
    return {
      'board-pack.png': await drawPages(browser, pdf, pages, join(folder, 'workbook')),
      'board-workbook.png': await drawBeside(browser, [template, filled], join(folder, 'book')),
      'board-pack-pdf.png': await drawPages(browser, document, [2, 3], join(folder, 'pdf')),
      'board-mail.png': await drawMail(browser, inlineImages(board.mail)),
      'weekly-kpi.png': await drawMail(browser, inlineImages(packs['weekly-kpi'].mail)),
      'page-overview.png': await drawPage(browser, app, PAGES.overview, 'light'),
      'page-report.png': await drawPage(browser, app, PAGES.report, 'dark'),
    };
  } finally {
    await browser.close();
  }
}

export const writeImages = async (folder: string, images: Readonly<Record<string, Uint8Array>>): Promise<void> => {
  for (const [name, bytes] of Object.entries(images)) await writeFile(join(folder, name), bytes);
};
