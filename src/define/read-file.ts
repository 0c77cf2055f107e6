import { isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import { MAX_DEFINITION_BYTES } from './definition.ts';
import { atStart, type Fault } from './fault.ts';

/** `ENOENT`, `EACCES` and the like. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error';

/** A definition's text, or why it cannot be one: size (seen before it is read), kind, access, encoding. */
export async function readDefinition(file: string): Promise<{ text: string } | { fault: Fault }> {
  let bytes: Buffer;
  try {
    const found = await stat(file);
    if (!found.isFile()) return { fault: atStart(file, 'a file', 'something else', 'replace it by a file') };
    if (found.size > MAX_DEFINITION_BYTES) return { fault: tooLarge(file, found.size) };
    bytes = await readFile(file);
  } catch (error) {
    return { fault: atStart(file, 'a file that can be read', codeOf(error), 'correct its permissions') };
  }
  // It may have grown since.
  if (bytes.length > MAX_DEFINITION_BYTES) return { fault: tooLarge(file, bytes.length) };
  if (isUtf8(bytes)) return { text: bytes.toString('utf8').replace(/^\uFEFF/, '') };
  return {
    fault: {
      ...atStart(file, 'text in UTF-8', 'bytes that are not', 'save the file as UTF-8'),
      ...firstBadByte(bytes),
    },
  };
}

const tooLarge = (file: string, size: number) =>
  atStart(file, `at most ${MAX_DEFINITION_BYTES} bytes`, `${size} bytes`, 'split the report');

function firstBadByte(bytes: Buffer): { line: number; column: number } {
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
