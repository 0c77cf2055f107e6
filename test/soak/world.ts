import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { readArchivePlace } from '../../src/base/archive-place.ts';
import { secretSource } from '../../src/base/secret.ts';
import { directoryShelf } from '../../src/deliver/directory-shelf.ts';
import { s3Shelf } from '../../src/deliver/s3-shelf.ts';
import type { Shelf } from '../../src/deliver/shelf.ts';
import { type Sandbox, type SandboxRequest, startSandbox } from '../../src/sandbox/sandbox.ts';
import { program } from '../support/debian.ts';
import { faketimeRedisEnv, libfaketime } from '../support/libfaketime.ts';
import { type RestartableRedis, restartableRedis } from '../support/restartable-redis.ts';
import { ACCESS_KEY_ID, type S3Server, SECRET_ACCESS_KEY, s3Server } from '../support/s3-server.ts';
import { BUDGET, definitionsOf, EVERY_HOURS, keyVariable, type SoakOrg, soakOrgs } from './definitions.ts';
import { type MailSink, mailSink } from './mail-sink.ts';
import { type Env, type Member, member, setClock } from './member.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ORGS = 40;

/** On what the archive of the deployment stands. */
export type ArchiveKind = 'directory' | 's3';

export interface World {
  /** `dist/main.js` of the build. */
  readonly main: string;
  readonly folder: string;
  /** What every member has in its environment. */
  readonly env: Env;
  readonly kind: ArchiveKind;
  readonly archiveFolder: string;
  readonly stagingFolder: string;
  /** What the disks of all members refuse, as `test/support/disk-faults.mjs` reads it. */
  readonly diskFaults: string;
  /** Files that came to stand where the archive is mounted, while it was not. */
  readonly strayFiles: string[];
  /** What second deployments did instead of refusing to start. */
  readonly letIn: string[];
  readonly orgs: readonly SoakOrg[];
  readonly redis: RestartableRedis;
  /** Past all ways, for those who look. */
  readonly client: Redis;
  readonly sandbox: Sandbox;
  /** Every request that came to the service. */
  readonly requests: readonly SandboxRequest[];
  /** The end of the service's history, epoch ms. */
  readonly serviceNow: number;
  readonly sink: MailSink;
  readonly s3: S3Server;
  readonly workers: readonly Member[];
  readonly schedulers: readonly Member[];
  readonly members: readonly Member[];
  /** Of the admin route, an operator's. */
  readonly token: string;
  /** Seconds from the machine's clock. */
  readonly clock: { offset: number };
  /** Epoch ms by the clocks of the members. */
  now(): number;
  /** By which every member's clock is set, in turn; one that has a fault of its own keeps it. */
  setClocks(seconds: number): Promise<void>;
  setClock(of: Member, seconds: number): Promise<void>;
  setRedisClock(seconds: number): Promise<void>;
  /** The archive, for those who look when all is over. */
  shelf(): Shelf;
  /** Writes the definitions of this version. */
  define(version: number): Promise<void>;
  close(): Promise<void>;
}

