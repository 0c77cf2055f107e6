import { cp, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Clock, systemClock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import { syncPath } from '../../base/files/durable-file.ts';
import type { Archive } from './archive.ts';
import { withWriteErrors } from './archive-errors.ts';
import { createArchive, metadataMethods } from './create-archive.ts';
import { assembleRunFolder, readPublishedRun } from './run-folder/run-folder.ts';
import { readManifest } from './run-folder/run-metadata.ts';
import { createStagingFolder } from './run-folder/staging.ts';
import { directoryRunFiles, directoryStorage } from './storage/directory-storage.ts';

/** Prefix of the hidden staging folders of inline runs. */
const STAGING_PREFIX = '.docket-';

/** The archive in a directory; see `directoryStorage` for the layout. */
export const directoryArchive = (root: string, clock: Clock = systemClock): Archive =>
  createArchive(directoryStorage(root), clock);

/**
 * The archive of `docket run --out DIR`: the run's files directly in DIR. They are made in a hidden folder inside it and
 * moved once all are complete. Files of the same name are replaced, others stay. `manifest.json` is removed first and
 * written last, so that every file it names exists. For one run at a time: when two runs end in one folder at once,
 * `find` may throw `archive.corrupt`.
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
        await rm(join(base, 'manifest.json'), { force: true });
        await rm(join(base, 'receipts.json'), { force: true });
        for (const name of names) await rename(join(staged, name), join(base, name));
        await syncPath(base);
        await rm(staged, { recursive: true, force: true });
        return readPublishedRun(base, '.', manifest, base);
      }),
  };
}

/**
 * Writes every run to a second archive as well. All reads use `primary`. `mirror` is written before the run is published
 * in `primary`, so that an unwritable folder fails the run before anything is sent.
 */
export function mirroredArchive(primary: Archive, mirror: Archive): Archive {
  const both =
    <Args extends unknown[], Result>(first: (...args: Args) => Promise<Result>, second: typeof first) =>
    async (...args: Args): Promise<Result> => {
      const result = await first(...args);
      await second(...args);
      return result;
    };
  return {
    ...primary,
    publish: async (staged, manifest, artifacts, mail) => {
      const copy = await mirror.stage(manifest.run);
      try {
        await withWriteErrors(copy, async () => {
          for (const { name, path } of artifacts) await cp(path, join(copy, name));
        });
        const copied = artifacts.map((artifact) => ({ ...artifact, path: join(copy, artifact.name) }));
        await mirror.publish(copy, manifest, copied, mail);
      } finally {
        await mirror.discard(copy);
      }
      return primary.publish(staged, manifest, artifacts, mail);
    },
    putMessage: both(primary.putMessage, mirror.putMessage),
    putAttempt: both(primary.putAttempt, mirror.putAttempt),
    putReceipts: both(primary.putReceipts, mirror.putReceipts),
  };
}
