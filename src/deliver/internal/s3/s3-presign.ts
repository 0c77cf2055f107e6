import { DAY_MS, SECOND_MS } from '../../../base/time.ts';
import type { LinkTimes, SharedLink } from '../../archive/storage/archive-storage.ts';
import type { S3Connection } from './s3-client.ts';

/** The maximum in Signature Version 4. */
const MAX_PRESIGNED_TTL_MS = 7 * DAY_MS;

/**
 * A URL that opens without a login for up to seven days. Its signature date is a whole number of days after the files
 * were made, so that a retry on the same day sends the same bytes. Undefined if the URL would expire within a day: it
 * expires with the credentials that sign it.
 */
export async function presignedLink(
  connection: S3Connection,
  { bucket, key }: { readonly bucket: string; readonly key: string },
  { now, madeAt }: LinkTimes,
): Promise<SharedLink | undefined> {
  const days = Math.floor((now - madeAt) / DAY_MS);
  const signedAt = days >= 0 ? madeAt + days * DAY_MS : now;
  // A failure must not delay the e-mail, which can name another location.
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
