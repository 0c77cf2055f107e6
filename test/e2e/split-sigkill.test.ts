import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { unzipSync } from 'fflate';
import PostalMime from 'postal-mime';
import { beforeAll, describe, type ExpectStatic, expect } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { splitSlug } from '../../src/definitions/split.ts';
import { NOTICE_TARGET } from '../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../src/deliver/ledger/redis-ledger.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { DEFAULT_KEY_PREFIX } from '../../src/redis/keys.ts';
import { TERMINAL_STATES } from '../../src/run/run-record.ts';
import { type Fleet, fleet } from '../support/fleet.ts';
import { inProcessSandbox } from '../support/in-process-sandbox.ts';
import { runCommand } from '../support/run-command.ts';

/** The number of rounds. Each kills at other moments. */
const ROUNDS = 8;
const DESKS = ['Retail', 'Merchants', 'Marketplace', 'Partners'];
const METRICS = ['profiles.created', 'profiles.approval_rate'];
const PERIOD = { from: '2026-09-01', to: '2026-09-30', timezone: 'UTC' };
const addressOf = (desk: string): string => `${desk.toLowerCase()}@acme.example`;

const FILES = {
  'acme/org.yaml': `version: 1
org: 101
api_key: { env: ACME_KEY }
timezone: UTC
recipients: { domains: [acme.example] }
`,
  'acme/desks.yaml': `version: 1
title: Desks
owner: owner@acme.example
period: previous_month
split:
  by: profile.group
  to: { ${DESKS.map((desk) => `"${desk}": [${addressOf(desk)}]`).join(', ')} }
sections:
  - { id: figures, metrics: [${METRICS.join(', ')}] }
outputs:
  - { format: csv, name: "{{ split.slug }}-{{ section.id }}" }
  - { format: xlsx, name: "{{ split.slug }}" }
deliveries:
  - email: { to: split, attach: [csv, xlsx], subject: "Pack of {{ split.value }}" }
  - split: true
    directory: { path: "out/{{ split.slug }}" }
`,
};

/**
 * Runs one start after the other, however many rounds wait in parallel: a machine with few cores cannot start several at
 * once.
 */
function startsInTurn() {
  let last: Promise<unknown> = Promise.resolve();
  return <Result>(begin: () => Promise<Result>): Promise<Result> => {
    const mine = last.then(begin);
    last = mine.catch(() => {});
    return mine;
  };
}

/** A worker that is killed at a step, or continues to the end. */
interface Worker {
  readonly killAt?: string;
  readonly stepsFile?: string;
}

async function start(world: Fleet, { killAt, stepsFile }: Worker) {
  return world.start({
    env: {
      NODE_OPTIONS: `--import ${new URL('../support/kill-at.mjs', import.meta.url).href}`,
      ...(killAt === undefined ? {} : { KILL_AT: killAt }),
      ...(stepsFile === undefined ? {} : { KILL_STEPS: stepsFile }),
    },
  });
}

const enqueue = async ({ redis, folder, mail }: Fleet): Promise<void> => {
  const env = {
    REDIS_URL: redis.url,
    DOCKET_JOBS: join(folder, 'jobs'),
    COMPLIANCE_API_URL: 'http://127.0.0.1:9',
    SMTP_URL: mail.url,
    MAIL_FROM: 'reports@acme.example',
    ACME_KEY: 'none',
  };
  const { code, stderr } = await runCommand(['run', 'acme/desks', '--period', '2026-09', '--queue'], {
    env,
    cwd: folder,
  });
  if (code !== 0) throw new Error(stderr);
};

const isOver = async (world: Fleet): Promise<boolean> => {
  const runs = await world.runs();
  return runs.length > 0 && runs.every(({ state }) => TERMINAL_STATES.has(state));
};

const toOwner = ({ mail }: Fleet) => mail.messages().filter(({ to }) => to.includes('owner@acme.example'));

/** The files in an attachment, with their texts. */
const filesOf = (name: string, content: ArrayBuffer): [string, string][] => {
  const bytes = new Uint8Array(content);
  const files = /\.(zip|xlsx)$/.test(name) ? unzipSync(bytes) : { [name]: bytes };
  return Object.entries(files).map(([of, part]) => [of, Buffer.from(part).toString('utf8')]);
};

/** The figures in a CSV file of the section `figures`. */
const figuresIn = (csv: string): string =>
  ((parse(csv, { bom: true }) as string[][])[1] ?? []).slice(0, METRICS.length).join();

