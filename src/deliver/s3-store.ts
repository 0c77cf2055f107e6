import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3';
import type { Secret, SecretSource } from '../base/secret.ts';
import type { S3Spec } from '../define/target.ts';
import type { Artifact } from '../render/artifact.ts';
import { readS3Failure, type S3Failure } from './s3-failure.ts';
import { artifactBytes, artifactPieces } from './sealed-folder.ts';

/** One file on its way to its key. */
export interface S3Object {
  readonly key: string;
  readonly artifact: Artifact;
}

/** What stands under a key, compared with the file meant for it. `hidden`: we may not know. */
export type Standing = 'absent' | 'same' | 'other' | 'hidden';

/** A bucket, spoken to as the definition says. Every method rejects with what `failure` reads. */
export interface S3Store {
  look(object: S3Object): Promise<Standing>;
  /** @param onlyNew refused with 412 when something stands there, by the stores that know the condition */
  put(object: S3Object, onlyNew: boolean, signal: AbortSignal): Promise<void>;
  /** Begins an upload under this key and gives it up: proves that we may write, and leaves nothing anybody could see. */
  probe(key: string): Promise<void>;
  failure(error: unknown): S3Failure;
  close(): void;
}

/** Above this a file goes in parts. Parts are kept in memory, two at once. */
const PART_BYTES = 8 * 1024 * 1024;
const MAX_PARTS = 10_000;
const CONNECT_MS = 5_000;
const SILENCE_MS = 60_000;
/** Tries of one request by the SDK; a PUT that is repeated finds its own object and says so. */
const TRIES = 3;

const RUN_KEY = 'docket-run';
const SHA_KEY = 'docket-sha256';

/** RFC 6266: a plain name for old programs, the real one in UTF-8 beside it. */
function disposition(name: string): string {
  const plain = name.replace(/[^ !#$&+.0-9A-Z^_a-z~-]/g, '_');
  const full = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${full}`;
}

/**
 * Opens a client of the official SDK, which is loaded here and not before: it takes longer than all the rest of a start.
 * Throws `config.secret_missing`.
 */
export async function openS3(spec: S3Spec, run: string, secrets: SecretSource): Promise<S3Store> {
  const [sdk, { Upload }] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')]);
  const { credentials, known } = await readCredentials(spec, secrets);
  const client: S3Client = new sdk.S3Client({
    ...(spec.endpoint === undefined ? {} : { endpoint: spec.endpoint, region: 'us-east-1' }),
    ...(spec.region === undefined ? {} : { region: spec.region }),
    ...(credentials === undefined ? {} : { credentials }),
    forcePathStyle: spec.path_style ?? spec.endpoint !== undefined,
    maxAttempts: TRIES,
    // Stores other than Amazon's refuse the trailers that carry the SDK's own checksums; ours is an ordinary header.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS },
  });
  const encryption =
    spec.encryption === undefined
      ? {}
      : spec.encryption === 'AES256'
        ? { ServerSideEncryption: 'AES256' as const }
        : { ServerSideEncryption: 'aws:kms' as const, SSEKMSKeyId: spec.encryption.kms_key };
  const tagging = spec.tags ? { Tagging: `${RUN_KEY}=${run}` } : {};
  const place = (key: string) => ({ Bucket: spec.bucket, Key: key });
  const about = ({ key, artifact }: S3Object, onlyNew: boolean): PutObjectCommandInput => ({
    ...place(key),
    ...encryption,
    ...tagging,
    ...(onlyNew ? { IfNoneMatch: '*' } : {}),
    ContentType: artifact.mediaType,
    ContentDisposition: disposition(artifact.name),
    Metadata: { [RUN_KEY]: run, [SHA_KEY]: artifact.sha256 },
  });

  const digestOf = async (key: string): Promise<string> => {
    const { Body } = await client.send(new sdk.GetObjectCommand(place(key)));
    const hash = createHash('sha256');
    if (Body instanceof Readable) for await (const chunk of Body) hash.update(chunk);
    return hash.digest('hex');
  };

  return {
    look: async ({ key, artifact }) => {
      try {
        const { ContentLength, Metadata } = await client.send(new sdk.HeadObjectCommand(place(key)));
        if (ContentLength !== artifact.bytes) return 'other';
        // Bytes and metadata come to stand in one step, so what we wrote beside the bytes is true of them.
        if (Metadata?.[SHA_KEY] !== undefined) return Metadata[SHA_KEY] === artifact.sha256 ? 'same' : 'other';
        return (await digestOf(key)) === artifact.sha256 ? 'same' : 'other';
      } catch (error) {
        const { status, code } = readS3Failure(error, known);
        if (status === 404 && code !== 'NoSuchBucket') return 'absent';
        // A role that may write and not list gets 403 for what is not there.
        if (status === 403) return 'hidden';
        throw error;
      }
    },
    put: async (object, onlyNew, signal) => {
      const { artifact } = object;
      if (artifact.bytes <= PART_BYTES) {
        const Body = await artifactBytes(artifact);
        const ChecksumSHA256 = Buffer.from(artifact.sha256, 'hex').toString('base64');
        const command = new sdk.PutObjectCommand({ ...about(object, onlyNew), Body, ChecksumSHA256 });
        await client.send(command, { abortSignal: signal });
        return;
      }
      // Stopping goes through the bytes: then the upload ends by itself and takes its parts back.
      await new Upload({
        client,
        params: {
          ...about(object, onlyNew),
          ChecksumAlgorithm: 'SHA256',
          ContentLength: artifact.bytes,
          Body: Readable.from(artifactPieces(artifact, signal), { objectMode: false }),
        },
        queueSize: 2,
        partSize: Math.max(PART_BYTES, Math.ceil(artifact.bytes / MAX_PARTS)),
      }).done();
    },
    probe: async (key) => {
      const begun = await client.send(
        new sdk.CreateMultipartUploadCommand({ ...place(key), ...encryption, ...tagging }),
      );
      await client.send(new sdk.AbortMultipartUploadCommand({ ...place(key), UploadId: begun.UploadId }));
    },
    failure: (error) => readS3Failure(error, known),
    close: () => client.destroy(),
  };
}

interface Credentials {
  readonly credentials:
    | { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string }
    | undefined;
  /** What must not be repeated from an answer of the store. */
  readonly known: readonly Secret[];
}

async function readCredentials({ credentials }: S3Spec, secrets: SecretSource): Promise<Credentials> {
  if (credentials === undefined) return { credentials: undefined, known: [] };
  const [id, secret] = await Promise.all([secrets(credentials.access_key_id), secrets(credentials.secret_access_key)]);
  const token = credentials.session_token === undefined ? undefined : await secrets(credentials.session_token);
  return {
    credentials: {
      accessKeyId: id.reveal(),
      secretAccessKey: secret.reveal(),
      ...(token === undefined ? {} : { sessionToken: token.reveal() }),
    },
    known: [id, secret, ...(token === undefined ? [] : [token])],
  };
}
