import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { unzipSync } from 'fflate';
import { DateTime } from 'luxon';
import PostalMime from 'postal-mime';
import { silentLog } from '../../src/base/log.ts';
import type { Manifest } from '../../src/deliver/archive.ts';
import { redisLedger } from '../../src/deliver/redis-ledger.ts';
import { readManifest } from '../../src/deliver/run-papers.ts';
import type { RunBox } from '../../src/deliver/shelf.ts';
import { verifyShelved } from '../../src/deliver/verify-archive.ts';
import { openRedis } from '../../src/queue/connection.ts';
import { runQueue } from '../../src/queue/jobs.ts';
import { DEFAULT_PREFIX } from '../../src/queue/keys.ts';
import { redisRunStore } from '../../src/queue/run-store.ts';
import type { RunRecord } from '../../src/run/record.ts';
import { inProcessSandbox } from '../support/in-process-sandbox.ts';
import { type Leak, leaksIn, leaksInRedis } from '../support/secret-scan.ts';
import type { Request } from './chaos.ts';
import {
  BUDGET,
  EVERY_HOURS,
  METRICS,
  mailbox,
  ON_DEMAND,
  READERS,
  SCHEDULED,
  type SoakOrg,
  usesFolder,
  usesS3,
} from './definitions.ts';
import type { Facts, RunFacts } from './reconcile.ts';
import type { World } from './world.ts';

/** What Docket's own record says, read past all that breaks. */
export interface OnRecord {
  runs(): Promise<readonly RunRecord[]>;
  /** Jobs that BullMQ has in hand, in line or asleep. */
  jobs(): Promise<number>;
  facts(requests: readonly Request[], from: number, to: number): Promise<Facts>;
  close(): Promise<void>;
}

export async function openRecord(world: World): Promise<OnRecord> {
  const redis = await openRedis(world.redis.url, 'worker', silentLog);
  const store = redisRunStore(redis, { prefix: DEFAULT_PREFIX, keepDays: 90 });
  const ledger = redisLedger(redis, { prefix: `${DEFAULT_PREFIX}:`, ttlDays: 90 });
  const queue = runQueue(redis, { prefix: DEFAULT_PREFIX });
  const runs = () => store.list({ limit: 1_000_000 });
  const jobs = async () => {
    const { waiting, active, delayed } = await queue.counts();
    return waiting + active + delayed;
  };
  return {
    runs,
    jobs,
    facts: async (requests, from, to) => {
      const strangers: string[] = [];
      const mails = await mailsByRun(world, strangers);
      const archived = await archivedRuns(world, strangers);
      const records = await runs();
      const known = new Map(records.map((record) => [record.id, record]));
      for (const [run, came] of mails) {
        if (!known.has(run))
          strangers.push(`a mail of run "${run}", which is not on record, to ${[...came.keys()].join(', ')}`);
      }
      const all: RunFacts[] = [];
      for (const record of records) {
        const org = orgOf(world, record.org);
        const shelved = archived.get(record.id);
        all.push({
          record,
          rows: await ledger.list(record.id),
          archive: shelved?.faults ?? null,
          meant: meantOf(org, record.report),
          mails: mails.get(record.id) ?? new Map(),
          places: shelved === undefined ? {} : await placesOf(world, org, record, shelved.manifest),
        });
      }
      const calls = world.requests
        .filter(({ path, key }) => key !== null && path.includes('/analytics/report/'))
        .map(({ key, at }) => ({ key: key ?? '', at }));
      return {
        runs: all,
        due: dueBetween(world, known, requests, from, to),
        asked: requests.map(({ ids }) => ids),
        strangers,
        calls,
        budget: { calls: BUDGET.calls, windowMs: BUDGET.window * 1000 },
        figures: await figuresOf(world, archived, known),
        leaks: (await leaksAnywhere(world)).map(({ what, where, around }) => `${what}: ${where}: ${around}`),
        unmounted: world.strayFiles,
        letIn: world.letIn,
        strays: world.members.flatMap(({ name, strays }) => strays.map((line) => `${name}: ${line}`)),
        jobs: await jobs(),
        memory: {
          peakBytes: Math.max(...world.members.map((each) => each.peak())),
          redisKeys: await world.client.dbsize(),
          redisBytes: Number(/^used_memory:(\d+)/m.exec(await world.client.info('memory'))?.[1]),
        },
      };
    },
    close: async () => {
      await queue.close();
      redis.disconnect();
    },
  };
}

