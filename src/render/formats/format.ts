import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Artifact, ArtifactFormat } from '../artifact.ts';

/** A file to be made. */
export interface PlannedFile {
  readonly name: string;
  readonly format: ArtifactFormat;
  /** For the error about two files of one name. */
  readonly of: string;
  /** Writes it to `path`, which does not exist; `made` are the files of the jobs before it. */
  readonly write: (path: string, made: readonly Artifact[]) => Promise<void>;
}

/**
 * Writes pieces to a new file as they are made, no faster than the disk takes them. `path` must not exist.
 * Throws the signal's reason when aborted.
 */
export async function writeChunks(
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
