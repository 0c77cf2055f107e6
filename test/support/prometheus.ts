import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Prometheus and promtool of the distribution. */
export interface Prometheus {
  /** The output of promtool. Rejects with it if promtool fails. */
  promtool(args: readonly string[], input?: string): Promise<string>;
  /** Starts a server with this configuration. Resolves when it answers at the URL. */
  serve(config: string, folder: string): Promise<{ readonly url: string; close(): Promise<void> }>;
  close(): Promise<void>;
}

/**
 * Extracts the programs from Debian's package instead of installing it, which would start a server for the whole machine.
 * If that is impossible, the test fails with the command to run: a test never skips a real tool silently.
 */
export async function prometheus(): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'docket-prometheus-'));
  // apt downloads with its own user.
  await chmod(folder, 0o777);
  const fetched = join(folder, 'package');
  const download = () => run('apt-get', ['download', 'prometheus'], { cwd: folder });
  try {
    await download().catch(async () => {
      await run('apt-get', ['update']);
      await download();
    });
    const name = (await readdir(folder)).find((file) => file.endsWith('.deb')) ?? '';
    await mkdir(fetched);
    await run('dpkg', ['-x', join(folder, name), fetched]);
  } catch (cause) {
    throw new Error("Prometheus is needed: `apt-get download prometheus`, or your system's equivalent, must work", {
      cause,
    });
  }
  const bin = (name: string) => join(fetched, 'usr', 'bin', name);
  return {
    promtool: (args, input) =>
      new Promise((resolve, reject) => {
        const child = execFile(bin('promtool'), [...args], (error, stdout, stderr) => {
          if (error === null) resolve(stdout + stderr);
          else reject(new Error(`promtool ${args.join(' ')}:\n${stdout}${stderr}`));
        });
        child.stdin?.end(input);
      }),
    serve: async (config, data) => {
      const child = spawn(
        bin('prometheus'),
        ['--config.file', config, '--storage.tsdb.path', data, '--web.listen-address', '127.0.0.1:0'],
        { stdio: ['ignore', 'ignore', 'pipe'] },
      );
      const exited = once(child, 'exit');
      let said = '';
      const address = await new Promise<string>((resolve, reject) => {
        let listening = '';
        createInterface({ input: child.stderr }).on('line', (line) => {
          said += `${line}\n`;
          listening ||= /Listening on.*address=(\S+)/.exec(line)?.[1] ?? '';
          if (line.includes('Server is ready')) resolve(listening);
        });
        void exited.then(() => reject(new Error(said)));
      });
      return {
        url: `http://${address}`,
        close: async () => {
          child.kill('SIGTERM');
          await exited;
        },
      };
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