/** In what people, files and Redis were given; mails and a store's objects are looked at as files. */
async function leaksAnywhere(world: World): Promise<Leak[]> {
  const copies = join(world.folder, 'copies');
  await mkdir(copies);
  for (const [nth, { raw }] of world.sink.arrived().entries()) await writeFile(join(copies, `mail-${nth}.eml`), raw);
  for (const [nth, { bytes }] of [...world.s3.objects.values()].entries())
    await writeFile(join(copies, `object-${nth}`), bytes);
  const folders = ['log', 'copies', 'out', ...(world.kind === 'directory' ? ['archive'] : [])];
  const found = await Promise.all([
    ...folders.map((name) => leaksIn(join(world.folder, name))),
    leaksInRedis(world.redis.url),
  ]);
  return found.flat();
}

function orgOf({ orgs }: World, id: string): SoakOrg {
  const org = orgs.find((one) => one.id === id);
  if (org === undefined) throw new Error(`a run of ${id}, which is nobody`);
  return org;
}

function meantOf(org: SoakOrg, report: string): string[] {
  if (report === ON_DEMAND) return [`mail ${mailbox(org, 'lead')}`];
  return [
    ...READERS[org.kind].map((who) => `mail ${mailbox(org, who)}`),
    ...(usesFolder(org.kind) ? ['directory'] : []),
    ...(usesS3(org.kind) ? ['s3'] : []),
  ];
}

/** Counted from the definition's words, with nothing of Docket's. */
function dueBetween(
  { orgs }: World,
  known: ReadonlyMap<string, RunRecord>,
  requests: readonly Request[],
  from: number,
  to: number,
): Set<string> {
  const due = new Set<string>();
  const grid = EVERY_HOURS * 3_600_000;
  for (let slot = Math.ceil(from / grid) * grid; slot <= to; slot += grid) {
    for (const { id } of orgs) due.add(`${id}/${SCHEDULED} ${new Date(slot).toISOString()}`);
  }
  for (const { org, report, ids } of requests) {
    for (const id of ids) due.add(`${org}/${report} ${known.get(id)?.slot ?? `of run ${id}`}`);
  }
  return due;
}

/** Canaries of other organizations than this one. */
const foreign = (text: string, { canary }: SoakOrg): string[] => [
  ...new Set([...text.matchAll(/Canary\d\dx/g)].map(([found]) => found).filter((found) => found !== canary)),
];

/** How often each mailbox got each run. Looks for foreign words in each message on its way. */
async function mailsByRun(world: World, strangers: string[]): Promise<Map<string, Map<string, number>>> {
  const byRun = new Map<string, Map<string, number>>();
  for (const { run, to, raw } of world.sink.arrived()) {
    const came = byRun.get(run) ?? new Map<string, number>();
    byRun.set(run, came);
    const { subject, text, html, attachments } = await PostalMime.parse(raw, { attachmentEncoding: 'arraybuffer' });
    const content = [
      subject,
      text,
      html,
      ...attachments.flatMap(({ filename, content: bytes }) => [
        filename,
        Buffer.from(bytes as ArrayBuffer).toString('utf8'),
      ]),
    ].join('\n');
    for (const address of to) {
      came.set(address, (came.get(address) ?? 0) + 1);
      const org = world.orgs.find(({ id }) => address.endsWith(`@${id}.example`));
      const found = org === undefined ? ['nobody of ours'] : foreign(content, org);
      if (org !== undefined && !content.includes(org.canary)) found.push('nothing of its own');
      if (found.length > 0) strangers.push(`a mail of run ${run} to ${address}: ${found.join(', ')}`);
    }
  }
  return byRun;
}

interface Archived {
  readonly org: string;
  readonly manifest: Manifest;
  readonly box: RunBox;
  readonly faults: readonly string[];
}

