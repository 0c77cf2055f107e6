import { randomBytes } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import type { ArchiveBucket } from '../../../base/config/archive-url.ts';
import { DocketError } from '../../../base/error.ts';
import type { SecretSource } from '../../../base/secrets/secret.ts';
import type { Artifact } from '../../../render/artifact.ts';
import type { Manifest } from '../archive.ts';
import { forEachWithConcurrency } from '../../../base/concurrency.ts';
import { readManifest } from '../run-metadata.ts';
import { connectS3, objectHeaders, type S3Connection, putFile } from '../../s3/s3-client.ts';
import { isTransient } from '../../s3/s3-failure.ts';
import { presignedLink } from '../../s3/s3-presign.ts';
import { type S3Objects, s3Objects } from './s3-objects.ts';
import { isPathName, publishedNames, requirePathName, withWriteErrors } from '../run-folder.ts';
import { type ArchiveStorage, isForeignFile, isMetadataFile, type RunFiles, type RunRef, type StoredRun } from './archive-storage.ts';
import { createPrivateStagingFolder } from '../staging.ts';
import { copyRunFiles } from '../export.ts';

/** A run waits for the archive before anything leaves: a store that says nothing must not hold it for minutes. */
const SOCKET_TIMEOUT_MS = 20_000;
const CONCURRENCY = 8;
/** Tries to publish a manifest; between any two it is read whether one stands there. */
const MAX_ATTEMPTS = 3;

/**
 * The archive in a bucket, laid out as in a directory, with one step more: the sealed files of a run stand in a folder of
 * their own beside `manifest.json`, which names it (`stored`). It is written last and only where none stands, so that a
 * run is there whole or not at all, and files of two who seal it at once never mix. A directory archive that was copied
 * into a bucket has no such folder, and reads just as well.
 * @param silenceMs after which a connection that says nothing is given up
 */
