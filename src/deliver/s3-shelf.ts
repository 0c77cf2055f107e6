import { randomBytes } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import type { ArchiveBucket } from '../base/archive-place.ts';
import { DocketError } from '../base/error.ts';
import type { SecretSource } from '../base/secret.ts';
import type { Artifact } from '../render/artifact.ts';
import type { Manifest } from './archive.ts';
import { eachAtOnce } from './at-once.ts';
import { readManifest } from './run-papers.ts';
import { connectS3, described, type S3Connection } from './s3-client.ts';
import { passes } from './s3-failure.ts';
import { signedLink } from './s3-link.ts';
import { type S3Objects, s3Objects } from './s3-objects.ts';
import { putFile } from './s3-upload.ts';
import { isName, pathName, sealedNames, writing } from './sealed-folder.ts';
import { isPaper, isStray, type RunBox, type RunName, type Shelf, type Shelved } from './shelf.ts';
import { stageInOwn } from './staging.ts';
import { copyOut } from './take-out.ts';

/** A run waits for the archive before anything leaves: a store that says nothing must not hold it for minutes. */
const SILENCE_MS = 20_000;
const AT_ONCE = 8;
/** Tries to publish a manifest; between any two it is read whether one stands there. */
const TRIES = 3;

/**
 * The archive in a bucket, laid out as in a directory, with one step more: the sealed files of a run stand in a folder of
 * their own beside `manifest.json`, which names it (`stored`). It is written last and only where none stands, so that a
 * run is there whole or not at all, and files of two who seal it at once never mix. A directory archive that was copied
 * into a bucket has no such folder, and reads just as well.
 * @param silenceMs after which a connection that says nothing is given up
 */
