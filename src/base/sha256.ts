import { createHash, hash } from 'node:crypto';

/** SHA-256 (hex) of bytes, or of a text in UTF-8. */
export const sha256 = (data: string | Uint8Array): string => hash('sha256', data);

/** SHA-256 (hex) of all chunks of a stream. */
export async function sha256OfStream(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of chunks) digest.update(chunk);
  return digest.digest('hex');
}
