import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/**
 * Writes pieces to a new file as they are made, no faster than the disk takes them. `path` must not exist.
 * Throws the signal's reason when aborted.
 */
export async function writePieces(
  path: string,
  pieces: Iterable<string> | AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await pipeline(pieces, createWriteStream(path, { flags: 'wx' }), { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
