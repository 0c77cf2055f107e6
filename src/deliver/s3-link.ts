import type { SecretSource } from '../base/secret.ts';
import type { S3Spec } from '../define/target.ts';
import { connectS3, type S3Connection } from './s3-client.ts';
import type { S3Object } from './s3-store.ts';
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

const SILENCE_MS = 20_000;

/** A link to each object of a delivery, by its file's name: under the bucket's public URL, or signed; none where neither can be. */
export async function linksToObjects(
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
  // The files are there; that nobody can sign for them just now is no reason to lose the mail, which can name the place.
  const connection = await connectS3(spec, secrets, SILENCE_MS).catch(() => undefined);
  if (connection === undefined) return new Map();
  try {
    const links = new Map<string, SharedLink>();
    for (const { key, artifact } of objects) {
      const link = await signedLink(connection, { bucket: spec.bucket, key }, times);
      if (link !== undefined) links.set(artifact.name, link);
    }
    return links;
  } finally {
    connection.close();
  }
}
