import { realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { DocketError } from '../base/error.ts';
import { byPosition, type Fault } from './fault.ts';
import type { Jobs } from './load.ts';

/**
 * The faults of all jobs, or of the files and folders named, by file and position.
 * Throws `usage.invalid` for a path that does not exist or holds nothing of the jobs folder.
 */
export async function checkJobs(jobs: Jobs, only: readonly string[] = []): Promise<Fault[]> {
  const faults = [...jobs.faults].sort(byPosition);
  if (only.length === 0) return faults;
  const wanted = await Promise.all(only.map((path) => existing(path)));
  const files = [...[...jobs.sources.values()].map(({ file }) => file), ...faults.map(({ file }) => file)];
  const isIn = (file: string, path: string) => {
    const full = resolve(file);
    return full === path || full.startsWith(path.endsWith(sep) ? path : path + sep);
  };
  const root = resolve(jobs.folder);
  wanted.forEach((path, index) => {
    if (isIn(root, path) || path === root || files.some((file) => isIn(file, path))) return;
    throw new DocketError('usage.invalid', `${only[index]} is no definition of the jobs folder.`, {
      where: only[index] ?? '',
      expected: `a file or folder of definitions in ${jobs.folder}`,
      next: 'Name a file in the jobs folder, or set DOCKET_JOBS to the folder it is in.',
    });
  });
  return faults.filter(({ file }) => wanted.some((path) => isIn(file, path)));
}

async function existing(path: string): Promise<string> {
  const full = resolve(path);
  await realpath(full).catch((cause: unknown) => {
    throw new DocketError('usage.invalid', `${path} does not exist.`, {
      where: path,
      expected: 'a file or folder',
      next: 'Correct the path.',
      cause,
    });
  });
  return full;
}
