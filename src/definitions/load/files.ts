import { isUtf8 } from 'node:buffer';
import type { Dirent } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { type Diagnostic, fileDiagnostic } from '../diagnostics/diagnostic.ts';
import { MAX_DEFINITION_BYTES } from '../schema/report-definition.ts';

/** `ENOENT`, `EACCES` and the like. */
export const errnoCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error';

/** A definition's text, or why it cannot be one: size (seen before it is read), kind, access, encoding. */
export async function readDefinitionFile(file: string): Promise<{ text: string } | { fault: Diagnostic }> {
  let bytes: Buffer;
  try {
    const found = await stat(file);
    if (!found.isFile()) return { fault: fileDiagnostic(file, 'a file', 'something else', 'replace it by a file') };
    if (found.size > MAX_DEFINITION_BYTES) return { fault: tooLargeDiagnostic(file, found.size) };
    bytes = await readFile(file);
  } catch (error) {
    return { fault: fileDiagnostic(file, 'a file that can be read', errnoCode(error), 'correct its permissions') };
  }
  // It may have grown since.
  if (bytes.length > MAX_DEFINITION_BYTES) return { fault: tooLargeDiagnostic(file, bytes.length) };
  if (isUtf8(bytes)) return { text: bytes.toString('utf8').replace(/^\uFEFF/, '') };
  return {
    fault: {
      ...fileDiagnostic(file, 'text in UTF-8', 'bytes that are not', 'save the file as UTF-8'),
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
  /** As faults name it. */
  readonly file: string;
  /** `file` is whatever is no folder. */
  readonly kind: 'folder' | 'file';
}

/**
 * What is in a folder, by name, without hidden entries. A link out of the jobs folder, or into nothing, is a fault and is
 * not followed: what is deployed with the folder, and nothing else, decides what is sent to whom.
 * @param root the jobs folder's real path
 */
export async function listDirectory(folder: string, root: string, faults: Diagnostic[]): Promise<DirectoryEntry[]> {
  let found: Dirent[];
  try {
    found = await readdir(folder, { withFileTypes: true });
  } catch (error) {
    faults.push(fileDiagnostic(folder, 'a folder that can be read', errnoCode(error), 'correct its permissions'));
    return [];
  }
  const entries: DirectoryEntry[] = [];
  for (const { name } of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (name.startsWith('.')) continue;
    const file = join(folder, name);
    try {
      const real = await realpath(file);
      if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) {
        faults.push(
          fileDiagnostic(file, 'a file inside the jobs folder', 'a link out of it', 'copy the file into the folder'),
        );
      } else {
        entries.push({ name, file, kind: (await stat(real)).isDirectory() ? 'folder' : 'file' });
      }
    } catch (error) {
      const got = `a link that leads nowhere (${errnoCode(error)})`;
      faults.push(fileDiagnostic(file, 'a file or folder', got, 'remove or correct the link'));
    }
  }
  return entries;
}
