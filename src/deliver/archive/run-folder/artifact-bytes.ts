import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { sha256 } from '../../../base/sha256.ts';
import type { Artifact } from '../../../render/artifact.ts';
import { archiveCorrupt, throwMissingFile } from '../archive-errors.ts';

function assertSha256(artifact: Artifact, actual: string): void {
  if (actual === artifact.sha256) return;
  throw archiveCorrupt(dirname(artifact.path), `${artifact.name} has changed`, {
    expected: `SHA-256 ${artifact.sha256}`,
    got: actual,
  });
}

const throwMissing = (artifact: Artifact) => throwMissingFile(dirname(artifact.path), artifact.name);

/** Reads an artifact's bytes and compares them with its hash. Throws `archive.corrupt`, `archive.unreachable`. */
export async function artifactBytes(artifact: Artifact): Promise<Buffer> {
  const bytes = await readFile(artifact.path).catch(throwMissing(artifact));
  assertSha256(artifact, sha256(bytes));
  return bytes;
}

const ARTIFACT_CHUNK_BYTES = 1024 * 1024;

/**
 * Reads an artifact in chunks of 1 MiB, so that large files need not fit into memory. Compares the hash before the last
 * chunk: callers must not complete their file before the generator has ended. Throws `archive.corrupt`,
 * `archive.unreachable` and the signal's reason.
 */
export async function* artifactChunks(artifact: Artifact, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  const hash = createHash('sha256');
  const file = await open(artifact.path, 'r').catch(throwMissing(artifact));
  try {
    let position = 0;
    // Reads to the end of the file, not to the expected size, so that the hash reveals a file that has grown.
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead, buffer } = await file.read(
        Buffer.allocUnsafe(ARTIFACT_CHUNK_BYTES),
        0,
        ARTIFACT_CHUNK_BYTES,
        position,
      );
      const isLast = bytesRead < ARTIFACT_CHUNK_BYTES;
      const chunk = buffer.subarray(0, bytesRead);
      hash.update(chunk);
      position += bytesRead;
      if (isLast) assertSha256(artifact, hash.digest('hex'));
      if (bytesRead > 0) yield chunk;
      if (isLast) return;
    }
  } finally {
    await file.close();
  }
}
