import { mkdir, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RUNS } from '../../src/queue/jobs.ts';
import { DEFAULT_PREFIX, keysOf } from '../../src/queue/keys.ts';
import type { Fault } from '../../src/sandbox/sandbox.ts';
import type { Fault as S3Fault } from '../support/s3-server.ts';
import { EVERY_HOURS } from './definitions.ts';
import { MAIL_TROUBLES } from './mail-sink.ts';
import type { Member } from './member.ts';
import { secondDeployment } from './second-deployment.ts';
import type { Passage } from './way.ts';
import type { World } from './world.ts';

/** What a trouble is made with: chance, all of one seed, and a list of what happened. */
export interface Rig {
  readonly world: World;
  readonly note: (what: string) => void;
  readonly oneOf: <Item>(items: readonly Item[]) => Item;
  /** A whole number. */
  readonly between: (least: number, most: number) => number;
  readonly chance: (probability: number) => boolean;
}

/** Something that goes wrong around the processes, and is whole again when it resolves. */
export interface Trouble {
  readonly weight: number;
  /** What no other trouble may have in hand meanwhile. */
  readonly needs: string;
  readonly act: (rig: Rig) => Promise<void>;
}

/** Everything that an API does wrong (specification §7 and §8, and what lies between a service and us). */
const API_TROUBLES: readonly (readonly Fault[])[] = [
  [{ kind: 'latency', value: 1_500, probability: 0.5 }],
  [{ kind: 'status', value: 503, probability: 0.5 }],
  [{ kind: 'status', value: 500, probability: 0.5 }],
  [{ kind: 'reset', probability: 0.4 }],
  [{ kind: 'truncate', probability: 0.4 }],
  [{ kind: 'content-type', probability: 0.4 }],
  [{ kind: 'throttle', value: 2, probability: 0.3 }],
  [{ kind: 'hang', count: 2 }],
];
const S3_TROUBLES: readonly S3Fault[] = [
  { when: 'before', how: 'reset' },
  { when: 'after', how: 'reset' },
  { when: 'after', how: 'close' },
  { when: 'before', how: { status: 503, code: 'SlowDown' } },
  { when: 'after', how: { status: 500, code: 'InternalError' } },
];

async function slowWays({ world, note, between }: Rig): Promise<void> {
  note('slow ways to the service');
  for (let turn = 0; turn < 10; turn += 1) {
    for (const { api } of world.workers) api.slow(between(0, 2_500));
    await sleep(900);
  }
  for (const { api } of world.workers) api.slow(0);
}

/** A network that loses everything, or one direction alone: what is asked arrives, and nobody hears the answer, or the other way. */
async function cutOff({ world, note, oneOf, between, chance }: Rig): Promise<void> {
  const who = oneOf(world.members);
  const way = oneOf(['redis', 'api', 'mail'] as const);
  const direction = oneOf(['both', 'requests', 'replies'] as const);
  const forMs = between(1_000, 8_000);
  note(`cut ${who.name} off ${way} (${direction}) for ${forMs} ms`);
  who[way].cut(direction);
  await sleep(forMs);
  // What is broken off now is lost for good: an answer, too.
  if (chance(0.5)) who[way].reset();
  who[way].heal();
}

/** The final dot leaves by itself, once the body has. */
const END_OF_MAIL = Buffer.from('.\r\n');
const MAIL_WAIT_MS = 8_000;

/**
 * The next worker that is about to end a mail, which then goes on or is lost; undefined when none is in time. `caught` is
 * called before the dot goes on, and says whether this worker is the one.
 */
export function caughtMidMail(
  { workers }: Pick<World, 'workers'>,
  passage: Passage,
  caught: (who: Member) => boolean,
): Promise<Member | undefined> {
  return new Promise((resolve) => {
    const over = (who?: Member) => {
      clearTimeout(timeout);
      for (const { mail } of workers) mail.watch(undefined);
      resolve(who);
    };
    const timeout = setTimeout(over, MAIL_WAIT_MS);
    for (const who of workers) {
      who.mail.watch((piece) => {
        if (!piece.equals(END_OF_MAIL) || !caught(who)) return 'on';
        over(who);
        return passage;
      });
    }
  });
}

