import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import type { Archive } from './archive.ts';
import { withWriteErrors } from './sealed-folder.ts';

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
