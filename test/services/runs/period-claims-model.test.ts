import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { archiveClaims } from '../../../src/deliver/claims/archive-claims.ts';
import { redisClaims } from '../../../src/deliver/claims/claim.ts';
import type { RunRecord, RunState } from '../../../src/run/run-record.ts';
import type { FindEarlierDelivery } from '../../../src/services/runs/already-delivered.ts';
import { createPeriodClaims } from '../../../src/services/runs/period-claims.ts';
import { type Seen, type SteppedProcess, steppedProcess } from '../../support/claims-world/stepped-process.ts';
import { fake } from '../../support/fake.ts';
import { cases, least, within } from '../../support/fuzz.ts';
import { runOf } from '../../support/page-data.ts';

const HOUR_MS = 3_600_000;
const PERIOD = { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' };

type Kind = 'asked' | 'again' | 'slot';
/** How an attempt to deliver ends. `outage`: nothing was sent, and the run waits. */
type Outcome = 'sent' | 'unknown' | 'refused' | 'outage';

interface ModelRun {
  readonly id: string;
  readonly kind: Kind;
  readonly createdAt: number;
  readonly outcomes: Outcome[];
  /** As recorded in the archive, which survives a loss of Redis. */
  delivery: 'none' | 'sending' | Exclude<Outcome, 'outage'>;
  deliveredAt: number;
  /** The start of its last attempt. */
  startedAt: number;
  crashes: number;
}

type Action =
  | { readonly do: 'trigger'; readonly kind: Kind; readonly outcomes: readonly Outcome[] }
  | { readonly do: 'go'; readonly worker: number; readonly steps: number }
  | { readonly do: 'kill'; readonly worker: number }
  | { readonly do: 'retry'; readonly run: number }
  | { readonly do: 'flush' | 'failover' }
  | { readonly do: 'hours'; readonly hours: number };

const outcome = fc.constantFrom<Outcome>('sent', 'sent', 'unknown', 'refused', 'refused', 'outage');
const worker = fc.nat({ max: 1 });
const trigger = fc.record({
  do: fc.constant('trigger' as const),
  kind: fc.constantFrom<Kind>('asked', 'asked', 'asked', 'again', 'slot'),
  outcomes: fc.array(outcome, { minLength: 1, maxLength: 3 }),
});
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 2, arbitrary: trigger },
  {
    weight: 12,
    arbitrary: fc.record({ do: fc.constant('go' as const), worker, steps: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('kill' as const), worker }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('retry' as const), run: fc.nat({ max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('flush', 'failover') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hours' as const), hours: fc.integer({ min: 1, max: 3 }) }) },
);
const story = fc
  .tuple(
    fc.array(trigger, { minLength: 2, maxLength: 3 }),
    fc.array(action, { minLength: 10, maxLength: 60, size: 'max' }),
  )
  .map(([first, rest]): readonly Action[] => [...first, ...rest]);

const BEGUN: ReadonlySet<string> = new Set(['sending', 'sent', 'unknown']);
const ENDED: readonly RunState[] = ['done', 'failed'];

const redis = new Redis(inject('redisUrl'));
let folder: string;
let worlds = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-claims-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  redis.disconnect();
});

const met = new Map<string, number>();
const count = (what: string): void => void met.set(what, (met.get(what) ?? 0) + 1);

/** Runs of one report and period, whose records are in a Redis that can be lost, and two workers. */
function claimsWorld() {
  const number = worlds++;
  const prefix = `test-claims-${process.pid}-${number}:`;
  const storage = directoryStorage(join(folder, String(number)));
  const runs: ModelRun[] = [];
  const records = new Map<string, RunRecord>();
  const queue: ModelRun[] = [];
  const workers: { process: SteppedProcess; run: ModelRun }[] = [];
  let time = Date.parse('2026-11-16T07:00:00Z');
  /** Changes when a loss of Redis ends all locks of runs. */
  let locks = 0;
  const clock = { now: () => (time += 1), monotonic: () => time, sleep: async () => {} };

  const setState = (run: ModelRun, state: RunState): void => {
    const record = records.get(run.id);
    if (record !== undefined) records.set(run.id, { ...record, state });
  };
  const find: FindEarlierDelivery = async ({ id }) => {
    const found = runs.findLast((run) => run.id !== id && BEGUN.has(run.delivery));
    return found && { run: found.id, period: PERIOD, at: found.deliveredAt, sent: { email: 1 }, uncertain: 0 };
  };
  const claimsOf = (seen: Seen) =>
    createPeriodClaims(
      { runs: fake(seen({ get: async (id: string) => records.get(id) })), clock },
      [seen(redisClaims(redis, { prefix, ttlDays: 90 })), seen(archiveClaims(storage))],
      seen({ find }).find,
    );
  const claiming = ({ id, createdAt }: ModelRun) => ({ id, org: 'acme', report: 'weekly', period: PERIOD, createdAt });

  /** A run without `again` may deliver only if no other run has delivered or was about to. */
  const assertAlone = (run: ModelRun): void => {
    if (run.kind !== 'asked' || run.delivery !== 'none') return;
    for (const other of runs) {
      if (other === run || !BEGUN.has(other.delivery)) continue;
      // A slot that takes over the claim in between still delivers.
      const tookOver = other.kind !== 'asked' && other.deliveredAt > run.startedAt;
      if (!tookOver) throw new Error(`${run.id} delivers after ${other.id}`);
    }
  };

  const attempt = async (run: ModelRun, seen: Seen): Promise<void> => {
    const lock = locks;
    if (BEGUN.has(run.delivery)) {
      if (run.delivery === 'sending') run.delivery = 'unknown';
      setState(run, 'done');
      return;
    }
    setState(run, 'running');
    run.startedAt = clock.now();
    try {
      await claimsOf(seen).acquire(claiming(run), async () => run.kind !== 'asked');
    } catch (error) {
      if (!(error instanceof DocketError && error.code === 'already_delivered')) throw error;
      expect(run.kind).toBe('asked');
      count('already_delivered');
      setState(run, 'failed');
      return;
    }
    const outcomes = seen({
      begin: async () => {
        const result = run.outcomes.shift() ?? 'sent';
        // The fence: a worker that has lost its lock sends nothing.
        if (result === 'outage' || locks !== lock) return 'outage';
        assertAlone(run);
        run.delivery = 'sending';
        run.deliveredAt = clock.now();
        return result;
      },
      settle: async (result: Exclude<Outcome, 'outage'>) => {
        run.delivery = result === 'refused' ? 'none' : result;
        count(`${run.kind} ${result}`);
      },
      end: async (state: RunState) => setState(run, state),
    });
    const result = await outcomes.begin();
    if (result === 'outage') {
      if (records.has(run.id)) queue.push(run);
      return outcomes.end('waiting');
    }
    await outcomes.settle(result);
    await outcomes.end(result === 'refused' ? 'failed' : 'done');
  };

  const advance = async (index: number): Promise<boolean> => {
    const busy = workers[index];
    if (busy !== undefined) {
      if (!(await busy.process.advance())) delete workers[index];
      return true;
    }
    const next = queue.findIndex((run) => workers.every((other) => other?.run !== run));
    const [run] = next < 0 ? [] : queue.splice(next, 1);
    if (run === undefined) return false;
    workers[index] = { run, process: steppedProcess((seen) => attempt(run, seen)) };
    return true;
  };

  const open = async (kind: Kind, outcomes: readonly Outcome[]): Promise<ModelRun | undefined> => {
    const run: ModelRun = {
      id: `${runs.length}`.padStart(32, '0'),
      kind,
      createdAt: clock.now(),
      outcomes: [...outcomes],
      delivery: 'none',
      deliveredAt: 0,
      startedAt: 0,
      crashes: 0,
    };
    if (kind === 'asked' && (await find({ ...claiming(run) })) !== undefined) return undefined;
    runs.push(run);
    records.set(run.id, runOf('model', 'queued', { id: run.id }));
    queue.push(run);
    return run;
  };

  const forgetClaims = async (): Promise<void> => {
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
  };

  const play = async (action: Action): Promise<void> => {
    switch (action.do) {
      case 'trigger':
        return void (await open(action.kind, action.outcomes));
      case 'go':
        for (let step = 0; step < action.steps; step += 1) await advance(action.worker);
        return;
      case 'kill': {
        const killed = workers[action.worker];
        if (killed === undefined) return;
        await killed.process.kill();
        delete workers[action.worker];
        count('kill');
        killed.run.crashes += 1;
        if (!records.has(killed.run.id) || queue.includes(killed.run)) return;
        if (ENDED.includes(records.get(killed.run.id)?.state ?? 'done')) return;
        if (killed.run.crashes < 3) return void queue.push(killed.run);
        // `run.poison`: no worker takes the run again.
        if (killed.run.delivery === 'sending') killed.run.delivery = 'unknown';
        setState(killed.run, 'failed');
        return;
      }
      case 'retry': {
        const run = runs[action.run % Math.max(1, runs.length)];
        if (run === undefined || records.get(run.id)?.state !== 'failed') return;
        count('retry');
        run.crashes = 0;
        setState(run, 'queued');
        queue.push(run);
        return;
      }
      case 'failover':
        // Failover to a replica without the last writes: the claims are gone, the locks stay.
        count('failover');
        return forgetClaims();
      case 'flush': {
        count('flush');
        locks += 1;
        records.clear();
        queue.length = 0;
        await forgetClaims();
        // Slots are opened again, requests are forgotten.
        for (const run of runs.filter(({ kind }) => kind === 'slot')) {
          records.set(run.id, runOf('model', 'queued', { id: run.id }));
          queue.push(run);
        }
        return;
      }
      case 'hours':
        time += action.hours * HOUR_MS;
    }
  };

  /** Lets everything finish without a crash. A day later, a person requests another run. */
  const finish = async (): Promise<void> => {
    for (let step = 0; step < 10_000; step += 1) {
      const went = [await advance(0), await advance(1)];
      if (!went.includes(true)) break;
    }
    for (const run of runs) if (run.delivery === 'sending') run.delivery = 'unknown';
    time += 25 * HOUR_MS;
    const delivered = runs.some((run) => BEGUN.has(run.delivery));
    const last = await open('asked', ['sent']);
    expect(last === undefined).toBe(delivered);
    if (last === undefined) return;
    await attempt(last, (target) => target);
    expect(last.delivery).toBe('sent');
  };
  return { play, finish };
}

test(
  'only one of several runs of a period delivers, whichever process dies, and even if Redis is lost',
  async () => {
    await fc.assert(
      fc.asyncProperty(story, async (actions) => {
        const world = claimsWorld();
        for (const each of actions) await world.play(each);
        await world.finish();
      }),
      cases(150),
    );
    for (const what of [
      'already_delivered',
      'kill',
      'flush',
      'failover',
      'retry',
      'asked sent',
      'slot sent',
      'again sent',
    ]) {
      expect(met.get(what) ?? 0, what).toBeGreaterThan(least(15));
    }
  },
  within(20),
);
