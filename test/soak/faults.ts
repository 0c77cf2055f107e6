import { mkdir, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RUN_QUEUE_NAME } from '../../src/queue/bullmq.ts';
import { DEFAULT_KEY_PREFIX, redisKeys } from '../../src/redis/keys.ts';
import type { Fault } from '../../src/sandbox/sandbox.ts';
import type { Fault as S3Fault } from '../support/s3-server.ts';
import { EVERY_HOURS } from './definitions.ts';
import type { Deployment } from './deployment.ts';
import type { DocketProcess } from './docket-process.ts';
import { MAIL_FAULTS } from './mail-sink.ts';
import type { ProxyAction } from './network-proxy.ts';
import { secondDeployment } from './second-deployment.ts';

/** For injecting faults: the deployment, seeded random numbers, and a log. */
export interface FaultContext {
  readonly deployment: Deployment;
  readonly note: (what: string) => void;
  readonly oneOf: <Item>(items: readonly Item[]) => Item;
  /** A random integer. */
  readonly between: (min: number, max: number) => number;
  readonly chance: (probability: number) => boolean;
}

/** A fault outside of the processes. `act` resolves when it is repaired. */
export interface FaultScenario {
  readonly weight: number;
  /** A resource that only one fault may use at a time. */
  readonly needs: string;
  readonly act: (context: FaultContext) => Promise<void>;
}

/** Failures of the API (specification §7 and §8) and of the network. */
const API_FAULTS: readonly (readonly Fault[])[] = [
  [{ kind: 'latency', value: 1_500, probability: 0.5 }],
  [{ kind: 'status', value: 503, probability: 0.5 }],
  [{ kind: 'status', value: 500, probability: 0.5 }],
  [{ kind: 'reset', probability: 0.4 }],
  [{ kind: 'truncate', probability: 0.4 }],
  [{ kind: 'content-type', probability: 0.4 }],
  [{ kind: 'throttle', value: 2, probability: 0.3 }],
  [{ kind: 'hang', count: 2 }],
];
const S3_FAULTS: readonly S3Fault[] = [
  { when: 'before', how: 'reset' },
  { when: 'after', how: 'reset' },
  { when: 'after', how: 'close' },
  { when: 'before', how: { status: 503, code: 'SlowDown' } },
  { when: 'after', how: { status: 500, code: 'InternalError' } },
];

async function slowNetwork({ deployment, note, between }: FaultContext): Promise<void> {
  note('slow network to the service');
  for (let turn = 0; turn < 10; turn += 1) {
    for (const { api } of deployment.workers) api.slow(between(0, 2_500));
    await sleep(900);
  }
  for (const { api } of deployment.workers) api.slow(0);
}

/** A network partition, in both directions or in one. */
async function partition({ deployment, note, oneOf, between, chance }: FaultContext): Promise<void> {
  const who = oneOf(deployment.members);
  const peer = oneOf(['redis', 'api', 'mail'] as const);
  const direction = oneOf(['both', 'requests', 'replies'] as const);
  const forMs = between(1_000, 8_000);
  note(`partition ${who.name} from ${peer} (${direction}) for ${forMs} ms`);
  who[peer].cut(direction);
  await sleep(forMs);
  // A reset loses the bytes held back, replies included.
  if (chance(0.5)) who[peer].reset();
  who[peer].heal();
}

/** Whether bytes from a client end a message (RFC 5321, 4.1.1.4): on their own, or together with the end of its body. */
const endsMail = (bytes: Buffer): boolean => /(^|\r\n)\.\r\n$/.test(bytes.subarray(-5).toString('latin1'));
const MAIL_TIMEOUT_MS = 8_000;

/**
 * Waits for a worker that ends a mail, and forwards or drops the final dot. Undefined on timeout. `accept` is called before
 * that, and decides whether to take this worker.
 */
export function interceptMailEnd(
  { workers, mailEnds }: Pick<Deployment, 'workers' | 'mailEnds'>,
  action: ProxyAction,
  accept: (who: DocketProcess) => boolean,
): Promise<DocketProcess | undefined> {
  return new Promise((resolve) => {
    const finish = (who?: DocketProcess) => {
      clearTimeout(timeout);
      for (const { mail } of workers) mail.watch(undefined);
      resolve(who);
    };
    const timeout = setTimeout(finish, MAIL_TIMEOUT_MS);
    for (const who of workers) {
      who.mail.watch((bytes) => {
        if (!endsMail(bytes) || !accept(who)) return 'forward';
        mailEnds.push(who.name);
        finish(who);
        return action;
      });
    }
  });
}

