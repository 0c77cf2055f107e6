import { toDocketError } from '../../base/error.ts';
import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import { type RunRecord, WAITING_STATES } from '../../run/run-record.ts';
import { primedStream, type RunFileReader } from '../../services/runs/run-file-reader.ts';
import { zipRunFiles } from '../../services/runs/run-files-zip.ts';
import type { Principal } from '../auth/tokens.ts';
import { type Access, type HeldRun, notFoundError } from './access.ts';
import { getVisibleRun } from './runs.ts';

export interface FilesPorts {
  readonly archivedFiles: RunFileReader;
  readonly runs: RunIdLookup;
}

/** The archived files of runs. */
export function filesAccess(
  ports: FilesPorts,
  principal: Principal,
): Pick<Access, 'files' | 'file' | 'filesZip' | 'preview'> {
  const run = (id: string) => getVisibleRun(ports, principal, id);
  return {
    files: async (id) => (await ports.archivedFiles.files(await run(id))) ?? [],

    file: async (id, name) => {
      const file = await ports.archivedFiles.file(await run(id), name);
      if (file === undefined) throw notFoundError();
      return file;
    },

    filesZip: async (id) => {
      const record = await run(id);
      const files = (await ports.archivedFiles.outputs(record)) ?? [];
      if (files.length === 0) throw notFoundError();
      return {
        name: `${record.report} ${record.period.label}.zip`,
        open: () => primedStream(zipRunFiles(files, record.createdAt)),
      };
    },

    preview: async (id, body) => {
      const html = await ports.archivedFiles.preview(await run(id), body);
      if (html === undefined) throw notFoundError();
      return html;
    },
  };
}

export interface HeldRunPorts extends Pick<FilesPorts, 'runs'> {
  /** Undefined: its files are not in the archive. Throws `archive.*`. */
  readonly heldRun: (run: RunRecord) => Promise<Omit<HeldRun, 'error'> | undefined>;
}

/** Previews of the release of held runs, and of the approval of others. */
export const heldRunAccess = (ports: HeldRunPorts, principal: Principal): Pick<Access, 'heldRun'> => ({
  heldRun: async (id) => {
    const run = await getVisibleRun(ports, principal, id);
    if (!WAITING_STATES.has(run.state)) return null;
    try {
      const preview = await ports.heldRun(run);
      return { missing: null, recipients: null, ...preview, error: null };
    } catch (thrown) {
      const error = toDocketError(thrown);
      // An unreachable archive must not hide the run.
      if (!error.code.startsWith('archive.')) throw error;
      return { missing: null, recipients: null, error: error.toJSON() };
    }
  },
});
