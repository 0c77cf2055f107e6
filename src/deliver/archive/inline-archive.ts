import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Clock, systemClock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import { syncPath } from '../../base/files/durable-file.ts';
import type { Archive } from './archive.ts';
import { withWriteErrors } from './archive-errors.ts';
import { createArchive, metadataMethods } from './create-archive.ts';
import { copyRunFiles } from './export.ts';
import { assembleRunFolder, readPublishedRun } from './run-folder/run-folder.ts';
import { readManifest } from './run-folder/run-metadata.ts';
import { createStagingFolder } from './run-folder/staging.ts';
import type { RunFiles } from './storage/archive-storage.ts';
import { directoryRunFiles, directoryStorage } from './storage/directory-storage.ts';

/** Prefix of the hidden staging folders of inline runs. */
const STAGING_PREFIX = '.docket-';
const MANIFEST = 'manifest.json';

/** The archive in a directory; see `directoryStorage` for the layout. */
export const directoryArchive = (root: string, clock: Clock = systemClock): Archive =>
  createArchive(directoryStorage(root), clock);

/**
 * The archive of `docket run --out DIR`: the run's files lie directly in DIR. They are made in a hidden folder inside
 * DIR and moved once all are complete. Files of the same name are replaced; other files stay. `manifest.json` is
 * removed first and written last, so that every file it names exists. For one run at a time: when two runs end in one
 * folder at once, `find` may throw `archive.corrupt`.
 */
export function inlineArchive(folder: string): Archive {
  const base = resolve(folder);
  const files = directoryRunFiles(base);
  const peek: Archive['peek'] = async (run) => {
    const manifest = await readManifest(files).catch((cause: unknown) => {
      throw new DocketError('usage.invalid', `${base} holds a manifest.json that Docket did not write.`, {
        where: base,
        expected: 'a separate folder for the files of a run',
        next: 'Choose another folder with --out; nothing in this one was changed.',
        cause,
      });
    });
    return manifest?.run === run.id ? { manifest } : undefined;
  };
  return {
    ...metadataMethods(() => files),
    peek,
    find: async (run) => {
      const found = await peek(run);
      return found === undefined ? undefined : readPublishedRun(base, '.', found.manifest, base);
    },
    discardCheckout: async () => {},
    stage: (run) => createStagingFolder(base, STAGING_PREFIX, run),
    publish: (staged, draft, artifacts, mail) =>
      withWriteErrors(base, async () => {
        const { names, manifest } = await assembleRunFolder(staged, '.', draft, artifacts, mail);
        await rm(join(base, MANIFEST), { force: true });
        await rm(join(base, 'receipts.json'), { force: true });
        for (const name of names) {
          await mkdir(dirname(join(base, name)), { recursive: true });
          await rename(join(staged, name), join(base, name));
        }
        await syncPath(base);
        await rm(staged, { recursive: true, force: true });
        return readPublishedRun(base, '.', manifest, base);
      }),
  };
}

/**
 * Copies an archived run into the folder of `--out`, in the layout of `inlineArchive`. Does nothing if the run is not
 * archived.
 */
export const copyToOutput = (run: RunFiles, folder: string): Promise<void> =>
  withWriteErrors(folder, async () => {
    const names = await run.list();
    if (!names.includes(MANIFEST)) return;
    const toFileName = (name: string) => name.replace(/^files\//, '');
    const others = names.filter((name) => name !== MANIFEST && name !== 'chain.json');
    for (const name of [MANIFEST, 'receipts.json', ...others])
      await rm(join(folder, toFileName(name)), { force: true });
    await copyRunFiles(run, [...others, MANIFEST], folder, toFileName);
    await syncPath(folder);
  });