/** Loses the mail server's replies after the end of a message: it was received, but its worker does not learn it. */
async function loseReplies({ deployment, note, between }: FaultContext): Promise<void> {
  await interceptMailEnd(deployment, 'forward', () => {
    note('replies of the mail server lost');
    for (const { mail } of deployment.workers) mail.cut('replies');
    return true;
  });
  await sleep(between(1_000, 3_000));
  for (const { mail } of deployment.workers) {
    mail.reset();
    mail.heal();
  }
}

async function killRedis({ deployment, note, between }: FaultContext): Promise<void> {
  note('kill Redis');
  await deployment.redis.kill();
  await sleep(between(200, 3_000));
  await deployment.redis.start();
}

async function fillRedis({ deployment, note, between }: FaultContext): Promise<void> {
  note('fill Redis');
  await deployment.client.config('SET', 'maxmemory', '1mb');
  await sleep(between(1_000, 4_000));
  await deployment.client.config('SET', 'maxmemory', '0');
}

async function failApi({ deployment, note, oneOf, between }: FaultContext): Promise<void> {
  const faults = oneOf(API_FAULTS);
  note(`service: ${faults.map(({ kind }) => kind).join(', ')}`);
  deployment.sandbox.setFaults(faults);
  await sleep(between(2_000, 5_000));
  deployment.sandbox.setFaults([]);
}

/** Both peers repeat credentials in their error replies, in all usual forms. */
async function echo({ deployment, note, between }: FaultContext): Promise<void> {
  note('peers that repeat credentials');
  deployment.sandbox.setFaults([{ kind: 'echo', probability: 0.5 }]);
  deployment.sink.faults = {
    probability: 0.5,
    scripts: [{ MAIL: { echo: '451 4.3.0' } }, { RCPT: { echo: '450 4.2.1' } }],
  };
  await sleep(between(2_000, 5_000));
  deployment.sandbox.setFaults([]);
  deployment.sink.faults = undefined;
}

async function failMail({ deployment, note, between }: FaultContext): Promise<void> {
  note('mail server fails');
  deployment.sink.faults = { probability: 0.4, scripts: MAIL_FAULTS };
  await sleep(between(2_000, 6_000));
  deployment.sink.faults = undefined;
}

async function failS3({ deployment, note, oneOf, between, chance }: FaultContext): Promise<void> {
  const fault = oneOf(S3_FAULTS);
  note(`store: ${JSON.stringify(fault)}`);
  deployment.s3.fault = ({ method }) => (method === 'PUT' && chance(0.5) ? fault : undefined);
  await sleep(between(2_000, 5_000));
  deployment.s3.fault = () => undefined;
}

async function setClocksBack({ deployment, note }: FaultContext): Promise<void> {
  note('clocks an hour back');
  const { offset } = deployment.clock;
  await deployment.setClocks(offset - 3_600);
  await sleep(3_000);
  await deployment.setClocks(offset);
}

async function skewClock({ deployment, note, oneOf }: FaultContext): Promise<void> {
  const who = oneOf(deployment.members);
  const by = oneOf([-90, 90]);
  note(`clock of ${who.name} ${by} s off`);
  await deployment.setClock(who, deployment.clock.offset + by);
  await sleep(4_000);
  await deployment.setClock(who, deployment.clock.offset);
}

/** Steps of less than BullMQ’s lock duration, and of more. A step back extends the lock of a killed worker. */
async function stepRedisClock({ deployment, note, oneOf, between }: FaultContext): Promise<void> {
  const by = oneOf([-120, -7, -1, 1, 7, 120]);
  note(`clock of Redis ${by} s off`);
  await deployment.setRedisClock(by);
  await sleep(between(500, 6_000));
  await deployment.setRedisClock(0);
}

/** As chrony slews a clock: 8 % fast, then slow until it is right again. */
async function driftRedisClock({ deployment, note, oneOf }: FaultContext): Promise<void> {
  const sign = oneOf([1, -1]);
  note(`clock of Redis drifts ${sign > 0 ? 'ahead' : 'behind'}`);
  const STEPS = 50;
  for (let turn = 1; turn <= 2 * STEPS; turn += 1) {
    await deployment.setRedisClock(sign * 0.008 * (STEPS - Math.abs(turn - STEPS)));
    await sleep(100);
  }
}

