import { rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import type { Archive } from './archive.ts';
import { directoryBox, directoryShelf } from './directory-shelf.ts';
import { syncPath } from './durable-file.ts';
import { readManifest } from './run-papers.ts';
import { assemble, readSealed, writing } from './sealed-folder.ts';
import { keepingIn, shelfArchive } from './shelf-archive.ts';
import { stageIn } from './staging.ts';

/** How the hidden folders of inline runs are called. */
const STAGED = '.docket-';

/** The archive in a directory; see `directoryShelf` for how it lies there. */
export const directoryArchive = (root: string, clock: Clock = systemClock): Archive =>
  shelfArchive(directoryShelf(root), clock);

/**
 * The archive of `docket run --out DIR`: the run's files directly in DIR. They are made in a hidden folder inside it
 * and moved once all of them are complete; files of the same name are replaced, others stay. `manifest.json` goes
 * first and comes back last, so that where it stands everything it names stands too. For one run at a time: when two
 * end in one folder at once, `find` may call the mixture corrupt.
 */
export function inlineArchive(folder: string): Archive {
  const base = resolve(folder);
  const box = directoryBox(base);
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
    ...keepingIn(() => box),
    peek,
    find: async (run) => {
      const found = await peek(run);
      return found === undefined ? undefined : readSealed(base, '.', found.manifest, base);
    },
    letGo: async () => {},
    stage: (run) => stageIn(base, STAGED, run),
    seal: (staged, unsealed, artifacts, mail) =>
      writing(base, async () => {
        const { names, manifest } = await assemble(staged, '.', unsealed, artifacts, mail);
        await rm(join(base, 'manifest.json'), { force: true });
        await rm(join(base, 'receipts.json'), { force: true });
        for (const name of names) await rename(join(staged, name), join(base, name));
        await syncPath(base);
        await rm(staged, { recursive: true, force: true });
        return readSealed(base, '.', manifest, base);
      }),
  };
}
