import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import PostalMime from 'postal-mime';
import { silentLog } from '../../src/base/log.ts';
import type { Manifest } from '../../src/deliver/archive/archive.ts';
import { readManifest } from '../../src/deliver/archive/run-folder/run-metadata.ts';
import { runProblems } from '../../src/deliver/archive/verify/verify-run.ts';
import { redisLedger } from '../../src/deliver/ledger/redis-ledger.ts';
import { runQueue } from '../../src/queue/jobs/run-queue.ts';
import { redisRunStore } from '../../src/queue/runs/run-store.ts';
import { redisPauses } from '../../src/queue/schedules/pauses.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { DEFAULT_KEY_PREFIX } from '../../src/redis/keys.ts';
import type { RunRecord } from '../../src/run/run-record.ts';
import { redisPreparationIndex } from '../../src/services/preparations/preparation-index.ts';
import { type Leak, leaksIn, leaksInRedis } from '../support/secret-scan.ts';
import type { Request } from './chaos.ts';
import { type Archived, figuresOf, orgOf } from './compare-figures.ts';
import {
  BUDGET,
  desksOf,
  EVERY_HOURS,
  mailbox,
  ON_DEMAND,
  READERS,
  SCHEDULED,
  type SoakOrg,
  SPLIT,
  usesFolder,
  usesS3,
} from './definitions.ts';
import type { Deployment } from './deployment.ts';
import type { Facts, RunFacts } from './reconcile.ts';

/** Reads Docket's records directly from Redis. */
export interface RecordReader {
  runs(): Promise<readonly RunRecord[]>;
  /** Active, waiting and delayed jobs of BullMQ. */
  jobs(): Promise<number>;
  /** Answers that are stored for future slots. */
  prepared(): Promise<number>;
  /** Pauses, including those that have ended. */
  paused(): Promise<readonly string[]>;
  facts(requests: readonly Request[], from: number, to: number): Promise<Facts>;
  close(): Promise<void>;
}

export async function openRecordReader(deployment: Deployment): Promise<RecordReader> {
  const redis = await openRedis(deployment.redis.url, 'worker', silentLog);
  const store = redisRunStore(redis, { prefix: DEFAULT_KEY_PREFIX, keepDays: 90 });
  const ledger = redisLedger(redis, { prefix: `${DEFAULT_KEY_PREFIX}:`, ttlDays: 90 });
  const queue = runQueue(redis, { prefix: DEFAULT_KEY_PREFIX });
  const pauses = redisPauses(redis, { prefix: DEFAULT_KEY_PREFIX });
  const paused = async () =>
    (await pauses.history(1_000)).flatMap(({ what, org, why }) => (what === 'pause' ? [`${org}: ${why}`] : []));
  const preparations = redisPreparationIndex(redis, { prefix: DEFAULT_KEY_PREFIX });
  const prepared = async () =>
    [...(await preparations.statuses()).values()].reduce(
      (sum, one) => sum + (one.begins > deployment.now() ? one.prepared : 0),
      0,
    );
  const runs = () => store.list({ limit: 1_000_000 });
  const jobs = async () => {
    const { waiting, active, delayed } = await queue.counts();
    return waiting + active + delayed;
  };
  return {
    runs,
    jobs,
    prepared,
    paused,
    facts: async (requests, from, to) => {
      const misdelivered: string[] = [];
      const misdealt: string[] = [];
      const mails = await mailsByRun(deployment, { misdelivered, misdealt });
      const archived = await archivedRuns(deployment, misdelivered);
      const records = await runs();
      const known = new Map(records.map((record) => [record.id, record]));
      for (const [run, came] of mails) {
        if (!known.has(run))
          misdelivered.push(`a mail of run "${run}", which is not on record, to ${[...came.keys()].join(', ')}`);
      }
      const all: RunFacts[] = [];
      for (const record of records) {
        const org = orgOf(deployment, record.org);
        const archivedRun = archived.get(record.id);
        all.push({
          record,
          rows: await ledger.list(record.id),
          archive: archivedRun?.faults ?? null,
          expected: expectedDeliveries(org, record.report),
          mails: mails.get(record.id) ?? new Map(),
          places: archivedRun === undefined ? {} : await deliveredFiles(deployment, org, record, archivedRun.manifest),
        });
      }
      return {
        runs: all,
        due: dueRuns(deployment, known, requests, from, to),
        asked: requests.map(({ ids }) => ids),
        misdelivered,
        misdealt,
        calls: callsOf(deployment),
        budget: { calls: BUDGET.calls, windowMs: BUDGET.window * 1000 },
        figures: await figuresOf(deployment, archived, known),
        leaks: (await findLeaks(deployment)).map(({ what, where, around }) => `${what}: ${where}: ${around}`),
        unmounted: deployment.strayFiles,
        started: deployment.started,
        mailEnds: deployment.mailEnds.length,
        prepared: records.reduce((sum, { prepared }) => sum + (prepared?.calls ?? 0), 0),
        refused: deployment.requests.filter(({ status, path }) => status === 401 && path.includes('/analytics/'))
          .length,
        overtaken: deployment.overtaken,
        paused: await paused(),
        strays: deployment.members.flatMap(({ name, strays }) => strays.map((line) => `${name}: ${line}`)),
        jobs: await jobs(),
        memory: {
          peakBytes: Math.max(...deployment.members.map((each) => each.peak())),
          redisKeys: await deployment.client.dbsize(),
          redisBytes: Number(/^used_memory:(\d+)/m.exec(await deployment.client.info('memory'))?.[1]),
        },
      };
    },
    close: async () => {
      await queue.close();
      redis.disconnect();
    },
  };
}

