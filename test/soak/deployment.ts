import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { parseArchiveUrl } from '../../src/base/config/archive-url.ts';
import { Secret, secretSource } from '../../src/base/secrets/secret.ts';
import type { ArchiveStorage } from '../../src/deliver/archive/storage/archive-storage.ts';
import { directoryStorage } from '../../src/deliver/archive/storage/directory-storage.ts';
import { s3Storage } from '../../src/deliver/archive/storage/s3-storage.ts';
import { type Sandbox, type SandboxRequest, startSandbox } from '../../src/sandbox/sandbox.ts';
import { program } from '../support/debian.ts';
import { faketimeRedisEnv, libfaketime } from '../support/libfaketime.ts';
import { type RestartableRedis, restartableRedis } from '../support/restartable-redis.ts';
import { ACCESS_KEY_ID, type S3Server, SECRET_ACCESS_KEY, s3Server } from '../support/s3-server.ts';
import {
  BUDGET,
  definitionsOf,
  EVERY_HOURS,
  keyVariable,
  REFUSED,
  REFUSED_KEY,
  refusedDefinitions,
  type SoakOrg,
  soakOrgs,
} from './definitions.ts';
import { type DocketProcess, type Env, member, setClock } from './docket-process.ts';
import { type MailSink, mailSink } from './mail-sink.ts';
import { watchQueues } from './queue-watch.ts';

const HOUR_MS = 3_600_000;
const ORGS = 40;

/** Storage of the deployment's archive. */
export type ArchiveKind = 'directory' | 's3';

export interface Deployment {
  /** `dist/main.js` of the build. */
  readonly main: string;
  readonly folder: string;
  /** Environment of every process. */
  readonly env: Env;
  readonly kind: ArchiveKind;
  readonly archiveFolder: string;
  readonly stagingFolder: string;
  /** File with the disk faults of all processes, for `test/support/disk-faults.mjs`. */
  readonly diskFaults: string;
  /** Files written to the archive folder while it was not mounted. */
  readonly strayFiles: string[];
  /** Second deployments that did not refuse to start, with what they did. */
  readonly started: string[];
  /** Tokens that a preparation took while a call of a run was waiting for one. */
  readonly overtaken: readonly string[];
  /** Names of workers that were caught at the end of a message. */
  readonly mailEnds: string[];
  readonly orgs: readonly SoakOrg[];
  readonly redis: RestartableRedis;
  /** A direct connection, without proxy. */
  readonly client: Redis;
  readonly sandbox: Sandbox;
  /** All requests to the service. */
  readonly requests: readonly SandboxRequest[];
  /** When the service started by its own clock, and its present time, epoch ms. Its clock is never set back. */
  readonly serviceBegan: number;
  serviceNow(): number;
  readonly sink: MailSink;
  readonly s3: S3Server;
  readonly workers: readonly DocketProcess[];
  readonly schedulers: readonly DocketProcess[];
  readonly members: readonly DocketProcess[];
  /** An operator's admin token. */
  readonly token: string;
  /** Seconds from the machine's clock. */
  readonly clock: { offset: number };
  /** Epoch ms by the clocks of the processes. */
  now(): number;
  /** Sets the clocks of all processes, one after the other. */
  setClocks(seconds: number): Promise<void>;
  setClock(of: DocketProcess, seconds: number): Promise<void>;
  setRedisClock(seconds: number): Promise<void>;
  /** The archive, for reading after the soak. */
  archive(): ArchiveStorage;
  /** Writes the definitions of this version. */
  define(version: number): Promise<void>;
  close(): Promise<void>;
}

