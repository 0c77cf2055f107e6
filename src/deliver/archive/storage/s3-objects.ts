import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { PutObjectCommandInput } from '@aws-sdk/client-s3';
import { DocketError } from '../../../base/error.ts';
import { createRedactor, type Redact } from '../../../base/secrets/redactor.ts';
import type { S3Connection } from '../../internal/s3/s3-client.ts';
import { classifyS3Error, isTransient, type S3Failure } from '../../internal/s3/s3-failure.ts';

/** Limit for requests with small bodies. */
const REQUEST_TIMEOUT_MS = 60_000;

type ArchiveErrorCode = 'archive.unreachable' | 'archive.unwritable';

/** Turns a failure of the store into an archive error. */
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

/**
 * Reads and writes the objects of the archive's bucket. Throws `archive.unreachable` or `archive.unwritable` with the
 * store's response.
 * @param connect opens the connection, or returns the open one
 */
export function s3Objects(bucket: string, location: string, connect: () => Promise<S3Connection>) {
  // The first connection replaces this; before, there is no response to redact.
  let redact: Redact = createRedactor().redact;
  const failure = (error: unknown): S3Failure => classifyS3Error(error, redact);
  /** Drops the cause, which contains the signed request. */
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

  const remove = async ({ sdk, client }: S3Connection, key: string): Promise<void> => {
    await client.send(new sdk.DeleteObjectCommand(object(key)), withTimeout());
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
    get: (key: string): Promise<Buffer | undefined> =>
      request('archive.unreachable', ({ sdk, client }) =>
        unlessMissing(async () => {
          const { Body } = await client.send(new sdk.GetObjectCommand(object(key)), withTimeout());
          return Body === undefined ? Buffer.alloc(0) : Buffer.from(await Body.transformToByteArray());
        }),
      ),
    stream: async (key: string): Promise<AsyncIterable<Uint8Array> | undefined> => {
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
    exists: (key: string): Promise<boolean> =>
      request('archive.unreachable', async ({ sdk, client }) => {
        const found = await unlessMissing(() => client.send(new sdk.HeadObjectCommand(object(key)), withTimeout()));
        return found !== undefined;
      }),
    put: (key: string, bytes: string | Uint8Array): Promise<void> =>
      request('archive.unwritable', async (connection) => {
        await send(connection, key, bytes);
      }),
    /** Writes an object if the key is free. Resolves to the store's refusal; undefined once the object is written. */
    putIfAbsent: (key: string, bytes: string): Promise<S3Failure | undefined> =>
      request('archive.unwritable', async (connection) => {
        try {
          await send(connection, key, bytes, { IfNoneMatch: '*' });
          return undefined;
        } catch (error) {
          return failure(error);
        }
      }),
    /** Sorted by key; `at` in epoch ms. */
    async *list(prefix: string) {
      for await (const { Contents } of pages(prefix)) {
        for (const { Key, LastModified } of Contents ?? []) {
          if (Key !== undefined) yield { key: Key, at: LastModified?.getTime() ?? 0 };
        }
      }
    },
    /** Names between the prefix and the next `/`. The prefix is empty or ends with `/`. */
    listPrefixes: async (prefix: string): Promise<readonly string[]> => {
      const names: string[] = [];
      for await (const { CommonPrefixes } of pages(prefix, '/')) {
        names.push(...(CommonPrefixes ?? []).flatMap(({ Prefix }) => Prefix?.slice(prefix.length, -1) ?? []));
      }
      return names;
    },
    delete: (key: string): Promise<void> => request('archive.unwritable', (connection) => remove(connection, key)),
    /** Deletes an object. Throws `archive.locked` if the store refuses (403): a lock, or a missing permission. */
    deleteUnlocked: (key: string): Promise<void> =>
      request('archive.unwritable', async (connection) => {
        try {
          await remove(connection, key);
        } catch (error) {
          const { status, detail } = failure(error);
          if (status !== 403) throw error;
          throw new DocketError('archive.locked', `The store refuses to delete ${key}: ${detail}.`, {
            where: location,
            next: 'Wait until its lock or legal hold ends, or grant the credentials s3:DeleteObject.',
          });
        }
      }),
    /**
     * Describes an object's Object Lock at `now`, epoch ms; undefined without a lock, or without permission to see it.
     */
    describeLock: (key: string, now: number): Promise<string | undefined> =>
      request('archive.unreachable', async ({ sdk, client }) => {
        const head = await unlessMissing(() => client.send(new sdk.HeadObjectCommand(object(key)), withTimeout()));
        const until = head?.ObjectLockRetainUntilDate;
        if (head?.ObjectLockLegalHoldStatus === 'ON') return 'under a legal hold';
        return until === undefined || until.getTime() <= now ? undefined : `locked until ${until.toISOString()}`;
      }),
    /** Turns a thrown error into `archive.unwritable`. */
    toUnwritable: (error: unknown): unknown => toArchiveError(error, 'archive.unwritable'),
  };
}
export type S3Objects = ReturnType<typeof s3Objects>;

/** The store compares it with the bytes that it received. */
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