/** Metrics calls that the service received. */
export const callsOf = ({ requests }: Deployment): Facts['calls'] =>
  requests.flatMap(({ path, key, at }) => (key !== null && path.includes('/analytics/report/') ? [{ key, at }] : []));

/** Secrets in logs, deliveries, the archive and Redis; mails and S3 objects are scanned as files. */
async function findLeaks(deployment: Deployment): Promise<Leak[]> {
  const copies = join(deployment.folder, 'copies');
  await mkdir(copies);
  for (const [nth, { raw }] of deployment.sink.arrived().entries())
    await writeFile(join(copies, `mail-${nth}.eml`), raw);
  for (const [nth, { bytes }] of [...deployment.s3.objects.values()].entries())
    await writeFile(join(copies, `object-${nth}`), bytes);
  const folders = ['log', 'copies', 'out', ...(deployment.kind === 'directory' ? ['archive'] : [])];
  const found = await Promise.all([
    ...folders.map((name) => leaksIn(join(deployment.folder, name))),
    leaksInRedis(deployment.redis.url),
  ]);
  return found.flat();
}

function expectedDeliveries(org: SoakOrg, report: string): string[] {
  if (report === ON_DEMAND) return [`mail ${mailbox(org, 'lead')}`];
  if (report === SPLIT) {
    const desks = desksOf(org);
    return [...desks.map(({ address }) => `mail ${address}`), ...desks.map(({ slug }) => `directory ${slug}`)];
  }
  return [
    ...READERS[org.kind].map((who) => `mail ${mailbox(org, who)}`),
    ...(usesFolder(org.kind) ? ['directory'] : []),
    ...(usesS3(org.kind) ? ['s3'] : []),
  ];
}

