import { readdir } from 'node:fs/promises';
import { join, parse } from 'node:path';

/** What can be named on a command line, from the names of files alone. */
export interface Names {
  readonly orgs: readonly string[];
  /** `<org>/<report>`. */
  readonly reports: readonly string[];
}

/**
 * Who presses Tab waits for it: no definition is read, and one with a fault has a name all the same. A folder that cannot be read has
 * no names, since there is nobody to be told.
 */
export async function namesIn(jobs: string): Promise<Names> {
  const filesOf = async (org: string) => readdir(join(jobs, org)).catch(() => []);
  const entries = await readdir(jobs, { withFileTypes: true }).catch(() => []);
  const orgs = entries.filter((entry) => !entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name);
  const reports = await Promise.all(
    orgs.map(async (org) =>
      (await filesOf(org))
        .map((file) => parse(file))
        .filter(({ ext, name }) => (ext === '.yaml' || ext === '.yml') && name !== 'org' && !name.startsWith('.'))
        .map(({ name }) => `${org}/${name}`),
    ),
  );
  return { orgs: orgs.sort(), reports: reports.flat().sort() };
}
