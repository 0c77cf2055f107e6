import { randomBytes } from 'node:crypto';
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isErrno } from '../../../base/errno.ts';
import {
  createFile,
  createFolder,
  PROBE_BYTES,
  replaceFiles,
  syncPath,
  writeSynced,
} from '../../../base/files/durable-file.ts';
import { isAbsent, withWriteErrors } from '../archive-errors.ts';
import { isPathName, requirePathName } from '../path-names.ts';
import { cleaningSchedule, createStagingFolder } from '../run-folder/staging.ts';
import {
  type ArchiveMetadata,
  type ArchiveStorage,
  isForeignFile,
  type MetadataFile,
  type RunFiles,
  type RunRef,
  type StoredRun,
} from './archive-storage.ts';

/** The result of `read`; undefined when the file or folder is absent. */
async function ifPresent<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** The files of a run in a folder. */
export function directoryRunFiles(folder: string): RunFiles {
  const pathOf = (name: string): string => join(folder, ...name.split('/'));
  const putAll = (files: readonly MetadataFile[]): Promise<void> =>
    withWriteErrors(folder, async () => {
      const replace = () => replaceFiles(files.map(({ name, bytes }) => ({ path: pathOf(name), bytes })));
      await replace().catch(async (error: unknown) => {
        if (!isErrno(error, 'ENOENT')) throw error;
        // The first file of a folder creates it. If it exists by now, something else was mounted there.
        const parent = dirname(pathOf(files[0]?.name ?? ''));
        const isCreated = await createFolder(parent);
        if (!isCreated && parent === folder) throw error;
        await replace();
      });
    });
  return {
    location: folder,
    get: (name) => ifPresent(() => readFile(pathOf(name))),
    stream: (name) => ifPresent(async () => (await open(pathOf(name), 'r')).createReadStream()),
    put: (name, bytes) => putAll([{ name, bytes }]),
    putPair: (first, second) => putAll([first, second]),
    list: async () => {
      const entries = (await ifPresent(() => readdir(folder, { recursive: true, withFileTypes: true }))) ?? [];
      return (
        entries
          // A name with a leading dot is a temporary file, whose writer may have died.
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
    identity: (name) =>
      stat(pathOf(name), { bigint: true }).then(
        ({ dev, ino, mtimeNs, ctimeNs, size }) => [dev, ino, mtimeNs, ctimeNs, size].join(' '),
        () => undefined,
      ),
    list: (folder) => directoryRunFiles(pathOf(folder)).list(),
    deleteAll: (folder) => withWriteErrors(base, () => rm(pathOf(folder), { recursive: true, force: true })),
  };
}

/**
 * Organizations, reports or runs in a folder, sorted. Folders with a leading dot belong to the archive itself; other
 * names are foreign.
 */
async function listFolders(folder: string): Promise<readonly string[]> {
  // The folder is absent in a new archive, or retention has just removed it.
  const entries = (await ifPresent(() => readdir(folder, { withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.isDirectory() && isPathName(entry.name))
    .map(({ name }) => name)
    .sort();
}

/** The run was published then or earlier: publishing and adding metadata files both update the folder's mtime. */
async function publishedBefore(folder: string): Promise<Pick<StoredRun, 'publishedBefore'>> {
  const found = await ifPresent(() => stat(folder));
  return found === undefined ? {} : { publishedBefore: found.mtimeMs };
}

/**
 * An archive in a directory: `<root>/<org>/<report>/<run>/` with `files/`, `mail.html`, `mail.txt`, `manifest.json`,
 * `receipts.json`, `messages/` and `attempts/`. A run is assembled in `<root>/.staging/` and published by one rename,
 * synced before and after.
 */
export function directoryStorage(root: string): ArchiveStorage {
  const base = resolve(root);
  const staging = join(base, '.staging');
  const isCleaningDue = cleaningSchedule();
  const folderOf = ({ id, org, report }: RunRef): string =>
    join(base, requirePathName(org, 'organization'), requirePathName(report, 'report'), requirePathName(id, 'run'));
  const storedRun = (run: RunRef): StoredRun => ({ ...run, files: directoryRunFiles(folderOf(run)) });

  return {
    location: base,
    stage: (run) => createStagingFolder(staging, '', run, isCleaningDue),
    runFiles: (run) => directoryRunFiles(folderOf(run)),
    async *listRuns(onlyOrg, onlyReport) {
      const orgs = onlyOrg === undefined ? await listFolders(base) : [requirePathName(onlyOrg, 'organization')];
      for (const org of orgs) {
        const reports =
          onlyReport === undefined ? await listFolders(join(base, org)) : [requirePathName(onlyReport, 'report')];
        for (const report of reports) {
          for (const id of await listFolders(join(base, org, report))) {
            const run = { id, org, report };
            yield { ...storedRun(run), ...(onlyReport === undefined ? {} : await publishedBefore(folderOf(run))) };
          }
        }
      }
    },
    listOrgs: () => listFolders(base),
    find: async (id) => {
      const name = requirePathName(id, 'run');
      for (const org of await listFolders(base)) {
        for (const report of await listFolders(join(base, org))) {
          if (await stat(join(base, org, report, name)).catch(() => undefined)) return storedRun({ id, org, report });
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
          if (!isErrno(error, 'ENOTEMPTY', 'EEXIST')) throw error;
          await rm(staged, { recursive: true, force: true });
          return undefined;
        }
        await syncPath(dirname(folder));
        return folder;
      });
    },
    listForeignFiles: async (onlyOrg) => {
      const filesIn = async (folder: string): Promise<readonly string[]> =>
        ((await ifPresent(() => readdir(join(base, folder), { withFileTypes: true }))) ?? [])
          .filter((entry) => !entry.isDirectory() && isPathName(entry.name))
          .map(({ name }) => (folder === '' ? name : `${folder}/${name}`));
      const found = onlyOrg === undefined ? [...(await filesIn(''))] : [];
      for (const org of onlyOrg === undefined ? await listFolders(base) : [requirePathName(onlyOrg, 'organization')]) {
        found.push(...(await filesIn(org)));
        for (const report of await listFolders(join(base, org))) found.push(...(await filesIn(`${org}/${report}`)));
      }
      return found.filter(isForeignFile);
    },
    checkout: async (run) => folderOf(run),
    discardCheckout: async () => {},
    // One rename hides the run. If the process dies before the removal, the rest stays in `.staging` and is cleaned up
    // later.
    delete: async (run, onFirstDelete) => {
      await onFirstDelete?.();
      return withWriteErrors(base, async () => {
        await createFolder(staging);
        const removed = join(staging, `${requirePathName(run.id, 'run')}-removed-${randomBytes(6).toString('hex')}`);
        const moved = await ifPresent(async () => {
          await rename(folderOf(run), removed);
          return true;
        });
        await rm(removed, { recursive: true, force: true });
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
