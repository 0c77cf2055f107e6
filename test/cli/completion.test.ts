import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { complete } from '../../src/cli/complete.ts';
import { namesIn } from '../../src/cli/names-in-jobs.ts';
import { createProgram } from '../../src/cli/program.ts';
import { typeInto, withDocketOnPath } from '../support/interactive-shell.ts';
import { jobsFolder } from '../support/jobs-folder.ts';

const NAMES = { orgs: ['acme', 'branch'], reports: ['acme/board-pack', 'acme/weekly', 'branch/weekly'] };
const candidates = (...words: string[]) => complete(createProgram(), words, NAMES).map(({ value }) => value);

describe('what may stand in place of a word', () => {
  test('commands, and those below a command', () => {
    expect(candidates('')).toEqual(expect.arrayContaining(['demo', 'run', 'runs', 'completion']));
    expect(candidates('')).not.toContain('__complete');
    expect(candidates('sche')).toEqual(['schema', 'schedule']);
    expect(candidates('runs', 're')).toEqual(['retry', 'release']);
    expect(candidates('runs', 'show', '')).toEqual([]);
  });

  test('reports and organizations, where a command takes them', () => {
    expect(candidates('run', '')).toEqual(NAMES.reports);
    expect(candidates('run', 'acme/b')).toEqual(['acme/board-pack']);
    expect(candidates('run', 'acme/weekly', '')).toEqual([]);
    expect(candidates('pause', 'ac')).toEqual(['acme', 'acme/board-pack', 'acme/weekly']);
    expect(candidates('runs', '--org', 'b')).toEqual(['branch']);
    expect(candidates('runs', '--org', 'acme', '--report', 'w')).toEqual(['weekly', 'weekly']);
  });

  test('options: those of the command that are not given yet', () => {
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

  test('values of options, also behind "=", which bash hands over as a word of its own', () => {
    expect(candidates('sandbox', '--limiter', '')).toEqual(['sliding', 'fixed', 'token-bucket']);
    expect(candidates('sandbox', '--limiter=f')).toEqual(['--limiter=fixed']);
    expect(candidates('sandbox', '--limiter', '=', 'f')).toEqual(['fixed']);
    expect(candidates('runs', '--state', 'failed', 'he')).toEqual(['held']);
    expect(candidates('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  test('files and folders are the shell’s to know', () => {
    expect(candidates('run', 'acme/weekly', '--out', 'o')).toEqual([':folders']);
    expect(candidates('sandbox', '--dump', '')).toEqual([':files']);
    expect(candidates('check', 'jobs/acme', '')).toEqual([':files']);
  });

  test('names come from the names of files: also of one with a fault, and none where there is no folder', async () => {
    const jobs = await jobsFolder({
      'acme/org.yaml': '',
      'acme/weekly.yaml': ': : broken',
      'acme/notes.txt': '',
      'x.yaml': '',
    });
    expect(await namesIn(jobs)).toEqual({ orgs: ['acme'], reports: ['acme/weekly'] });
    expect(await namesIn(join(jobs, 'nowhere'))).toEqual({ orgs: [], reports: [] });
  });
});

describe('in bash', () => {
  let shell: Awaited<ReturnType<typeof withDocketOnPath>>;
  beforeAll(async () => {
    shell = await withDocketOnPath();
  });
  afterAll(() => shell.close());

  test('Tab finishes a report’s name', async () => {
    const screen = await typeInto('bash --norc --noprofile -i', shell.env, [
      { when: /[$#] $/, press: 'source <(docket completion bash); echo loa""ded\n' },
      { when: /loaded\r?\n[^\n]*[$#] $/, press: 'docket explain demo/wee\t' },
      // The line is cleared by a key: bash may keep an interrupt to itself that comes while it still completes.
      { when: /demo\/weekly-kpi $/, press: '\u0015exit\n' },
    ]);
    expect(screen).toContain('docket explain demo/weekly-kpi ');
  });

  test('runs nothing of what has been typed', async () => {
    const { bin, env } = shell;
    const line = `source <(docket completion bash)
      COMP_WORDS=(docket run '$(touch ${bin}/ran)' '\`touch ${bin}/ran\`' 'demo/'); COMP_CWORD=2
      _docket; COMP_CWORD=4; _docket; ls ${bin}`;
    const { stdout } = await promisify(execFile)('bash', ['-c', line], { env });
    expect(stdout.trim()).toBe('docket');
  });
});