/** The mail server's replies get lost once a message is ended: it has arrived, and its worker never hears of it. */
async function loseReplies({ world, note, between }: Rig): Promise<void> {
  await caughtMidMail(world, 'on', () => {
    note('replies of the mail server lost');
    for (const { mail } of world.workers) mail.cut('replies');
    return true;
  });
  await sleep(between(1_000, 3_000));
  for (const { mail } of world.workers) {
    mail.reset();
    mail.heal();
  }
}

async function killRedis({ world, note, between }: Rig): Promise<void> {
  note('kill Redis');
  await world.redis.kill();
  await sleep(between(200, 3_000));
  await world.redis.start();
}

async function fillRedis({ world, note, between }: Rig): Promise<void> {
  note('fill Redis');
  await world.client.config('SET', 'maxmemory', '1mb');
  await sleep(between(1_000, 4_000));
  await world.client.config('SET', 'maxmemory', '0');
}

async function troubleApi({ world, note, oneOf, between }: Rig): Promise<void> {
  const faults = oneOf(API_TROUBLES);
  note(`service: ${faults.map(({ kind }) => kind).join(', ')}`);
  world.sandbox.setFaults(faults);
  await sleep(between(2_000, 5_000));
  world.sandbox.setFaults([]);
}

/** Both peers repeat in their refusals what they were given to sign in with, in every form that servers write. */
async function echo({ world, note, between }: Rig): Promise<void> {
  note('peers that repeat credentials');
  world.sandbox.setFaults([{ kind: 'echo', probability: 0.5 }]);
  world.sink.trouble = {
    probability: 0.5,
    scripts: [{ MAIL: { echo: '451 4.3.0' } }, { RCPT: { echo: '450 4.2.1' } }],
  };
  await sleep(between(2_000, 5_000));
  world.sandbox.setFaults([]);
  world.sink.trouble = undefined;
}

async function troubleMail({ world, note, between }: Rig): Promise<void> {
  note('mail server: trouble');
  world.sink.trouble = { probability: 0.4, scripts: MAIL_TROUBLES };
  await sleep(between(2_000, 6_000));
  world.sink.trouble = undefined;
}

async function troubleS3({ world, note, oneOf, between, chance }: Rig): Promise<void> {
  const fault = oneOf(S3_TROUBLES);
  note(`store: ${JSON.stringify(fault)}`);
  world.s3.fault = ({ method }) => (method === 'PUT' && chance(0.5) ? fault : undefined);
  await sleep(between(2_000, 5_000));
  world.s3.fault = () => undefined;
}

async function clocksBack({ world, note }: Rig): Promise<void> {
  note('clocks an hour back');
  const { offset } = world.clock;
  await world.setClocks(offset - 3_600);
  await sleep(3_000);
  await world.setClocks(offset);
}

async function skewOne({ world, note, oneOf }: Rig): Promise<void> {
  const who = oneOf(world.members);
  const by = oneOf([-90, 90]);
  note(`clock of ${who.name} ${by} s off`);
  await world.setClock(who, world.clock.offset + by);
  await sleep(4_000);
  await world.setClock(who, world.clock.offset);
}

/** By less than BullMQ's hold on a job, and by far more, forwards and back again. */
async function stepRedisClock({ world, note, oneOf, between }: Rig): Promise<void> {
  const by = oneOf([-3_600, -7, -1, 1, 7, 3_600]);
  note(`clock of Redis ${by} s off`);
  await world.setRedisClock(by);
  await sleep(between(500, 6_000));
  await world.setRedisClock(0);
}

/** As chrony slews: 8 % fast, then as slow until it is right again. */
async function driftRedisClock({ world, note, oneOf }: Rig): Promise<void> {
  const way = oneOf([1, -1]);
  note(`clock of Redis drifts ${way > 0 ? 'ahead' : 'behind'}`);
  const STEPS = 50;
  for (let turn = 1; turn <= 2 * STEPS; turn += 1) {
    await world.setRedisClock(way * 0.008 * (STEPS - Math.abs(turn - STEPS)));
    await sleep(100);
  }
}

