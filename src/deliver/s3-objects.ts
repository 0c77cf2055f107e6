import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { PutObjectCommandInput } from '@aws-sdk/client-s3';
import { DocketError } from '../base/error.ts';
import { createRedactor, type Redact } from '../base/redactor.ts';
import type { S3Connection } from './s3-client.ts';
import { passes, readS3Failure, type S3Failure } from './s3-failure.ts';

export interface Listed {
  readonly key: string;
  /** Epoch ms. */
  readonly at: number;
}

/** The bucket of the archive, object by object. Throws `archive.unreachable` or `archive.unwritable` with what the store said. */
export interface S3Objects {
  get(key: string): Promise<Buffer | undefined>;
  pieces(key: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  has(key: string): Promise<boolean>;
  put(key: string, bytes: string | Uint8Array, about?: Partial<PutObjectCommandInput>): Promise<void>;
  /** As `put`, where nothing stands. What the store said against it; undefined when it is written. */
  putNew(key: string, bytes: string): Promise<S3Failure | undefined>;
  /** In order of the keys. */
  list(prefix: string): AsyncGenerator<Listed>;
  /** Names between the prefix, which ends with `/` or is empty, and the next `/`. */
  folders(prefix: string): Promise<readonly string[]>;
  delete(key: string): Promise<void>;
  /** As `delete`; throws `archive.locked` where the store refuses it (403): a lock, or a right that is not there. */
  deleteUnlocked(key: string): Promise<void>;
  /** What Object Lock keeps an object by at this moment (epoch ms); undefined where nothing does, or we may not know. */
  lock(key: string, now: number): Promise<string | undefined>;
  /** What was thrown as an error of the archive that could not be written. */
  unwritable(error: unknown): unknown;
}

/** A paper is small: whatever takes longer is not going to come. */
const PAPER_MS = 60_000;

/** @param connect opens the connection, or gives the one that is open */
export function s3Objects(bucket: string, place: string, connect: () => Promise<S3Connection>): S3Objects {
  // Before the first connection no store has said anything.
  let redact: Redact = createRedactor().redact;
  const failure = (error: unknown): S3Failure => readS3Failure(error, redact);
  const thrown = (error: unknown, code: 'archive.unreachable' | 'archive.unwritable'): unknown => {
    if (error instanceof DocketError) return error;
    // Without its cause, which carries the request with its signature.
    const done = code === 'archive.unwritable' ? 'written' : 'read';
    const failed = failure(error);
    return new DocketError(code, `The archive cannot be ${done}: ${failed.said}.`, {
      where: place,
      passes: passes(failed),
      next: 'Look at the store, its bucket and the rights of the credentials; docket doctor tries them.',
    });
  };
  const asking = async <T>(
    code: 'archive.unreachable' | 'archive.unwritable',
    work: (connection: S3Connection) => Promise<T>,
  ): Promise<T> => {
    try {
      const connection = await connect();
      redact = connection.redact;
      return await work(connection);
    } catch (error) {
      throw thrown(error, code);
    }
  };
  const unlessMissing = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      const { status, code } = failure(error);
      if (status === 404 && code !== 'NoSuchBucket') return undefined;
      throw error;
    }
  };
  const soon = () => ({ abortSignal: AbortSignal.timeout(PAPER_MS) });
  const at = (key: string) => ({ Bucket: bucket, Key: key });

  const send = (
    { sdk, client, encryption }: S3Connection,
    key: string,
    bytes: string | Uint8Array,
    about: Partial<PutObjectCommandInput> = {},
  ) => {
    const Body = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    return client.send(
      new sdk.PutObjectCommand({
        ContentType: typeOf(key),
        ...about,
        ...at(key),
        ...encryption,
        Body,
        ...summed(Body),
      }),
      soon(),
    );
  };

  async function* pages(prefix: string, delimiter?: string) {
    for (let token: string | undefined; ; ) {
      const page = await asking('archive.unreachable', ({ sdk, client }) =>
        client.send(
          new sdk.ListObjectsV2Command({
            Bucket: bucket,
            Prefix: prefix,
            ...(delimiter === undefined ? {} : { Delimiter: delimiter }),
            ...(token === undefined ? {} : { ContinuationToken: token }),
          }),
          soon(),
        ),
      );
      yield page;
      token = page.NextContinuationToken;
      if (page.IsTruncated !== true || token === undefined) return;
    }
  }

  return {
    get: (key) =>
      asking('archive.unreachable', ({ sdk, client }) =>
        unlessMissing(async () => {
          const { Body } = await client.send(new sdk.GetObjectCommand(at(key)), soon());
          return Body === undefined ? Buffer.alloc(0) : Buffer.from(await Body.transformToByteArray());
        }),
      ),
    pieces: async (key) => {
      const found = await asking('archive.unreachable', ({ sdk, client }) =>
        unlessMissing(() => client.send(new sdk.GetObjectCommand(at(key)))),
      );
      if (found === undefined) return undefined;
      return (async function* () {
        try {
          if (found.Body instanceof Readable) yield* found.Body;
        } catch (error) {
          throw thrown(error, 'archive.unreachable');
        }
      })();
    },
    has: (key) =>
      asking('archive.unreachable', async ({ sdk, client }) => {
        const found = await unlessMissing(() => client.send(new sdk.HeadObjectCommand(at(key)), soon()));
        return found !== undefined;
      }),
    put: (key, bytes, about) =>
      asking('archive.unwritable', async (connection) => {
        await send(connection, key, bytes, about);
      }),
    putNew: (key, bytes) =>
      asking('archive.unwritable', async (connection) => {
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
    folders: async (prefix) => {
      const names: string[] = [];
      for await (const { CommonPrefixes } of pages(prefix, '/')) {
        names.push(...(CommonPrefixes ?? []).flatMap(({ Prefix }) => Prefix?.slice(prefix.length, -1) ?? []));
      }
      return names;
    },
    delete: (key) =>
      asking('archive.unwritable', async ({ sdk, client }) => {
        await client.send(new sdk.DeleteObjectCommand(at(key)), soon());
      }),
    deleteUnlocked: (key) =>
      asking('archive.unwritable', async ({ sdk, client }) => {
        try {
          await client.send(new sdk.DeleteObjectCommand(at(key)), soon());
        } catch (error) {
          const { status, said } = failure(error);
          if (status !== 403) throw error;
          throw new DocketError('archive.locked', `The store does not let ${key} go: ${said}.`, {
            where: place,
            next: 'Wait until its lock or legal hold ends, or give the credentials the right s3:DeleteObject.',
          });
        }
      }),
    lock: (key, now) =>
      asking('archive.unreachable', async ({ sdk, client }) => {
        const head = await unlessMissing(() => client.send(new sdk.HeadObjectCommand(at(key)), soon()));
        const until = head?.ObjectLockRetainUntilDate;
        if (head?.ObjectLockLegalHoldStatus === 'ON') return 'under a legal hold';
        return until === undefined || until.getTime() <= now ? undefined : `locked until ${until.toISOString()}`;
      }),
    unwritable: (error) => thrown(error, 'archive.unwritable'),
  };
}

/** The store compares it and refuses other bytes. */
const summed = (bytes: Uint8Array) => ({ ChecksumSHA256: createHash('sha256').update(bytes).digest('base64') });

const TYPES: readonly (readonly [RegExp, string])[] = [
  [/\.json$/, 'application/json'],
  [/\.html$/, 'text/html; charset=utf-8'],
  [/\.(txt|sha256)$/, 'text/plain; charset=utf-8'],
  [/\.eml$/, 'message/rfc822'],
  [/\.png$/, 'image/png'],
];
const typeOf = (key: string): string => TYPES.find(([ending]) => ending.test(key))?.[1] ?? 'application/octet-stream';