export function s3Storage(
  bucket: ArchiveBucket,
  secrets: SecretSource,
  silenceMs: number = SOCKET_TIMEOUT_MS,
): ArchiveStorage {
  const base = bucket.prefix === '' ? '' : `${bucket.prefix}/`;
  const location = `s3://${bucket.bucket}${bucket.prefix === '' ? '' : `/${bucket.prefix}`}`;
  const staging = resolve(bucket.staging);
  let opening: Promise<S3Connection> | undefined;
  const connect = (): Promise<S3Connection> => {
    opening ??= connectS3(bucket, secrets, silenceMs).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  const objects = s3Objects(bucket.bucket, location, connect);
  const rootOf = ({ id, org, report }: RunRef): string =>
    `${base}${requirePathName(org, 'organization')}/${requirePathName(report, 'report')}/${requirePathName(id, 'run')}/`;
  const placeOf = (run: RunRef): string => `s3://${bucket.bucket}/${rootOf(run).slice(0, -1)}`;
  const runFiles = (run: RunRef): RunFiles => s3RunFiles(objects, rootOf(run), placeOf(run));

  /** Whether our manifest stands there. Whatever an answer was, what can be read is what happened. */
  const claim = async (run: RunRef, manifest: Manifest): Promise<{ won: boolean; wrote: boolean }> => {
    const text = `${JSON.stringify(manifest, null, 2)}\n`;
    const key = `${rootOf(run)}manifest.json`;
    let wrote = false;
    for (let tries = 0; ; tries += 1) {
      const stands = await readManifest(runFiles(run));
      if (stands !== undefined) return { won: stands.stored === manifest.stored, wrote };
      const failure = await objects.putIfAbsent(key, text);
      if (failure === undefined || failure.status === undefined) wrote = true;
      if (failure?.kind === 'unconditional') {
        wrote = true;
        await objects.put(key, text);
      } else if (failure !== undefined && (failure.kind === 'refused' || tries === MAX_ATTEMPTS)) {
        throw new DocketError('archive.unwritable', `The archive cannot be written: ${failure.detail}.`, {
          where: placeOf(run),
          transient: isTransient(failure),
          next: 'Look at the store, its bucket and the rights of the credentials; docket doctor tries them.',
        });
      }
    }
  };

  const upload = async (root: string, staged: string, manifest: Manifest, artifacts: readonly Artifact[]) => {
    const connection = await connect();
    const { encryption } = connection;
    const never = new AbortController().signal;
    try {
      await forEachWithConcurrency(artifacts, CONCURRENCY / 2, (artifact) => {
        const about = {
          Bucket: bucket.bucket,
          Key: `${root}files/${artifact.name}`,
          ...encryption,
          ...objectHeaders(artifact),
        };
        return putFile(connection, about, { ...artifact, path: join(staged, 'files', artifact.name) }, never);
      });
    } catch (error) {
      throw objects.toUnwritable(error);
    }
    for (const name of publishedNames(manifest).filter((each) => !each.startsWith('files/'))) {
      await objects.put(`${root}${name}`, await readFile(join(staged, name)));
    }
  };

  const keysUnder = async (prefix: string): Promise<string[]> => {
    const keys: string[] = [];
    for await (const { key } of objects.list(prefix)) keys.push(key);
    return keys;
  };

  return {
    location,
    stage: (run) => createPrivateStagingFolder(staging, run),
    runFiles,
    listRuns: (org, report) => listRunsIn(objects, base, { org, report }, (run) => ({ ...run, files: runFiles(run) })),
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
    publish: async (run, staged, sealed, artifacts) => {
      const stored = randomBytes(8).toString('hex');
      const manifest: Manifest = { ...sealed, stored };
      const root = `${rootOf(run)}${stored}/`;
      await upload(root, staged, manifest, artifacts);
      const { won, wrote } = await claim(run, manifest);
      if (won) {
        const kept = `${staged}-sealed`;
        await withWriteErrors(staging, () => rename(staged, kept));
        return kept;
      }
      // A store that knows no condition may have had ours for a moment: then somebody may be reading those files.
      if (!wrote) await forEachWithConcurrency(await keysUnder(root), CONCURRENCY, objects.delete);
      await rm(staged, { recursive: true, force: true });
      return undefined;
    },
    listForeignFiles: async (only) => {
      // Others' objects may share a bucket without a prefix.
      const prefix = only === undefined ? base : `${base}${requirePathName(only, 'organization')}/`;
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
      const folder = await createPrivateStagingFolder(staging, run.id);
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
    delete: async (run, leaving) => {
      const root = rootOf(run);
      const keys = await keysUnder(root);
      const papers = keys.filter((key) => isMetadataFile(key.slice(root.length)));
      const rest = keys.filter((key) => !papers.includes(key) && key !== `${root}manifest.json`);
      // One alone first: where the store refuses, nothing has gone yet.
      const first = papers[0] ?? rest[0];
      if (first !== undefined) await objects.deleteUnlocked(first);
      await leaving?.();
      // While its manifest stands, the next sweep finds what this one did not finish; after that, as half made.
      await forEachWithConcurrency(papers, CONCURRENCY, objects.deleteUnlocked);
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
    },
    probe: () => probeBucket(objects, `${base}.docket-doctor-${randomBytes(6).toString('hex')}`, location),
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

/** A store that knows no condition is asked first whether something is there; of two who write at once the later one stays. */
async function putMetadataIfAbsent(objects: S3Objects, key: string, bytes: string, place: string): Promise<boolean> {
  // An answer that was lost: what can be read is what happened.
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
      throw new DocketError('archive.unwritable', `The archive cannot be written: ${failure.detail}.`, {
        where: place,
        transient: isTransient(failure),
        next: 'Look at the store, its bucket and the rights of the credentials; docket doctor tries them.',
      });
    }
  }
}

function s3RunFiles(objects: S3Objects, root: string, location: string): RunFiles {
  /** In front of the names of sealed files; undefined while there is no manifest. It never changes once there is one. */
  let before: string | undefined;
  const found = async (): Promise<string | undefined> => {
    if (before !== undefined) return before;
    const manifest = await readManifest(own);
    if (manifest !== undefined) before = manifest.stored === undefined ? '' : `${manifest.stored}/`;
    return before;
  };
  const isOwn = (name: string): boolean => name === 'manifest.json' || isMetadataFile(name);
  const at = async (name: string): Promise<string> => `${root}${isOwn(name) ? '' : ((await found()) ?? '')}${name}`;
  const own: RunFiles = {
    location,
    get: async (name) => objects.get(await at(name)),
    stream: async (name) => objects.stream(await at(name)),
    put: async (name, bytes) => objects.put(await at(name), bytes),
    putPair: async (...papers) => {
      for (const { name, bytes } of papers) await objects.put(await at(name), bytes);
    },
    list: async () => {
      const folder = await found();
      const names: string[] = [];
      for await (const { key } of objects.list(root)) {
        const name = key.slice(root.length);
        if (isOwn(name)) names.push(name);
        else if (folder !== undefined && name.startsWith(folder)) names.push(name.slice(folder.length));
      }
      return names.sort();
    },
  };
  return own;
}

/** Runs as one listing of all objects tells of them: those of a run follow one another. */
async function* listRunsIn(
  objects: S3Objects,
  base: string,
  only: { readonly org: string | undefined; readonly report: string | undefined },
  shelved: (run: RunRef) => StoredRun,
): AsyncGenerator<StoredRun> {
  interface Seen {
    readonly run: RunRef;
    sealedAt?: number;
    papers: boolean;
    newest: number;
  }
  const told = ({ run, sealedAt: publishedAt, papers, newest }: Seen): StoredRun => ({
    ...shelved(run),
    ...(publishedAt !== undefined
      ? { publishedAt, publishedBefore: publishedAt }
      : papers
        ? {}
        : { unpublishedAt: newest }),
  });
  const inOrg = only.org === undefined ? '' : `${requirePathName(only.org, 'organization')}/`;
  const inReport = only.report === undefined ? '' : `${requirePathName(only.report, 'report')}/`;
  let seen: Seen | undefined;
  for await (const { key, at } of objects.list(`${base}${inOrg}${inReport}`)) {
    const [org = '', report = '', id = '', ...rest] = key.slice(base.length).split('/');
    if (rest.length === 0 || ![org, report, id].every(isPathName)) continue;
    if (seen?.run.id !== id || seen.run.report !== report || seen.run.org !== org) {
      if (seen !== undefined) yield told(seen);
      seen = { run: { id, org, report }, papers: false, newest: 0 };
    }
    const name = rest.join('/');
    if (name === 'manifest.json') seen.sealedAt = at;
    if (isMetadataFile(name)) seen.papers = true;
    seen.newest = Math.max(seen.newest, at);
  }
  if (seen !== undefined) yield told(seen);
}

/** Writes twice under a key of its own, the second time in vain: that is what keeps two workers from sealing one run. */
async function probeBucket(objects: S3Objects, key: string, place: string): Promise<{ ok: boolean; detail: string }> {
  await objects.put(key, 'first');
  try {
    const second = await objects.putIfAbsent(key, 'second');
    const listed = [];
    for await (const one of objects.list(key)) listed.push(one);
    if (listed.length === 0 || (await objects.get(key)) === undefined) {
      throw new DocketError('archive.unreachable', `What was written to ${place} cannot be found there.`, {
        where: place,
        expected: 'a store whose listings tell at once of what was written',
      });
    }
    if (second?.kind === 'taken') return { ok: true, detail: `${place} can be written, and replaces nothing` };
    return {
      ok: false,
      detail: `${place} can be written, but the store does not know If-None-Match: should two workers seal one run in the same moment, the later one's files stay`,
    };
  } finally {
    await objects.delete(key);
  }
}
