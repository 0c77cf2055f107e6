// Prints a line per page of PDF files and workbooks: `npx tsx test/support/measure-pages.ts <file> …`
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printToPdf } from './libreoffice.ts';
import { type PrintedPage, printedPages } from './printed-pages.ts';

const LEAST_POINTS = 7.995;
const LEAST_USED = 0.25;

const percent = (share: number): string => `${Math.round(share * 100)} %`.padStart(5);

/** `5.80 "Acme Payments"` for each size that is too small. */
function smallTexts({ texts }: PrintedPage): string[] {
  const small = new Map<string, string>();
  for (const { size, text } of texts) {
    const points = size.toFixed(2);
    if (size < LEAST_POINTS && !small.has(points)) small.set(points, `${points} "${text.trim().slice(0, 40)}"`);
  }
  return [...small].sort(([one], [other]) => Number(one) - Number(other)).map(([, shown]) => shown);
}

function printTable(pages: readonly PrintedPage[]): void {
  console.log('page    paper (pt)   least pt  height   area  section');
  for (const page of pages) {
    const { number, width, height, smallest, used, area, section = '' } = page;
    const paper = `${Math.round(width)} × ${Math.round(height)}`.padStart(11);
    const least = (smallest?.size.toFixed(2) ?? '–').padStart(7);
    const flags = [
      ...smallTexts(page).map((text) => `SMALL ${text}`),
      ...(used < LEAST_USED ? ['EMPTY'] : []),
      ...page.collisions.slice(0, 3).map((text) => `COLLISION ${text}`),
    ];
    const shares = `${percent(used)}  ${percent(area)}`;
    console.log(
      `${`${number}`.padStart(4)}  ${paper}   ${least}    ${shares}  ${section}  ${flags.join('  ')}`.trimEnd(),
    );
  }
  const least = Math.min(...pages.flatMap(({ smallest }) => smallest?.size ?? []));
  console.log(`${pages.length} pages, smallest text ${least.toFixed(2)} pt\n`);
}

async function main(files: readonly string[]): Promise<void> {
  for (const file of files) {
    const folder = await mkdtemp(join(tmpdir(), 'docket-measure-'));
    try {
      const [pdf = file] = /\.pdf$/i.test(file) ? [file] : await printToPdf([file], folder);
      console.log(file);
      printTable(await printedPages(pdf));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

await main(process.argv.slice(2));
