import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import type { Archive, Sealed } from './archive.ts';
import { makeFolder, replaceFile, syncPath } from './durable-file.ts';
import { readEvidence, writeAttempt } from './kept-attempts.ts';
import { assemble, isCode, pathName, readManifest, readSealed, writing } from './sealed-folder.ts';

/** How the hidden folders of inline runs are called. */
const STAGED = '.docket-';

/** A staged folder that is this old belongs to a process that is gone. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;

/** Throws away what dead processes were making in this folder, under names that begin so. */
async function sweep(folder: string, prefix: string, clock: Clock): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(folder, name);
    // Another process may sweep, seal or discard at the same moment: what is gone is gone.
    const age = await stat(path)
      .then(({ mtimeMs }) => clock.now() - mtimeMs)
      .catch(() => 0);
    if (age > ABANDONED_MS) await rm(path, { recursive: true, force: true });
  }
}

/** What both archives do with a sealed folder. */
const keeping = (): Pick<
  Archive,
  'keepMessage' | 'keepReceipts' | 'keepAttempt' | 'evidence' | 'keepRelease' | 'discard'
> => ({
  keepMessage: (sealed, delivery, message, kind = 'eml') =>
    writing(sealed.folder, async () => {
      const folder = join(sealed.folder, 'messages');
      await makeFolder(folder);
      const name = `${pathName(delivery, 'delivery')}.${kind}`;
      const digest = createHash('sha256').update(message).digest('hex');
      // The hash first, so that a message is never without one; as `sha256sum --check` reads it.
      await replaceFile(join(folder, `${name}.sha256`), `${digest}  ${name}\n`);
      await replaceFile(join(folder, name), message);
    }),
  keepReceipts: (sealed, receipts) =>
    writing(sealed.folder, () =>
      replaceFile(join(sealed.folder, 'receipts.json'), `${JSON.stringify(receipts, null, 2)}\n`),
    ),
  keepAttempt: ({ folder }, attempt) => writing(folder, () => writeAttempt(folder, attempt)),
  evidence: ({ folder }) => readEvidence(folder),
  keepRelease: ({ folder }, release) =>
    writing(folder, () => replaceFile(join(folder, 'release.json'), `${JSON.stringify(release, null, 2)}\n`)),
  discard: (staged) => rm(staged, { recursive: true, force: true }),
});

/**
 * The archive in a directory: `<root>/<org>/<report>/<run>/` with `files/`, `mail.html`, `mail.txt`, `manifest.json`,
 * `receipts.json`, `messages/` and `attempts/`. A run is made in `<root>/.staging/` and published by one rename, synced before and
 * after: two processes that seal a run at once both get the folder of the first.
 * Throws `archive.unwritable` (disk full, permissions) and `archive.corrupt`.
 */
export function directoryArchive(root: string, clock: Clock = systemClock): Archive {
  const base = resolve(root);
  const staging = join(base, '.staging');
  const folderOf = (run: { id: string; org: string; report: string }): string =>
    join(base, pathName(run.org, 'organization'), pathName(run.report, 'report'), pathName(run.id, 'run'));

  const find = async (run: { id: string; org: string; report: string }): Promise<Sealed | undefined> => {
    const folder = folderOf(run);
    const manifest = await readManifest(folder);
    if (manifest !== undefined) return readSealed(folder, 'files', manifest);
    if (await stat(folder).catch(() => undefined)) {
      throw new DocketError('archive.corrupt', `The archived run in ${folder} has no manifest.json.`, {
        where: folder,
        next: 'Restore the folder from a backup, or remove it and run the report again.',
      });
    }
    return undefined;
  };

  return {
    ...keeping(),
    find,
    stage: (run) =>
      writing(staging, async () => {
        await makeFolder(staging);
        await sweep(staging, '', clock);
        const staged = join(staging, `${pathName(run, 'run')}-${randomBytes(6).toString('hex')}`);
        await mkdir(staged, { mode: 0o700 });
        return staged;
      }),
    seal: (staged, manifest, artifacts, mail) => {
      const run = { id: manifest.run, org: manifest.org, report: manifest.report };
      const folder = folderOf(run);
      return writing(folder, async () => {
        await assemble(staged, 'files', manifest, artifacts, mail);
        await makeFolder(dirname(folder));
        try {
          await rename(staged, folder);
          await syncPath(dirname(folder));
        } catch (error) {
          if (!isCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
          await rm(staged, { recursive: true, force: true });
        }
        const sealed = await find(run);
        if (sealed !== undefined) return sealed;
        throw new DocketError('archive.corrupt', `The run that was just sealed is gone from ${folder}.`, {
          where: folder,
        });
      });
    },
  };
}

/**
 * The archive of `docket run --out DIR`: the run's files directly in DIR. They are made in a hidden folder inside it
 * and moved once all of them are complete; files of the same name are replaced, others stay. `manifest.json` goes
 * first and comes back last, so that where it stands everything it names stands too. For one run at a time: when two
 * end in one folder at once, `find` may call the mixture corrupt.
 */
export function inlineArchive(folder: string, clock: Clock = systemClock): Archive {
  const base = resolve(folder);
  const find = async (run: { id: string }): Promise<Sealed | undefined> => {
    const manifest = await readManifest(base).catch((cause: unknown) => {
      throw new DocketError('usage.invalid', `${base} holds a manifest.json that is not Docket's.`, {
        where: base,
        expected: 'a folder of its own for the files of a run',
        next: 'Choose another folder with --out; nothing in this one was touched.',
        cause,
      });
    });
    return manifest?.run === run.id ? readSealed(base, '.', manifest) : undefined;
  };
  return {
    ...keeping(),
    find,
    stage: (run) =>
      writing(base, async () => {
        await makeFolder(base);
        await sweep(base, STAGED, clock);
        const staged = join(base, `${STAGED}${pathName(run, 'run')}-${randomBytes(6).toString('hex')}`);
        await mkdir(staged, { mode: 0o700 });
        return staged;
      }),
    seal: (staged, manifest, artifacts, mail) =>
      writing(base, async () => {
        const names = await assemble(staged, '.', manifest, artifacts, mail);
        await rm(join(base, 'manifest.json'), { force: true });
        await rm(join(base, 'receipts.json'), { force: true });
        for (const name of names) await rename(join(staged, name), join(base, name));
        await syncPath(base);
        await rm(staged, { recursive: true, force: true });
        return readSealed(base, '.', { ...manifest, ...(await readManifest(base)) });
      }),
  };
}
