import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, normalize, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isErrno } from '../../base/errno.ts';
import type { DiagnosticText } from '../diagnostics/diagnostic.ts';
import { errnoText } from './files.ts';

/** The largest file that an output may be made from. */
export const MAX_ORG_FILE_BYTES = 64 * 1024 * 1024;

/** A file beside `org.yaml` that a definition names. */
export interface OrgFile {
  /** Real path. */
  readonly path: string;
  readonly bytes: number;
}

/** Why a file cannot be used, as text for a diagnostic. */
export type InvalidOrgFile = Omit<DiagnosticText, 'message'>;

/**
 * Finds a file that a definition names, or returns why it cannot be used: location, kind, size. A link out of the
 * organization's folder is refused, so that a report cannot show files of others or of the machine.
 *
 * @param folder of `org.yaml`
 * @param name as the definition writes it, relative to `folder`
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

/** SHA-256 (hex) of a file that a definition names, or why it cannot be used. */
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
