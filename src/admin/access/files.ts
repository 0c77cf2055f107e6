import { toDocketError } from '../../base/error.ts';
import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { Principal } from '../auth/tokens.ts';
import type { Access, FileEntry, HeldRun, RunFile } from './access.ts';
import { notFoundError } from './permissions.ts';
import { getVisibleRun } from './runs.ts';

/** Which run's pack. */
export interface ArchivedRunRef {
  readonly id: string;
  readonly org: string;
  readonly report: string;
}

/** What the archive keeps of runs, for people to look at. Throws `archive.unreachable`, `archive.corrupt`. */
export interface ArchivedFiles {
  /** Undefined: the run's files are not there (yet, or any more). */
  files(run: ArchivedRunRef): Promise<readonly FileEntry[] | undefined>;
  /** Undefined for a name that `files` does not list. */
  file(run: ArchivedRunRef, name: string): Promise<RunFile | undefined>;
  /** The e-mail with its pictures inside; undefined where there is none. */
  preview(run: ArchivedRunRef): Promise<string | undefined>;
}

export interface FilesPorts {
  readonly archivedFiles: ArchivedFiles;
  readonly runs: RunIdLookup;
}

/** The files that runs have made. */
export function filesAccess(ports: FilesPorts, principal: Principal): Pick<Access, 'files' | 'file' | 'preview'> {
  const run = (id: string) => getVisibleRun(ports, principal, id);
  return {
    files: async (id) => (await ports.archivedFiles.files(await run(id))) ?? [],

    file: async (id, name) => {
      const file = await ports.archivedFiles.file(await run(id), name);
      if (file === undefined) throw notFoundError();
      return file;
    },

    preview: async (id) => {
      const html = await ports.archivedFiles.preview(await run(id));
      if (html === undefined) throw notFoundError();
      return html;
    },
  };
}

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
