import { execFile } from 'node:child_process';
import { chmod, copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { freePort } from '../support/free-port.ts';
import { restartableRedis } from '../support/restartable-redis.ts';
import { HOOK_SECRET, recordedDefinitions, TREATMENTS } from './definitions.ts';
import { type Deployment, deployment, type RunningDocket, until } from './deployment.ts';
import { recordedMailServer } from './mail-server.ts';
import {
  CHECKPOINTS,
  deliveriesSchema,
  FOLDERS,
  MANIFEST,
  REDIS,
  type RecordedRun,
  type Recording,
  readingsSchema,
  runsSchema,
  SIGNING_KEY,
  TOKENS,
} from './recording.ts';

const LATEST_READING = '23:00';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** So many failures within ten minutes open the circuit of the webhook's receiver. */
const CIRCUIT_FAILURES = 3;

/** Names the machine and its user in each process of Docket, since both are stored. */
const NAMELESS = `data:text/javascript,${encodeURIComponent(`
  import os from 'node:os';
  import { syncBuiltinESMExports } from 'node:module';
  const { userInfo } = os;
  os.hostname = () => 'recorder';
  os.userInfo = (options) => ({ ...userInfo(options), username: 'recorder' });
  syncBuiltinESMExports();
`)}`;

const idSchema = z.object({ id: z.string() });
const stateSchema = z.object({
  state: z.string(),
  calls: z.object({ planned: z.int(), made: z.int() }),
});
const packageSchema = z.object({ version: z.string() });

/** Name in the recording → what the run is. */
const RUNS = {
  delivered: 'done: a workbook and CSV files, by mail and into a folder',
  partly: 'partly delivered: the mail server refused one of two recipients',
  failed: 'failed at its deadline: one recipient has the mail, the other was deferred at each try',
  uncertain: 'partly delivered: the replies to both messages were lost',
  killed: 'running: its worker was killed after the mail server had the whole message',
  held: 'held: the service has no figures of its period',
  queued: 'queued and not begun',
  cancelled: 'cancelled while it was queued',
  inline: 'done: made by docket run with Redis',
  changed: 'done: with send_if: changed',
  snoozed: 'waiting: no tokens left, with half of its answers stored',
  'hook-1': 'waiting: the receiver of its webhook cannot be reached',
  'hook-2': 'waiting: the receiver of its webhook cannot be reached',
  'hook-3': 'waiting: the receiver of its webhook cannot be reached',
  refused: 'failed: the service refused the key; its owner could not be told yet',
  hourly: 'done: by its schedule',
  skipping: 'skipped: missed, with catch_up: skip',
  approval: 'awaiting_approval: commented, with workbook and PDF',
  comment: 'held: its comment is missing',
  'history-1': 'done: of a backfill without deliveries',
  'history-2': 'done: of a backfill without deliveries',
} as const;
type Name = keyof typeof RUNS;

/**
 * Brings about what the version at hand can have stored, and writes it into `<folder>/<version>/`.
 * The sandbox, the mail server and Redis have free ports, and all paths in the definitions are relative: nothing that is
 * stored depends on where it was recorded.
 */
export async function record(folder: string): Promise<void> {
  const version = packageSchema.parse(JSON.parse(await readFile('package.json', 'utf8'))).version;
  const work = await mkdtemp(join(tmpdir(), 'docket-record-'));
  const closing: (() => Promise<unknown>)[] = [() => rm(work, { recursive: true, force: true })];
  try {
    await recordIn(work, join(folder, version), version, closing);
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

async function recordIn(
  work: string,
  target: string,
  version: string,
  closing: (() => Promise<unknown>)[],
): Promise<void> {
  const say = (what: string): void => void process.stderr.write(`${what}\n`);
  const serviceNow = Date.now();
  const due = Math.floor(serviceNow / MINUTE_MS) * MINUTE_MS - 10 * MINUTE_MS;
  const redis = await restartableRedis();
  closing.push(() => redis.close());
  const sandbox = await startSandbox({ now: serviceNow, windowMs: 1 });
  closing.push(() => sandbox.close());
  const mail = await recordedMailServer(TREATMENTS);
  closing.push(() => mail.close());
  const keyOf = (label: string): string => sandbox.keys.find((key) => key.label === label)?.key ?? '';
  const nobody = await freePort();

  let token = '';
  const docket = await deployment({
    folder: work,
    token: () => token,
    env: {
      REDIS_URL: redis.url,
      COMPLIANCE_API_URL: sandbox.url,
      ACME_KEY: keyOf('acme'),
      LAKESIDE_KEY: keyOf('lakeside'),
      NORTHWIND_KEY: keyOf('northwind'),
      NORTHWIND_HOOK: `http://127.0.0.1:${nobody}/hook`,
      NORTHWIND_HOOK_SECRET: HOOK_SECRET,
      NORTHWIND_SMTP: `smtp://127.0.0.1:${nobody}`,
      SMTP_URL: mail.url,
      MAIL_FROM: 'reports@acme.example',
      NODE_OPTIONS: `--import ${NAMELESS}`,
    },
  });
  closing.push(() => docket.close());
  const readAt = new Date(due).toISOString().slice(11, 16);
  const times = {
    hourly: `${new Date(due).getUTCMinutes()} * * * *`,
    readAt: readAt < LATEST_READING ? readAt : LATEST_READING,
  };
  for (const [name, text] of Object.entries(recordedDefinitions(times))) {
    await mkdir(dirname(join(work, 'jobs', name)), { recursive: true });
    await writeFile(join(work, 'jobs', name), text);
  }
  await succeed(docket, 'init', '--signing-key', join(work, SIGNING_KEY));
  const created = await succeed(docket, 'tokens', 'create', '--name', 'recorder', '--role', 'operator', '--by', 'ops');
  token = created.trim();
  const approver = await succeed(docket, 'tokens', 'create', '--name', 'approver', '--role', 'operator', '--by', 'ops');
  await succeed(docket, 'pause', 'acme/paused', '--reason', 'recorded', '--by', 'ops');

  say('schedules, before their slot');
  await docket.setClock(-21 * 60);
  const scheduler = await docket.start({}, '--role', 'scheduler');
  await scheduler.stop();
  await docket.setClock(0);

  say('runs');
  const ids = new Map<Name, string>();
  const first = await docket.start();
  const cookie = await signIn(first, token);
  const trigger = async (on: RunningDocket, name: Name, report: string): Promise<void> => {
    const path = `/api/reports/${report}/runs`;
    const response = await on.request(path, { body: { again: true }, headers: { 'idempotency-key': name } });
    if (response.status !== 202) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    ids.set(name, idSchema.parse(await response.json()).id);
  };
  const lookAt = async (on: RunningDocket, name: Name) =>
    stateSchema.parse(await (await on.request(`/api/runs/${ids.get(name)}`)).json());
  const reach = (on: RunningDocket, name: Name, ...states: string[]): Promise<void> =>
    until(async () => states.includes((await lookAt(on, name)).state));

  await trigger(first, 'failed', 'acme/failed');
  for (const name of ['delivered', 'partly', 'uncertain', 'held', 'changed'] as const) {
    await trigger(first, name, `acme/${name}`);
  }
  for (let nth = 1; nth <= CIRCUIT_FAILURES; nth += 1) {
    await trigger(first, `hook-${nth}` as Name, 'northwind/hook');
  }
  await reach(first, 'delivered', 'done');
  await reach(first, 'partly', 'partly_delivered');
  await reach(first, 'uncertain', 'partly_delivered');
  await reach(first, 'held', 'held');
  await reach(first, 'changed', 'done');
  for (const name of ['approval', 'comment'] as const) {
    await trigger(first, name, `acme/${name}`);
    await reach(first, name, 'held');
  }
  const comment = ['--section', 'scorecard', '--text', 'Recorded: {{ scorecard.profiles.created }} clients.'];
  await succeedWith(docket, { DOCKET_TOKEN: token }, 'comment', ids.get('approval') ?? '', ...comment);
  await reach(first, 'approval', 'awaiting_approval');
  await succeed(docket, 'run', 'acme/inline', '--again', '--out', 'copy-1');
  // Without Redis it keeps its ledger in the archive.
  await succeedWith(docket, { REDIS_URL: '' }, 'run', 'acme/alone', '--again', '--out', 'copy-2');
  const month = (back: number): string => {
    const now = new Date(serviceNow);
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7);
  };
  await succeed(docket, 'backfill', 'acme/history', '--from', month(2), '--to', month(1), '--by', 'ops');
  say('a run past its deadline');
  await reach(first, 'failed', 'failed');
  for (let nth = 1; nth <= CIRCUIT_FAILURES; nth += 1) await reach(first, `hook-${nth}` as Name, 'waiting');
  await until(async () => {
    const { runs } = await listRuns(docket);
    return runs.every(({ org, state }) => org === 'northwind' || !['queued', 'running', 'waiting'].includes(state));
  });
  await first.stop();

  say('a refused key, a snoozed run, a killed worker');
  const second = await docket.start({ NORTHWIND_KEY: keyOf('revoked') });
  await trigger(second, 'refused', 'northwind/refused');
  await reach(second, 'refused', 'failed');
  await trigger(second, 'snoozed', 'lakeside/snoozed');
  await reach(second, 'snoozed', 'waiting');
  const { calls } = await lookAt(second, 'snoozed');
  await trigger(second, 'killed', 'acme/killed');
  await mail.hanging;
  await second.kill();

  say('a queued run, a cancelled run');
  ids.set('queued', (await docket.json(idSchema, 'run', 'acme/queued', '--queue')).id);
  const cancelled = await docket.json(idSchema, 'run', 'acme/cancelled', '--queue');
  ids.set('cancelled', cancelled.id);
  await succeed(docket, 'runs', 'cancel', cancelled.id, '--reason', 'recorded', '--by', 'ops');

  const { runs } = await listRuns(docket);
  const { deliveries } = await docket.json(deliveriesSchema, 'deliveries', '--limit', '100');
  await writeFile(join(work, CHECKPOINTS), await succeed(docket, 'archive', 'checkpoint'));
  const recordedAt = Date.now();
  const snapshot = await snapshotOf(redis.url);

  const recording: Recording = {
    version,
    recordedAt: new Date(recordedAt).toISOString(),
    serviceNow: new Date(serviceNow).toISOString(),
    nextSlot: new Date(due + HOUR_MS).toISOString(),
    token,
    approver: approver.trim(),
    cookie,
    readings: await readingsOf(docket),
    pauses: ['acme/paused', 'northwind'],
    snoozed: { stored: calls.made, calls: calls.planned },
    runs: named(runs, ids, deliveries),
    mails: mail.arrived().map(({ run, messageId, to, answered }) => ({ run, messageId, to: [...to], answered })),
  };
  await write(work, target, recording, snapshot);
  say(`written to ${target}`);
}

async function succeedWith(
  docket: Deployment,
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<string> {
  const { code, stdout, stderr } = await docket.run(args, env);
  if (code !== 0) throw new Error(`docket ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
  return stdout;
}
const succeed = (docket: Deployment, ...args: string[]): Promise<string> => succeedWith(docket, {}, ...args);

/** Days of acme's readings with what was read. */
const readingsOf = (docket: Deployment) => docket.json(readingsSchema, 'readings', 'acme');

const listRuns = (docket: Deployment) => docket.json(runsSchema, 'runs', '--limit', '500');

/** The cookie of a new session of the admin page. */
async function signIn({ url }: RunningDocket, token: string): Promise<string> {
  const response = await fetch(`${url}/sign-in`, {
    method: 'POST',
    headers: { origin: url },
    body: new URLSearchParams({ token }),
    redirect: 'manual',
  });
  const cookie = response.headers.get('set-cookie')?.split(';')[0];
  if (cookie === undefined) throw new Error(`No session: ${response.status}`);
  return cookie;
}

/** Every run with the name by which the test knows it. Throws for one that has none, and for a name without a run. */
function named(
  runs: z.infer<typeof runsSchema>['runs'],
  ids: ReadonlyMap<Name, string>,
  deliveries: z.infer<typeof deliveriesSchema>['deliveries'],
): RecordedRun[] {
  const names = new Map([...ids].map(([name, id]): [string, Name] => [id, name]));
  const past = runs.filter(({ report }) => report === 'history').sort((one, other) => (one.id < other.id ? -1 : 1));
  const [older, newer] = past;
  if (older !== undefined) names.set(older.id, 'history-1');
  if (newer !== undefined) names.set(newer.id, 'history-2');
  for (const { id, report } of runs) {
    if (report === 'inline' || report === 'hourly' || report === 'skipping') names.set(id, report);
  }
  const missing = Object.keys(RUNS).filter((name) => ![...names.values()].some((given) => given === name));
  if (missing.length > 0) throw new Error(`No run is recorded for ${missing.join(', ')}`);
  return runs.map((run) => {
    const name = names.get(run.id);
    if (name === undefined) throw new Error(`Nobody has asked for run ${run.id} of ${run.org}/${run.report}`);
    const rows = deliveries.filter((row) => row.run === run.id);
    return { name, what: RUNS[name], ...run, deliveries: rows.map(({ run: _, ...row }) => row) };
  });
}

/** Redis' data as its own snapshot; texts in it are not compressed, so that they can be searched. */
async function snapshotOf(url: string): Promise<Buffer> {
  const client = new Redis(url);
  try {
    await client.config('SET', 'rdbcompression', 'no');
    await client.save();
    const [, folder = ''] = z.array(z.string()).parse(await client.config('GET', 'dir'));
    return await readFile(join(folder, 'dump.rdb'));
  } finally {
    client.disconnect();
  }
}

async function write(work: string, target: string, recording: Recording, snapshot: Buffer): Promise<void> {
  await refuseTraces(work, recording, snapshot);
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  await cp(join(work, 'jobs'), join(target, 'jobs'), { recursive: true });
  for (const name of [TOKENS, CHECKPOINTS]) await copyFile(join(work, name), join(target, name));
  for (const name of [SIGNING_KEY, `${SIGNING_KEY}.pub`]) {
    await copyFile(join(work, name), join(target, name));
    await chmod(join(target, name), 0o644);
  }
  await writeFile(join(target, REDIS), await promisify(gzip)(snapshot, { level: 9 }));
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name'];
  await promisify(execFile)('tar', [...owner, '-C', work, '-czf', join(target, FOLDERS), 'archive', 'out']);
  await writeFile(join(target, MANIFEST), `${JSON.stringify(recording, null, 2)}\n`);
}

/** Throws where something names this machine, its user or a folder of it. */
async function refuseTraces(work: string, recording: Recording, snapshot: Buffer): Promise<void> {
  const traces = [work, process.cwd(), `${homedir()}/`, `"${hostname()}:`, ` ${hostname()}:`];
  const inspected: [string, Buffer][] = [
    ['Redis', snapshot],
    [MANIFEST, Buffer.from(JSON.stringify(recording))],
  ];
  for (const folder of ['archive', 'out', 'jobs']) {
    for (const entry of await readdir(join(work, folder), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile()) inspected.push([path, await readFile(path)]);
    }
  }
  const found = inspected.flatMap(([name, bytes]) =>
    traces
      .map((trace) => ({ trace, at: bytes.indexOf(trace) }))
      .filter(({ at }) => at >= 0)
      .map(({ trace, at }) => `${name} has ${trace}: ${bytes.subarray(Math.max(0, at - 200), at + 200)}`),
  );
  if (found.length > 0) throw new Error(`The recording names this machine:\n${found.join('\n')}`);
}
