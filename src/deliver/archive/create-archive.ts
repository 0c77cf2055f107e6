import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import type { Archive, PublishedManifest, PublishedRun } from './archive.ts';
import { type RunChain, toChainFile } from './chain/run-chain.ts';
import {
  attemptFileName,
  messageFileName,
  readArchivedStates,
  readLastMessage,
  readReceipts,
} from './attempt-log.ts';
import { readManifest } from './run-metadata.ts';
import {
  assembleRunFolder,
  publishedNames,
  readPublishedRun,
  requirePathName,
  withWriteErrors,
} from './run-folder.ts';
import type { ArchiveStorage, RunFiles, RunRef } from './storage/archive-storage.ts';

/** What every archive does with the papers of a sealed run. */
export const metadataMethods = (
  boxOf: (sealed: PublishedManifest) => RunFiles,
  signing?: Pick<RunChain, 'defer' | 'record'>,
): Pick<
  Archive,
  | 'putMessage'
  | 'getMessage'
  | 'putReceipts'
  | 'getReceipts'
  | 'putAttempt'
  | 'getArchivedStates'
  | 'putRelease'
  | 'discard'
> => {
  const keep = async (sealed: PublishedManifest, name: string, paper: unknown): Promise<void> => {
    const text = `${JSON.stringify(paper, null, 2)}\n`;
    await boxOf(sealed).put(name, text);
    await signing?.record(runRefOf(sealed), [toChainFile(name, text)]);
  };
  return {
    putMessage: async (sealed, delivery, message, kind = 'eml') => {
      const digest = createHash('sha256').update(message).digest('hex');
      const name = messageFileName(requirePathName(delivery, 'delivery'), digest, kind);
      // The hash first, so that a message is never without one; as `sha256sum --check` reads it.
      const hash = { name: `messages/${name}.sha256`, bytes: `${digest}  ${name}\n` };
      await boxOf(sealed).putPair(hash, { name: `messages/${name}`, bytes: message });
      // Entered with the attempt that sends it, which is written before it leaves.
      signing?.defer(runRefOf(sealed), [
        toChainFile(hash.name, hash.bytes),
        { name: `messages/${name}`, sha256: digest },
      ]);
      return digest;
    },
    getMessage: (sealed, delivery, kind = 'eml') =>
      readLastMessage(boxOf(sealed), requirePathName(delivery, 'delivery'), kind),
    putReceipts: (sealed, receipts) => keep(sealed, 'receipts.json', receipts),
    getReceipts: (sealed) => readReceipts(boxOf(sealed)),
    putAttempt: (sealed, attempt) => keep(sealed, attemptFileName(attempt), attempt),
    getArchivedStates: (sealed) => readArchivedStates(boxOf(sealed)),
    putRelease: (sealed, release) => keep(sealed, 'release.json', release),
    discard: (staged) => rm(staged, { recursive: true, force: true }),
  };
};

const runRefOf = ({ manifest }: PublishedManifest): RunRef => ({
  id: manifest.run,
  org: manifest.org,
  report: manifest.report,
});

/**
 * The archive on a shelf, a directory or a bucket alike. Throws `archive.unwritable` (disk full, permissions, a store that
 * refuses), `archive.unreachable` (a store that does not answer) and `archive.corrupt`.
 * @param signing enters everything into the signed chain, and compares with it; absent where no key is named
 */
export function createArchive(shelf: ArchiveStorage, clock: Clock, signing?: RunChain): Archive {
  const { link } = shelf;

  const peek = async (run: RunRef): Promise<PublishedManifest | undefined> => {
    const box = shelf.runFiles(run);
    const manifest = await readManifest(box);
    if (manifest !== undefined) {
      await signing?.verifyManifest(run);
      return { manifest };
    }
    // A run that was sealed has lost its manifest: what it sent must not be made and sent anew.
    if ((await box.list()).length > 0) {
      throw new DocketError('archive.corrupt', `The archived run in ${box.location} has no manifest.json.`, {
        where: box.location,
        next: 'Restore it from a backup, or remove it and run the report again.',
      });
    }
    return undefined;
  };

  const find = async (run: RunRef): Promise<PublishedRun | undefined> => {
    const found = await peek(run);
    if (found === undefined) return undefined;
    // Whoever died between writing something and entering it: the next one who has the run in hand enters it.
    await signing?.recordMissing(run);
    const folder = await shelf.checkout(run, publishedNames(found.manifest));
    try {
      return await readPublishedRun(folder, 'files', found.manifest, shelf.runFiles(run).location);
    } catch (error) {
      await shelf.discardCheckout(folder);
      throw error;
    }
  };

  return {
    ...metadataMethods((sealed) => shelf.runFiles(runRefOf(sealed)), signing),
    peek,
    find,
    discardCheckout: ({ folder }) => shelf.discardCheckout(folder),
    stage: shelf.stage,
    publish: async (staged, unsealed, artifacts, mail) => {
      const run = runRefOf({ manifest: unsealed });
      const { location } = shelf.runFiles(run);
      const { manifest } = await withWriteErrors(staged, () =>
        assembleRunFolder(staged, 'files', unsealed, artifacts, mail),
      );
      const folder = await shelf.publish(run, staged, manifest, artifacts);
      if (folder !== undefined) await signing?.recordPublished(run);
      const sealed =
        folder === undefined ? await find(run) : await readPublishedRun(folder, 'files', manifest, location);
      if (sealed !== undefined) return sealed;
      throw new DocketError('archive.corrupt', `The run that was just sealed is gone from ${location}.`, {
        where: location,
      });
    },
    ...(link === undefined
      ? {}
      : {
          link: ({ manifest }, name) =>
            link(runRefOf({ manifest }), `files/${name}`, { now: clock.now(), madeAt: Date.parse(manifest.made_at) }),
        }),
  };
}
