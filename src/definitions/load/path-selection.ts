import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { DocketError } from '../../base/error.ts';
import { comparePositions, type Diagnostic } from '../diagnostics/diagnostic.ts';
import type { Definition } from '../schema/report-definition.ts';
import type { Definitions } from './load-definitions.ts';

/**
 * All diagnostics, or those of the given files and folders, sorted by file and position. Diagnostics of a report
 * include those of its organization's `org.yaml` and `targets.yaml`. Throws `usage.invalid` for a path that does not
 * exist or contains no definition.
 */
export async function selectDiagnostics(jobs: Definitions, only: readonly string[] = []): Promise<Diagnostic[]> {
  const isSelected = await selectFiles(jobs, only);
  const folders = new Set(
    definitionFiles(jobs)
      .filter(isSelected)
      .map((file) => dirname(file)),
  );
  const isSettings = (file: string) => /^(org|targets)\.ya?ml$/.test(basename(file));
  return jobs.diagnostics
    .filter(({ file }) => isSelected(file) || (isSettings(file) && folders.has(dirname(file))))
    .sort(comparePositions);
}

/**
 * A predicate for the reports in the given files and folders; all reports if none are given. Throws like
 * `selectDiagnostics`.
 */
export async function reportSelector(
  jobs: Definitions,
  only: readonly string[] = [],
): Promise<(report: Pick<Definition, 'org' | 'report'>) => boolean> {
  const isSelected = await selectFiles(jobs, only);
  return ({ org, report }) => {
    const source = jobs.sources.get(`${org}/${report}`);
    return source !== undefined && (isSelected(source.file) || namedFiles(jobs, `${org}/${report}`).some(isSelected));
  };
}

/** All files with definitions or diagnostics, and the files that definitions name. */
const definitionFiles = (jobs: Definitions): string[] => [
  ...[...jobs.sources.values(), ...jobs.targetSources.values(), ...jobs.diagnostics].map(({ file }) => file),
  ...[...jobs.reports.keys()].flatMap((name) => namedFiles(jobs, name)),
];

/** The files that a report's outputs are made from. */
function namedFiles({ reports, sources }: Definitions, name: string): string[] {
  const source = sources.get(name);
  const names = Object.keys(reports.get(name)?.files ?? {});
  return source === undefined ? [] : names.map((file) => join(dirname(source.file), file));
}

const isIn = (file: string, path: string): boolean => {
  const full = resolve(file);
  return full === path || full.startsWith(path.endsWith(sep) ? path : path + sep);
};

async function selectFiles(jobs: Definitions, only: readonly string[]): Promise<(file: string) => boolean> {
  if (only.length === 0) return () => true;
  const paths = await Promise.all(only.map(requireExistingPath));
  const files = definitionFiles(jobs);
  for (const [index, path] of paths.entries()) {
    if (path === resolve(jobs.folder) || files.some((file) => isIn(file, path))) continue;
    throw new DocketError('usage.invalid', 'The path contains no definition of the jobs folder.', {
      where: only[index] ?? '',
      expected: `a file or folder of definitions in ${jobs.folder}`,
      next: 'Name a file in the jobs folder, or set DOCKET_JOBS to the folder it is in.',
    });
  }
  return (file) => paths.some((path) => isIn(file, path));
}

async function requireExistingPath(path: string): Promise<string> {
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
