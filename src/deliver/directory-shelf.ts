import { randomBytes } from 'node:crypto';
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createFile, makeFolder, replaceFile, replaceFiles, syncPath, writeSynced } from './durable-file.ts';
import { isCode, isName, pathName, writing } from './sealed-folder.ts';
import { isStray, type RunBox, type RunName, type Shelf, type ShelfNotes, type Shelved } from './shelf.ts';
import { stageIn } from './staging.ts';

/** Bytes of a trial: a full disk still takes a file without any. */
const PROBE_BYTES = 64 * 1024;

/** What `work` makes; undefined when the file or folder it asks for is not there. */
async function unlessGone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** A run's folder as a box. */
export function directoryBox(folder: string): RunBox {
  const pathOf = (name: string): string => join(folder, ...name.split('/'));
  return {
    place: folder,
    read: (name) => unlessGone(() => readFile(pathOf(name))),
    pieces: (name) => unlessGone(async () => (await open(pathOf(name), 'r')).createReadStream()),
    put: (name, bytes) =>
      writing(folder, async () => {
        await makeFolder(dirname(pathOf(name)));
        await replaceFile(pathOf(name), bytes);
      }),
    putTwo: (first, second) =>
      writing(folder, async () => {
        await makeFolder(dirname(pathOf(first.name)));
        await replaceFiles([first, second].map(({ name, bytes }) => ({ path: pathOf(name), bytes })));
      }),
    names: async () => {
      const entries = (await unlessGone(() => readdir(folder, { recursive: true, withFileTypes: true }))) ?? [];
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

function directoryNotes(base: string): ShelfNotes {
  const { read, put } = directoryBox(base);
  const pathOf = (name: string): string => join(base, ...name.split('/'));
  return {
    read,
    put,
    putNew: (name, bytes) =>
      writing(base, async () => {
        await makeFolder(dirname(pathOf(name)));
        return createFile(pathOf(name), bytes);
      }),
    names: (folder) => directoryBox(pathOf(folder)).names(),
    remove: (folder) => writing(base, () => rm(pathOf(folder), { recursive: true, force: true })),
  };
}

/** Organizations, reports or runs in a folder, in order: folders with a dot in front are the archive's own, others strangers'. */
async function foldersIn(folder: string): Promise<readonly string[]> {
  // Somebody may sweep at the same moment; an archive in which nothing was sealed yet has no folder.
  const entries = (await unlessGone(() => readdir(folder, { withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.isDirectory() && isName(entry.name))
    .map(({ name }) => name)
    .sort();
}

/** A folder changes when it is sealed and when papers are added to it: it was sealed by then. */
async function changedAt(folder: string): Promise<{ readonly sealedBy?: number }> {
  const found = await unlessGone(() => stat(folder));
  return found === undefined ? {} : { sealedBy: found.mtimeMs };
}

/**
 * The archive in a directory: `<root>/<org>/<report>/<run>/` with `files/`, `mail.html`, `mail.txt`, `manifest.json`,
 * `receipts.json`, `messages/` and `attempts/`. A run is made in `<root>/.staging/` and published by one rename, synced
 * before and after.
 */
export function directoryShelf(root: string): Shelf {
  const base = resolve(root);
  const staging = join(base, '.staging');
  const folderOf = ({ id, org, report }: RunName): string =>
    join(base, pathName(org, 'organization'), pathName(report, 'report'), pathName(id, 'run'));
  const shelved = (run: RunName): Shelved => ({ ...run, box: directoryBox(folderOf(run)) });

  return {
    place: base,
    stage: (run) => stageIn(staging, '', run),
    box: (run) => directoryBox(folderOf(run)),
    async *runs(org, only) {
      for (const one of org === undefined ? await foldersIn(base) : [pathName(org, 'organization')]) {
        for (const report of only === undefined ? await foldersIn(join(base, one)) : [pathName(only, 'report')]) {
          for (const id of await foldersIn(join(base, one, report))) {
            const run = { id, org: one, report };
            yield { ...shelved(run), ...(only === undefined ? {} : await changedAt(folderOf(run))) };
          }
        }
      }
    },
    orgs: () => foldersIn(base),
    find: async (id) => {
      const name = pathName(id, 'run');
      for (const org of await foldersIn(base)) {
        for (const report of await foldersIn(join(base, org))) {
          if (await stat(join(base, org, report, name)).catch(() => undefined)) return shelved({ id, org, report });
        }
      }
      return undefined;
    },
    publish: (run, staged) => {
      const folder = folderOf(run);
      return writing(folder, async () => {
        await makeFolder(dirname(folder));
        try {
          await rename(staged, folder);
        } catch (error) {
          if (!isCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
          await rm(staged, { recursive: true, force: true });
          return undefined;
        }
        await syncPath(dirname(folder));
        return folder;
      });
    },
    strays: async (only) => {
      const filesIn = async (folder: string): Promise<readonly string[]> =>
        ((await unlessGone(() => readdir(join(base, folder), { withFileTypes: true }))) ?? [])
          .filter((entry) => !entry.isDirectory() && isName(entry.name))
          .map(({ name }) => (folder === '' ? name : `${folder}/${name}`));
      const found = only === undefined ? [...(await filesIn(''))] : [];
      for (const org of only === undefined ? await foldersIn(base) : [pathName(only, 'organization')]) {
        found.push(...(await filesIn(org)));
        for (const report of await foldersIn(join(base, org))) found.push(...(await filesIn(`${org}/${report}`)));
      }
      return found.filter(isStray);
    },
    bring: async (run) => folderOf(run),
    letGo: async () => {},
    // Out of sight in one step, then gone: whoever dies in between leaves it in `.staging`, which is swept.
    remove: async (run, leaving) => {
      await leaving?.();
      return writing(base, async () => {
        await makeFolder(staging);
        const aside = join(staging, `${pathName(run.id, 'run')}-removed-${randomBytes(6).toString('hex')}`);
        const moved = await unlessGone(async () => {
          await rename(folderOf(run), aside);
          return true;
        });
        await rm(aside, { recursive: true, force: true });
        return moved ?? false;
      });
    },
    notes: directoryNotes(base),
    probe: () =>
      writing(base, async () => {
        await makeFolder(staging);
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
