import { toDocketError } from '../../base/error.ts';
import type { RunRecord } from '../../run/record.ts';
import type { Access, HeldPack } from '../access.ts';
import type { Principal } from '../auth/tokens.ts';
import type { FilesPorts } from './files.ts';
import { visibleRun } from './runs.ts';

export interface HeldPorts extends Pick<FilesPorts, 'runs'> {
  /** Throws `archive.*`. Undefined: its files are not in the archive. */
  readonly heldPack: (run: RunRecord) => Promise<Omit<HeldPack, 'error'> | undefined>;
}

/** Held runs, for whoever decides whether they are released. */
export const heldAccess = (ports: HeldPorts, principal: Principal): Pick<Access, 'heldPack'> => ({
  heldPack: async (id) => {
    const run = await visibleRun(ports, principal, id);
    if (run.state !== 'held') return null;
    try {
      const pack = await ports.heldPack(run);
      return { missing: null, recipients: null, ...pack, error: null };
    } catch (thrown) {
      const error = toDocketError(thrown);
      // An archive that does not answer must not keep the run itself from being seen.
      if (!error.code.startsWith('archive.')) throw error;
      return { missing: null, recipients: null, error: error.toJSON() };
    }
  },
});
