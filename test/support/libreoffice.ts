import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { officeFonts, program } from './debian.ts';

const run = promisify(execFile);

/**
 * Prints workbooks to PDF with LibreOffice, with one start for all of them. The names without ending must differ. Returns
 * the PDF files in the order of the workbooks.
 */
export async function printToPdf(workbooks: readonly string[], folder: string): Promise<string[]> {
  const soffice = await program('soffice', 'libreoffice-calc');
  await officeFonts();
  const profile = await mkdtemp(join(tmpdir(), 'docket-libreoffice-'));
  try {
    const options = [
      `-env:UserInstallation=file://${profile}`,
      '--headless',
      '--convert-to',
      'pdf',
      '--outdir',
      folder,
    ];
    await run(soffice, [...options, ...workbooks], { maxBuffer: 16 * 1024 * 1024 });
  } finally {
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
  return workbooks.map((path) => join(folder, `${basename(path, extname(path))}.pdf`));
}
