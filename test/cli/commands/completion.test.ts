import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { complete, listDefinitionNames } from '../../../src/cli/completion/complete.ts';
import { jobsFolder } from '../../support/jobs-folder.ts';
import { createTestProgram } from '../../support/run-command.ts';

const NAMES = { orgs: ['acme', 'branch'], reports: ['acme/board-pack', 'acme/weekly', 'branch/weekly'] };
const candidates = (...words: string[]) => complete(createTestProgram(), words, NAMES).map(({ value }) => value);

describe('completion of a word', () => {
  test('offers commands and subcommands', () => {
    expect(candidates('')).toEqual(expect.arrayContaining(['demo', 'run', 'runs', 'completion']));
    expect(candidates('')).not.toContain('__complete');
    expect(candidates('sche')).toEqual(['schema', 'schedule']);
    expect(candidates('runs', 're')).toEqual(['retry', 'release']);
    expect(candidates('runs', 'show', '')).toEqual([]);
  });

  test('offers reports and organizations for their arguments and options', () => {
    expect(candidates('run', '')).toEqual(NAMES.reports);
    expect(candidates('run', 'acme/b')).toEqual(['acme/board-pack']);
    expect(candidates('run', 'acme/weekly', '')).toEqual([]);
    expect(candidates('pause', 'ac')).toEqual(['acme', 'acme/board-pack', 'acme/weekly']);
    expect(candidates('runs', '--org', 'b')).toEqual(['branch']);
    expect(candidates('runs', '--org', 'acme', '--report', 'w')).toEqual(['weekly', 'weekly']);
  });

  test('offers the options that are not given yet', () => {
    expect(candidates('run', '--no')).toEqual(['--no-deliver']);
    expect(candidates('run', '--period', '2026-10', '--pe')).toEqual([]);
    expect(candidates('runs', '--st')).toEqual(['--state']);
    expect(candidates('archive', 'verify', '--')).toEqual([
      '--org',
      '--public-key',
      '--checkpoint',
      '--json',
      '--help',
    ]);
  });

  test('offers values of options, also after "=", which bash passes as a separate word', () => {
    expect(candidates('sandbox', '--limiter', '')).toEqual(['sliding', 'fixed', 'token-bucket']);
    expect(candidates('sandbox', '--limiter=f')).toEqual(['--limiter=fixed']);
    expect(candidates('sandbox', '--limiter', '=', 'f')).toEqual(['fixed']);
    expect(candidates('runs', '--state', 'failed', 'he')).toEqual(['held']);
    expect(candidates('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  test('leaves files and folders to the shell', () => {
    expect(candidates('run', 'acme/weekly', '--out', 'o')).toEqual([':folders']);
    expect(candidates('sandbox', '--dump', '')).toEqual([':files']);
    expect(candidates('check', 'jobs/acme', '')).toEqual([':files']);
  });

  test('takes names from file names, also of invalid files; none without the folder', async () => {
    const jobs = await jobsFolder({
      'acme/org.yaml': '',
      'acme/weekly.yaml': ': : broken',
      'acme/notes.txt': '',
      'x.yaml': '',
    });
    expect(await listDefinitionNames(jobs)).toEqual({ orgs: ['acme'], reports: ['acme/weekly'] });
    expect(await listDefinitionNames(join(jobs, 'nowhere'))).toEqual({ orgs: [], reports: [] });
  });
});
