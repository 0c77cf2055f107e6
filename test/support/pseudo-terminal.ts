import { spawn } from 'node:child_process';
import { builtMain } from './built-main.ts';

/** The byte of Ctrl-C. The terminal turns it into SIGINT for the running program. */
export const CTRL_C = '\u0003';

export interface TerminalResult {
  readonly code: number | null;
  /** Everything that was written to the terminal, with control sequences. */
  readonly screen: string;
}

/**
 * Runs the command in a terminal (created by `script` of util-linux), with only `env` in its environment.
 *
 * @param press gets everything on the screen so far after each output, and returns keys to press now, or nothing
 */
export async function runOnTerminal(
  args: readonly string[],
  {
    env = {},
    cwd,
    columns = 100,
    press = () => undefined,
  }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly cwd?: string;
    readonly columns?: number;
    readonly press?: (screen: string) => string | undefined;
  } = {},
): Promise<TerminalResult> {
  const command = [process.execPath, builtMain(), ...args]
    .map((word) => `'${word.replaceAll("'", "'\\''")}'`)
    .join(' ');
  const child = spawn('script', ['-qec', `stty cols ${columns} rows 40 && exec ${command}`, '/dev/null'], {
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // Ignore keys that are pressed after the program has ended.
  child.stdin.on('error', () => {});
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    const keys = press(screen);
    if (keys !== undefined) child.stdin.write(keys);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, screen };
}
