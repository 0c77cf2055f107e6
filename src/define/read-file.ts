import { isUtf8 } from 'node:buffer';
import { readFile, realpath, stat } from 'node:fs/promises';
import { sep } from 'node:path';
import { MAX_DEFINITION_BYTES } from './definition.ts';
import type { Fault } from './fault.ts';

const wholeFile = (file: string, parts: Pick<Fault, 'expected' | 'got' | 'next'>): Fault => ({
  file,
  line: 1,
  column: 1,
  ...parts,
});

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error';

/**
 * Whether a path, links followed, is inside the jobs folder: what is deployed with the folder, and nothing else, decides
 * what is sent to whom. A fault when it is not, or when it leads nowhere.
 * @param root the jobs folder's real path
 */
export async function insideFault(root: string, file: string): Promise<Fault | undefined> {
  let real: string;
  try {
    real = await realpath(file);
  } catch (error) {
    return wholeFile(file, {
      expected: 'a file or folder',
      got: `a link that leads nowhere (${codeOf(error)})`,
      next: 'remove or correct the link',
    });
  }
  if (real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined;
  return wholeFile(file, {
    expected: 'a file inside the jobs folder',
    got: 'a link out of it',
    next: 'copy the file into the folder',
  });
}

/** A definition's text, or why it cannot be one: size (seen before it is read), kind, access, encoding. */
export async function readDefinition(file: string): Promise<{ text: string } | { fault: Fault }> {
  let bytes: Buffer;
  try {
    const { size, ...kind } = await stat(file).then((found) => ({ size: found.size, isFile: found.isFile() }));
    if (!kind.isFile)
      return { fault: wholeFile(file, { expected: 'a file', got: 'something else', next: 'replace it by a file' }) };
    if (size > MAX_DEFINITION_BYTES) return { fault: tooLarge(file, size) };
    bytes = await readFile(file);
  } catch (error) {
    return {
      fault: wholeFile(file, {
        expected: 'a file that can be read',
        got: codeOf(error),
        next: 'correct its permissions',
      }),
    };
  }
  if (bytes.length > MAX_DEFINITION_BYTES) return { fault: tooLarge(file, bytes.length) };
  if (isUtf8(bytes)) return { text: bytes.toString('utf8').replace(/^\uFEFF/, '') };
  return {
    fault: {
      file,
      ...firstBadByte(bytes),
      expected: 'text in UTF-8',
      got: 'bytes that are not',
      next: 'save the file as UTF-8',
    },
  };
}

const tooLarge = (file: string, size: number) =>
  wholeFile(file, {
    expected: `at most ${MAX_DEFINITION_BYTES} bytes`,
    got: `${size} bytes`,
    next: 'split the report',
  });

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
