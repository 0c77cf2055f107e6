import { appendFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { parseArchiveUrl } from '../../src/base/config/archive-url.ts';
import { secretSource } from '../../src/base/secrets/secret.ts';
import type { Archive, PublishedRun } from '../../src/deliver/archive/archive.ts';
import { createArchive } from '../../src/deliver/archive/create-archive.ts';
import { type ArchiveStorage, isMetadataFile } from '../../src/deliver/archive/storage/archive-storage.ts';
import { directoryStorage } from '../../src/deliver/archive/storage/directory-storage.ts';
import { s3Storage } from '../../src/deliver/archive/storage/s3-storage.ts';
import { folderFor, ORDER, sealedRun } from './delivery-case.ts';
import { ACCESS_KEY_ID, type S3Server, SECRET_ACCESS_KEY, s3Server } from './s3-server.ts';

type OnEnd = Parameters<typeof folderFor>[0];

/** The environment variables with the archive's credentials. */
export const STORE_ENV = { ARCHIVE_ID: ACCESS_KEY_ID, ARCHIVE_SECRET: SECRET_ACCESS_KEY };

/** The value of `DOCKET_ARCHIVE` for this store. */
export const archiveUrl = ({ url, bucket }: Pick<S3Server, 'url' | 'bucket'>, staging: string, more = ''): string =>
  `s3://${bucket}/kept/here?endpoint=${url}&access_key_id=env:ARCHIVE_ID&secret_access_key=env:ARCHIVE_SECRET&staging=${staging}${more}`;

export function bucketStorage(url: string, silenceMs?: number): ArchiveStorage {
  const place = parseArchiveUrl(url);
  if (!('kind' in place) || place.kind !== 's3') throw new Error(JSON.stringify(place));
  return s3Storage(place, secretSource(STORE_ENV), silenceMs);
}

/** An archive to test on any storage, with functions that damage it. */
export interface TestArchive {
  readonly archive: Archive;
  readonly storage: ArchiveStorage;
  /** A later reader: another process with the same archive, on another machine where possible. */
  readonly another: (clock?: Clock) => Promise<{ archive: Archive; storage: ArchiveStorage }>;
  /** A folder for files of the test. */
  readonly root: string;
  /** All paths or keys of the archive, relative to its root. */
  readonly tree: () => Promise<readonly string[]>;
  /** Local staging files that still exist. */
  readonly staged: () => Promise<readonly string[]>;
  /** Appends to a file of the run `ORDER`. */
  readonly append: (name: string, text: string) => Promise<void>;
  readonly write: (name: string, text: string) => Promise<void>;
  readonly remove: (name: string) => Promise<void>;
  /** Undefined for a directory. */
  readonly store: S3Server | undefined;
}

const PATH = `${ORDER.org}/${ORDER.report}/${ORDER.id}`;

async function inDirectory(onEnd: OnEnd, clock: Clock = systemClock): Promise<TestArchive> {
  const root = await folderFor(onEnd);
  const base = join(root, 'archive');
  const at = (name: string) => join(base, PATH, name);
  const open = (given = clock) => {
    const storage = directoryStorage(base);
    return { storage, archive: createArchive(storage, given) };
  };
  return {
    ...open(),
    another: async (given) => open(given),
    root,
    store: undefined,
    tree: async () =>
      (await readdir(base, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(base.length + 1))
        .sort(),
    staged: () => readdir(join(base, '.staging')),
    append: (name, text) => appendFile(at(name), text),
    write: async (name, text) => {
      await mkdir(dirname(at(name)), { recursive: true });
      await writeFile(at(name), text);
    },
    remove: (name) => rm(at(name)),
  };
}

async function inBucket(onEnd: OnEnd, clock: Clock = systemClock): Promise<TestArchive> {
  const store = await s3Server();
  onEnd(() => store.close());
  const root = await folderFor(onEnd);
  const open = async (given: Clock, staging: string) => {
    const storage = bucketStorage(archiveUrl(store, staging));
    onEnd(async () => storage.close());
    return { storage, archive: createArchive(storage, given) };
  };
  const staging = join(root, 'staging');
  const keyOf = (name: string): string => {
    const run = `kept/here/${PATH}/`;
    const manifest = store.objects.get(`${run}manifest.json`)?.bytes.toString() ?? '{}';
    const stored = /"stored": "([0-9a-f]+)"/.exec(manifest)?.[1];
    return name === 'manifest.json' || isMetadataFile(name) ? `${run}${name}` : `${run}${stored}/${name}`;
  };
  const write = async (name: string, text: string): Promise<void> => {
    store.objects.set(keyOf(name), { bytes: Buffer.from(text), headers: {} });
  };
  return {
    ...(await open(clock, staging)),
    another: async (given = clock) => open(given, join(await folderFor(onEnd), 'staging')),
    root,
    store,
    tree: async () => [...store.objects.keys()].map((key) => key.slice('kept/here/'.length)).sort(),
    staged: () => readdir(staging),
    append: (name, text) => write(name, `${store.objects.get(keyOf(name))?.bytes}${text}`),
    write,
    remove: async (name) => {
      if (!store.objects.delete(keyOf(name))) throw new Error(`There is no ${name}.`);
    },
  };
}

/** The two kinds of archives, which must behave in the same way. */
export const ARCHIVES: readonly (readonly [string, typeof inDirectory])[] = [
  ['in a directory', inDirectory],
  ['in a bucket', inBucket],
];

/** A sealed run with a workbook and a CSV file. */
export const sealIn = async ({ archive, root }: Pick<TestArchive, 'archive' | 'root'>): Promise<PublishedRun> =>
  (await sealedRun(root, undefined, archive)).published;
