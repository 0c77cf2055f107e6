import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toDocketError } from '../base/error.ts';
import type { Manifest } from './archive.ts';
import type { Shelved } from './archive-shelf.ts';
import { keptMessages, readAttempts, readReceipts } from './kept-attempts.ts';
import { fileDigest, readManifest, readSealed } from './sealed-folder.ts';

/**
 * What is wrong with an archived run, each fault in a line; none when every byte is what was sealed and sent. Looks at
 * the manifest, every file, the e-mail, every message that left, receipts and attempts.
 */
export async function verifyShelved(run: Shelved): Promise<readonly string[]> {
  let manifest: Manifest | undefined;
  try {
    manifest = await readManifest(run.folder);
  } catch {
    return ['manifest.json cannot be read'];
  }
  if (manifest === undefined) return ['manifest.json is missing'];
  const files = await fileFaults(run.folder, manifest);
  return [
    ...placeFaults(run, manifest),
    ...files,
    // It stops at its first fault: one that the files have been named for already need not be said again.
    ...(files.length > 0 ? [] : await faultOf(() => readSealed(run.folder, 'files', manifest))),
    ...(await messageFaults(run.folder)),
    ...(await faultOf(() => readAttempts(run.folder))),
  ];
}

function placeFaults({ id, org, report }: Shelved, manifest: Manifest): string[] {
  const says = `${manifest.org}/${manifest.report}/${manifest.run}`;
  return says === `${org}/${report}/${id}` ? [] : [`manifest.json is of another run: ${says}`];
}

async function fileFaults(folder: string, { files }: Manifest): Promise<string[]> {
  const faults: string[] = [];
  for (const { name, sha256 } of files) {
    const found = await fileDigest(join(folder, 'files', name)).catch(() => undefined);
    if (found === undefined) faults.push(`files/${name} is missing or cannot be read`);
    else if (found !== sha256) faults.push(`files/${name} has changed: SHA-256 ${found} instead of ${sha256}`);
  }
  const sealed = new Set(files.map(({ name }) => name));
  for (const name of await readdir(join(folder, 'files')).catch(() => [])) {
    if (!sealed.has(name)) faults.push(`files/${name} is not of this run`);
  }
  return faults;
}

async function messageFaults(folder: string): Promise<string[]> {
  const faults: string[] = [];
  const kept = await keptMessages(folder);
  for (const name of kept.values()) {
    const sealed = await readFile(join(folder, `${name}.sha256`), 'utf8').catch(() => undefined);
    const found = await fileDigest(join(folder, name)).catch(() => 'unreadable');
    if (sealed === undefined) faults.push(`${name} has no hash beside it`);
    else if (!sealed.startsWith(`${found} `)) faults.push(`${name} has changed: SHA-256 ${found}`);
  }
  try {
    for (const { delivery, state, messageId } of await readReceipts(folder)) {
      const left = messageId !== null && (state === 'sent' || state === 'unknown');
      if (left && !kept.has(delivery)) faults.push(`messages/${delivery}.eml is missing, though it was sent`);
    }
  } catch (error) {
    faults.push(inShort(error));
  }
  return faults;
}

async function faultOf(look: () => Promise<unknown>): Promise<string[]> {
  try {
    await look();
    return [];
  } catch (error) {
    return [inShort(error)];
  }
}

/** An `archive.corrupt` names the folder in its sentence; a list of faults has it in front already. */
const inShort = (error: unknown): string =>
  toDocketError(error)
    .message.replace(/^The archived run in .* is not what was sealed: /, '')
    .replace(/\.$/, '');
