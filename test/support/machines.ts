import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { programOf, type Version } from '../recorded/program.ts';
import { freePort } from './free-port.ts';
import { type RunningProcess, startDocket } from './running-docket.ts';

/** A machine with its own file system: its processes cannot see the folders of the other machines. */
export interface Machine {
  readonly name: string;
  readonly folder: string;
  /** The address of its admin server, while one runs. */
  readonly admin: string | undefined;
  /** The processes with their logs, including ended ones. */
  readonly processes: readonly RunningProcess[];
  /** Starts each role in a separate process. */
  start(version: Version): Promise<void>;
  /** Sends SIGTERM to each process. Returns the exit codes. */
  stop(): Promise<readonly unknown[]>;
  /** Sends SIGKILL to each process and removes the disk. */
  destroy(): Promise<void>;
}

export interface MachineOptions {
  readonly roles: readonly string[];
  /** Fills the folder of a new machine. */
  readonly prepare: (folder: string) => Promise<void>;
  readonly env: (folder: string) => Readonly<Record<string, string>>;
}

/** @param root holds a folder for each machine @param names of all machines that will exist */
export async function createMachines<Name extends string>(
  root: string,
  names: Readonly<Record<Name, MachineOptions>>,
): Promise<Readonly<Record<Name, Machine>>> {
  const all = Object.keys(names).map((name) => join(root, name));
  for (const folder of all) await mkdir(folder);
  const machine = async (name: string, { roles, prepare, env }: MachineOptions): Promise<Machine> => {
    const folder = join(root, name);
    const hidden = all.filter((other) => other !== folder);
    await mkdir(join(folder, 'tmp'));
    await prepare(folder);
    const processes: RunningProcess[] = [];
    let running: RunningProcess[] = [];
    let admin: string | undefined;
    return {
      name,
      folder,
      processes,
      get admin() {
        return admin;
      },
      start: async (version) => {
        const main = await programOf(version);
        await Promise.all(
          roles.map(async (role) => {
            const options = {
              env: {
                ...env(folder),
                TMPDIR: join(folder, 'tmp'),
                DOCKET_ADMIN_PORT: String(await freePort()),
                // It does not handle warnings of dependencies, so Node would print them between the lines of the log.
                ...(version !== 'this' ? { NODE_NO_WARNINGS: '1' } : {}),
              },
              cwd: folder,
              program: [...without(hidden), process.execPath, main],
              printsText: version !== 'this',
            };
            const startOnce = async () => {
              const child = startDocket(['--role', role], options);
              processes.push(child);
              const { url } = await child.logged(({ msg }) => msg === 'Docket runs');
              running.push(child);
              return url;
            };
            // The earlier version ends when Redis fails over or the machine is busy, and its supervisor restarts it.
            let url: string | undefined;
            for (let started = false; !started; ) {
              try {
                url = await startOnce();
                started = true;
              } catch (error) {
                if (version === 'this') throw error;
              }
            }
            if (role === 'admin') admin = url;
          }),
        );
      },
      stop: async () => {
        admin = undefined;
        const ended = await Promise.all(running.map((each) => each.stop()));
        running = [];
        return ended.map(([code]) => code);
      },
      destroy: async () => {
        admin = undefined;
        await Promise.all(running.map((each) => each.kill()));
        running = [];
        await rm(folder, { recursive: true });
        // Machines that start later must find this folder to hide it.
        await mkdir(folder);
      },
    };
  };
  const entries = Object.entries<MachineOptions>(names).map(
    async ([name, options]) => [name, await machine(name, options)] as const,
  );
  return Object.fromEntries(await Promise.all(entries)) as Record<Name, Machine>;
}

/** Starts a command in a separate mount namespace in which these folders are empty. The process keeps its id. */
function without(folders: readonly string[]): readonly string[] {
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user'];
  const mounts = folders.map((folder) => `mount -t tmpfs none '${folder}'`);
  return ['unshare', ...asRoot, '--mount', 'sh', '-ec', [...mounts, 'exec "$@"'].join('\n'), 'sh'];
}