/** @param main the build's `dist/main.js` */
export async function openDeployment(main: string, share: () => number, kind: ArchiveKind): Promise<Deployment> {
  await program('redis-server', 'redis-server');
  const preload = await libfaketime();
  const run = promisify(execFile);
  const folder = await mkdtemp(join(tmpdir(), 'docket-soak-'));
  for (const name of ['log', 'out']) await mkdir(join(folder, name));

  // Half an hour after a slot, so that each clock jump crosses one slot and ends between two.
  const began = Date.now();
  const grid = EVERY_HOURS * HOUR_MS;
  const offset = Math.round((Math.ceil(began / grid) * grid + HOUR_MS / 2 - began) / 1000);
  let serviceAhead = offset * 1000;
  const serviceBegan = began + serviceAhead;
  const serviceNow = () => Date.now() + serviceAhead;

  const redisClock = join(folder, 'clock-redis');
  await setClock(redisClock, 0);
  const redis = await restartableRedis(faketimeRedisEnv(preload, redisClock));
  const redisPort = Number(new URL(redis.url).port);
  const client = new Redis({ port: redisPort, maxRetriesPerRequest: null, retryStrategy: () => 50 });
  client.on('error', () => {});
  const sandbox = await startSandbox({
    // Read on each call. The rate limit uses the machine’s clock.
    get now() {
      return serviceNow();
    },
    ...{ windowMs: BUDGET.window * 1000, cacheSeconds: 0 },
  });
  const sink = await mailSink(share);
  const s3 = await s3Server();
  // Page size of real stores: the soak lists thousands of objects.
  s3.page = 1_000;
  // Signatures use the clocks of the processes.
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
    [keyVariable(REFUSED)]: REFUSED_KEY,
  };
  const clockOf = (name: string) => join(folder, `clock-${name}`);
  const startProcess = async (name: string, role: string): Promise<DocketProcess> => {
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
  const workers = await Promise.all(['w1', 'w2', 'w3'].map((name) => startProcess(name, 'worker')));
  const schedulers = await Promise.all(['s1', 's2'].map((name) => startProcess(name, 'scheduler,admin')));
  const members = [...workers, ...schedulers];
  const killAll = () => {
    for (const each of members) each.killNow();
  };
  process.once('exit', killAll);

  const requests: SandboxRequest[] = [];
  const collect = () => {
    const seen = sandbox.requests();
    const last = requests.at(-1);
    requests.push(...seen.slice(last === undefined ? 0 : seen.lastIndexOf(last) + 1));
  };
  // The sandbox keeps its last 10,000 requests.
  const collecting = setInterval(collect, 500);

  const queues = watchQueues(
    client,
    sandbox.keys.map(({ key }) => new Secret(key).fingerprint()),
  );

  let archive: ArchiveStorage | undefined;
  const openArchive = (): ArchiveStorage => {
    if (kind === 'directory') return directoryStorage(archiveFolder);
    const place = parseArchiveUrl(bucket);
    if (!('kind' in place) || place.kind !== 's3') throw new Error(`no bucket in ${bucket}`);
    s3.now = Date.now;
    return s3Storage(place, secretSource(env));
  };

  const write = async (files: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, 'jobs', name);
      await mkdir(dirname(path), { recursive: true });
      // Atomic, because a starting process may read the file at the same time.
      await writeFile(`${path}.new`, text);
      await rename(`${path}.new`, path);
    }
  };
  let refusedSlot = Number.NEGATIVE_INFINITY;
  /** Moves the slot of the refused organization before the clocks reach it. */
  const defineRefused = async (now: number) => {
    if (refusedSlot - now > 3 * EVERY_HOURS * HOUR_MS) return;
    const { slot, files } = refusedDefinitions(now);
    refusedSlot = slot;
    await write(files);
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
    started: [],
    mailEnds: [],
    overtaken: queues.overtaken,
    orgs,
    redis,
    client,
    sandbox,
    get requests() {
      collect();
      return requests;
    },
    serviceBegan,
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
      serviceAhead = Math.max(serviceAhead, seconds * 1000);
      await defineRefused(serviceNow());
      for (const { name } of members) await setClock(clockOf(name), seconds);
    },
    setClock: ({ name }, seconds) => setClock(clockOf(name), seconds),
    setRedisClock: (seconds) => setClock(redisClock, seconds),
    archive: () => {
      archive ??= openArchive();
      return archive;
    },
    define: async (version) => {
      await write(definitionsOf(orgs, version, outside));
      await defineRefused(serviceNow());
    },
    close: async () => {
      clearInterval(collecting);
      // Redis may be down: the client has to disconnect before anything else is closed.
      client.disconnect();
      await queues.close();
      for (const each of members) await each.close();
      process.off('exit', killAll);
      archive?.close();
      await sandbox.close();
      await sink.close();
      await s3.close();
      await redis.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