async function archivedRuns(world: World, strangers: string[]): Promise<Map<string, Archived>> {
  const shelf = world.shelf();
  const found = new Map<string, Archived>();
  for await (const shelved of shelf.runs()) {
    const manifest = await readManifest(shelved.box);
    if (manifest === undefined) continue;
    const org = orgOf(world, shelved.org);
    for (const { name } of manifest.files) {
      const bytes = await shelved.box.read(`files/${name}`);
      const text = bytes === undefined ? '' : name.endsWith('.xlsx') ? textOfZip(bytes) : bytes.toString('utf8');
      const others = foreign(`${name} ${text}`, org);
      if (others.length > 0) strangers.push(`${name} of run ${shelved.id} of ${org.id}: ${others.join(', ')}`);
    }
    found.set(shelved.id, { org: shelved.org, manifest, box: shelved.box, faults: await verifyShelved(shelved) });
  }
  return found;
}

const textOfZip = (bytes: Uint8Array): string =>
  Object.values(unzipSync(bytes))
    .map((part) => Buffer.from(part).toString('utf8'))
    .join('\n');

const hex = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function placesOf(
  world: World,
  org: SoakOrg,
  { id, report }: RunRecord,
  { files }: Manifest,
): Promise<RunFacts['places']> {
  if (report === ON_DEMAND) return {};
  const directory: string[] = [];
  const s3: string[] = [];
  // The pack of everything in one file is for whoever asks the archive.
  for (const { name, sha256 } of files.filter(({ format }) => format !== 'zip')) {
    if (usesFolder(org.kind)) {
      const bytes = await readFile(join(world.folder, 'out', org.id, id, name)).catch(() => undefined);
      if (bytes === undefined || hex(bytes) !== sha256) directory.push(`${name} is not in its folder as it was sealed`);
    }
    if (usesS3(org.kind)) {
      const object = world.s3.objects.get(`${org.id}/${id}/${name}`);
      if (object === undefined || hex(object.bytes) !== sha256)
        s3.push(`${name} is not in its bucket as it was sealed`);
    }
  }
  return {
    ...(usesFolder(org.kind) ? { directory } : {}),
    ...(usesS3(org.kind) ? { s3 } : {}),
  };
}

/** Each sealed figure beside what another, undisturbed service of the same data says to a question put by hand. */
async function figuresOf(
  world: World,
  archived: ReadonlyMap<string, Archived>,
  known: ReadonlyMap<string, RunRecord>,
): Promise<Facts['figures']> {
  const twin = inProcessSandbox({ now: world.serviceNow });
  const answers = new Map<string, readonly string[]>();
  const wrong: string[] = [];
  let compared = 0;
  for (const [id, { org: orgId, manifest, box }] of archived) {
    const org = orgOf(world, orgId);
    const { from, to, timezone } = manifest.period;
    const name = `${org.id}/${manifest.report} ${manifest.slot}`;
    const slot = known.get(id)?.trigger === 'schedule' ? manifest.slot : undefined;
    if (slot !== undefined) {
      const day = DateTime.fromISO(slot, { zone: org.timezone }).minus({ days: 1 }).toISODate();
      if (from !== day || to !== day || timezone !== org.timezone)
        wrong.push(`${name} is of ${from} to ${to} ${timezone}, not of ${day} ${org.timezone}`);
    }
    const question = JSON.stringify({ metrics: METRICS, time: { from, to, timezone } });
    const asked = `${org.service} ${question}`;
    const right = answers.get(asked) ?? (await answerOf(twin, org, question));
    answers.set(asked, right);
    const file = manifest.files.find((one) => one.name.endsWith(' figures.csv'))?.name;
    const bytes = file === undefined ? undefined : await box.read(`files/${file}`);
    // Behind the figures the file says whether the period was still running.
    const row = (parse(bytes ?? '', { bom: true })[1] ?? []).slice(0, METRICS.length);
    compared += METRICS.length;
    if (row.join() !== right.join()) wrong.push(`${name}: ${row.join(', ')} instead of ${right.join(', ')}`);
  }
  return { compared, wrong };
}

async function answerOf(twin: ReturnType<typeof inProcessSandbox>, org: SoakOrg, question: string): Promise<string[]> {
  const { rows } = await twin.answered(JSON.parse(question), { org: org.service });
  return METRICS.map((metric) => String(rows[0]?.[metric]));
}
