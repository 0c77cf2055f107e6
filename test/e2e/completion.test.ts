import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { program } from '../support/debian.ts';
import { typeInto, withDocketOnPath } from '../support/interactive-shell.ts';

let shell: Awaited<ReturnType<typeof withDocketOnPath>>;
beforeAll(async () => {
  shell = await withDocketOnPath();
});
afterAll(() => shell.close());

test('fish completes reports, values behind "=" and files', async () => {
  const fish = await program('fish', 'fish');
  const asked = ['docket explain demo/wee', 'docket sandbox --limiter=f', 'docket check READM'];
  const lines = ['docket completion fish | source', ...asked.map((line) => `complete -C '${line}'`)];
  const { stdout } = await promisify(execFile)(fish, ['--no-config', '-c', lines.join('; ')], { env: shell.env });
  expect(stdout.split('\n').map((line) => line.trim())).toEqual([
    'demo/weekly-kpi',
    '--limiter=fixed',
    'README.md',
    '',
  ]);
});

test('zsh completes reports and values behind "="', async () => {
  const zsh = await program('zsh', 'zsh');
  const setUp = 'PROMPT="ready> "; autoload -Uz compinit; compinit -u -D; source <(docket completion zsh)\n';
  const screen = await typeInto(`${zsh} -f -i`, shell.env, [
    { when: /[%#] $/, press: setUp },
    { when: /\nready> $|\rready> $/, press: 'docket explain demo/wee\t' },
    // Lines are cleared by a key: a shell may keep an interrupt to itself that comes while it still completes.
    { when: /demo\/weekly-kpi $/, press: '\u0015docket sandbox --limiter=f\t' },
    { when: /--limiter=fixed $/, press: '\u0015exit\n' },
  ]);
  expect(screen).toContain('demo/weekly-kpi ');
  expect(screen).toContain('--limiter=fixed ');
});
