import { Readable } from 'node:stream';
import type { PutObjectCommandInput } from '@aws-sdk/client-s3';
import type { Artifact } from '../render/artifact.ts';
import type { S3Connection } from './s3-client.ts';
import { artifactBytes, artifactPieces } from './sealed-folder.ts';

/** Above this a file goes in parts. Parts are kept in memory, two at once. */
const PART_BYTES = 8 * 1024 * 1024;
const MAX_PARTS = 10_000;

/** Puts a file, in parts when it is large; the store is told its hash, or its parts', and refuses other bytes. */
export async function putFile(
  { sdk, client }: Pick<S3Connection, 'sdk' | 'client'>,
  about: PutObjectCommandInput,
  artifact: Artifact,
  signal: AbortSignal,
): Promise<void> {
  if (artifact.bytes <= PART_BYTES) {
    const Body = await artifactBytes(artifact);
    const ChecksumSHA256 = Buffer.from(artifact.sha256, 'hex').toString('base64');
    await client.send(new sdk.PutObjectCommand({ ...about, Body, ChecksumSHA256 }), { abortSignal: signal });
    return;
  }
  const { Upload } = await import('@aws-sdk/lib-storage');
  // Stopping goes through the bytes: then the upload ends by itself and takes its parts back.
  await new Upload({
    client,
    params: {
      ...about,
      ChecksumAlgorithm: 'SHA256',
      ContentLength: artifact.bytes,
      Body: Readable.from(artifactPieces(artifact, signal), { objectMode: false }),
    },
    queueSize: 2,
    partSize: Math.max(PART_BYTES, Math.ceil(artifact.bytes / MAX_PARTS)),
  }).done();
}
