import { realpath } from 'node:fs/promises';
import { basename, dirname, resolve, sep } from 'node:path';
import { DocketError } from '../base/error.ts';
import type { Definition } from './definition.ts';
import { byPosition, type Fault } from './fault.ts';
import type { Jobs } from './load.ts';

/**
 * The faults of all jobs, or of the files and folders named, by file and position. With a report come the faults of its
 * organization's `org.yaml`, without which it does not run.
 * Throws `usage.invalid` for a path that does not exist or holds nothing of the jobs folder.
 */
export async function checkJobs(jobs: Jobs, only: readonly string[] = []): Promise<Fault[]> {
  const chosen = await chosenFiles(jobs, only);
  const folders = new Set(
    filesOf(jobs)
      .filter(chosen)
      .map((file) => dirname(file)),
  );
  const isSettings = (file: string) => /^org\.ya?ml$/.test(basename(file));
  return jobs.faults
    .filter(({ file }) => chosen(file) || (isSettings(file) && folders.has(dirname(file))))
    .sort(byPosition);
}

/**
 * Tells the reports that the files and folders named hold; all of them when none is named.
 * Throws as `checkJobs` does.
 */
export async function isChosen(
  jobs: Jobs,
  only: readonly string[] = [],
): Promise<(report: Pick<Definition, 'org' | 'report'>) => boolean> {
  const chosen = await chosenFiles(jobs, only);
  return ({ org, report }) => {
    const source = jobs.sources.get(`${org}/${report}`);
    return source !== undefined && chosen(source.file);
  };
}

/** Every file that holds a definition, or should. */
const filesOf = (jobs: Jobs): string[] => [...jobs.sources.values(), ...jobs.faults].map(({ file }) => file);

const isIn = (file: string, path: string): boolean => {
  const full = resolve(file);
  return full === path || full.startsWith(path.endsWith(sep) ? path : path + sep);
};

async function chosenFiles(jobs: Jobs, only: readonly string[]): Promise<(file: string) => boolean> {
  if (only.length === 0) return () => true;
  const paths = await Promise.all(only.map(existing));
  const files = filesOf(jobs);
  for (const [index, path] of paths.entries()) {
    if (path === resolve(jobs.folder) || files.some((file) => isIn(file, path))) continue;
    throw new DocketError('usage.invalid', 'The path holds no definition of the jobs folder.', {
      where: only[index] ?? '',
      expected: `a file or folder of definitions in ${jobs.folder}`,
      next: 'Name a file in the jobs folder, or set DOCKET_JOBS to the folder it is in.',
    });
  }
  return (file) => paths.some((path) => isIn(file, path));
}

async function existing(path: string): Promise<string> {
  const full = resolve(path);
  await realpath(full).catch((cause: unknown) => {
    throw new DocketError('usage.invalid', 'The path does not exist.', {
      where: path,
      expected: 'a file or folder',
      next: 'Correct the path.',
      cause,
    });
  });
  return full;
}
