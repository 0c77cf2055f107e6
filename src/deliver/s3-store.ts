import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { PutObjectCommandInput } from '@aws-sdk/client-s3';
import type { SecretSource } from '../base/secret.ts';
import type { S3Spec } from '../define/target.ts';
import type { Artifact } from '../render/artifact.ts';
import type { AddressPolicy } from './guarded-lookup.ts';
import { connectS3, described } from './s3-client.ts';
import { readS3Failure, type S3Failure } from './s3-failure.ts';
import { putFile } from './s3-upload.ts';

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

const SILENCE_MS = 60_000;

const RUN_KEY = 'docket-run';
const SHA_KEY = 'docket-sha256';

/** Opens a client of the official SDK. Throws `config.secret_missing`, `config.secret_refused`, `deliver.target_refused`. */
export async function openS3(
  spec: S3Spec,
  run: string,
  secrets: SecretSource,
  addresses: AddressPolicy = { allowPrivate: true },
): Promise<S3Store> {
  const connection = await connectS3(spec, secrets, SILENCE_MS, addresses);
  const { sdk, client, redact, encryption } = connection;
  const tagging = spec.tags ? { Tagging: `${RUN_KEY}=${run}` } : {};
  const place = (key: string) => ({ Bucket: spec.bucket, Key: key });
  const about = ({ key, artifact }: S3Object, onlyNew: boolean): PutObjectCommandInput => ({
    ...place(key),
    ...encryption,
    ...tagging,
    ...(onlyNew ? { IfNoneMatch: '*' } : {}),
    ...described(artifact),
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
        const { status, code } = readS3Failure(error, redact);
        if (status === 404 && code !== 'NoSuchBucket') return 'absent';
        // A role that may write and not list gets 403 for what is not there.
        if (status === 403) return 'hidden';
        throw error;
      }
    },
    put: (object, onlyNew, signal) => putFile(connection, about(object, onlyNew), object.artifact, signal),
    probe: async (key) => {
      const begun = await client.send(
        new sdk.CreateMultipartUploadCommand({ ...place(key), ...encryption, ...tagging }),
      );
      await client.send(new sdk.AbortMultipartUploadCommand({ ...place(key), UploadId: begun.UploadId }));
    },
    failure: (error) => readS3Failure(error, redact),
    close: connection.close,
  };
}
