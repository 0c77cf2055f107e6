import { type ChildProcess, spawn } from 'node:child_process';

/** A command on a page with the printed output. */
export interface Step {
  readonly command: string;
  /** Empty if it prints nothing. */
  readonly output: string;
}

/** A fenced block of a page that a test runs. */
export interface Block {
  /** The words after the fence: `console`, `console terminal-1`, `sh run`, `yaml`. */
  readonly info: string;
  readonly steps: readonly Step[];
  /** For `yaml`: the file named in the first line (`# jobs/acme/org.yaml`), and its text. */
  readonly file?: { readonly path: string; readonly text: string };
}

const FENCE = /^```(console(?: [a-z0-9-]+)?|sh run|yaml)\n([\s\S]*?)^```$/gm;

/** The blocks of a Markdown page that a test runs, in order. A line of `sh run` is a command without a documented output. */
export const blocksOf = (page: string): Block[] =>
  [...page.matchAll(FENCE)].map(([, info = '', body = '']) => {
    if (info !== 'yaml') return { info, steps: stepsOf(info, body) };
    const [, path = ''] = /^# (\S+)\n/.exec(body) ?? [];
    return { info, steps: [], file: { path, text: body } };
  });

function stepsOf(info: string, body: string): Step[] {
  if (info === 'sh run')
    return body
      .trimEnd()
      .split('\n')
      .map((command) => ({ command, output: '' }));
  return body
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...lines] = part.split('\n');
      return { command, output: lines.join('\n').trimEnd() };
    });
}

/** The page with new outputs in its blocks, in the same order. */
export function withOutputs(page: string, blocks: readonly Block[]): string {
  let index = 0;
  return page.replace(FENCE, (whole, info: string) => {
    const block = blocks[index++];
    if (block === undefined || info === 'sh run' || info === 'yaml') return whole;
    const body = block.steps
      .map(({ command, output }) => `$ ${command}\n${output === '' ? '' : `${output}\n`}`)
      .join('');
    return `\`\`\`${info}\n${body}\`\`\``;
  });
}

/** A shell that keeps its state between commands, like a terminal. */
export interface Terminal {
  /** Runs a command to its end. Returns both streams in the order of output. */
  run(command: string): Promise<{ readonly output: string; readonly code: number }>;
  /** Starts a long-running command. Resolves when it has printed this. */
  start(command: string, until: string): Promise<string>;
  /** Ends the shell and everything that it started. */
  close(): Promise<void>;
}

export function terminal(cwd: string, env: Readonly<Record<string, string>>): Terminal {
  const child: ChildProcess = spawn('bash', ['--noprofile', '--norc'], { cwd, env, stdio: 'pipe', detached: true });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let text = '';
  let heard = () => {};
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    heard();
  });
  child.stdin?.write('exec 2>&1\n');
  let count = 0;
  const until = (wanted: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      heard = () => {
        const found = wanted.exec(text);
        if (found !== null) resolve(found);
      };
      void exited.then(() => reject(new Error(`The shell ended:\n${text}`)));
      heard();
    });
  return {
    run: async (command) => {
      const mark = `__end_${count++}__`;
      text = '';
      child.stdin?.write(`${command}\nprintf '%s %s\\n' ${mark} $?\n`);
      const found = await until(new RegExp(`${mark} (\\d+)\\n`));
      return { output: text.slice(0, found.index).trimEnd(), code: Number(found[1]) };
    },
    start: async (command, last) => {
      text = '';
      child.stdin?.write(`${command}\n`);
      await until(new RegExp(`${last.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}\\s*\\n`));
      return text.trimEnd();
    },
    close: async () => {
      // Signal the whole group, since a long-running command is a child of the shell.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
