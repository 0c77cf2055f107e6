import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { PutObjectCommandInput } from '@aws-sdk/client-s3';
import { DocketError } from '../../../base/error.ts';
import { createRedactor, type Redact } from '../../../base/secrets/redactor.ts';
import type { S3Connection } from '../../s3/s3-client.ts';
import { classifyS3Error, isTransient, type S3Failure } from '../../s3/s3-failure.ts';

export interface ListedObject {
  readonly key: string;
  /** Epoch ms. */
  readonly at: number;
}

/** The objects of the archive's bucket. Throws `archive.unreachable` or `archive.unwritable` with the store's answer. */
export interface S3Objects {
  get(key: string): Promise<Buffer | undefined>;
  stream(key: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  exists(key: string): Promise<boolean>;
  put(key: string, bytes: string | Uint8Array, about?: Partial<PutObjectCommandInput>): Promise<void>;
  /** As `put`, where no object exists. Resolves with the store's refusal; undefined when the object is written. */
  putIfAbsent(key: string, bytes: string): Promise<S3Failure | undefined>;
  /** Sorted by key. */
  list(prefix: string): AsyncGenerator<ListedObject>;
  /** Names between the prefix, which ends with `/` or is empty, and the next `/`. */
  listPrefixes(prefix: string): Promise<readonly string[]>;
  delete(key: string): Promise<void>;
  /** As `delete`. Throws `archive.locked` where the store refuses (403): a lock, or a missing permission. */
  deleteUnlocked(key: string): Promise<void>;
  /** The Object Lock of an object at `now`, epoch ms; undefined where there is none, or no permission to see it. */
  describeLock(key: string, now: number): Promise<string | undefined>;
  /** A thrown error as `archive.unwritable`. */
  toUnwritable(error: unknown): unknown;
}

/** For requests with small bodies. */
const REQUEST_TIMEOUT_MS = 60_000;

type ArchiveErrorCode = 'archive.unreachable' | 'archive.unwritable';

/** A failure of the store as an error of the archive. */
export const storeError = (code: ArchiveErrorCode, failure: S3Failure, location: string): DocketError =>
  new DocketError(
    code,
    `The archive cannot be ${code === 'archive.unwritable' ? 'written' : 'read'}: ${failure.detail}.`,
    {
      where: location,
      transient: isTransient(failure),
      next: 'Check the store, its bucket and the permissions of the credentials; docket doctor tests them.',
    },
  );

/** @param connect opens the connection, or returns the open one */
export function s3Objects(bucket: string, location: string, connect: () => Promise<S3Connection>): S3Objects {
  // The first connection replaces it; before that there is no answer to redact.
  let redact: Redact = createRedactor().redact;
  const failure = (error: unknown): S3Failure => classifyS3Error(error, redact);
  /** Without the cause, which contains the request with its signature. */
  const toArchiveError = (error: unknown, code: ArchiveErrorCode): unknown =>
    error instanceof DocketError ? error : storeError(code, failure(error), location);
  const request = async <T>(code: ArchiveErrorCode, send: (connection: S3Connection) => Promise<T>): Promise<T> => {
    try {
      const connection = await connect();
      redact = connection.redact;
      return await send(connection);
    } catch (error) {
      throw toArchiveError(error, code);
    }
  };
  const unlessMissing = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      const { status, code } = failure(error);
      if (status === 404 && code !== 'NoSuchBucket') return undefined;
      throw error;
    }
  };
  const withTimeout = () => ({ abortSignal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  const object = (key: string) => ({ Bucket: bucket, Key: key });

  const send = (
    { sdk, client, encryption }: S3Connection,
    key: string,
    bytes: string | Uint8Array,
    about: Partial<PutObjectCommandInput> = {},
  ) => {
    const Body = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    return client.send(
      new sdk.PutObjectCommand({
        ContentType: contentType(key),
        ...about,
        ...object(key),
        ...encryption,
        Body,
        ...checksumHeader(Body),
      }),
      withTimeout(),
    );
  };

  async function* pages(prefix: string, delimiter?: string) {
    for (let token: string | undefined; ; ) {
      const page = await request('archive.unreachable', ({ sdk, client }) =>
        client.send(
          new sdk.ListObjectsV2Command({
            Bucket: bucket,
            Prefix: prefix,
            ...(delimiter === undefined ? {} : { Delimiter: delimiter }),
            ...(token === undefined ? {} : { ContinuationToken: token }),
          }),
          withTimeout(),
        ),
      );
      yield page;
      token = page.NextContinuationToken;
      if (page.IsTruncated !== true || token === undefined) return;
    }
  }

  return {
    get: (key) =>
      request('archive.unreachable', ({ sdk, client }) =>
        unlessMissing(async () => {
          const { Body } = await client.send(new sdk.GetObjectCommand(object(key)), withTimeout());
          return Body === undefined ? Buffer.alloc(0) : Buffer.from(await Body.transformToByteArray());
        }),
      ),
    stream: async (key) => {
      const found = await request('archive.unreachable', ({ sdk, client }) =>
        unlessMissing(() => client.send(new sdk.GetObjectCommand(object(key)))),
      );
      if (found === undefined) return undefined;
      return (async function* () {
        try {
          if (found.Body instanceof Readable) yield* found.Body;
        } catch (error) {
          throw toArchiveError(error, 'archive.unreachable');
        }
      })();
    },
    exists: (key) =>
      request('archive.unreachable', async ({ sdk, client }) => {
        const found = await unlessMissing(() => client.send(new sdk.HeadObjectCommand(object(key)), withTimeout()));
        return found !== undefined;
      }),
    put: (key, bytes, about) =>
      request('archive.unwritable', async (connection) => {
        await send(connection, key, bytes, about);
      }),
    putIfAbsent: (key, bytes) =>
      request('archive.unwritable', async (connection) => {
        try {
          await send(connection, key, bytes, { IfNoneMatch: '*' });
          return undefined;
        } catch (error) {
          return failure(error);
        }
      }),
    async *list(prefix) {
      for await (const { Contents } of pages(prefix)) {
        for (const { Key, LastModified } of Contents ?? []) {
          if (Key !== undefined) yield { key: Key, at: LastModified?.getTime() ?? 0 };
        }
      }
    },
    listPrefixes: async (prefix) => {
      const names: string[] = [];
      for await (const { CommonPrefixes } of pages(prefix, '/')) {
        names.push(...(CommonPrefixes ?? []).flatMap(({ Prefix }) => Prefix?.slice(prefix.length, -1) ?? []));
      }
      return names;
    },
    delete: (key) =>
      request('archive.unwritable', async ({ sdk, client }) => {
        await client.send(new sdk.DeleteObjectCommand(object(key)), withTimeout());
      }),
    deleteUnlocked: (key) =>
      request('archive.unwritable', async ({ sdk, client }) => {
        try {
          await client.send(new sdk.DeleteObjectCommand(object(key)), withTimeout());
        } catch (error) {
          const { status, detail } = failure(error);
          if (status !== 403) throw error;
          throw new DocketError('archive.locked', `The store refuses to delete ${key}: ${detail}.`, {
            where: location,
            next: 'Wait until its lock or legal hold ends, or grant the credentials s3:DeleteObject.',
          });
        }
      }),
    describeLock: (key, now) =>
      request('archive.unreachable', async ({ sdk, client }) => {
        const head = await unlessMissing(() => client.send(new sdk.HeadObjectCommand(object(key)), withTimeout()));
        const until = head?.ObjectLockRetainUntilDate;
        if (head?.ObjectLockLegalHoldStatus === 'ON') return 'under a legal hold';
        return until === undefined || until.getTime() <= now ? undefined : `locked until ${until.toISOString()}`;
      }),
    toUnwritable: (error) => toArchiveError(error, 'archive.unwritable'),
  };
}

/** The store compares it with what it received. */
const checksumHeader = (bytes: Uint8Array) => ({ ChecksumSHA256: createHash('sha256').update(bytes).digest('base64') });

const CONTENT_TYPES: readonly (readonly [RegExp, string])[] = [
  [/\.json$/, 'application/json'],
  [/\.html$/, 'text/html; charset=utf-8'],
  [/\.(txt|sha256)$/, 'text/plain; charset=utf-8'],
  [/\.eml$/, 'message/rfc822'],
  [/\.png$/, 'image/png'],
];
const contentType = (key: string): string =>
  CONTENT_TYPES.find(([ending]) => ending.test(key))?.[1] ?? 'application/octet-stream';
