import type { S3Connection } from './s3-client.ts';
import type { LinkTimes, SharedLink } from './shelf.ts';

const DAY_MS = 86_400_000;
/** The most that Signature Version 4 allows. */
const SIGNED_MS = 7 * DAY_MS;

/**
 * A URL by which whoever has it may read the object, for up to seven days. It is signed as of the last full day since the
 * files were made, so that a retry of the same day sends the same bytes. Undefined when it would not hold for a day: what
 * is signed with credentials of a session ends with the session.
 */
export async function signedLink(
  connection: S3Connection,
  { bucket, key }: { readonly bucket: string; readonly key: string },
  { now, madeAt }: LinkTimes,
): Promise<SharedLink | undefined> {
  const days = Math.floor((now - madeAt) / DAY_MS);
  const signedAt = days >= 0 ? madeAt + days * DAY_MS : now;
  // Who we are cannot be found out just now: the mail need not wait for it where it can name another place.
  const end = await connection.credentialsEnd().catch(() => undefined);
  if (end === undefined) return undefined;
  const until = Math.min(signedAt + SIGNED_MS, end ?? Number.POSITIVE_INFINITY);
  if (until - now < DAY_MS) return undefined;
  const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
  const { sdk, client } = connection;
  const url = await getSignedUrl(client, new sdk.GetObjectCommand({ Bucket: bucket, Key: key }), {
    signingDate: new Date(signedAt),
    expiresIn: SIGNED_MS / 1000,
  });
  return { url, until };
}
