import { isUtf8 } from 'node:buffer';
import * as fs from 'node:fs';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf } from '../../base/errno.ts';
import { type Diagnostic, fileDiagnostic } from '../diagnostics/diagnostic.ts';
import { MAX_DEFINITION_BYTES } from '../schema/report-definition.ts';

// The functions of fs/promises take four times as much processor time.
export const [readdir, readFile, realpath, stat] = [
  promisify(fs.readdir),
  promisify(fs.readFile),
  promisify(fs.realpath.native),
  promisify(fs.stat),
];

/** The errno of a failed file operation for a diagnostic, e.g. `ENOENT`. */
export const errnoText = (error: unknown): string => errnoOf(error) ?? 'unknown error';

/**
 * Reads a definition's text, or returns a diagnostic about its size (checked before reading), kind, access or encoding.
 */
export async function readDefinitionFile(file: string): Promise<{ text: string } | { fault: Diagnostic }> {
  let bytes: Buffer;
  try {
    const found = await stat(file);
    if (!found.isFile()) return { fault: fileDiagnostic(file, 'a file', 'something else', 'replace it by a file') };
    if (found.size > MAX_DEFINITION_BYTES) return { fault: tooLargeDiagnostic(file, found.size) };
    bytes = await readFile(file);
  } catch (error) {
    return { fault: fileDiagnostic(file, 'a file that can be read', errnoText(error), 'correct its permissions') };
  }
  // The file may have grown in the meantime.
  if (bytes.length > MAX_DEFINITION_BYTES) return { fault: tooLargeDiagnostic(file, bytes.length) };
  if (isUtf8(bytes)) return { text: bytes.toString('utf8').replace(/^\uFEFF/, '') };
  return {
    fault: {
      ...fileDiagnostic(file, 'text in UTF-8', 'other bytes', 'save the file as UTF-8'),
      ...firstInvalidByte(bytes),
    },
  };
}

const tooLargeDiagnostic = (file: string, size: number) =>
  fileDiagnostic(file, `at most ${MAX_DEFINITION_BYTES} bytes`, `${size} bytes`, 'split the report');

function firstInvalidByte(bytes: Buffer): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(0x0a, start);
    const text = bytes.subarray(start, end === -1 ? bytes.length : end);
    if (!isUtf8(text) || end === -1) return { line, column: text.toString('utf8').indexOf('\uFFFD') + 1 };
    line += 1;
    start = end + 1;
  }
}

export interface DirectoryEntry {
  readonly name: string;
  /** The path that diagnostics show. */
  readonly file: string;
  /** `file`: anything except a folder. */
  readonly kind: 'folder' | 'file';
}

/**
 * The entries of a folder by name, without hidden ones. Links out of the jobs folder and broken links are reported and
 * not followed: only files deployed with the folder decide what is sent to whom.
 * @param root real path of the jobs folder
 */
export async function listDirectory(
  folder: string,
  root: string,
  diagnostics: Diagnostic[],
): Promise<DirectoryEntry[]> {
  let found: fs.Dirent[];
  try {
    found = await readdir(folder, { withFileTypes: true });
  } catch (error) {
    diagnostics.push(fileDiagnostic(folder, 'a folder that can be read', errnoText(error), 'correct its permissions'));
    return [];
  }
  const entries: DirectoryEntry[] = [];
  for (const entry of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = entry;
    if (name.startsWith('.')) continue;
    const file = join(folder, name);
    // Only a link can lead out of the folder.
    if (entry.isFile() || entry.isDirectory()) {
      entries.push({ name, file, kind: entry.isDirectory() ? 'folder' : 'file' });
      continue;
    }
    try {
      const real = await realpath(file);
      if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) {
        diagnostics.push(
          fileDiagnostic(file, 'a file inside the jobs folder', 'a link out of it', 'copy the file into the folder'),
        );
      } else {
        entries.push({ name, file, kind: (await stat(real)).isDirectory() ? 'folder' : 'file' });
      }
    } catch (error) {
      const got = `a broken symbolic link (${errnoText(error)})`;
      diagnostics.push(fileDiagnostic(file, 'a file or folder', got, 'remove or correct the link'));
    }
  }
  return entries;
}
