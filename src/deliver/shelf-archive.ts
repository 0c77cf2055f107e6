import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import type { Archive, Sealed, SealedRun } from './archive.ts';
import { type ChainedRuns, chainFile } from './chained-runs.ts';
import { attemptName, messageName, readEvidence, readLastMessage, readReceipts } from './kept-attempts.ts';
import { readManifest } from './run-papers.ts';
import { assemble, pathName, readSealed, sealedNames, writing } from './sealed-folder.ts';
import type { RunBox, RunName, Shelf } from './shelf.ts';

/** What every archive does with the papers of a sealed run. */
export const keepingIn = (
  boxOf: (sealed: SealedRun) => RunBox,
  signing?: Pick<ChainedRuns, 'note' | 'enter'>,
): Pick<
  Archive,
  'keepMessage' | 'message' | 'keepReceipts' | 'receipts' | 'keepAttempt' | 'evidence' | 'keepRelease' | 'discard'
> => {
  const keep = async (sealed: SealedRun, name: string, paper: unknown): Promise<void> => {
    const text = `${JSON.stringify(paper, null, 2)}\n`;
    await boxOf(sealed).put(name, text);
    await signing?.enter(nameOf(sealed), [chainFile(name, text)]);
  };
  return {
    keepMessage: async (sealed, delivery, message, kind = 'eml') => {
      const digest = createHash('sha256').update(message).digest('hex');
      const name = messageName(pathName(delivery, 'delivery'), digest, kind);
      // The hash first, so that a message is never without one; as `sha256sum --check` reads it.
      const hash = { name: `messages/${name}.sha256`, bytes: `${digest}  ${name}\n` };
      await boxOf(sealed).putTwo(hash, { name: `messages/${name}`, bytes: message });
      // Entered with the attempt that sends it, which is written before it leaves.
      signing?.note(nameOf(sealed), [chainFile(hash.name, hash.bytes), { name: `messages/${name}`, sha256: digest }]);
      return digest;
    },
    message: (sealed, delivery, kind = 'eml') => readLastMessage(boxOf(sealed), pathName(delivery, 'delivery'), kind),
    keepReceipts: (sealed, receipts) => keep(sealed, 'receipts.json', receipts),
    receipts: (sealed) => readReceipts(boxOf(sealed)),
    keepAttempt: (sealed, attempt) => keep(sealed, attemptName(attempt), attempt),
    evidence: (sealed) => readEvidence(boxOf(sealed)),
    keepRelease: (sealed, release) => keep(sealed, 'release.json', release),
    discard: (staged) => rm(staged, { recursive: true, force: true }),
  };
};

const nameOf = ({ manifest }: SealedRun): RunName => ({
  id: manifest.run,
  org: manifest.org,
  report: manifest.report,
});

/**
 * The archive on a shelf, a directory or a bucket alike. Throws `archive.unwritable` (disk full, permissions, a store that
 * refuses), `archive.unreachable` (a store that does not answer) and `archive.corrupt`.
 * @param signing enters everything into the signed chain, and compares with it; absent where no key is named
 */
export function shelfArchive(shelf: Shelf, clock: Clock, signing?: ChainedRuns): Archive {
  const { link } = shelf;

  const peek = async (run: RunName): Promise<SealedRun | undefined> => {
    const box = shelf.box(run);
    const manifest = await readManifest(box);
    if (manifest !== undefined) {
      await signing?.check(run);
      return { manifest };
    }
    // A run that was sealed has lost its manifest: what it sent must not be made and sent anew.
    if ((await box.names()).length > 0) {
      throw new DocketError('archive.corrupt', `The archived run in ${box.place} has no manifest.json.`, {
        where: box.place,
        next: 'Restore it from a backup, or remove it and run the report again.',
      });
    }
    return undefined;
  };

  const find = async (run: RunName): Promise<Sealed | undefined> => {
    const found = await peek(run);
    if (found === undefined) return undefined;
    // Whoever died between writing something and entering it: the next one who has the run in hand enters it.
    await signing?.complete(run);
    const folder = await shelf.bring(run, sealedNames(found.manifest));
    try {
      return await readSealed(folder, 'files', found.manifest, shelf.box(run).place);
    } catch (error) {
      await shelf.letGo(folder);
      throw error;
    }
  };

  return {
    ...keepingIn((sealed) => shelf.box(nameOf(sealed)), signing),
    peek,
    find,
    letGo: ({ folder }) => shelf.letGo(folder),
    stage: shelf.stage,
    seal: async (staged, unsealed, artifacts, mail) => {
      const run = nameOf({ manifest: unsealed });
      const { place } = shelf.box(run);
      const { manifest } = await writing(staged, () => assemble(staged, 'files', unsealed, artifacts, mail));
      const folder = await shelf.publish(run, staged, manifest, artifacts);
      if (folder !== undefined) await signing?.sealed(run);
      const sealed = folder === undefined ? await find(run) : await readSealed(folder, 'files', manifest, place);
      if (sealed !== undefined) return sealed;
      throw new DocketError('archive.corrupt', `The run that was just sealed is gone from ${place}.`, { where: place });
    },
    ...(link === undefined
      ? {}
      : {
          link: ({ manifest }, name) =>
            link(nameOf({ manifest }), `files/${name}`, { now: clock.now(), madeAt: Date.parse(manifest.made_at) }),
        }),
  };
}
