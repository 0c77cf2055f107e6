import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { inject } from 'vitest';

/** Records what a process writes to stderr, for the search for secrets after all tests. Other readers still get it. */
export function captureStderr<Stream extends Readable>(stderr: Stream): Stream {
  const file = createWriteStream(join(inject('stderrFolder'), `${randomBytes(8).toString('hex')}.log`));
  stderr.on('data', (piece: Buffer | string) => file.write(piece));
  stderr.once('close', () => file.end());
  return stderr;
}
