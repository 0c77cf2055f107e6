import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { version } from '../../src/base/context.ts';
import { program } from '../support/debian.ts';
import { type ImageEngine, imageEngine } from '../support/image.ts';

const IMAGE = 'docket';

const serviceSchema = z.object({
  command: z.array(z.string()),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  tmpfs: z.array(z.string()).default([]),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  read_only: z.boolean().default(false),
  stop_grace_period: z.string().default('10s'),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
});
type Service = z.infer<typeof serviceSchema>;
const composeSchema = z.object({
  services: z.looseObject({ redis: serviceSchema, sandbox: serviceSchema, docket: serviceSchema }),
});

/** Converts a service of docker-compose.yml to options of `podman run`. */
const optionsOf = ({ environment, volumes, tmpfs, cap_drop, security_opt, read_only }: Service): string[] => [
  ...Object.entries(environment).flatMap(([name, value]) => [
    '--env',
    `${name}=${value.replace(/^\$\{\w+:-(.*)\}$/, '$1')}`,
  ]),
  ...volumes.flatMap((volume) => ['--volume', volume.replace(/^\.\//, `${resolve('.')}/`)]),
  ...tmpfs.flatMap((path) => ['--tmpfs', path]),
  ...cap_drop.flatMap((capability) => ['--cap-drop', capability]),
  ...security_opt.flatMap((option) => ['--security-opt', option.replace(/:true$/, '')]),
  ...(read_only ? ['--read-only'] : []),
];

/** On some machines Podman's default limits are higher than allowed. */
const LIMITS = ['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096'];

describe('the image', () => {
  let engine: ImageEngine;
  const inside = (entry: string, ...args: string[]) =>
    engine.podman(['run', '--rm', '--network', 'none', ...LIMITS, '--entrypoint', entry, IMAGE, ...args]);

  beforeAll(async () => {
    engine = await imageEngine(IMAGE);
  }, 2_400_000);
  afterAll(() => engine?.close());

  test('contains only what is needed to run, and its user can change nothing', async () => {
    const said = await engine.podman(['run', '--rm', '--network', 'none', ...LIMITS, IMAGE, '--version']);
    expect(said).toBe(version());
    expect((await inside('ls', '-A', '/app')).split('\n')).toEqual([
      'dist',
      'jobs',
      'node_modules',
      'package.json',
      'sbom.cdx.json',
      'templates',
    ]);
    expect(await inside('id', '-un')).toBe('node');
    expect(await inside('find', '/app', '-writable', '-not', '-type', 'l')).toBe('');
    const packages = (await inside('ls', '/app/node_modules')).split('\n');
    expect(packages).toContain('piscina');
    for (const name of ['typescript', 'vitest', 'fast-check', 'bullmq', 'echarts'])
      expect(packages).not.toContain(name);
  });

  test('names its packages at the path that its label gives, and adds less than 120 MB to the base image', async () => {
    const label = await engine.podman(['inspect', '--format', '{{index .Config.Labels "io.docket.sbom"}}', IMAGE]);
    const sbom: unknown = JSON.parse(await inside('cat', label));
    const { components } = z.object({ components: z.array(z.object({ name: z.string() })) }).parse(sbom);
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['bullmq', 'piscina']));
    const [own, base] = await Promise.all(
      [IMAGE, engine.base].map(async (name) => Number(await engine.podman(['inspect', '--format', '{{.Size}}', name]))),
    );
    expect(Number(own) - Number(base)).toBeLessThan(120e6);
  });

  test('runs the demo without a network, with the Redis that it contains', async () => {
    const limits = ['--cap-drop', 'ALL', '--network', 'none', ...LIMITS];
    const made = ['-c', 'node /app/dist/main.js demo > /dev/null && find demo-out -name "*.xlsx"'];
    const files = await engine.podman(['run', '--rm', ...limits, '--entrypoint', 'sh', IMAGE, ...made]);
    expect(files.split('\n').length).toBeGreaterThanOrEqual(2);
  });

  test('starts, becomes healthy, delivers and stops as docker-compose.yml configures it, without external network', async () => {
    const { services } = composeSchema.parse(parse(await readFile('docker-compose.yml', 'utf8')));
    const { redis, sandbox, docket } = services;
    const hosts = join(engine.folder, 'hosts');
    await writeFile(hosts, '127.0.0.1 localhost sandbox redis mailpit\n');
    const start = (name: string, network: string, service: Service, command: readonly string[]) => {
      const options = ['--name', name, '--network', network, '--volume', `${hosts}:/etc/hosts:ro`, ...LIMITS];
      return engine.podman(['run', '--detach', ...options, ...optionsOf(service), IMAGE, ...command]);
    };

    await start('sandbox', 'none', sandbox, sandbox.command);
    await engine.logged('sandbox', 'Compliance Service sandbox on');
    const [form, ...probe] = sandbox.healthcheck?.test ?? [];
    expect(form).toBe('CMD');
    expect(await engine.ending(['exec', 'sandbox', ...probe])).toBe(0);

    await program('redis-server', 'redis-server');
    const data = join(engine.folder, 'redis');
    await mkdir(data);
    const server = await engine.beside('sandbox', [...redis.command, '--dir', data]);
    if (server.stdout === null) throw new Error('no stdout');
    for await (const line of createInterface({ input: server.stdout })) if (line.includes('Ready to accept')) break;

    // Replaces Mailpit, whose image is not available here.
    const mail = join(engine.folder, 'mail');
    await mkdir(mail);
    await chmod(mail, 0o777);
    const catcher = { ...sandbox, volumes: [`${mail}:/mail`] };
    const mailCommand = ['sandbox', '--port', '0', '--mail', '/mail', '--mail-port', '1025'];
    await start('mailpit', 'container:sandbox', catcher, mailCommand);
    await engine.logged('mailpit', 'Compliance Service sandbox on');

    await start('docket', 'container:sandbox', docket, docket.command);
    await engine.logged('docket', 'Docket runs');
    expect(await engine.ending(['healthcheck', 'run', 'docket'])).toBe(0);
    const healthcheck = z
      .array(z.string())
      .parse(JSON.parse(await engine.podman(['inspect', '--format', '{{json .Config.Healthcheck.Test}}', 'docket'])));
    const elsewhere = ['exec', '--env', 'DOCKET_ADMIN_PORT=1', 'docket', ...healthcheck.slice(1)];
    expect(await engine.ending(elsewhere)).toBe(1);

    const made = await engine.podman([
      ...['exec', 'docket', 'node', '/app/dist/main.js', 'run', 'demo/weekly-kpi'],
      ...['--queue', '--wait', '--json'],
    ]);
    expect(JSON.parse(made)).toMatchObject({ state: 'done' });
    expect((await readdir(mail)).filter((name) => name.endsWith('.eml'))).toHaveLength(2);
    const out = await engine.podman(['exec', 'docket', 'find', '/var/lib/docket/out', '-name', '*.xlsx']);
    expect(out).toMatch(/Weekly KPIs .*\.xlsx$/);
    const manifests = ['exec', 'docket', 'find', '/var/lib/docket/archive', '-name', 'manifest.json'];
    expect((await engine.podman(manifests)).split('\n')).toHaveLength(1);

    const grace = Number(/^(\d+)s$/.exec(docket.stop_grace_period)?.[1]);
    await engine.podman(['stop', '--time', String(grace), 'docket']);
    expect(await engine.podman(['inspect', '--format', '{{.State.ExitCode}}', 'docket'])).toBe('0');
    server.kill();
    await once(server, 'close');
  });
});