/** @param main the build's `dist/main.js` */
export async function openWorld(main: string, share: () => number, kind: ArchiveKind): Promise<World> {
  await program('redis-server', 'redis-server');
  const preload = await libfaketime();
  const run = promisify(execFile);
  const folder = await mkdtemp(join(tmpdir(), 'docket-soak-'));
  for (const name of ['log', 'out']) await mkdir(join(folder, name));

  // Half an hour past a slot, so that each jump of the clocks passes over one and ends between two.
  const began = Date.now();
  const grid = EVERY_HOURS * HOUR_MS;
  const offset = Math.round((Math.ceil(began / grid) * grid + HOUR_MS / 2 - began) / 1000);
  const serviceNow = began + 60 * DAY_MS;

  const redisClock = join(folder, 'clock-redis');
  await setClock(redisClock, 0);
  const redis = await restartableRedis(faketimeRedisEnv(preload, redisClock));
  const redisPort = Number(new URL(redis.url).port);
  const client = new Redis({ port: redisPort, maxRetriesPerRequest: null, retryStrategy: () => 50 });
  client.on('error', () => {});
  const sandbox = await startSandbox({ now: serviceNow, windowMs: BUDGET.window * 1000, cacheSeconds: 0 });
  const sink = await mailSink(share);
  const s3 = await s3Server();
  // As a store has it: runs are listed by the thousand here.
  s3.page = 1_000;
  // Signatures are dated by the clocks of those who sign.
  const clock = { offset };
  s3.now = () => Date.now() + clock.offset * 1000;

  const orgs = soakOrgs(ORGS);
  const keys = sandbox.keys.map(({ label, key }): [string, string] => [keyVariable(label), key]);
  const tokens = join(folder, 'tokens.yaml');
  const { stdout: token } = await run(
    process.execPath,
    [main, 'tokens', 'create', '--name', 'soak', '--role', 'operator'],
    { env: { PATH: process.env.PATH ?? '', DOCKET_ADMIN_TOKENS: tokens, REDIS_URL: redis.url }, cwd: folder },
  );
  const [archiveFolder, stagingFolder, diskFaults] = [
    join(folder, 'archive'),
    join(folder, 'staging'),
    join(folder, 'disk-faults'),
  ];
  await writeFile(diskFaults, '');
  const bucket = `s3://${s3.bucket}/archive?${new URLSearchParams({
    endpoint: s3.url,
    access_key_id: 'env:S3_KEY_ID',
    secret_access_key: 'env:S3_SECRET',
    staging: stagingFolder,
  })}`;
  const env = {
    NODE_OPTIONS: `--import ${new URL('../support/disk-faults.mjs', import.meta.url).href}`,
    DISK_FAULTS_FILE: diskFaults,
    MAIL_FROM: 'reports@docket.example',
    DOCKET_JOBS: join(folder, 'jobs'),
    DOCKET_ARCHIVE: kind === 's3' ? bucket : pathToFileURL(archiveFolder).href,
    DOCKET_ADMIN_TOKENS: tokens,
    DOCKET_ADMIN_RATE: '100000',
    S3_KEY_ID: ACCESS_KEY_ID,
    S3_SECRET: SECRET_ACCESS_KEY,
    ...Object.fromEntries(keys),
  };
  const clockOf = (name: string) => join(folder, `clock-${name}`);
  const hire = async (name: string, role: string): Promise<Member> => {
    await setClock(clockOf(name), offset);
    return member({
      name,
      role,
      main,
      folder,
      env,
      clock: { file: clockOf(name), preload: preload },
      redisPort,
      apiPort: Number(new URL(sandbox.url).port),
      mailPort: sink.port,
    });
  };
  const workers = await Promise.all(['w1', 'w2', 'w3'].map((name) => hire(name, 'worker')));
  const schedulers = await Promise.all(['s1', 's2'].map((name) => hire(name, 'scheduler,admin')));
  const members = [...workers, ...schedulers];
  const abandon = () => {
    for (const each of members) each.abandon();
  };
  process.once('exit', abandon);

  const requests: SandboxRequest[] = [];
  const collect = () => {
    const seen = sandbox.requests();
    const last = requests.at(-1);
    requests.push(...seen.slice(last === undefined ? 0 : seen.lastIndexOf(last) + 1));
  };
  // The sandbox keeps its last 10,000.
  const collecting = setInterval(collect, 500);

  let shelf: Shelf | undefined;
  const openShelf = (): Shelf => {
    if (kind === 'directory') return directoryShelf(archiveFolder);
    const place = readArchivePlace(bucket);
    if (!('kind' in place) || place.kind !== 's3') throw new Error(`${bucket} names no bucket`);
    s3.now = Date.now;
    return s3Shelf(place, secretSource(env));
  };

  const outside = { out: join(folder, 'out'), s3: { endpoint: s3.url, bucket: s3.bucket } };
  return {
    main,
    folder,
    env,
    kind,
    archiveFolder,
    stagingFolder,
    diskFaults,
    strayFiles: [],
    letIn: [],
    orgs,
    redis,
    client,
    sandbox,
    get requests() {
      collect();
      return requests;
    },
    serviceNow,
    sink,
    s3,
    workers,
    schedulers,
    members,
    token: token.trim(),
    clock,
    now: () => Date.now() + clock.offset * 1000,
    setClocks: async (seconds) => {
      clock.offset = seconds;
      for (const { name } of members) await setClock(clockOf(name), seconds);
    },
    setClock: ({ name }, seconds) => setClock(clockOf(name), seconds),
    setRedisClock: (seconds) => setClock(redisClock, seconds),
    shelf: () => {
      shelf ??= openShelf();
      return shelf;
    },
    define: async (version) => {
      for (const [name, text] of Object.entries(definitionsOf(orgs, version, outside))) {
        const path = join(folder, 'jobs', name);
        await mkdir(dirname(path), { recursive: true });
        // Whole or not at all, as a deployment puts it: a process that starts just now reads it.
        await writeFile(`${path}.new`, text);
        await rename(`${path}.new`, path);
      }
    },
    close: async () => {
      clearInterval(collecting);
      for (const each of members) await each.close();
      process.off('exit', abandon);
      shelf?.close();
      client.disconnect();
      await sandbox.close();
      await sink.close();
      await s3.close();
      await redis.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
