import { randomBytes } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { forEachWithConcurrency } from '../../../base/concurrency.ts';
import type { ArchiveBucket } from '../../../base/config/archive-url.ts';
import { DocketError } from '../../../base/error.ts';
import { type FindProxy, NO_PROXIES } from '../../../base/net/proxies.ts';
import type { SecretSource } from '../../../base/secrets/secret.ts';
import type { Artifact } from '../../../render/artifact.ts';
import { connectS3, objectHeaders, putFile, type S3Connection } from '../../internal/s3/s3-client.ts';
import { presignedLink } from '../../internal/s3/s3-presign.ts';
import { withWriteErrors } from '../archive-errors.ts';
import { ARCHIVE_MARKER } from '../archive-marker.ts';
import { copyRunFiles } from '../export.ts';
import type { Manifest } from '../manifest.ts';
import { isPathName, publishedNames, requirePathName } from '../path-names.ts';
import { readManifest } from '../run-folder/run-metadata.ts';
import { cleaningSchedule, createPrivateStagingFolder } from '../run-folder/staging.ts';
import { type ArchiveStorage, isForeignFile, isMetadataFile, type RunFiles, type RunRef } from './archive-storage.ts';
import { type S3Objects, s3Objects, storeError } from './s3-objects.ts';
import { listRunsIn, s3RunFiles } from './s3-run-files.ts';

/** A run waits for the archive before it sends anything, so a silent store must not block it for minutes. */
const SOCKET_TIMEOUT_MS = 20_000;
const CONCURRENCY = 8;
/** Attempts at a conditional write. Before each one, and after a lost reply, the object is read. */
const MAX_ATTEMPTS = 3;

/**
 * An archive in a bucket, with the layout of a directory archive plus one level: the published files of a run are in a
 * folder beside `manifest.json`, which names that folder (`stored`). The manifest is written last, and only if none
 * exists. So a run is visible as a whole or not at all, and the files of two publishers never mix. An archive that was
 * copied from a directory has no such folder, but can be read too.
 * @param socketTimeoutMs closes a silent connection
 */
