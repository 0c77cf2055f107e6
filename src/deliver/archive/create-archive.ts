import { rm } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import { sha256 } from '../../base/sha256.ts';
import type { Archive, PublishedManifest, PublishedRun } from './archive.ts';
import { withWriteErrors } from './archive-errors.ts';
import { attemptFileName, messageFileName, readArchivedStates, readLastMessage, readReceipts } from './attempt-log.ts';
import { type RunChain, toChainFile } from './chain/run-chain.ts';
import { publishedNames, requirePathName } from './path-names.ts';
import { assembledRun, assembleRunFolder, readPublishedRun } from './run-folder/run-folder.ts';
import { readManifest } from './run-folder/run-metadata.ts';
import type { ArchiveStorage, RunFiles, RunRef } from './storage/archive-storage.ts';

/**
 * The methods of an archive that work on the metadata files of a published run.
 * @param chain records every file; absent without a signing key
 */
export const metadataMethods = (
  filesOf: (published: PublishedManifest) => RunFiles,
  chain?: RunChain,
): Omit<Archive, 'stage' | 'publish' | 'find' | 'peek' | 'discardCheckout' | 'link'> => {
  const putJson = async (published: PublishedManifest, name: string, value: unknown): Promise<void> => {
    const text = `${JSON.stringify(value, null, 2)}\n`;
    await filesOf(published).put(name, text);
    await chain?.record(toRunRef(published), [toChainFile(name, text)]);
  };
  return {
    putMessage: async (published, delivery, message, kind = 'eml') => {
      const hash = sha256(message);
      const name = messageFileName(requirePathName(delivery, 'delivery'), hash, kind);
      // The hash file is written first, so that every message has one. Its format is that of `sha256sum --check`.
      const hashFile = { name: `messages/${name}.sha256`, bytes: `${hash}  ${name}\n` };
      await filesOf(published).putPair(hashFile, { name: `messages/${name}`, bytes: message });
      // The chain records them together with the attempt, which is written before the message is sent.
      chain?.defer(toRunRef(published), [
        toChainFile(hashFile.name, hashFile.bytes),
        { name: `messages/${name}`, sha256: hash },
      ]);
      return hash;
    },
    getMessage: (published, delivery, kind = 'eml') =>
      readLastMessage(filesOf(published), requirePathName(delivery, 'delivery'), kind),
    putReceipts: (published, receipts) => putJson(published, 'receipts.json', receipts),
    getReceipts: (published) => readReceipts(filesOf(published)),
    putAttempt: (published, attempt) => putJson(published, attemptFileName(attempt), attempt),
    getArchivedStates: (published) => readArchivedStates(filesOf(published)),
    putRelease: (published, release) => putJson(published, 'release.json', release),
    discard: (staged) => rm(staged, { recursive: true, force: true }),
  };
};

const toRunRef = ({ manifest }: PublishedManifest): RunRef => ({
  id: manifest.run,
  org: manifest.org,
  report: manifest.report,
});

/**
 * An archive in a directory or a bucket. Throws `archive.unwritable` (disk full, no permission, the store refuses),
 * `archive.unreachable` (the store does not answer) and `archive.corrupt`.
 * @param chain records and verifies everything with signatures; absent where no signing key is configured
 */
export function createArchive(storage: ArchiveStorage, clock: Clock, chain?: RunChain): Archive {
  const { link } = storage;
  /** Runs that this process has just published. They have no metadata files until this process writes or reads one. */
  const justPublished = new WeakSet<PublishedManifest>();
  const methods = metadataMethods((published) => {
    justPublished.delete(published);
    return storage.runFiles(toRunRef(published));
  }, chain);

  const peek = async (run: RunRef): Promise<PublishedManifest | undefined> => {
    const files = storage.runFiles(run);
    const manifest = await readManifest(files);
    if (manifest !== undefined) {
      await chain?.verifyManifest(run);
      return { manifest };
    }
    // A published run that has lost its manifest: starting it again would send it twice.
    if ((await files.list()).length > 0) {
      throw new DocketError('archive.corrupt', `The archived run in ${files.location} has no manifest.json.`, {
        where: files.location,
        next: 'Restore it from a backup, or remove it and run the report again.',
      });
    }
    return undefined;
  };

  const find = async (run: RunRef): Promise<PublishedRun | undefined> => {
    const found = await peek(run);
    if (found === undefined) return undefined;
    // A process may have died after it wrote a file and before it recorded the file in the chain.
    await chain?.recordMissing(run);
    const folder = await storage.checkout(run, publishedNames(found.manifest));
    try {
      return await readPublishedRun(folder, 'files', found.manifest, storage.runFiles(run).location);
    } catch (error) {
      await storage.discardCheckout(folder);
      throw error;
    }
  };

  return {
    ...methods,
    getArchivedStates: async (published) =>
      justPublished.has(published) ? new Map() : methods.getArchivedStates(published),
    peek,
    find,
    discardCheckout: ({ folder }) => storage.discardCheckout(folder),
    stage: storage.stage,
    publish: async (staged, draft, artifacts, mail) => {
      const run = toRunRef({ manifest: draft });
      // A run that cannot be signed must not be published, so check the key first.
      await chain?.assertUsable();
      const { location } = storage.runFiles(run);
      const { manifest } = await withWriteErrors(staged, () =>
        assembleRunFolder(staged, 'files', draft, artifacts, mail),
      );
      const folder = await storage.publish(run, staged, manifest, artifacts);
      if (folder !== undefined) await chain?.recordPublished(run);
      // Their hashes are compared when the files are sent.
      if (folder !== undefined) {
        const assembled = assembledRun(folder, 'files', manifest, artifacts, mail);
        justPublished.add(assembled);
        return assembled;
      }
      const published = await find(run);
      if (published !== undefined) return published;
      throw new DocketError('archive.corrupt', `The run that was just published is missing from ${location}.`, {
        where: location,
      });
    },
    ...(link === undefined
      ? {}
      : {
          link: ({ manifest }, name) =>
            link(toRunRef({ manifest }), `files/${name}`, { now: clock.now(), madeAt: Date.parse(manifest.made_at) }),
        }),
  };
}
