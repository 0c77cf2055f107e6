import { isPathName, requirePathName } from '../path-names.ts';
import { readManifest } from '../run-folder/run-metadata.ts';
import { isMetadataFile, type RunFiles, type RunRef, type StoredRun } from './archive-storage.ts';
import type { S3Objects } from './s3-objects.ts';

/** The files of a run in a bucket. @param root key prefix of the run, with a trailing `/` */
export function s3RunFiles(objects: S3Objects, root: string, location: string): RunFiles {
  /** Prefix of the published files; undefined before the manifest exists. It never changes afterwards. */
  let folder: string | undefined;
  const publishedFolder = async (): Promise<string | undefined> => {
    if (folder !== undefined) return folder;
    const manifest = await readManifest(files);
    if (manifest !== undefined) folder = manifest.stored === undefined ? '' : `${manifest.stored}/`;
    return folder;
  };
  const isAtRoot = (name: string): boolean => name === 'manifest.json' || isMetadataFile(name);
  const keyOf = async (name: string): Promise<string> =>
    `${root}${isAtRoot(name) ? '' : ((await publishedFolder()) ?? '')}${name}`;
  const files: RunFiles = {
    location,
    get: async (name) => objects.get(await keyOf(name)),
    stream: async (name) => objects.stream(await keyOf(name)),
    put: async (name, bytes) => objects.put(await keyOf(name), bytes),
    putPair: async (...pair) => {
      for (const { name, bytes } of pair) await objects.put(await keyOf(name), bytes);
    },
    list: async () => {
      const prefix = await publishedFolder();
      const names: string[] = [];
      for await (const { key } of objects.list(root)) {
        const name = key.slice(root.length);
        if (isAtRoot(name)) names.push(name);
        else if (prefix !== undefined && name.startsWith(prefix)) names.push(name.slice(prefix.length));
      }
      return names.sort();
    },
  };
  return files;
}

/** Groups one listing of all objects into runs. The objects of a run are adjacent in the listing. */
export async function* listRunsIn(
  objects: S3Objects,
  base: string,
  only: { readonly org: string | undefined; readonly report: string | undefined },
  filesOf: (run: RunRef) => RunFiles,
): AsyncGenerator<StoredRun> {
  interface Listed {
    readonly run: RunRef;
    publishedAt?: number;
    hasMetadata: boolean;
    /** When the newest object was written, epoch ms. */
    newest: number;
  }
  const toStoredRun = ({ run, publishedAt, hasMetadata, newest }: Listed): StoredRun => ({
    ...run,
    files: filesOf(run),
    ...(publishedAt !== undefined
      ? { publishedAt, publishedBefore: publishedAt }
      : hasMetadata
        ? {}
        : { unpublishedAt: newest }),
  });
  const orgPrefix = only.org === undefined ? '' : `${requirePathName(only.org, 'organization')}/`;
  const reportPrefix = only.report === undefined ? '' : `${requirePathName(only.report, 'report')}/`;
  let current: Listed | undefined;
  for await (const { key, at } of objects.list(`${base}${orgPrefix}${reportPrefix}`)) {
    const [org = '', report = '', id = '', ...rest] = key.slice(base.length).split('/');
    if (rest.length === 0 || ![org, report, id].every(isPathName)) continue;
    if (current?.run.id !== id || current.run.report !== report || current.run.org !== org) {
      if (current !== undefined) yield toStoredRun(current);
      current = { run: { id, org, report }, hasMetadata: false, newest: 0 };
    }
    const name = rest.join('/');
    if (name === 'manifest.json') current.publishedAt = at;
    if (isMetadataFile(name)) current.hasMetadata = true;
    current.newest = Math.max(current.newest, at);
  }
  if (current !== undefined) yield toStoredRun(current);
}
