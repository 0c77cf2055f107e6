import type { RunIds } from '../../queue/short-id.ts';
import type { Access, FileEntry, RunFile } from '../access.ts';
import type { Principal } from '../auth/tokens.ts';
import { notThere } from './may.ts';
import { visibleRun } from './runs.ts';

/** Which run's pack. */
export interface PackOf {
  readonly id: string;
  readonly org: string;
  readonly report: string;
}

/** What the archive keeps of runs, for people to look at. Throws `archive.unreachable`, `archive.corrupt`. */
export interface Packs {
  /** Undefined: the run's files are not there (yet, or any more). */
  files(run: PackOf): Promise<readonly FileEntry[] | undefined>;
  /** Undefined for a name that `files` does not list. */
  file(run: PackOf, name: string): Promise<RunFile | undefined>;
  /** The e-mail with its pictures inside; undefined where there is none. */
  preview(run: PackOf): Promise<string | undefined>;
}

export interface FilesPorts {
  readonly packs: Packs;
  readonly runs: RunIds;
}

/** The files that runs have made. */
export function filesAccess(ports: FilesPorts, principal: Principal): Pick<Access, 'files' | 'file' | 'preview'> {
  const run = (id: string) => visibleRun(ports, principal, id);
  return {
    files: async (id) => (await ports.packs.files(await run(id))) ?? [],

    file: async (id, name) => {
      const file = await ports.packs.file(await run(id), name);
      if (file === undefined) throw notThere();
      return file;
    },

    preview: async (id) => {
      const html = await ports.packs.preview(await run(id));
      if (html === undefined) throw notThere();
      return html;
    },
  };
}
