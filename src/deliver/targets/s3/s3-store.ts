import { Readable } from 'node:stream';
import type { PutObjectCommandInput } from '@aws-sdk/client-s3';
import { type FindProxy, NO_PROXIES } from '../../../base/net/proxies.ts';
import type { SecretSource } from '../../../base/secrets/secret.ts';
import { sha256OfStream } from '../../../base/sha256.ts';
import type { Artifact } from '../../../render/artifact.ts';
import type { AddressPolicy } from '../../internal/address-guard.ts';
import { connectS3, objectHeaders, putFile } from '../../internal/s3/s3-client.ts';
import { classifyS3Error, type S3Failure } from '../../internal/s3/s3-failure.ts';
import type { S3Spec } from './s3-schema.ts';

/** A file and its key. */
export interface S3Object {
  readonly key: string;
  readonly artifact: Artifact;
}

/** How the object of a key compares with its file. `hidden`: the credentials may not read it. */
export type ObjectState = 'absent' | 'same' | 'other' | 'hidden';

const SOCKET_TIMEOUT_MS = 60_000;

const RUN_KEY = 'docket-run';
const SHA_KEY = 'docket-sha256';

/**
 * Connects to the bucket of a delivery. Every method rejects with an error that `failure` classifies. Throws `config.secret_missing`, `config.secret_refused`, `deliver.target_refused`.
 */
export async function openS3(
  spec: S3Spec,
  run: string,
  secrets: SecretSource,
  findProxy: FindProxy = NO_PROXIES,
  addresses: AddressPolicy = { allowPrivate: true },
) {
  const connection = await connectS3(spec, secrets, SOCKET_TIMEOUT_MS, findProxy, addresses);
  const { sdk, client, redact, encryption } = connection;
  const tagging = spec.tags ? { Tagging: `${RUN_KEY}=${run}` } : {};
  const toLocation = (key: string) => ({ Bucket: spec.bucket, Key: key });
  const putParams = ({ key, artifact }: S3Object, onlyNew: boolean): PutObjectCommandInput => ({
    ...toLocation(key),
    ...encryption,
    ...tagging,
    ...(onlyNew ? { IfNoneMatch: '*' } : {}),
    ...objectHeaders(artifact),
    Metadata: { [RUN_KEY]: run, [SHA_KEY]: artifact.sha256 },
  });

  const readDigest = async (key: string): Promise<string> => {
    const { Body } = await client.send(new sdk.GetObjectCommand(toLocation(key)));
    return sha256OfStream(Body instanceof Readable ? Body : Readable.from([]));
  };

  return {
    compare: async ({ key, artifact }: S3Object): Promise<ObjectState> => {
      try {
        const { ContentLength, Metadata } = await client.send(new sdk.HeadObjectCommand(toLocation(key)));
        if (ContentLength !== artifact.bytes) return 'other';
        // One step writes both bytes and metadata, so the hash in the metadata belongs to these bytes.
        if (Metadata?.[SHA_KEY] !== undefined) return Metadata[SHA_KEY] === artifact.sha256 ? 'same' : 'other';
        return (await readDigest(key)) === artifact.sha256 ? 'same' : 'other';
      } catch (error) {
        const { status, code } = classifyS3Error(error, redact);
        if (status === 404 && code !== 'NoSuchBucket') return 'absent';
        // Without list permission, a role gets 403 for an absent object.
        if (status === 403) return 'hidden';
        throw error;
      }
    },
    /** @param onlyNew refuses an existing key with 412, in stores that support conditional writes */
    put: (object: S3Object, onlyNew: boolean, signal: AbortSignal) =>
      putFile(connection, putParams(object, onlyNew), object.artifact, signal),
    /** Begins an upload and aborts it. This proves that the credentials may write, and leaves no object. */
    probe: async (key: string): Promise<void> => {
      const begun = await client.send(
        new sdk.CreateMultipartUploadCommand({ ...toLocation(key), ...encryption, ...tagging }),
      );
      await client.send(new sdk.AbortMultipartUploadCommand({ ...toLocation(key), UploadId: begun.UploadId }));
    },
    failure: (error: unknown): S3Failure => classifyS3Error(error, redact),
    close: connection.close,
  };
}
export type S3Store = Awaited<ReturnType<typeof openS3>>;
