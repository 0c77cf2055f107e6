import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Makes what was written so far survive a power cut: a file's bytes, or the names in a folder. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a folder with its parents, and makes their names durable. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncPath(dirname(made));
}

/** Writes a new file and syncs it; its name becomes durable with its folder's sync. */
export async function writeSynced(path: string, bytes: string | Uint8Array): Promise<void> {
  const handle = await open(path, 'wx');
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Replaces a file in one step: a reader sees the old one or the whole new one, and so does a power cut. */
export async function replaceFile(path: string, bytes: string | Uint8Array): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path).slice(0, 80)}.${randomBytes(6).toString('hex')}.tmp`);
  try {
    await writeSynced(temporary, bytes);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncPath(dirname(path));
}
