import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CompletionSources, complete, listDefinitionNames } from '../../../src/cli/completion/complete.ts';
import { jobsFolder } from '../../support/jobs-folder.ts';
import { createTestProgram } from '../../support/run-command.ts';

const NAMES = { orgs: ['acme', 'branch'], reports: ['acme/board-pack', 'acme/weekly', 'branch/weekly'] };
const SOURCES: CompletionSources = {
  ...NAMES,
  findIds: async (wanted) => [
    { value: 'abcdef01', description: wanted.of === 'runs' ? (wanted.states?.join(' ') ?? 'any') : 'delivery' },
  ],
};
const completions = (...words: string[]) => complete(createTestProgram(), words, SOURCES);
const candidates = async (...words: string[]) => (await completions(...words)).map(({ value }) => value);

describe('completion of a word', () => {
  test('offers commands and subcommands', async () => {
    expect(await candidates('')).toEqual(expect.arrayContaining(['demo', 'run', 'runs', 'completion']));
    expect(await candidates('')).not.toContain('__complete');
    expect(await candidates('sche')).toEqual(['schema', 'schedule']);
    expect(await candidates('runs', 're')).toEqual(['retry', 'release', 'reject']);
  });

  test('offers reports and organizations for their arguments and options', async () => {
    expect(await candidates('run', '')).toEqual(NAMES.reports);
    expect(await candidates('run', 'acme/b')).toEqual(['acme/board-pack']);
    expect(await candidates('run', 'acme/weekly', '')).toEqual([]);
    expect(await candidates('pause', 'ac')).toEqual(['acme', 'acme/board-pack', 'acme/weekly']);
    expect(await candidates('runs', '--org', 'b')).toEqual(['branch']);
    expect(await candidates('runs', '--org', 'acme', '--report', 'w')).toEqual(['weekly', 'weekly']);
  });

  test('offers only options that are not given yet', async () => {
    expect(await candidates('run', '--no')).toEqual(['--no-deliver']);
    expect(await candidates('run', '--period', '2026-10', '--pe')).toEqual([]);
    expect(await candidates('runs', '--st')).toEqual(['--state']);
    expect(await candidates('archive', 'verify', '--')).toEqual([
      '--org',
      '--run',
      '--public-key',
      '--checkpoint',
      '--json',
      '--help',
    ]);
  });

  test('offers values of options, also after "=", which bash passes as a separate word', async () => {
    expect(await candidates('sandbox', '--limiter', '')).toEqual(['sliding', 'fixed', 'token-bucket']);
    expect(await candidates('sandbox', '--limiter=f')).toEqual(['--limiter=fixed']);
    expect(await candidates('sandbox', '--limiter', '=', 'f')).toEqual(['fixed']);
    expect(await candidates('runs', '--state', 'failed', 'he')).toEqual(['held']);
    expect(await candidates('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  test('offers ids of runs that the command can act on, and of deliveries', async () => {
    const idsOf = async (...words: string[]) =>
      (await completions(...words)).map(({ value, description }) => `${value} ${description}`);
    expect(await idsOf('runs', 'show', '')).toEqual(['abcdef01 any', 'last the newest run']);
    expect(await idsOf('runs', 'release', 'abc')).toEqual(['abcdef01 held']);
    expect(await idsOf('runs', 'cancel', '')).toEqual(['abcdef01 queued running waiting held awaiting_approval']);
    expect(await idsOf('runs', 'approve', '')).toEqual(['abcdef01 awaiting_approval held']);
    expect(await idsOf('comment', '')).toEqual(['abcdef01 awaiting_approval held']);
    expect(await idsOf('deliveries', '--run', '')).toEqual(['abcdef01 any']);
    expect(await idsOf('deliveries', 'resolve', '')).toEqual(['abcdef01 delivery']);
    expect(await idsOf('runs', 'show', 'b')).toEqual([]);
  });

  test('leaves files and folders to the shell', async () => {
    expect(await candidates('run', 'acme/weekly', '--out', 'o')).toEqual([':folders']);
    expect(await candidates('sandbox', '--dump', '')).toEqual([':files']);
    expect(await candidates('check', 'jobs/acme', '')).toEqual([':files']);
  });

  test('takes names from file names, even of invalid files, and offers none without the folder', async () => {
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
