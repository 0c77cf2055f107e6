import type { Artifact } from '../../render/artifact.ts';
import { artifactBytes } from '../archive/run-folder/artifact-bytes.ts';
import { encodeBase64 } from './email/email-message.ts';
import type { SharedFiles } from './target.ts';

/** Keeps what was read and encoded for as long as its caller keeps it: one call of `deliver`. */
export function sharedFiles(): SharedFiles {
  const read = new Map<Artifact, Promise<Buffer>>();
  const encoded = new Map<Uint8Array, Buffer>();
  return {
    bytesOf: (artifact) => {
      const found = read.get(artifact) ?? artifactBytes(artifact);
      read.set(artifact, found);
      return found;
    },
    encode: (bytes) => {
      const found = encoded.get(bytes) ?? encodeBase64(bytes);
      encoded.set(bytes, found);
      return found;
    },
  };
}