/** Expected runs, computed without Docket's code. */
function dueRuns(
  { orgs }: Deployment,
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

/** Canaries of organizations other than this one. */
const foreign = (text: string, { canary }: SoakOrg): string[] => [
  ...new Set([...text.matchAll(/Canary\d\dx/g)].map(([found]) => found).filter((found) => found !== canary)),
];

/** Names of desks in a pack that are not its recipient’s, and a note if the recipient’s own desk is missing. */
function dealtWrong(content: string, org: SoakOrg, address: string): string[] {
  const desks = desksOf(org);
  const own = desks.find((desk) => desk.address === address);
  if (own === undefined) return [];
  const says = (value: string) => new RegExp(`\\b${value}\\b`).test(content);
  return [
    ...(says(own.value) ? [] : [`no ${own.value}`]),
    ...desks.flatMap(({ value }) => (value !== own.value && says(value) ? [value] : [])),
  ];
}

/**
 * Number of messages by run and mailbox. Adds messages with canaries of other organizations or names of other desks to
 * the two lists.
 */
async function mailsByRun(
  deployment: Deployment,
  { misdelivered, misdealt }: { readonly misdelivered: string[]; readonly misdealt: string[] },
): Promise<Map<string, Map<string, number>>> {
  const byRun = new Map<string, Map<string, number>>();
  for (const { run, to, raw } of deployment.sink.arrived()) {
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
      const org = deployment.orgs.find(({ id }) => address.endsWith(`@${id}.example`));
      const found = org === undefined ? ['an unknown recipient'] : foreign(content, org);
      if (org !== undefined && !content.includes(org.canary)) found.push('no canary of its own');
      if (found.length > 0) misdelivered.push(`a mail of run ${run} to ${address}: ${found.join(', ')}`);
      const dealt = org === undefined ? [] : dealtWrong(content, org, address);
      if (dealt.length > 0) misdealt.push(`a mail of run ${run} to ${address}: ${dealt.join(', ')}`);
    }
  }
  return byRun;
}

/** Packs that were mailed to people of another desk. */
export async function misdealtMails(deployment: Deployment): Promise<readonly string[]> {
  const misdealt: string[] = [];
  await mailsByRun(deployment, { misdelivered: [], misdealt });
  return misdealt;
}

export async function archivedRuns(deployment: Deployment, misdelivered: string[]): Promise<Map<string, Archived>> {
  const archive = deployment.archive();
  const found = new Map<string, Archived>();
  for await (const archivedRun of archive.listRuns()) {
    const manifest = await readManifest(archivedRun.files);
    if (manifest === undefined) continue;
    const org = orgOf(deployment, archivedRun.org);
    for (const { name } of manifest.files) {
      const bytes = await archivedRun.files.get(`files/${name}`);
      const text = bytes === undefined ? '' : name.endsWith('.xlsx') ? textOfZip(bytes) : bytes.toString('utf8');
      const others = foreign(`${name} ${text}`, org);
      if (others.length > 0) misdelivered.push(`${name} of run ${archivedRun.id} of ${org.id}: ${others.join(', ')}`);
    }
    found.set(archivedRun.id, {
      org: archivedRun.org,
      manifest,
      runFiles: archivedRun.files,
      faults: await runProblems(archivedRun),
    });
  }
  return found;
}

const textOfZip = (bytes: Uint8Array): string =>
  Object.values(unzipSync(bytes))
    .map((part) => Buffer.from(part).toString('utf8'))
    .join('\n');

const hex = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function deliveredFiles(
  deployment: Deployment,
  org: SoakOrg,
  { id, report }: RunRecord,
  { files }: Manifest,
): Promise<RunFacts['places']> {
  if (report === ON_DEMAND) return {};
  const directory: string[] = [];
  const s3: string[] = [];
  const inFolder = usesFolder(org.kind) || report === SPLIT;
  const inBucket = usesS3(org.kind) && report !== SPLIT;
  // The zip file and the messages of packs are not delivered as files.
  for (const { name, sha256 } of files.filter(({ format }) => format !== 'zip' && format !== 'mail')) {
    if (inFolder) {
      const bytes = await readFile(join(deployment.folder, 'out', org.id, id, name)).catch(() => undefined);
      if (bytes === undefined || hex(bytes) !== sha256) directory.push(`${name} in its folder is missing or differs`);
    }
    if (inBucket) {
      const object = deployment.s3.objects.get(`${org.id}/${id}/${name}`);
      if (object === undefined || hex(object.bytes) !== sha256) s3.push(`${name} in its bucket is missing or differs`);
    }
  }
  return {
    ...(inFolder ? { directory } : {}),
    ...(inBucket ? { s3 } : {}),
  };
}
