import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import type { Archive } from './archive.ts';
import { writing } from './sealed-folder.ts';

/**
 * An archive whose every run is written to a second one as well, for people: what counts, and what is read, is the first.
 * The second has its copy before the run is sealed in the first: a folder that cannot be written fails before anything leaves.
 */
export function mirroredArchive(first: Archive, second: Archive): Archive {
  return {
    ...first,
    seal: async (staged, manifest, artifacts, mail) => {
      const copy = await second.stage(manifest.run);
      try {
        await writing(copy, async () => {
          for (const { name, path } of artifacts) await cp(path, join(copy, name));
        });
        const copied = artifacts.map((artifact) => ({ ...artifact, path: join(copy, artifact.name) }));
        await second.seal(copy, manifest, copied, mail);
      } finally {
        await second.discard(copy);
      }
      return first.seal(staged, manifest, artifacts, mail);
    },
    keepMessage: async (sealed, delivery, message, kind) => {
      const digest = await first.keepMessage(sealed, delivery, message, kind);
      await second.keepMessage(sealed, delivery, message, kind);
      return digest;
    },
    keepAttempt: async (sealed, attempt) => {
      await first.keepAttempt(sealed, attempt);
      await second.keepAttempt(sealed, attempt);
    },
    keepReceipts: async (sealed, receipts) => {
      await first.keepReceipts(sealed, receipts);
      await second.keepReceipts(sealed, receipts);
    },
  };
}
