import type { PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3';
import { DocketError } from '../base/error.ts';
import { canonicalHost } from '../base/private-address.ts';
import type { Redact } from '../base/redactor.ts';
import type { SecretSource } from '../base/secret.ts';
import type { S3Spec } from '../define/target.ts';
import type { Artifact } from '../render/artifact.ts';
import { type AddressPolicy, guardedLookup, literalRefusal } from './guarded-lookup.ts';

/** How a bucket is reached and who we are there: of a delivery, or of the archive. */
export type S3Access = Pick<S3Spec, 'bucket' | 'endpoint' | 'region' | 'path_style' | 'credentials' | 'encryption'>;

export interface S3Connection {
  readonly sdk: typeof import('@aws-sdk/client-s3');
  readonly client: S3Client;
  /** Takes out of an answer of the store what must not be repeated. */
  readonly redact: Redact;
  /** Of every object that is written. */
  readonly encryption: Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId'>;
  /**
   * Epoch ms until which what is signed now is good for, as far as the credentials go: null where they do not end,
   * undefined where nobody knows when they do.
   */
  credentialsEnd(): Promise<number | null | undefined>;
  close(): void;
}

const CONNECT_MS = 5_000;
/** Tries of one request by the SDK; a PUT that is repeated finds its own object and says so. */
const TRIES = 3;
/**
 * Credentials by reference are given to the SDK for so long, by its own clock; it asks again five minutes before that. So a
 * rotated key is used without a restart.
 */
const LENT_MS = 10 * 60_000;

/**
 * @param silenceMs after which a connection that says nothing is given up
 * @param addresses that may be connected to; any when absent, for the archive, which is the deployment's own
 */
export async function connectS3(
  access: S3Access,
  secrets: SecretSource,
  silenceMs: number,
  addresses?: AddressPolicy,
): Promise<S3Connection> {
  const host = access.endpoint === undefined ? undefined : canonicalHost(new URL(access.endpoint).hostname);
  const refusal = host === undefined || addresses === undefined ? undefined : literalRefusal(host, addresses);
  if (refusal !== undefined)
    throw new DocketError('deliver.target_refused', `The endpoint is not connected to: ${refusal.message}.`);
  // Loaded here and not before: it takes longer than all the rest of a start.
  const sdk = await import('@aws-sdk/client-s3');
  const credentials = credentialsOf(access, secrets);
  // A reference that leads nowhere is told before anything is asked.
  await credentials?.();
  const client = new sdk.S3Client({
    ...(access.endpoint === undefined ? {} : { endpoint: access.endpoint, region: 'us-east-1' }),
    ...(access.region === undefined ? {} : { region: access.region }),
    ...(credentials === undefined ? {} : { credentials }),
    forcePathStyle: access.path_style ?? access.endpoint !== undefined,
    maxAttempts: TRIES,
    // Stores other than Amazon's refuse the trailers that carry the SDK's own checksums; ours is an ordinary header.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: silenceMs,
      ...(addresses === undefined ? {} : { httpAgent: guarded(addresses), httpsAgent: guarded(addresses) }),
    },
  });
  return {
    sdk,
    client,
    redact: secrets.redactor.redact,
    encryption: encryptionOf(access),
    credentialsEnd: async () => {
      if (access.credentials !== undefined) return access.credentials.session_token === undefined ? null : undefined;
      const { sessionToken, expiration } = await client.config.credentials();
      return sessionToken === undefined ? null : expiration?.getTime();
    },
    close: () => client.destroy(),
  };
}

/** Options of an agent whose connections lead to no address that the policy refuses. */
const guarded = (addresses: AddressPolicy) => ({ lookup: guardedLookup(addresses) });

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
      expiration: new Date(Date.now() + LENT_MS),
    };
  };
}

const encryptionOf = ({ encryption }: S3Access): S3Connection['encryption'] =>
  encryption === undefined
    ? {}
    : encryption === 'AES256'
      ? { ServerSideEncryption: 'AES256' }
      : { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: encryption.kms_key };

/** RFC 6266: a plain name for old programs, the real one in UTF-8 beside it. */
function disposition(name: string): string {
  const plain = name.replace(/[^ !#$&+.0-9A-Z^_a-z~-]/g, '_');
  const full = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${full}`;
}

/** What a browser that opens the object is told of it. */
export const described = ({ name, mediaType }: Pick<Artifact, 'name' | 'mediaType'>) => ({
  ContentType: mediaType,
  ContentDisposition: disposition(name),
});
