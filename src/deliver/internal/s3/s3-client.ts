import { Readable } from 'node:stream';
import type { PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3';
import { systemClock } from '../../../base/clock.ts';
import { DocketError } from '../../../base/error.ts';
import { normalizeHost } from '../../../base/net/private-address.ts';
import { proxiedAgent } from '../../../base/net/proxied-agent.ts';
import { type FindProxy, NO_PROXIES } from '../../../base/net/proxies.ts';
import type { Redact } from '../../../base/secrets/redactor.ts';
import type { SecretSource } from '../../../base/secrets/secret.ts';
import type { Artifact } from '../../../render/artifact.ts';
import { artifactBytes, artifactChunks } from '../../archive/run-folder/artifact-bytes.ts';
import type { S3Spec } from '../../targets/s3/s3-schema.ts';
import { type AddressPolicy, assertAllowedBehindProxy, guardedLookup, literalRefusal } from '../address-guard.ts';

/** Where a bucket is and how to log in, for a delivery or the archive. */
export type S3Access = Pick<S3Spec, 'bucket' | 'endpoint' | 'region' | 'path_style' | 'credentials' | 'encryption'>;

export interface S3Connection {
  readonly sdk: typeof import('@aws-sdk/client-s3');
  readonly client: S3Client;
  /** Removes secrets from the store's responses. */
  readonly redact: Redact;
  /** Set on every object that is written. */
  readonly encryption: Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId'>;
  /** Epoch ms at which the credentials, and URLs signed with them, expire. Null: never; undefined: unknown. */
  credentialsExpireAt(): Promise<number | null | undefined>;
  close(): void;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** The same settings as the SDK's own agent. */
const AGENT = { keepAlive: true, maxSockets: 50, timeout: CONNECT_TIMEOUT_MS } as const;
/** The SDK's attempts at one request. Repeating a PUT is safe: the second one finds its own object. */
const MAX_ATTEMPTS = 3;
/**
 * How long credentials from secret references are cached, by the SDK's clock. The SDK reads them again five minutes
 * earlier, so that a rotated key is used without a restart.
 */
const CREDENTIALS_TTL_MS = 10 * 60_000;

/**
 * Throws `deliver.target_refused`, `config.secret_missing`.
 * @param socketTimeoutMs closes a silent connection
 * @param addresses the allowed addresses. Absent: all, for the archive, which belongs to the deployment
 */
export async function connectS3(
  access: S3Access,
  secrets: SecretSource,
  socketTimeoutMs: number,
  findProxy: FindProxy = NO_PROXIES,
  addresses?: AddressPolicy,
): Promise<S3Connection> {
  const host = access.endpoint === undefined ? undefined : normalizeHost(new URL(access.endpoint).hostname);
  const refusal = host === undefined || addresses === undefined ? undefined : literalRefusal(host, addresses);
  if (refusal !== undefined)
    throw new DocketError('deliver.target_refused', `Docket does not connect to the endpoint: ${refusal.message}.`);
  // Turns off the SDK's warning about old Node.js versions: Docket's releases decide which versions are supported.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  // Lazy: loading the SDK takes longer than the rest of the start.
  const sdk = await import('@aws-sdk/client-s3');
  const credentials = buildCredentials(access, secrets);
  // Fails early if a secret is missing.
  await credentials?.();
  const client = new sdk.S3Client({
    ...(access.endpoint === undefined ? {} : { endpoint: access.endpoint, region: 'us-east-1' }),
    ...(access.region === undefined ? {} : { region: access.region }),
    ...(credentials === undefined ? {} : { credentials }),
    forcePathStyle: access.path_style ?? access.endpoint !== undefined,
    maxAttempts: MAX_ATTEMPTS,
    // Stores other than Amazon's refuse the trailers of the SDK's checksums. Docket's checksum is an ordinary header.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: socketTimeoutMs,
      httpAgent: agentFor('http:', findProxy, addresses),
      httpsAgent: agentFor('https:', findProxy, addresses),
    },
  });
  return {
    sdk,
    client,
    redact: secrets.redactor.redact,
    encryption: toEncryption(access),
    credentialsExpireAt: async () => {
      if (access.credentials !== undefined) return access.credentials.session_token === undefined ? null : undefined;
      const { sessionToken, expiration } = await client.config.credentials();
      return sessionToken === undefined ? null : expiration?.getTime();
    },
    close: () => client.destroy(),
  };
}

/** HTTP agents that connect to allowed addresses only. */
const agentFor = (protocol: 'http:' | 'https:', findProxy: FindProxy, addresses: AddressPolicy | undefined) =>
  addresses === undefined
    ? proxiedAgent(protocol, findProxy, AGENT)
    : proxiedAgent(protocol, findProxy, { ...AGENT, lookup: guardedLookup(addresses) }, (host) =>
        assertAllowedBehindProxy(host, addresses),
      );

function buildCredentials({ credentials }: S3Access, secrets: SecretSource) {
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
      expiration: new Date(systemClock.now() + CREDENTIALS_TTL_MS),
    };
  };
}

const toEncryption = ({ encryption }: S3Access): S3Connection['encryption'] =>
  encryption === undefined
    ? {}
    : encryption === 'AES256'
      ? { ServerSideEncryption: 'AES256' }
      : { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: encryption.kms_key };

/** A `Content-Disposition` header (RFC 6266), with an ASCII name for old programs and the name in UTF-8. */
function contentDisposition(name: string): string {
  const plain = name.replace(/[^ !#$&+.0-9A-Z^_a-z~-]/g, '_');
  const full = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${full}`;
}

/** Headers for browsers that open the object. */
export const objectHeaders = ({ name, mediaType }: Pick<Artifact, 'name' | 'mediaType'>) => ({
  ContentType: mediaType,
  ContentDisposition: contentDisposition(name),
});

/** Larger files are uploaded in parts of this size, two at a time in memory. */
const PART_BYTES = 8 * 1024 * 1024;
const MAX_PARTS = 10_000;

/** Uploads a file, in parts if it is large. The store verifies the hash of the file, or of each part. */
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
  // When the signal ends the body stream, the upload fails and removes its parts.
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
