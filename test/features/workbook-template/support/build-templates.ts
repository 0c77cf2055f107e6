import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { program } from '../../../support/debian.ts';
import { pythonModules } from './python-modules.ts';
import { RECORDED, type RecordedTemplate } from './recorded.ts';

const run = promisify(execFile);

/**
 * Builds every template with its own tool at these sizes (`template`: with its sample rows), and the versions that
 * LibreOffice saves: FOLDER/<name>/<size>.<ending>. With `names`, builds only these.
 */
export async function buildTemplates(
  folder: string,
  sizes: readonly string[],
  names: readonly string[] = [],
): Promise<RecordedTemplate[]> {
  await program('soffice', 'libreoffice-calc');
  const python = await pythonModules({
    xlsxwriter: 'python3-xlsxwriter',
    openpyxl: 'python3-openpyxl',
    PIL: 'python3-pil',
  });
  const make = join(RECORDED, 'generators', 'make.py');
  const only = names.flatMap((name) => ['--only', name.replace(/-lo$/, '')]);
  await run(python, ['-B', make, folder, '--sizes', sizes.join(','), '--libreoffice', ...only], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(await readFile(join(folder, 'index.json'), 'utf8')) as RecordedTemplate[];
}
