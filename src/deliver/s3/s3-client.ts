import { Readable } from 'node:stream';
import type { PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3';
import { DocketError } from '../../base/error.ts';
import { normalizeHost } from '../../base/net/private-address.ts';
import type { Redact } from '../../base/secrets/redactor.ts';
import type { SecretSource } from '../../base/secrets/secret.ts';
import type { Artifact } from '../../render/artifact.ts';
import { type AddressPolicy, guardedLookup, literalRefusal } from '../address-guard.ts';
import { artifactBytes, artifactChunks } from '../archive/run-folder.ts';
import type { S3Spec } from '../targets/s3/s3-schema.ts';

/** Address and credentials of a bucket, of a delivery or of the archive. */
export type S3Access = Pick<S3Spec, 'bucket' | 'endpoint' | 'region' | 'path_style' | 'credentials' | 'encryption'>;

export interface S3Connection {
  readonly sdk: typeof import('@aws-sdk/client-s3');
  readonly client: S3Client;
  /** Removes secrets from replies of the store. */
  readonly redact: Redact;
  /** Parameters of every write. */
  readonly encryption: Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId'>;
  /**
   * When the credentials expire, and URLs signed with them: epoch ms, null for credentials that do not expire, undefined
   * where it is not known.
   */
  credentialsExpireAt(): Promise<number | null | undefined>;
  close(): void;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** Attempts of the SDK at one request. A repeated conditional PUT finds the object of the first one. */
const MAX_ATTEMPTS = 3;
/** The SDK reads credentials by reference again five minutes before this expires, so a rotated key needs no restart. */
const CREDENTIALS_TTL_MS = 10 * 60_000;

/**
 * Throws `config.secret_missing`, `config.secret_refused`, `deliver.target_refused`.
 * @param addresses that may be connected to; any when absent, for the archive, which belongs to the deployment
 */
export async function connectS3(
  access: S3Access,
  secrets: SecretSource,
  socketTimeoutMs: number,
  addresses?: AddressPolicy,
): Promise<S3Connection> {
  const host = access.endpoint === undefined ? undefined : normalizeHost(new URL(access.endpoint).hostname);
  const refusal = host === undefined || addresses === undefined ? undefined : literalRefusal(host, addresses);
  if (refusal !== undefined)
    throw new DocketError('deliver.target_refused', `The endpoint is not connected to: ${refusal.message}.`);
  // Loaded on first use: it takes longer than the rest of a start.
  const sdk = await import('@aws-sdk/client-s3');
  const credentials = credentialsOf(access, secrets);
  // A missing secret is reported before the first request.
  await credentials?.();
  const client = new sdk.S3Client({
    ...(access.endpoint === undefined ? {} : { endpoint: access.endpoint, region: 'us-east-1' }),
    ...(access.region === undefined ? {} : { region: access.region }),
    ...(credentials === undefined ? {} : { credentials }),
    forcePathStyle: access.path_style ?? access.endpoint !== undefined,
    maxAttempts: MAX_ATTEMPTS,
    // Other stores refuse the trailers of the SDK's checksums; `putFile` sends its checksum as a header.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: socketTimeoutMs,
      ...(addresses === undefined ? {} : { httpAgent: guardedAgent(addresses), httpsAgent: guardedAgent(addresses) }),
    },
  });
  return {
    sdk,
    client,
    redact: secrets.redactor.redact,
    encryption: encryptionOf(access),
    credentialsExpireAt: async () => {
      if (access.credentials !== undefined) return access.credentials.session_token === undefined ? null : undefined;
      const { sessionToken, expiration } = await client.config.credentials();
      return sessionToken === undefined ? null : expiration?.getTime();
    },
    close: () => client.destroy(),
  };
}

/** Options of an HTTP agent that connects to no address the policy refuses. */
const guardedAgent = (addresses: AddressPolicy) => ({ lookup: guardedLookup(addresses) });

function credentialsOf({ credentials }: S3Access, secrets: SecretSource) {
  if (credentials === undefined) return undefined;
  return async () => {
    const [id, secret, token] = await Promise.all([
      secrets(credentials.access_key_id),
      secrets(credentials.secret_access_key),
      credentials.session_token === undefined ? undefined : secrets(credentials.session_token),
    ]);
    return {
      accessKeyId: id.reveal(),
      secretAccessKey: secret.reveal(),
      ...(token === undefined ? {} : { sessionToken: token.reveal() }),
      expiration: new Date(Date.now() + CREDENTIALS_TTL_MS),
    };
  };
}

const encryptionOf = ({ encryption }: S3Access): S3Connection['encryption'] =>
  encryption === undefined
    ? {}
    : encryption === 'AES256'
      ? { ServerSideEncryption: 'AES256' }
      : { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: encryption.kms_key };

/** RFC 6266: an ASCII file name for old clients, and the real one in UTF-8. */
function contentDisposition(name: string): string {
  const plain = name.replace(/[^ !#$&+.0-9A-Z^_a-z~-]/g, '_');
  const full = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${full}`;
}

/** The headers for browsers that open the object. */
export const objectHeaders = ({ name, mediaType }: Pick<Artifact, 'name' | 'mediaType'>) => ({
  ContentType: mediaType,
  ContentDisposition: contentDisposition(name),
});

/** Larger files are uploaded in parts of this size, two of them in memory. */
const PART_BYTES = 8 * 1024 * 1024;
const MAX_PARTS = 10_000;

/** Puts a file, in parts if it is large. The store verifies the SHA-256 of the file or of each part. */
export async function putFile(
  { sdk, client }: Pick<S3Connection, 'sdk' | 'client'>,
  params: PutObjectCommandInput,
  artifact: Artifact,
  signal: AbortSignal,
): Promise<void> {
  if (artifact.bytes <= PART_BYTES) {
    const Body = await artifactBytes(artifact);
    const ChecksumSHA256 = Buffer.from(artifact.sha256, 'hex').toString('base64');
    await client.send(new sdk.PutObjectCommand({ ...params, Body, ChecksumSHA256 }), { abortSignal: signal });
    return;
  }
  const { Upload } = await import('@aws-sdk/lib-storage');
  // The signal ends the body: the upload then fails and aborts itself, which removes its parts.
  await new Upload({
    client,
    params: {
      ...params,
      ChecksumAlgorithm: 'SHA256',
      ContentLength: artifact.bytes,
      Body: Readable.from(artifactChunks(artifact, signal), { objectMode: false }),
    },
    queueSize: 2,
    partSize: Math.max(PART_BYTES, Math.ceil(artifact.bytes / MAX_PARTS)),
  }).done();
}
