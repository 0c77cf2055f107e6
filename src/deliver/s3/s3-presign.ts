import type { SecretSource } from '../../base/secrets/secret.ts';
import { DAY_MS, SECOND_MS } from '../../base/time.ts';
import type { S3Spec } from '../../definitions/schema/deliveries.ts';
import type { LinkTimes, SharedLink } from '../archive/storage/archive-storage.ts';
import type { S3Object } from '../targets/s3/s3-store.ts';
import { connectS3, type S3Connection } from './s3-client.ts';

/** The maximum of Signature Version 4. */
const MAX_PRESIGNED_TTL_MS = 7 * DAY_MS;

/**
 * A URL that opens without a login for up to seven days. It is signed at a whole number of days after the files were made,
 * so that a retry on the same day sends the same bytes. Undefined when it would expire within a day: a URL expires with the
 * credentials that signed it.
 */
export async function presignedLink(
  connection: S3Connection,
  { bucket, key }: { readonly bucket: string; readonly key: string },
  { now, madeAt }: LinkTimes,
): Promise<SharedLink | undefined> {
  const days = Math.floor((now - madeAt) / DAY_MS);
  const signedAt = days >= 0 ? madeAt + days * DAY_MS : now;
  // A failure here must not delay the e-mail, which can name another location.
  const expiresAt = await connection.credentialsExpireAt().catch(() => undefined);
  if (expiresAt === undefined) return undefined;
  const until = Math.min(signedAt + MAX_PRESIGNED_TTL_MS, expiresAt ?? Number.POSITIVE_INFINITY);
  if (until - now < DAY_MS) return undefined;
  const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
  const { sdk, client } = connection;
  const url = await getSignedUrl(client, new sdk.GetObjectCommand({ Bucket: bucket, Key: key }), {
    signingDate: new Date(signedAt),
    expiresIn: MAX_PRESIGNED_TTL_MS / SECOND_MS,
  });
  return { url, until };
}

const SOCKET_TIMEOUT_MS = 20_000;

/** A link to each object of a delivery, by file name: under the bucket's public URL, or signed; without those that cannot be signed. */
export async function objectLinks(
  spec: S3Spec,
  objects: readonly S3Object[],
  times: LinkTimes,
  secrets: SecretSource,
): Promise<ReadonlyMap<string, SharedLink>> {
  if (spec.public_url !== undefined) {
    const base = spec.public_url.replace(/\/$/, '');
    const urlOf = (key: string): string => `${base}/${key.split('/').map(encodeURIComponent).join('/')}`;
    return new Map(objects.map(({ key, artifact }) => [artifact.name, { url: urlOf(key), until: null }]));
  }
  // A failure must not fail the e-mail, which can name another location.
  const connection = await connectS3(spec, secrets, SOCKET_TIMEOUT_MS).catch(() => undefined);
  if (connection === undefined) return new Map();
  try {
    const links = new Map<string, SharedLink>();
    for (const { key, artifact } of objects) {
      const link = await presignedLink(connection, { bucket: spec.bucket, key }, times);
      if (link !== undefined) links.set(artifact.name, link);
    }
    return links;
  } finally {
    connection.close();
  }
}