async function breakDisk({ world, note, oneOf, between }: Rig): Promise<void> {
  // Where files are made, and where some are delivered.
  const made = world.kind === 's3' ? world.stagingFolder : world.archiveFolder;
  const place = oneOf([made, join(world.folder, 'out')]);
  const code = oneOf(['ENOSPC', 'EROFS']);
  note(`disk: ${code} below ${place}`);
  await writeFile(world.diskFaults, `${code} ${place}\n`);
  await sleep(between(1_000, 5_000));
  await writeFile(world.diskFaults, '');
}

/** What stood open at that moment may still be written. */
const OPEN_MS = 2_000;

/** An empty folder stands where the archive was, as when its disk is not mounted. What is written there is collected. */
async function unmountArchive({ world, note, between }: Rig): Promise<void> {
  if (world.kind === 's3') return;
  note('archive not mounted');
  const away = `${world.archiveFolder}-away`;
  const bare = `${world.archiveFolder}-bare-${world.strayFiles.length}-${between(0, 1e9)}`;
  await rename(world.archiveFolder, away);
  await mkdir(world.archiveFolder);
  const since = Date.now() + OPEN_MS;
  await sleep(between(OPEN_MS + 1_000, 8_000));
  for (;;) {
    await rename(world.archiveFolder, bare).catch(() => {});
    const back = await rename(away, world.archiveFolder).then(
      () => true,
      () => false,
    );
    for (const entry of await readdir(bare, { recursive: true, withFileTypes: true }).catch(() => [])) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && (await stat(path)).birthtimeMs > since) world.strayFiles.push(path);
    }
    if (back) return;
  }
}

/** Half of what stands in BullMQ's lists is in none any more; the jobs themselves stay. */
async function loseJobs({ world, note, chance }: Rig): Promise<void> {
  const name = (list: string) => `${keysOf(DEFAULT_PREFIX).bull}:${RUNS}:${list}`;
  let lost = 0;
  for (const list of ['prioritized', 'delayed']) {
    for (const id of await world.client.zrange(name(list), '0', '-1')) {
      if (chance(0.5)) lost += await world.client.zrem(name(list), id);
    }
  }
  for (const list of ['wait', 'active']) {
    for (const id of await world.client.lrange(name(list), 0, -1)) {
      if (chance(0.5)) lost += await world.client.lrem(name(list), 0, id);
    }
  }
  note(`${lost} jobs lost from their lists`);
}

/** Another deployment, with its own jobs and archive, is started on this Redis by mistake. */
async function startAnother({ world, note }: Rig): Promise<void> {
  note('a second deployment on this Redis');
  const letIn = await secondDeployment(world);
  if (letIn !== undefined) world.letIn.push(letIn);
}

export const TROUBLES = {
  ways: { weight: 1, needs: 'ways', act: slowWays },
  partition: { weight: 2, needs: 'partition', act: cutOff },
  'replies lost': { weight: 1, needs: 'mid-mail', act: loseReplies },
  'redis killed': { weight: 1, needs: 'redis', act: killRedis },
  'redis full': { weight: 1, needs: 'redis', act: fillRedis },
  'redis clock': { weight: 2, needs: 'redis clock', act: stepRedisClock },
  'redis drift': { weight: 1, needs: 'redis clock', act: driftRedisClock },
  'jobs lost': { weight: 1, needs: 'redis', act: loseJobs },
  service: { weight: 2, needs: 'api', act: troubleApi },
  mail: { weight: 3, needs: 'mail', act: troubleMail },
  echo: { weight: 1, needs: 'mail', act: echo },
  store: { weight: 2, needs: 's3', act: troubleS3 },
  disk: { weight: 1, needs: 'disk', act: breakDisk },
  unmounted: { weight: 1, needs: 'disk', act: unmountArchive },
  'clocks back': { weight: 1, needs: 'clocks', act: clocksBack },
  skew: { weight: 1, needs: 'clocks', act: skewOne },
  'second deployment': { weight: 0.5, needs: 'redis', act: startAnother },
} as const satisfies Readonly<Record<string, Trouble>>;
export type TroubleName = keyof typeof TROUBLES;

/** Forty runs that come due at once. */
export async function jumpClocks({ world, note }: Rig): Promise<void> {
  note(`clocks ${EVERY_HOURS} hours on`);
  await world.setClocks(world.clock.offset + EVERY_HOURS * 3_600);
}
