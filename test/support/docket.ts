import { spawn } from 'node:child_process';
import { builtMain } from './built-main.ts';
import { captureStderr } from './capture-stderr.ts';
import { PLANTED_SECRETS } from './secret-scan.ts';

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command like a user: the built program in a separate process, with only `env` in its environment. */
export async function docket(
  args: readonly string[],
  {
    env = {},
    cwd,
    stopAt,
  }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly cwd?: string;
    /** Presses Ctrl-C when this resolves. */
    readonly stopAt?: Promise<unknown>;
  } = {},
): Promise<CliResult> {
  const child = spawn(process.execPath, [builtMain(), ...args], {
    env: { PATH: process.env.PATH ?? '', ...PLANTED_SECRETS, ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  stopAt?.then(() => child.kill('SIGINT'));
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  captureStderr(child.stderr)
    .setEncoding('utf8')
    .on('data', (text: string) => {
      stderr += text;
    });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, stdout, stderr };
}
