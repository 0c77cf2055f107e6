import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const BASIC = 'xmlns:library="http://openoffice.org/2000/library" library:name="Standard" library:readonly="false"';
const xml = (type: string, path: string, body: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE ${type} PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "${path}.dtd">\n${body}\n`;
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/**
 * Runs a macro (the lines of a Basic `Sub`) in LibreOffice with a separate profile, for what its command line cannot do,
 * such as opening a file with its password.
 */
export async function runMacro(soffice: string, profile: string, lines: readonly string[]): Promise<void> {
  const folder = join(profile, 'user', 'basic', 'Standard');
  const start = (what: string) => run(soffice, [`-env:UserInstallation=file://${profile}`, '--headless', what]);
  // The first use of a profile overwrites its files, so use it once before.
  await start('--terminate_after_init');
  await mkdir(folder, { recursive: true });
  const files = {
    'script.xlb': xml(
      'library:library',
      'library',
      `<library:library ${BASIC}><library:element library:name="Module1"/></library:library>`,
    ),
    'dialog.xlb': xml('library:library', 'library', `<library:library ${BASIC}/>`),
    'Module1.xba': xml(
      'script:module',
      'module',
      `<script:module xmlns:script="http://openoffice.org/2000/script" script:name="Module1" script:language="StarBasic">${escaped(['Sub Go', ...lines, 'End Sub'].join('\n'))}</script:module>`,
    ),
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  await start('macro:///Standard.Module1.Go');
}
