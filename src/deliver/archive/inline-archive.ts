import { rename, rm, cp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Clock, systemClock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import type { Archive } from './archive.ts';
import { directoryRunFiles, directoryStorage } from './storage/directory-storage.ts';
import { syncPath } from '../../base/files/durable-file.ts';
import { readManifest } from './run-metadata.ts';
import { assembleRunFolder, readPublishedRun, withWriteErrors } from './run-folder.ts';
import { createArchive, metadataMethods } from './create-archive.ts';
import { createStagingFolder } from './staging.ts';

/** How the hidden folders of inline runs are called. */
const STAGING_PREFIX = '.docket-';

/** The archive in a directory; see `directoryShelf` for how it lies there. */
export const directoryArchive = (root: string, clock: Clock = systemClock): Archive =>
  createArchive(directoryStorage(root), clock);

/**
 * The archive of `docket run --out DIR`: the run's files directly in DIR. They are made in a hidden folder inside it
 * and moved once all of them are complete; files of the same name are replaced, others stay. `manifest.json` goes
 * first and comes back last, so that where it stands everything it names stands too. For one run at a time: when two
 * end in one folder at once, `find` may call the mixture corrupt.
 */
export function inlineArchive(folder: string): Archive {
  const base = resolve(folder);
  const box = directoryRunFiles(base);
  const peek: Archive['peek'] = async (run) => {
    const manifest = await readManifest(box).catch((cause: unknown) => {
      throw new DocketError('usage.invalid', `${base} holds a manifest.json that is not Docket's.`, {
        where: base,
        expected: 'a folder of its own for the files of a run',
        next: 'Choose another folder with --out; nothing in this one was touched.',
        cause,
      });
    });
    return manifest?.run === run.id ? { manifest } : undefined;
  };
  return {
    ...metadataMethods(() => box),
    peek,
    find: async (run) => {
      const found = await peek(run);
      return found === undefined ? undefined : readPublishedRun(base, '.', found.manifest, base);
    },
    discardCheckout: async () => {},
    stage: (run) => createStagingFolder(base, STAGING_PREFIX, run),
    publish: (staged, unsealed, artifacts, mail) =>
      withWriteErrors(base, async () => {
        const { names, manifest } = await assembleRunFolder(staged, '.', unsealed, artifacts, mail);
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
 * An archive whose every run is written to a second one as well, for people: what counts, and what is read, is the first.
 * The second has its copy before the run is sealed in the first: a folder that cannot be written fails before anything leaves.
 */
export function mirroredArchive(first: Archive, second: Archive): Archive {
  return {
    ...first,
    publish: async (staged, manifest, artifacts, mail) => {
      const copy = await second.stage(manifest.run);
      try {
        await withWriteErrors(copy, async () => {
          for (const { name, path } of artifacts) await cp(path, join(copy, name));
        });
        const copied = artifacts.map((artifact) => ({ ...artifact, path: join(copy, artifact.name) }));
        await second.publish(copy, manifest, copied, mail);
      } finally {
        await second.discard(copy);
      }
      return first.publish(staged, manifest, artifacts, mail);
    },
    putMessage: async (sealed, delivery, message, kind) => {
      const digest = await first.putMessage(sealed, delivery, message, kind);
      await second.putMessage(sealed, delivery, message, kind);
      return digest;
    },
    putAttempt: async (sealed, attempt) => {
      await first.putAttempt(sealed, attempt);
      await second.putAttempt(sealed, attempt);
    },
    putReceipts: async (sealed, receipts) => {
      await first.putReceipts(sealed, receipts);
      await second.putReceipts(sealed, receipts);
    },
  };
}
