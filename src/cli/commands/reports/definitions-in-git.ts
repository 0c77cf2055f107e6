import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { DocketError } from '../../../base/error.ts';
import { withScope } from '../../../base/scope.ts';
import { loadDefinitions } from '../../../compose/built-in-kinds.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';

const run = promisify(execFile);

/**
 * The definitions of a folder in a revision of Git; empty if the folder did not exist then. Changes neither the working
 * tree nor the index.
 *
 * @throws `usage.invalid` if Git is missing, the folder is not in a repository, or the revision does not exist
 */
export const definitionsInGit = (jobs: string, revision: string): Promise<Definitions> =>
  withScope(async (scope) => {
    const copy = scope.use(await mkdtemp(join(tmpdir(), 'docket-base-')), (path) =>
      rm(path, { recursive: true, force: true }),
    );
    const git = async (...args: readonly string[]): Promise<string> => {
      const env = { ...process.env, GIT_INDEX_FILE: join(copy, 'index') };
      return (await run('git', ['-C', resolve(jobs), ...args], { env })).stdout.trim();
    };
    try {
      const commit = await git('rev-parse', '--verify', '--end-of-options', `${revision}^{commit}`);
      const [root, prefix] = [await git('rev-parse', '--show-toplevel'), await git('rev-parse', '--show-prefix')];
      const path = prefix.replace(/\/$/, '');
      const existed = path === '' || (await git('ls-tree', '--full-tree', '--name-only', commit, path)) !== '';
      await mkdir(join(copy, 'jobs'));
      await git('read-tree', ...(existed ? [`${commit}:${path}`] : ['--empty']));
      await git('-C', root, 'checkout-index', '--all', `--prefix=${join(copy, 'jobs')}/`);
    } catch (error) {
      const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
      throw new DocketError('usage.invalid', `Git cannot read the definitions of ${revision}.`, {
        where: '--base',
        expected: `a revision of the repository that contains ${jobs}`,
        got: said.split('\n')[0] || String(error),
        next: 'In a workflow, fetch the base branch first, e.g. with `fetch-depth: 0`.',
        cause: error,
      });
    }
    return await loadDefinitions(join(copy, 'jobs'));
  });
