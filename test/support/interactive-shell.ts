import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { builtMain } from './built-main.ts';

/** The environment of a shell that finds the built program as `docket`. `close` removes it. */
export async function withDocketOnPath() {
  const bin = await mkdtemp(join(tmpdir(), 'docket-bin-'));
  await writeFile(join(bin, 'docket'), `#!/bin/sh\nexec '${process.execPath}' '${builtMain()}' "$@"\n`);
  await chmod(join(bin, 'docket'), 0o755);
  const env = { PATH: `${bin}:${process.env.PATH ?? ''}`, TERM: 'xterm', HOME: bin };
  return { bin, env, close: () => rm(bin, { recursive: true, force: true }) };
}

const STUCK_MS = 100_000;

/** Keys to press when the screen matches. */
export interface Step {
  readonly when: RegExp;
  readonly press: string;
}

/**
 * Runs a shell in a terminal to its end. Returns everything that its screen showed, without control sequences. Throws if a
 * step was not reached.
 */
export async function typeInto(
  shell: string,
  env: Readonly<Record<string, string>>,
  steps: readonly Step[],
): Promise<string> {
  const child = spawn('script', ['-qec', shell, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  // Ignore keys that are pressed after the program has ended.
  child.stdin.on('error', () => {});
  const ended = once(child, 'close');
  const left = [...steps];
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    const [step] = left;
    if (step === undefined || !step.when.test(stripVTControlCharacters(screen))) return;
    left.shift();
    child.stdin.write(step.press);
  });
  // Ends before the time limit of the test, which would not show the screen and would leave the shell running.
  const stuck = setTimeout(() => child.kill('SIGKILL'), STUCK_MS);
  await ended;
  clearTimeout(stuck);
  const shown = stripVTControlCharacters(screen);
  if (left.length > 0)
    throw new Error(`the shell ended before ${left[0]?.when} was on its screen: ${JSON.stringify(shown)}`);
  return shown;
}
