import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { z } from 'zod';
import { program } from './debian.ts';

const run = promisify(execFile);
const LARGE = { maxBuffer: 64 * 1024 * 1024 };

/** A separate storage of images and containers that nothing else on the machine sees. */
export interface ImageEngine {
  /** A folder for files of the test, removed with the rest. */
  readonly folder: string;
  /** The name of the base image. */
  readonly base: string;
  /** The output of a podman command. */
  podman(args: readonly string[]): Promise<string>;
  /** The exit code of a podman command. */
  ending(args: readonly string[]): Promise<number>;
  /** The first line with this text in the log of a container, from its start on. */
  logged(container: string, text: string): Promise<string>;
  /** Starts a program of this machine in the network of a container. */
  beside(container: string, args: readonly string[]): Promise<ChildProcess>;
  close(): Promise<void>;
}

/**
 * Builds `Dockerfile` with podman, which needs no daemon. The base image is built here like the official one instead of
 * being fetched: Debian's minimal system of the suite that FROM names, Node's binary of the major version that it names,
 * npm, and the user `node`.
 */
export async function imageEngine(image: string): Promise<ImageEngine> {
  await program('mmdebstrap', 'mmdebstrap');
  await program('runc', 'runc');
  await program('podman', 'podman');
  const folder = await mkdtemp(join(tmpdir(), 'docket-image-'));
  const all = [
    ...['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'overlay'],
    // Without systemd and without version 2 of cgroups.
    ...['--runtime', 'runc', '--cgroup-manager', 'cgroupfs', '--events-backend', 'file'],
  ];
  const podman = async (args: readonly string[]): Promise<string> =>
    (await run('podman', [...all, ...args], LARGE)).stdout.trim();
  const children: ChildProcess[] = [];
  const close = async (): Promise<void> => {
    for (const child of children) child.kill();
    await podman(['rm', '--all', '--force', '--time', '1']).catch(() => {});
    await podman(['volume', 'rm', '--all', '--force']).catch(() => {});
    // Podman mounts its storage and leaves it mounted.
    await run('umount', [join(folder, 'storage', 'overlay')]).catch(() => {});
    // A container that is still ending may write there for a moment.
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  const [, tag = '', major = '', suite = ''] =
    /^FROM (node:(\d+)-(\w+)-slim)$/m.exec(await readFile('Dockerfile', 'utf8')) ?? [];
  const base = `docker.io/library/${tag}`;
  try {
    await podman([
      ...['build', '--isolation', 'chroot', '--layers=false', '--tag', base],
      await baseContext(folder, major, suite),
    ]);
    // Only Docker's format has a HEALTHCHECK. Use this machine's npm cache instead of fetching packages again.
    const cache = ['--volume', `${await npmSays('cache')}:/root/.npm`];
    // Builds a single layer, since storing a layer after each step takes longer than the steps.
    await podman([
      ...['build', '--isolation', 'chroot', '--layers=false', '--pull=never', ...cache],
      ...['--format', 'docker', '--tag', image, '.'],
    ]);
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return {
    folder,
    base,
    podman,
    ending: (args) =>
      podman(args).then(
        () => 0,
        (thrown: unknown) => z.object({ code: z.number() }).parse(thrown).code,
      ),
    logged: (container, text) =>
      new Promise((resolve, reject) => {
        const child = spawn('podman', [...all, 'logs', '--follow', container]);
        const said: string[] = [];
        const hear = (line: string): void => {
          said.push(line);
          if (!line.includes(text)) return;
          resolve(line);
          child.kill();
        };
        createInterface({ input: child.stdout }).on('line', hear);
        createInterface({ input: child.stderr }).on('line', hear);
        child.once('close', () => reject(new Error(`${container} never said "${text}":\n${said.join('\n')}`)));
      }),
    beside: async (container, args) => {
      const pid = await podman(['inspect', '--format', '{{.State.Pid}}', container]);
      const child = spawn('nsenter', ['--target', pid, '--net', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
      children.push(child);
      return child;
    },
    close,
  };
}

const npmSays = async (key: string): Promise<string> => (await run('npm', ['config', 'get', key])).stdout.trim();

/** The folder of a Dockerfile for the base image. It gets this machine's access to npm's registry, which the build needs. */
async function baseContext(folder: string, major: string, suite: string): Promise<string> {
  const context = join(folder, 'base');
  const fetched = join(folder, 'fetched');
  await mkdir(context);
  await mkdir(fetched);
  await writeFile(join(fetched, 'package.json'), '{"private":true}');
  await Promise.all([
    // Without waiting for the disk, like the official image.
    run(
      'mmdebstrap',
      [
        ...['--variant=minbase', '--include=ca-certificates', '--dpkgopt=force-unsafe-io'],
        ...[suite, join(context, 'debian.tar')],
      ],
      LARGE,
    ),
    run('npm', ['install', '--no-audit', '--no-fund', `node@${major}`, 'npm@11'], { ...LARGE, cwd: fetched }),
  ]);
  await copyFile(join(fetched, 'node_modules/node/bin/node'), join(context, 'node'));
  await cp(join(fetched, 'node_modules/npm'), join(context, 'npm'), { recursive: true });
  const cafile = await npmSays('cafile');
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  const own = cafile !== 'null' && cafile !== '';
  if (own) await copyFile(cafile, join(context, 'certificates'));
  await writeFile(
    join(context, 'Dockerfile'),
    [
      'FROM scratch',
      'ADD debian.tar /',
      'COPY node /usr/local/bin/node',
      'COPY npm /usr/local/lib/node_modules/npm',
      'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && groupadd --gid 1000 node && useradd --uid 1000 --gid node --shell /bin/bash --create-home node',
      `ENV npm_config_registry=${await npmSays('registry')}`,
      ...(own ? [`COPY certificates ${certificates}`, `ENV npm_config_cafile=${certificates}`] : []),
    ].join('\n'),
  );
  return context;
}