async function failDisk({ deployment, note, oneOf, between }: FaultContext): Promise<void> {
  // The folder in which files are rendered, or the one to which some are delivered.
  const made = deployment.kind === 's3' ? deployment.stagingFolder : deployment.archiveFolder;
  const place = oneOf([made, join(deployment.folder, 'out')]);
  const code = oneOf(['ENOSPC', 'EROFS']);
  note(`disk: ${code} below ${place}`);
  await writeFile(deployment.diskFaults, `${code} ${place}\n`);
  await sleep(between(1_000, 5_000));
  await writeFile(deployment.diskFaults, '');
}

/** Files that were open at the moment of unmounting may still be written for this long. */
const OPEN_MS = 2_000;

/** Replaces the archive by an empty folder, as if its disk were not mounted. Collects files written there. */
async function unmountArchive({ deployment, note, between }: FaultContext): Promise<void> {
  if (deployment.kind === 's3') return;
  note('archive not mounted');
  const away = `${deployment.archiveFolder}-away`;
  const moved = `${deployment.archiveFolder}-bare-${between(0, 1e9)}`;
  await rename(deployment.archiveFolder, away);
  // A build that does not check the marker may already have created the folder.
  await mkdir(deployment.archiveFolder, { recursive: true });
  const since = Date.now() + OPEN_MS;
  await sleep(between(OPEN_MS + 1_000, 8_000));
  for (let turn = 0; ; turn += 1) {
    // A new name each time: a process may write between the two renames, and rename does not replace a folder that
    // contains files.
    const bare = `${moved}-${turn}`;
    await rename(deployment.archiveFolder, bare).catch(() => {});
    const back = await rename(away, deployment.archiveFolder).then(
      () => true,
      () => false,
    );
    for (const entry of await readdir(bare, { recursive: true, withFileTypes: true }).catch(() => [])) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && (await stat(path)).birthtimeMs > since) deployment.strayFiles.push(path);
    }
    if (back) return;
  }
}

/** Removes half of the jobs from BullMQ's lists, but not the jobs themselves. */
async function loseJobs({ deployment, note, chance }: FaultContext): Promise<void> {
  const name = (list: string) => `${redisKeys(DEFAULT_KEY_PREFIX).bull}:${RUN_QUEUE_NAME}:${list}`;
  let lost = 0;
  for (const list of ['prioritized', 'delayed']) {
    for (const id of await deployment.client.zrange(name(list), '0', '-1')) {
      if (chance(0.5)) lost += await deployment.client.zrem(name(list), id);
    }
  }
  for (const list of ['wait', 'active']) {
    for (const id of await deployment.client.lrange(name(list), 0, -1)) {
      if (chance(0.5)) lost += await deployment.client.lrem(name(list), 0, id);
    }
  }
  note(`${lost} jobs lost from their lists`);
}

/** Starts another deployment, with its own jobs and archive, on this Redis. */
async function startSecondDeployment({ deployment, note }: FaultContext): Promise<void> {
  note('a second deployment on this Redis');
  const started = await secondDeployment(deployment);
  if (started !== undefined) deployment.started.push(started);
}

export const FAULTS = {
  latency: { weight: 1, needs: 'latency', act: slowNetwork },
  partition: { weight: 2, needs: 'partition', act: partition },
  'replies lost': { weight: 1, needs: 'mid-mail', act: loseReplies },
  'redis killed': { weight: 1, needs: 'redis', act: killRedis },
  'redis full': { weight: 1, needs: 'redis', act: fillRedis },
  'redis clock': { weight: 2, needs: 'redis clock', act: stepRedisClock },
  'redis drift': { weight: 1, needs: 'redis clock', act: driftRedisClock },
  'jobs lost': { weight: 1, needs: 'redis', act: loseJobs },
  service: { weight: 2, needs: 'api', act: failApi },
  mail: { weight: 3, needs: 'mail', act: failMail },
  echo: { weight: 1, needs: 'mail', act: echo },
  store: { weight: 2, needs: 's3', act: failS3 },
  disk: { weight: 1, needs: 'disk', act: failDisk },
  unmounted: { weight: 1, needs: 'disk', act: unmountArchive },
  'clocks back': { weight: 1, needs: 'clocks', act: setClocksBack },
  skew: { weight: 1, needs: 'clocks', act: skewClock },
  'second deployment': { weight: 0.5, needs: 'redis', act: startSecondDeployment },
} as const satisfies Readonly<Record<string, FaultScenario>>;
export type FaultName = keyof typeof FAULTS;

/** Forty runs come due at once. */
export async function jumpClocks({ deployment, note }: FaultContext): Promise<void> {
  note(`clocks ${EVERY_HOURS} hours ahead`);
  await deployment.setClocks(deployment.clock.offset + EVERY_HOURS * 3_600);
}
