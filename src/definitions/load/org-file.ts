import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, normalize, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isErrno } from '../../base/errno.ts';
import { DocketError } from '../../base/error.ts';
import type { DiagnosticText } from '../diagnostics/diagnostic.ts';
import type { OutputFile } from '../schema/kinds.ts';
import { errnoText } from './files.ts';

/** The largest file that an output may be made from. */
export const MAX_ORG_FILE_BYTES = 64 * 1024 * 1024;

/** A file in the folder of `org.yaml` that a definition names. */
export interface OrgFile {
  /** Real path. */
  readonly path: string;
  readonly bytes: number;
}

/** Why a file cannot be used, as text for a diagnostic. */
export type InvalidOrgFile = Omit<DiagnosticText, 'message'>;

/**
 * Finds a file that a definition names, or returns why it cannot be used: its location, kind or size. A link out of the
 * organization's folder is refused, so that a report cannot show files of other organizations or of the machine.
 *
 * @param folder the folder of `org.yaml`
 * @param name as written in the definition, relative to `folder`
 */
export async function findOrgFile(folder: string, name: string): Promise<OrgFile | InvalidOrgFile> {
  const outside = { expected: 'a file in the folder of org.yaml', got: 'a path out of it' };
  if (isAbsolute(name) || normalize(name).split(sep)[0] === '..')
    return { ...outside, next: 'write a path from the folder of org.yaml' };
  const file = join(folder, name);
  try {
    const [root, path] = await Promise.all([realpath(folder), realpath(file)]);
    if (!path.startsWith(root.endsWith(sep) ? root : root + sep)) return { ...outside, next: 'copy the file there' };
    const found = await stat(path);
    if (!found.isFile()) return { expected: 'a file', got: 'something else', next: 'correct the path' };
    if (found.size <= MAX_ORG_FILE_BYTES) return { path, bytes: found.size };
    return { expected: `at most ${MAX_ORG_FILE_BYTES} bytes`, got: `${found.size} bytes`, next: 'save it smaller' };
  } catch (error) {
    return {
      expected: 'a file that can be read',
      got: isErrno(error, 'ENOENT', 'ENOTDIR') ? 'no such file' : errnoText(error),
      next: `correct the path or its permissions: ${file}`,
    };
  }
}

/** The location of a file from which an output is made. */
export interface FoundOutputFile {
  /** Real path. */
  readonly path: string;
  /** The path in messages, relative to the folder of `org.yaml`. */
  readonly file: string;
  /** The name in the definition. */
  readonly name: string;
}

/**
 * Finds the file that an output is made from. It may have changed since the definitions were loaded, so it is looked up
 * again, and only in the organization's folder. Throws `template.invalid`.
 *
 * @param orgFolder the folder of `org.yaml`; undefined: this process has no definitions
 */
export async function findOutputFile(
  orgFolder: string | undefined,
  { file: name, what }: Pick<OutputFile, 'file' | 'what'>,
): Promise<FoundOutputFile> {
  const file = orgFolder === undefined ? name : join(orgFolder, name);
  const found =
    orgFolder === undefined
      ? { expected: 'a folder of definitions (DOCKET_JOBS)', got: 'none', next: 'set DOCKET_JOBS' }
      : await findOrgFile(orgFolder, name);
  if (!('expected' in found)) return { path: found.path, file, name };
  const { expected, got, next = 'correct the path' } = found;
  throw new DocketError('template.invalid', `The ${what} ${name} cannot be used.`, {
    where: file,
    expected,
    ...(got === undefined ? {} : { got }),
    next: `${next.charAt(0).toUpperCase()}${next.slice(1)}.`,
  });
}

/** SHA-256 (hex) of a file that a definition names, or why the file cannot be used. */
export async function hashOrgFile(folder: string, name: string): Promise<{ sha256: string } | InvalidOrgFile> {
  const found = await findOrgFile(folder, name);
  if ('expected' in found) return found;
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(found.path, { end: MAX_ORG_FILE_BYTES }), hash);
  } catch (error) {
    return { expected: 'a file that can be read', got: errnoText(error), next: 'correct its permissions' };
  }
  return { sha256: hash.digest('hex') };
}