export function s3Shelf(bucket: ArchiveBucket, secrets: SecretSource, silenceMs: number = SILENCE_MS): Shelf {
  const base = bucket.prefix === '' ? '' : `${bucket.prefix}/`;
  const place = `s3://${bucket.bucket}${bucket.prefix === '' ? '' : `/${bucket.prefix}`}`;
  const staging = resolve(bucket.staging);
  let opening: Promise<S3Connection> | undefined;
  const connect = (): Promise<S3Connection> => {
    opening ??= connectS3(bucket, secrets, silenceMs).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  const objects = s3Objects(bucket.bucket, place, connect);
  const rootOf = ({ id, org, report }: RunName): string =>
    `${base}${pathName(org, 'organization')}/${pathName(report, 'report')}/${pathName(id, 'run')}/`;
  const placeOf = (run: RunName): string => `s3://${bucket.bucket}/${rootOf(run).slice(0, -1)}`;
  const box = (run: RunName): RunBox => s3Box(objects, rootOf(run), placeOf(run));

  /** Whether our manifest stands there. Whatever an answer was, what can be read is what happened. */
  const claim = async (run: RunName, manifest: Manifest): Promise<{ won: boolean; wrote: boolean }> => {
    const text = `${JSON.stringify(manifest, null, 2)}\n`;
    const key = `${rootOf(run)}manifest.json`;
    let wrote = false;
    for (let tries = 0; ; tries += 1) {
      const stands = await readManifest(box(run));
      if (stands !== undefined) return { won: stands.stored === manifest.stored, wrote };
      const failure = await objects.putNew(key, text);
      if (failure === undefined || failure.status === undefined) wrote = true;
      if (failure?.kind === 'unconditional') {
        wrote = true;
        await objects.put(key, text);
      } else if (failure !== undefined && (failure.kind === 'refused' || tries === TRIES)) {
        throw new DocketError('archive.unwritable', `The archive cannot be written: ${failure.said}.`, {
          where: placeOf(run),
          passes: passes(failure),
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
      await eachAtOnce(artifacts, AT_ONCE / 2, (artifact) => {
        const about = {
          Bucket: bucket.bucket,
          Key: `${root}files/${artifact.name}`,
          ...encryption,
          ...described(artifact),
        };
        return putFile(connection, about, { ...artifact, path: join(staged, 'files', artifact.name) }, never);
      });
    } catch (error) {
      throw objects.unwritable(error);
    }
    for (const name of sealedNames(manifest).filter((each) => !each.startsWith('files/'))) {
      await objects.put(`${root}${name}`, await readFile(join(staged, name)));
    }
  };

  const keysUnder = async (prefix: string): Promise<string[]> => {
    const keys: string[] = [];
    for await (const { key } of objects.list(prefix)) keys.push(key);
    return keys;
  };

  return {
    place,
    stage: (run) => stageInOwn(staging, run),
    box,
    runs: (org, report) => runsIn(objects, base, { org, report }, (run) => ({ ...run, box: box(run) })),
    orgs: async () => (await objects.folders(base)).filter(isName),
    find: async (id) => {
      pathName(id, 'run');
      const reports: RunName[] = [];
      for (const org of (await objects.folders(base)).filter(isName)) {
        for (const report of (await objects.folders(`${base}${org}/`)).filter(isName))
          reports.push({ id, org, report });
      }
      const found: RunName[] = [];
      await eachAtOnce(reports, AT_ONCE, async (run) => {
        if (await objects.has(`${rootOf(run)}manifest.json`)) found.push(run);
      });
      return found[0] === undefined ? undefined : { ...found[0], box: box(found[0]) };
    },
    publish: async (run, staged, sealed, artifacts) => {
      const stored = randomBytes(8).toString('hex');
      const manifest: Manifest = { ...sealed, stored };
      const root = `${rootOf(run)}${stored}/`;
      await upload(root, staged, manifest, artifacts);
      const { won, wrote } = await claim(run, manifest);
      if (won) {
        const kept = `${staged}-sealed`;
        await writing(staging, () => rename(staged, kept));
        return kept;
      }
      // A store that knows no condition may have had ours for a moment: then somebody may be reading those files.
      if (!wrote) await eachAtOnce(await keysUnder(root), AT_ONCE, objects.delete);
      await rm(staged, { recursive: true, force: true });
      return undefined;
    },
    strays: async (only) => {
      // Others' objects may share a bucket without a prefix.
      const prefix = only === undefined ? base : `${base}${pathName(only, 'organization')}/`;
      if (prefix === '') return [];
      const names: string[] = [];
      for await (const { key } of objects.list(prefix)) {
        const name = key.slice(base.length);
        if (name.split('/').length < 4 && isStray(name)) names.push(name);
      }
      return names;
    },
    locked: async (run, now) => {
      const locks: string[] = [];
      await eachAtOnce(await keysUnder(rootOf(run)), AT_ONCE, async (key) => {
        const lock = await objects.lock(key, now);
        if (lock !== undefined) locks.push(lock);
      });
      return locks.sort().at(-1);
    },
    bring: async (run, names) => {
      const folder = await stageInOwn(staging, run.id);
      try {
        await writing(folder, () => copyOut(box(run), names, folder));
        return folder;
      } catch (error) {
        await rm(folder, { recursive: true, force: true });
        throw error;
      }
    },
    letGo: async (folder) => {
      if (resolve(folder).startsWith(staging + sep)) await rm(folder, { recursive: true, force: true });
    },
    remove: async (run, leaving) => {
      const root = rootOf(run);
      const keys = await keysUnder(root);
      const papers = keys.filter((key) => isPaper(key.slice(root.length)));
      const rest = keys.filter((key) => !papers.includes(key) && key !== `${root}manifest.json`);
      // One alone first: where the store refuses, nothing has gone yet.
      const first = papers[0] ?? rest[0];
      if (first !== undefined) await objects.deleteUnlocked(first);
      await leaving?.();
      // While its manifest stands, the next sweep finds what this one did not finish; after that, as half made.
      await eachAtOnce(papers, AT_ONCE, objects.deleteUnlocked);
      await objects.deleteUnlocked(`${root}manifest.json`);
      await eachAtOnce(rest, AT_ONCE, objects.deleteUnlocked);
      return keys.length > 0;
    },
    notes: {
      read: (name) => objects.get(`${base}${name}`),
      put: (name, bytes) => objects.put(`${base}${name}`, bytes),
      putNew: (name, bytes) => putNewNote(objects, `${base}${name}`, bytes, place),
      names: async (folder) =>
        (await keysUnder(`${base}${folder}/`)).map((key) => key.slice(base.length + folder.length + 1)),
      remove: async (folder) => eachAtOnce(await keysUnder(`${base}${folder}/`), AT_ONCE, objects.delete),
    },
    probe: () => probe(objects, `${base}.docket-doctor-${randomBytes(6).toString('hex')}`, place),
    ...(bucket.links
      ? {
          link: async (run, name, times) => {
            const manifest = await readManifest(box(run));
            const key = `${rootOf(run)}${manifest?.stored === undefined ? '' : `${manifest.stored}/`}${name}`;
            return signedLink(await connect(), { bucket: bucket.bucket, key }, times);
          },
        }
      : {}),
    close: () => {
      void opening?.then(({ close }) => close()).catch(() => {});
    },
  };
}

/** A store that knows no condition is asked first whether something is there; of two who write at once the later one stays. */
async function putNewNote(objects: S3Objects, key: string, bytes: string, place: string): Promise<boolean> {
  // An answer that was lost: what can be read is what happened.
  const isOurs = async (): Promise<boolean> => (await objects.get(key))?.toString('utf8') === bytes;
  for (let tries = 0; ; tries += 1) {
    const failure = await objects.putNew(key, bytes);
    if (failure === undefined) return true;
    if (failure.kind === 'taken') return tries > 0 && (await isOurs());
    if (failure.kind === 'unconditional') {
      if (await objects.has(key)) return false;
      await objects.put(key, bytes);
      return true;
    }
    if (failure.kind === 'refused' || tries === TRIES) {
      throw new DocketError('archive.unwritable', `The archive cannot be written: ${failure.said}.`, {
        where: place,
        passes: passes(failure),
        next: 'Look at the store, its bucket and the rights of the credentials; docket doctor tries them.',
      });
    }
  }
}

function s3Box(objects: S3Objects, root: string, place: string): RunBox {
  /** In front of the names of sealed files; undefined while there is no manifest. It never changes once there is one. */
  let before: string | undefined;
  const found = async (): Promise<string | undefined> => {
    if (before !== undefined) return before;
    const manifest = await readManifest(own);
    if (manifest !== undefined) before = manifest.stored === undefined ? '' : `${manifest.stored}/`;
    return before;
  };
  const isOwn = (name: string): boolean => name === 'manifest.json' || isPaper(name);
  const at = async (name: string): Promise<string> => `${root}${isOwn(name) ? '' : ((await found()) ?? '')}${name}`;
  const own: RunBox = {
    place,
    read: async (name) => objects.get(await at(name)),
    pieces: async (name) => objects.pieces(await at(name)),
    put: async (name, bytes) => objects.put(await at(name), bytes),
    putTwo: async (...papers) => {
      for (const { name, bytes } of papers) await objects.put(await at(name), bytes);
    },
    names: async () => {
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
async function* runsIn(
  objects: S3Objects,
  base: string,
  only: { readonly org: string | undefined; readonly report: string | undefined },
  shelved: (run: RunName) => Shelved,
): AsyncGenerator<Shelved> {
  interface Seen {
    readonly run: RunName;
    sealedAt?: number;
    papers: boolean;
    newest: number;
  }
  const told = ({ run, sealedAt, papers, newest }: Seen): Shelved => ({
    ...shelved(run),
    ...(sealedAt !== undefined ? { sealedAt, sealedBy: sealedAt } : papers ? {} : { halfMadeAt: newest }),
  });
  const inOrg = only.org === undefined ? '' : `${pathName(only.org, 'organization')}/`;
  const inReport = only.report === undefined ? '' : `${pathName(only.report, 'report')}/`;
  let seen: Seen | undefined;
  for await (const { key, at } of objects.list(`${base}${inOrg}${inReport}`)) {
    const [org = '', report = '', id = '', ...rest] = key.slice(base.length).split('/');
    if (rest.length === 0 || ![org, report, id].every(isName)) continue;
    if (seen?.run.id !== id || seen.run.report !== report || seen.run.org !== org) {
      if (seen !== undefined) yield told(seen);
      seen = { run: { id, org, report }, papers: false, newest: 0 };
    }
    const name = rest.join('/');
    if (name === 'manifest.json') seen.sealedAt = at;
    if (isPaper(name)) seen.papers = true;
    seen.newest = Math.max(seen.newest, at);
  }
  if (seen !== undefined) yield told(seen);
}

/** Writes twice under a key of its own, the second time in vain: that is what keeps two workers from sealing one run. */
async function probe(objects: S3Objects, key: string, place: string): Promise<{ ok: boolean; detail: string }> {
  await objects.put(key, 'first');
  try {
    const second = await objects.putNew(key, 'second');
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
