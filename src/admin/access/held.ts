import { toDocketError } from '../../base/error.ts';
import type { RunRecord } from '../../run/record.ts';
import type { Access, HeldRun } from '../access.ts';
import type { Principal } from '../auth/tokens.ts';
import type { FilesPorts } from './files.ts';
import { getVisibleRun } from './runs.ts';

export interface HeldRunPorts extends Pick<FilesPorts, 'runs'> {
  /** Throws `archive.*`. Undefined: its files are not in the archive. */
  readonly heldRun: (run: RunRecord) => Promise<Omit<HeldRun, 'error'> | undefined>;
}

/** Held runs, for whoever decides whether they are released. */
export const heldRunAccess = (ports: HeldRunPorts, principal: Principal): Pick<Access, 'heldRun'> => ({
  heldRun: async (id) => {
    const run = await getVisibleRun(ports, principal, id);
    if (run.state !== 'held') return null;
    try {
      const pack = await ports.heldRun(run);
      return { missing: null, recipients: null, ...pack, error: null };
    } catch (thrown) {
      const error = toDocketError(thrown);
      // An archive that does not answer must not keep the run itself from being seen.
      if (!error.code.startsWith('archive.')) throw error;
      return { missing: null, recipients: null, error: error.toJSON() };
    }
  },
});