describe.concurrent('a split report whose workers are killed', (it) => {
  let expected: ReadonlyMap<string, string>;
  let steps: number;
  const inTurn = startsInTurn();

  /** Everybody has their pack, nobody has one twice, and nobody has another's pack. */
  const assertDelivered = async (world: Fleet, because: string, expect: ExpectStatic) => {
    const [run] = await world.runs();
    if (run === undefined) throw new Error('no run');
    expect(['done', 'partly_delivered'], `${because}: ${JSON.stringify(run.error)}`).toContain(run.state);
    const redis = await openRedis(world.redis.url, 'worker', silentLog);
    const rows = await redisLedger(redis, { prefix: `${DEFAULT_KEY_PREFIX}:`, ttlDays: 90 }).list(run.id);
    redis.disconnect();
    const packs = rows.filter(({ target }) => target !== NOTICE_TARGET);
    expect(packs, because).toHaveLength(DESKS.length * 2);
    const uncertain = packs.filter(({ state }) => state !== 'sent');
    expect(
      uncertain.map(({ state }) => state),
      because,
    ).toEqual(uncertain.map(() => 'unknown'));
    // The owner is notified once about unknown deliveries.
    const mails = world.mail.messages();
    expect(toOwner(world).length, because).toBe(uncertain.length === 0 ? 0 : 1);
    expect(run.state, because).toBe(uncertain.length === 0 ? 'done' : 'partly_delivered');
    for (const desk of DESKS) {
      const others = DESKS.filter((each) => each !== desk);
      const own = mails.filter(({ to }) => to.includes(addressOf(desk)));
      const row = packs.find(({ recipient }) => recipient === addressOf(desk));
      expect(row?.target, because).toBe(`0-email:${splitSlug(desk)}`);
      if (row?.state === 'sent') expect(own.length, `${because}: ${desk}`).toBe(1);
      else expect(own.length, `${because}: ${desk}`).toBeLessThanOrEqual(1);
      for (const { path, to } of own) {
        expect(to).toEqual([addressOf(desk)]);
        const { subject, text, html, attachments } = await PostalMime.parse(await readFile(path), {
          attachmentEncoding: 'arraybuffer',
        });
        expect(subject).toBe(`Pack of ${desk}`);
        for (const other of others) expect(`${text}${html}`, because).not.toContain(other);
        const attached = attachments.flatMap(({ filename, content }) =>
          filesOf(filename ?? '', content as ArrayBuffer),
        );
        const csv = attached.filter(([name]) => name === `${splitSlug(desk)}-figures.csv`);
        expect(csv.map(([, text]) => figuresIn(text))).toEqual([expected.get(desk)]);
        const all = attached.flat();
        for (const other of others) expect(all.join('\n'), because).not.toContain(other);
      }
      const out = join(world.folder, 'out', splitSlug(desk));
      const archived = join(world.folder, 'archive/acme/desks', run.id, 'files', splitSlug(desk));
      const folder = packs.find(({ target }) => target === `1-directory:${splitSlug(desk)}`);
      const names = (await readdir(out).catch(() => [])).filter((name) => !name.startsWith('.'));
      // An unknown delivery may have started. Whatever is there belongs to this desk.
      const all = [`${splitSlug(desk)}-figures.csv`, `${splitSlug(desk)}.xlsx`];
      if (folder?.state === 'sent') expect(names, because).toEqual(expect.arrayContaining(all));
      for (const name of names) {
        expect((await readFile(join(out, name))).equals(await readFile(join(archived, name))), because).toBe(true);
      }
      expect(figuresIn(await readFile(join(archived, `${splitSlug(desk)}-figures.csv`), 'utf8')), because).toBe(
        expected.get(desk),
      );
    }
  };

  beforeAll(async () => {
    const reference = inProcessSandbox();
    const answers = DESKS.map(async (desk): Promise<[string, string]> => {
      const filters = [{ dimension: 'profile.group', op: 'eq', values: [desk] }];
      const { rows } = await reference.answered({ metrics: METRICS, filters, time: PERIOD });
      return [desk, METRICS.map((metric) => rows[0]?.[metric]).join()];
    });
    expected = new Map(await Promise.all(answers));
    const world = await fleet(FILES);
    try {
      const stepsFile = join(world.folder, 'steps');
      const worker = await start(world, { stepsFile });
      await enqueue(world);
      await world.until((runs) => runs.some(({ state }) => TERMINAL_STATES.has(state)));
      await worker.end('SIGTERM');
      await assertDelivered(world, 'undisturbed', expect);
      steps = Number(await readFile(stepsFile, 'utf8'));
    } finally {
      await world.close();
    }
  });

  it('takes hundreds of steps to fetch, render and send', ({ expect }) => {
    expect(new Set(expected.values()).size).toBe(DESKS.length);
    expect(steps).toBeGreaterThan(200);
  });

  it.for(Array.from({ length: ROUNDS }, (_, round) => round))(
    'gives each desk its own pack once (round %i)',
    async (round, { expect, onTestFinished }) => {
      // One kill in each part of the run, and a second one anywhere in the rest.
      const first = Math.floor(((round + Math.random()) * steps) / ROUNDS);
      const second = Math.floor(Math.random() * (steps - first));
      const when = () => (Math.random() < 0.5 ? '' : '+');
      const kills = [`${first}${when()}`, `${second}${when()}`];
      let { world, worker } = await inTurn(async () => {
        const world = await fleet(FILES);
        onTestFinished(() => world.close());
        const worker = await start(world, { killAt: kills[0] ?? '' });
        await enqueue(world);
        return { world, worker };
      });
      const killed = () => worker.process.signalCode !== null;
      for (const killAt of [kills[1], undefined]) {
        await expect.poll(async () => killed() || (await isOver(world)), { timeout: 600_000 }).toBe(true);
        if (!killed()) break;
        worker = await inTurn(() => start(world, killAt === undefined ? {} : { killAt }));
      }
      await expect.poll(async () => isOver(world), { timeout: 600_000 }).toBe(true);
      if (killed()) worker = await inTurn(() => start(world, {}));
      if ((await world.runs()).some(({ state }) => state !== 'done')) {
        await expect.poll(() => toOwner(world).length, { timeout: 600_000 }).toBe(1);
      }
      await worker.end('SIGTERM');
      await assertDelivered(world, `killed at ${kills.join(' and ')} of ${steps}`, expect);
    },
  );
});
