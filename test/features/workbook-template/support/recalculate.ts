import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { program } from '../../../support/debian.ts';

const run = promisify(execFile);

/** A setting that makes LibreOffice compute every formula on load, whatever values are stored. */
const RECALCULATE = `<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
`;

/**
 * Opens workbooks in LibreOffice, computes them, and saves them as flat OpenDocument, with one start for all. The names
 * without ending must differ. Returns the files in the order of the workbooks, or null for a workbook that crashes
 * LibreOffice.
 */
export async function recalculate(workbooks: readonly string[], folder: string): Promise<(string | null)[]> {
  const soffice = await program('soffice', 'libreoffice-calc');
  const profile = await mkdtemp(join(tmpdir(), 'docket-libreoffice-'));
  const target = (path: string) => join(folder, `${basename(path, extname(path))}.fods`);
  const options = [`-env:UserInstallation=file://${profile}`, '--headless', '--convert-to', 'fods', '--outdir', folder];
  try {
    await mkdir(join(profile, 'user'));
    await writeFile(join(profile, 'user', 'registrymodifications.xcu'), RECALCULATE);
    let left = [...workbooks];
    while (left.length > 0) {
      // The files show whether it succeeded.
      await run(soffice, [...options, ...left], { maxBuffer: 64 * 1024 * 1024 }).catch(() => undefined);
      const missing = left.findIndex((path) => !existsSync(target(path)));
      left = missing === -1 ? [] : left.slice(missing + 1);
    }
  } finally {
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
  return workbooks.map((path) => (existsSync(target(path)) ? target(path) : null));
}
