import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { isErrno } from '../../../base/errno.ts';
import { MAX_ORG_FILE_BYTES } from '../../../definitions/load/org-file.ts';
import type { FoundTemplate } from '../find-template.ts';
import { openPackage } from '../package/open-package.ts';

/**
 * Copies a template, so that somebody who saves it meanwhile changes nothing of what is made from it: it is read several
 * times, and parts of it are copied as they are. `to` is replaced. Throws `template.invalid` for a file that cannot be read.
 * @returns SHA-256 (hex) of the copy
 */
export async function copyTemplate({ path, file }: FoundTemplate, to: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    await pipeline(
      // One byte above the limit, so that a file which has grown is refused.
      createReadStream(path, { end: MAX_ORG_FILE_BYTES }),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(to, { mode: 0o600 }),
    );
  } catch (error) {
    // Opening it tells what is wrong.
    if (isErrno(error, 'ENOENT', 'EACCES', 'EPERM')) await (await openPackage(path, file)).close();
    throw error;
  }
  return hash.digest('hex');
}
