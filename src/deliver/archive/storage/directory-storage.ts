import { randomBytes } from 'node:crypto';
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createFile, createFolder, replaceFile, replaceFiles, syncPath, writeSynced } from '../../../base/files/durable-file.ts';
import { hasErrnoCode, isPathName, requirePathName, withWriteErrors } from '../run-folder.ts';
import {
  type ArchiveMetadata,
  type ArchiveStorage,
  isForeignFile,
  type RunFiles,
  type RunRef,
  type StoredRun,
} from './archive-storage.ts';
import { createStagingFolder } from '../staging.ts';

/** Bytes of a trial: a full disk still takes a file without any. */
const PROBE_BYTES = 64 * 1024;

/** What `work` makes; undefined when the file or folder it asks for is not there. */
async function ifPresent<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (hasErrnoCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** A run's folder as a box. */
export function directoryRunFiles(folder: string): RunFiles {
  const pathOf = (name: string): string => join(folder, ...name.split('/'));
  return {
    location: folder,
    get: (name) => ifPresent(() => readFile(pathOf(name))),
    stream: (name) => ifPresent(async () => (await open(pathOf(name), 'r')).createReadStream()),
    put: (name, bytes) =>
      withWriteErrors(folder, async () => {
        await createFolder(dirname(pathOf(name)));
        await replaceFile(pathOf(name), bytes);
      }),
    putPair: (first, second) =>
      withWriteErrors(folder, async () => {
        await createFolder(dirname(pathOf(first.name)));
        await replaceFiles([first, second].map(({ name, bytes }) => ({ path: pathOf(name), bytes })));
      }),
    list: async () => {
      const entries = (await ifPresent(() => readdir(folder, { recursive: true, withFileTypes: true }))) ?? [];
      return (
        entries
          // A dot in front: what somebody is writing at this moment, or was when he died.
          .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
          .map((entry) =>
            join(entry.parentPath, entry.name)
              .slice(folder.length + 1)
              .replaceAll('\\', '/'),
          )
          .sort()
      );
    },
  };
}

function directoryMetadata(base: string): ArchiveMetadata {
  const { get, put } = directoryRunFiles(base);
  const pathOf = (name: string): string => join(base, ...name.split('/'));
  return {
    get,
    put,
    putIfAbsent: (name, bytes) =>
      withWriteErrors(base, async () => {
        await createFolder(dirname(pathOf(name)));
        return createFile(pathOf(name), bytes);
      }),
    list: (folder) => directoryRunFiles(pathOf(folder)).list(),
    deleteAll: (folder) => withWriteErrors(base, () => rm(pathOf(folder), { recursive: true, force: true })),
  };
}

/** Organizations, reports or runs in a folder, in order: folders with a dot in front are the archive's own, others strangers'. */
async function listFolders(folder: string): Promise<readonly string[]> {
  // Somebody may sweep at the same moment; an archive in which nothing was sealed yet has no folder.
  const entries = (await ifPresent(() => readdir(folder, { withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.isDirectory() && isPathName(entry.name))
    .map(({ name }) => name)
    .sort();
}

/** A folder changes when it is sealed and when papers are added to it: it was sealed by then. */
async function publishedBefore(folder: string): Promise<{ readonly sealedBy?: number }> {
  const found = await ifPresent(() => stat(folder));
  return found === undefined ? {} : { sealedBy: found.mtimeMs };
}

/**
 * The archive in a directory: `<root>/<org>/<report>/<run>/` with `files/`, `mail.html`, `mail.txt`, `manifest.json`,
 * `receipts.json`, `messages/` and `attempts/`. A run is made in `<root>/.staging/` and published by one rename, synced
 * before and after.
 */
export function directoryStorage(root: string): ArchiveStorage {
  const base = resolve(root);
  const staging = join(base, '.staging');
  const folderOf = ({ id, org, report }: RunRef): string =>
    join(base, requirePathName(org, 'organization'), requirePathName(report, 'report'), requirePathName(id, 'run'));
  const shelved = (run: RunRef): StoredRun => ({ ...run, files: directoryRunFiles(folderOf(run)) });

  return {
    location: base,
    stage: (run) => createStagingFolder(staging, '', run),
    runFiles: (run) => directoryRunFiles(folderOf(run)),
    async *listRuns(org, only) {
      for (const one of org === undefined ? await listFolders(base) : [requirePathName(org, 'organization')]) {
        for (const report of only === undefined
          ? await listFolders(join(base, one))
          : [requirePathName(only, 'report')]) {
          for (const id of await listFolders(join(base, one, report))) {
            const run = { id, org: one, report };
            yield { ...shelved(run), ...(only === undefined ? {} : await publishedBefore(folderOf(run))) };
          }
        }
      }
    },
    listOrgs: () => listFolders(base),
    find: async (id) => {
      const name = requirePathName(id, 'run');
      for (const org of await listFolders(base)) {
        for (const report of await listFolders(join(base, org))) {
          if (await stat(join(base, org, report, name)).catch(() => undefined)) return shelved({ id, org, report });
        }
      }
      return undefined;
    },
    publish: (run, staged) => {
      const folder = folderOf(run);
      return withWriteErrors(folder, async () => {
        await createFolder(dirname(folder));
        try {
          await rename(staged, folder);
        } catch (error) {
          if (!hasErrnoCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
          await rm(staged, { recursive: true, force: true });
          return undefined;
        }
        await syncPath(dirname(folder));
        return folder;
      });
    },
    listForeignFiles: async (only) => {
      const filesIn = async (folder: string): Promise<readonly string[]> =>
        ((await ifPresent(() => readdir(join(base, folder), { withFileTypes: true }))) ?? [])
          .filter((entry) => !entry.isDirectory() && isPathName(entry.name))
          .map(({ name }) => (folder === '' ? name : `${folder}/${name}`));
      const found = only === undefined ? [...(await filesIn(''))] : [];
      for (const org of only === undefined ? await listFolders(base) : [requirePathName(only, 'organization')]) {
        found.push(...(await filesIn(org)));
        for (const report of await listFolders(join(base, org))) found.push(...(await filesIn(`${org}/${report}`)));
      }
      return found.filter(isForeignFile);
    },
    checkout: async (run) => folderOf(run),
    discardCheckout: async () => {},
    // Out of sight in one step, then gone: whoever dies in between leaves it in `.staging`, which is swept.
    delete: async (run, leaving) => {
      await leaving?.();
      return withWriteErrors(base, async () => {
        await createFolder(staging);
        const aside = join(staging, `${requirePathName(run.id, 'run')}-removed-${randomBytes(6).toString('hex')}`);
        const moved = await ifPresent(async () => {
          await rename(folderOf(run), aside);
          return true;
        });
        await rm(aside, { recursive: true, force: true });
        return moved ?? false;
      });
    },
    metadata: directoryMetadata(base),
    probe: () =>
      withWriteErrors(base, async () => {
        await createFolder(staging);
        const path = join(staging, `doctor-${randomBytes(6).toString('hex')}`);
        try {
          await writeSynced(path, new Uint8Array(PROBE_BYTES));
        } finally {
          await rm(path, { force: true });
        }
        return { ok: true, detail: `${base} can be written` };
      }),
    close: () => {},
  };
}
