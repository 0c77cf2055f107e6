import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Dataset } from '../../src/fetch/dataset.ts';
import { writePdf } from '../../src/render/formats/pdf/write-pdf.ts';
import { MADE_AT } from './dataset.ts';
import { program } from './debian.ts';

const run = promisify(execFile);

/** Writes the PDF of a pack as `<folder>/<name>.pdf` and reads the lines of each page with poppler. */
export async function pdfLines(
  folder: string,
  name: string,
  data: Dataset,
  locale = 'en-GB',
): Promise<readonly (readonly string[])[]> {
  const path = join(folder, `${name}.pdf`);
  const options = { run: 'r'.repeat(32), digest: 'd'.repeat(64), madeAt: MADE_AT, outputs: ['pdf'], locale };
  await writePdf(path, data, { ...options, signal: new AbortController().signal });
  const pdftotext = await program('pdftotext', 'poppler-utils');
  const { stdout } = await run(pdftotext, ['-layout', path, '-'], { maxBuffer: 16 * 1024 * 1024 });
  return stdout
    .split('\f')
    .slice(0, -1)
    .map((page) => page.split('\n').filter((line) => line.trim() !== ''));
}
