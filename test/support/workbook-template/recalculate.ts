import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { program } from '../debian.ts';

const run = promisify(execFile);

/** LibreOffice computes every formula of a workbook that it opens, whatever values are stored. */
const RECALCULATE = `<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
`;

/**
 * Opens workbooks in LibreOffice, computes them, and saves them as flat OpenDocument; one start for all of them. Returns the
 * files in the order of the workbooks, whose names without ending must differ.
 */
export async function recalculate(workbooks: readonly string[], folder: string): Promise<string[]> {
  if (workbooks.length === 0) return [];
  const soffice = await program('soffice', 'libreoffice-calc');
  const profile = await mkdtemp(join(tmpdir(), 'docket-libreoffice-'));
  try {
    await mkdir(join(profile, 'user'));
    await writeFile(join(profile, 'user', 'registrymodifications.xcu'), RECALCULATE);
    const options = [
      `-env:UserInstallation=file://${profile}`,
      '--headless',
      '--convert-to',
      'fods',
      '--outdir',
      folder,
    ];
    await run(soffice, [...options, ...workbooks], { maxBuffer: 64 * 1024 * 1024 });
  } finally {
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
  return workbooks.map((path) => join(folder, `${basename(path, extname(path))}.fods`));
}
