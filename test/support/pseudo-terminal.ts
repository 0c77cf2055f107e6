import { spawn } from 'node:child_process';
import { builtMain } from './built-main.ts';

/** A byte of the keyboard: the terminal makes SIGINT of it, for whatever runs in it. */
export const CTRL_C = '\u0003';

export interface TerminalResult {
  readonly code: number | null;
  /** All that was written to the terminal, standard output and standard error as they came, control sequences included. */
  readonly screen: string;
}

/**
 * The command in a terminal of its own (`script` of util-linux makes it), with nothing but `env` in its environment.
 *
 * @param press asked with all that is on the screen so far, each time something is written: keys to press now, or nothing
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
  // A key that is pressed when the program has just ended is nobody's.
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
