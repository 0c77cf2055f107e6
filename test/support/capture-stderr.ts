import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { inject } from 'vitest';

/** Keeps what a process writes to its stderr, beside other readers: at the end all of it is searched for secrets. */
export function captureStderr<Stream extends Readable>(stderr: Stream): Stream {
  const file = createWriteStream(join(inject('stderrFolder'), `${randomBytes(8).toString('hex')}.log`));
  stderr.on('data', (piece: Buffer | string) => file.write(piece));
  stderr.once('close', () => file.end());
  return stderr;
}