export function s3Storage(
  bucket: ArchiveBucket,
  secrets: SecretSource,
  socketTimeoutMs: number = SOCKET_TIMEOUT_MS,
  findProxy: FindProxy = NO_PROXIES,
): ArchiveStorage {
  const base = bucket.prefix === '' ? '' : `${bucket.prefix}/`;
  const location = `s3://${bucket.bucket}${bucket.prefix === '' ? '' : `/${bucket.prefix}`}`;
  const staging = resolve(bucket.staging);
  const isCleaningDue = cleaningSchedule();
  let opening: Promise<S3Connection> | undefined;
  const connect = (): Promise<S3Connection> => {
    opening ??= connectS3(bucket, secrets, socketTimeoutMs, findProxy).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  const objects = s3Objects(bucket.bucket, location, connect);
  const rootOf = ({ id, org, report }: RunRef): string =>
    `${base}${requirePathName(org, 'organization')}/${requirePathName(report, 'report')}/${requirePathName(id, 'run')}/`;
  const locationOf = (run: RunRef): string => `s3://${bucket.bucket}/${rootOf(run).slice(0, -1)}`;
  const runFiles = (run: RunRef): RunFiles => s3RunFiles(objects, rootOf(run), locationOf(run));

  /**
   * Writes the manifest unless one exists. A reply may be lost, so the stored manifest decides the outcome. `isOurs`:
   * the stored manifest is ours. `mayHaveWritten`: ours may have been visible for a moment.
   */
  const publishManifest = async (
    run: RunRef,
    manifest: Manifest,
  ): Promise<{ readonly isOurs: boolean; readonly mayHaveWritten: boolean }> => {
    const text = `${JSON.stringify(manifest, null, 2)}\n`;
    const key = `${rootOf(run)}manifest.json`;
    let mayHaveWritten = false;
    for (let tries = 0; ; tries += 1) {
      const existing = await readManifest(runFiles(run));
      if (existing !== undefined) return { isOurs: existing.stored === manifest.stored, mayHaveWritten };
      const failure = await objects.putIfAbsent(key, text);
      if (failure === undefined || failure.status === undefined) mayHaveWritten = true;
      if (failure?.kind === 'unconditional') {
        mayHaveWritten = true;
        await objects.put(key, text);
      } else if (failure !== undefined && (failure.kind === 'refused' || tries === MAX_ATTEMPTS)) {
        throw storeError('archive.unwritable', failure, locationOf(run));
      }
    }
  };

  const upload = async (root: string, staged: string, manifest: Manifest, artifacts: readonly Artifact[]) => {
    const connection = await connect();
    const { encryption } = connection;
    const never = new AbortController().signal;
    try {
      await forEachWithConcurrency(artifacts, CONCURRENCY / 2, (artifact) => {
        const params = {
          Bucket: bucket.bucket,
          Key: `${root}files/${artifact.name}`,
          ...encryption,
          ...objectHeaders(artifact),
        };
        return putFile(connection, params, { ...artifact, path: join(staged, 'files', artifact.name) }, never);
      });
    } catch (error) {
      throw objects.toUnwritable(error);
    }
    for (const name of publishedNames(manifest).filter((each) => !each.startsWith('files/'))) {
      await objects.put(`${root}${name}`, await readFile(join(staged, name)));
    }
  };

  let conditional: boolean | undefined;
  const probeMarker = async (): Promise<boolean | undefined> => {
    conditional ??= await probeConditions(objects, `${base}${ARCHIVE_MARKER}`, location);
    return conditional;
  };

  const keysUnder = async (prefix: string): Promise<string[]> => {
    const keys: string[] = [];
    for await (const { key } of objects.list(prefix)) keys.push(key);
    return keys;
  };

  return {
    location,
    stage: (run) => createPrivateStagingFolder(staging, run, isCleaningDue),
    runFiles,
    listRuns: (org, report) => listRunsIn(objects, base, { org, report }, runFiles),
    listOrgs: async () => (await objects.listPrefixes(base)).filter(isPathName),
    find: async (id) => {
      requirePathName(id, 'run');
      const reports: RunRef[] = [];
      for (const org of (await objects.listPrefixes(base)).filter(isPathName)) {
        for (const report of (await objects.listPrefixes(`${base}${org}/`)).filter(isPathName))
          reports.push({ id, org, report });
      }
      const found: RunRef[] = [];
      await forEachWithConcurrency(reports, CONCURRENCY, async (run) => {
        if (await objects.exists(`${rootOf(run)}manifest.json`)) found.push(run);
      });
      return found[0] === undefined ? undefined : { ...found[0], files: runFiles(found[0]) };
    },
    publish: async (run, staged, complete, artifacts) => {
      const stored = randomBytes(8).toString('hex');
      const manifest: Manifest = { ...complete, stored };
      const root = `${rootOf(run)}${stored}/`;
      await upload(root, staged, manifest, artifacts);
      const { isOurs, mayHaveWritten } = await publishManifest(run, manifest);
      if (isOurs) {
        const local = `${staged}-sealed`;
        await withWriteErrors(staging, () => rename(staged, local));
        return local;
      }
      // If our manifest was visible for a moment, a reader may be using our files, so they stay.
      if (!mayHaveWritten) await forEachWithConcurrency(await keysUnder(root), CONCURRENCY, objects.delete);
      await rm(staged, { recursive: true, force: true });
      return undefined;
    },
    listForeignFiles: async (org) => {
      // Other programs may use a bucket without a prefix.
      const prefix = org === undefined ? base : `${base}${requirePathName(org, 'organization')}/`;
      if (prefix === '') return [];
      const names: string[] = [];
      for await (const { key } of objects.list(prefix)) {
        const name = key.slice(base.length);
        if (name.split('/').length < 4 && isForeignFile(name)) names.push(name);
      }
      return names;
    },
    lockReason: async (run, now) => {
      const locks: string[] = [];
      await forEachWithConcurrency(await keysUnder(rootOf(run)), CONCURRENCY, async (key) => {
        const lock = await objects.describeLock(key, now);
        if (lock !== undefined) locks.push(lock);
      });
      return locks.sort().at(-1);
    },
    checkout: async (run, names) => {
      const folder = await createPrivateStagingFolder(staging, run.id, isCleaningDue);
      try {
        await withWriteErrors(folder, () => copyRunFiles(runFiles(run), names, folder));
        return folder;
      } catch (error) {
        await rm(folder, { recursive: true, force: true });
        throw error;
      }
    },
    discardCheckout: async (folder) => {
      if (resolve(folder).startsWith(staging + sep)) await rm(folder, { recursive: true, force: true });
    },
    delete: async (run, onFirstDelete) => {
      const root = rootOf(run);
      const keys = await keysUnder(root);
      const metadata = keys.filter((key) => isMetadataFile(key.slice(root.length)));
      const rest = keys.filter((key) => !metadata.includes(key) && key !== `${root}manifest.json`);
      // Deletes one object first: if the store refuses, nothing is deleted yet.
      const first = metadata[0] ?? rest[0];
      if (first !== undefined) await objects.deleteUnlocked(first);
      await onFirstDelete?.();
      // An interrupted deletion is found again: as a run while its manifest exists, afterwards as an incomplete upload.
      await forEachWithConcurrency(metadata, CONCURRENCY, objects.deleteUnlocked);
      await objects.deleteUnlocked(`${root}manifest.json`);
      await forEachWithConcurrency(rest, CONCURRENCY, objects.deleteUnlocked);
      return keys.length > 0;
    },
    metadata: {
      get: (name) => objects.get(`${base}${name}`),
      put: (name, bytes) => objects.put(`${base}${name}`, bytes),
      putIfAbsent: (name, bytes) => putMetadataIfAbsent(objects, `${base}${name}`, bytes, location),
      list: async (folder) =>
        (await keysUnder(`${base}${folder}/`)).map((key) => key.slice(base.length + folder.length + 1)),
      deleteAll: async (folder) =>
        forEachWithConcurrency(await keysUnder(`${base}${folder}/`), CONCURRENCY, objects.delete),
      // Without a marker nothing is written, so true is safe: see `markerCheckedStorage`.
      conditionalWrites: async () => (await probeMarker()) ?? true,
    },
    probe: () => probeBucket(objects, `${base}.docket-doctor-${randomBytes(6).toString('hex')}`, location, probeMarker),
    ...(bucket.links
      ? {
          link: async (run, name, times) => {
            const manifest = await readManifest(runFiles(run));
            const key = `${rootOf(run)}${manifest?.stored === undefined ? '' : `${manifest.stored}/`}${name}`;
            return presignedLink(await connect(), { bucket: bucket.bucket, key }, times);
          },
        }
      : {}),
    close: () => {
      void opening?.then(({ close }) => close()).catch(() => {});
    },
  };
}

/**
 * Writes an object if none exists; returns false if one does. A store without conditional writes is read first, and the
 * later of two concurrent writers wins there.
 */
async function putMetadataIfAbsent(objects: S3Objects, key: string, bytes: string, location: string): Promise<boolean> {
  // After a lost reply, the stored object shows who wrote it.
  const isOurs = async (): Promise<boolean> => (await objects.get(key))?.toString('utf8') === bytes;
  for (let tries = 0; ; tries += 1) {
    const failure = await objects.putIfAbsent(key, bytes);
    if (failure === undefined) return true;
    if (failure.kind === 'taken') return tries > 0 && (await isOurs());
    if (failure.kind === 'unconditional') {
      if (await objects.exists(key)) return false;
      await objects.put(key, bytes);
      return true;
    }
    if (failure.kind === 'refused' || tries === MAX_ATTEMPTS) {
      throw storeError('archive.unwritable', failure, location);
    }
  }
}

/**
 * Tests whether the store refuses a conditional PUT of the marker. It writes the same bytes, so nothing changes if the
 * store ignores the condition. Undefined without a marker.
 */
async function probeConditions(objects: S3Objects, key: string, location: string): Promise<boolean | undefined> {
  const marker = await objects.get(key);
  if (marker === undefined) return undefined;
  for (let tries = 0; ; tries += 1) {
    const failure = await objects.putIfAbsent(key, marker.toString('utf8'));
    if (failure?.kind === 'taken') return true;
    if (failure === undefined || failure.kind === 'unconditional' || failure.kind === 'refused') return false;
    if (failure.kind === 'down' || tries === MAX_ATTEMPTS) throw storeError('archive.unwritable', failure, location);
  }
}

/**
 * Writes a test object, and tests conditional writes, which keep two workers from publishing the same run.
 *
 * @param probeMarker the result of the test with the marker; undefined if the archive has none: then the test object is
 * written twice
 */
async function probeBucket(
  objects: S3Objects,
  key: string,
  location: string,
  probeMarker: () => Promise<boolean | undefined>,
): Promise<{ ok: boolean; detail: string }> {
  await objects.put(key, 'first');
  try {
    const honours = (await probeMarker()) ?? (await objects.putIfAbsent(key, 'second'))?.kind === 'taken';
    const listed = [];
    for await (const one of objects.list(key)) listed.push(one);
    if (listed.length === 0 || (await objects.get(key)) === undefined) {
      throw new DocketError('archive.unreachable', `An object that was just written to ${location} cannot be found.`, {
        where: location,
        expected: 'a store with consistent listings',
      });
    }
    if (honours) return { ok: true, detail: `${location} can be written and supports conditional writes` };
    return {
      ok: false,
      detail: `${location} can be written, but the store does not support If-None-Match: signing, approval, commentary and corrections are refused, and only Redis keeps two runs of one period from being sent`,
    };
  } finally {
    await objects.delete(key);
  }
}
