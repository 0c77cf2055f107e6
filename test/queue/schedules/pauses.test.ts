import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DocketError, type ErrorCode } from '../../../src/base/error.ts';
import { cancel, done, fail, type Outcome } from '../../../src/base/outcome.ts';
import type { FrozenDefinition } from '../../../src/queue/definitions/definition-store.ts';
import {
  activePauses,
  executeUnlessPaused,
  type PauseEnforcementPorts,
} from '../../../src/queue/jobs/pause-enforcement.ts';
import { DEFAULT_CATCH_UP_WINDOW_MS } from '../../../src/queue/schedules/catch-up.ts';
import { openDueSlots } from '../../../src/queue/schedules/open-due-slots.ts';
import { findPause, type Pause, type Pauses, redisPauses } from '../../../src/queue/schedules/pauses.ts';
import { redisScheduleCursors } from '../../../src/queue/schedules/schedule-cursors.ts';
import type { RunEvent } from '../../../src/run/run-events.ts';
import type { RunOrder } from '../../../src/run/run-record.ts';
import type { RunResult } from '../../../src/run/run-result.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';
import {
  anOrder,
  openQueueHarness,
  type QueueHarness,
  recordingLog,
  reportDefinition,
} from '../../support/queue-harness.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse('2026-11-16T07:00:00Z');
const OLD = '0'.repeat(16);
const NEW = '1'.repeat(16);

let harness: QueueHarness;
let clock: ManualClock;
let log: ReturnType<typeof recordingLog>;
let pauses: Pauses;
/** The present API key of each organization. The key of an organization that is not in here cannot be resolved. */
let keys: Map<string, string>;
beforeEach(async () => {
  clock = manualClock(START);
  log = recordingLog();
  harness = await openQueueHarness(clock);
  pauses = redisPauses(harness.producer, harness);
  keys = new Map([['acme', OLD]]);
});
afterEach(() => harness.close());

const keyOf = async (org: string) => keys.get(org);
const aPause = (change: Partial<Pause> = {}): Pause => ({
  org: 'acme',
  report: null,
  who: 'docket',
  why: 'The API key has expired. [api.unauthorized]',
  since: START,
  key: OLD,
  run: 'a'.repeat(32),
  ...change,
});
/** A pause by a person. */
const byHand = (report: string | null = null, change: Partial<Pause> = {}): Pause => ({
  ...aPause({ report, who: 'ben', why: 'figures are being checked', key: null, run: null }),
  ...change,
});
const lift = (report: string | null = null) => pauses.lift({ org: 'acme', report }, 'eva', 'checked');
const messages = () => log.lines.filter(({ level }) => level !== 'debug').map(({ message }) => message);

describe('a stored pause', () => {
  it('reads back as written, in every process', async () => {
    await pauses.put(aPause());
    await pauses.put(aPause({ org: 'aardvark', key: NEW }));
    const other = await openQueueHarness(clock, harness.prefix);
    expect(await redisPauses(other.worker, other).list()).toEqual([aPause({ org: 'aardvark', key: NEW }), aPause()]);
    other.worker.disconnect();
    other.producer.disconnect();
  });

  it('is the first one for each key, even if many runs are refused with it at the same time', async () => {
    const runs = Array.from({ length: 20 }, (_, n) => n.toString(16).padStart(32, '0'));
    const stand = await Promise.all(runs.map((run) => pauses.put(aPause({ run }))));
    const [first] = await pauses.list();
    expect(stand).toEqual(runs.map(() => first));
    expect(await pauses.put(aPause({ key: NEW, run: 'b'.repeat(32) }))).toMatchObject({ key: NEW });
    expect(await pauses.list()).toMatchObject([{ key: NEW, run: 'b'.repeat(32) }]);
  });

  it('is lifted once, and only if it is the pause that was meant', async () => {
    await pauses.put(aPause());
    expect(await pauses.liftKeyPause('acme', 'c'.repeat(32), 'w')).toBeUndefined();
    const ends = await Promise.all([pauses.liftKeyPause('acme', 'a'.repeat(32), 'w'), lift()]);
    expect(ends.flat().filter((end) => end !== undefined)).toEqual([aPause()]);
    expect(await pauses.list()).toEqual([]);
  });

  it('has no effect if it cannot be read, and can be replaced', async () => {
    const name = `${harness.prefix}:pauses`;
    await harness.producer.hset(name, 'acme', 'not json', 'other', '{"org":"other"}');
    expect(await pauses.list()).toEqual([]);
    expect(await pauses.put(aPause())).toEqual(aPause());
    await pauses.lift({ org: 'other', report: null }, 'eva', 'w');
    expect(await harness.producer.hkeys(name)).toEqual(['acme']);
  });
});

describe('a person’s pause', () => {
  it('coexists with Docket’s own, keeps its first author and reason, and is lifted by name', async () => {
    await pauses.put(aPause());
    const all = [byHand(), byHand('weekly'), byHand('daily', { who: 'ada' })];
    for (const pause of all) {
      expect(await pauses.put(pause)).toEqual(pause);
      expect(await pauses.put({ ...pause, who: 'other', why: 'later' })).toEqual(pause);
    }
    const listed = [aPause(), byHand(), byHand('daily', { who: 'ada' }), byHand('weekly')];
    expect(await pauses.list()).toEqual(listed);
    // The order in which Redis keeps them does not matter.
    await pauses.lift({ org: 'acme', report: null }, 'eva', 'w');
    await pauses.put(byHand());
    await pauses.put(aPause());
    expect(await pauses.list()).toEqual(listed);

    expect(await lift('weekly')).toEqual([byHand('weekly')]);
    expect(await lift('weekly')).toEqual([]);
    expect(await lift()).toEqual([byHand(), aPause()]);
    expect(await pauses.list()).toEqual([byHand('daily', { who: 'ada' })]);
  });

  it('is kept in the history with its end, author and reason, newest first', async () => {
    await pauses.put(byHand('weekly'));
    await pauses.put(byHand('weekly', { why: 'changes nothing' }));
    await lift('weekly');
    await pauses.put(aPause());
    await pauses.liftKeyPause('acme', 'a'.repeat(32), 'the API key was replaced');
    const weekly = { org: 'acme', report: 'weekly', at: expect.any(Number) };
    const acme = { org: 'acme', report: null, who: 'docket', at: expect.any(Number) };
    expect(await pauses.history(10)).toEqual([
      { ...acme, what: 'resume', why: 'the API key was replaced' },
      { ...acme, what: 'pause', why: aPause().why },
      { ...weekly, what: 'resume', who: 'eva', why: 'checked' },
      { ...weekly, what: 'pause', who: 'ben', why: 'figures are being checked' },
    ]);
    expect(await pauses.history(1)).toHaveLength(1);
  });

  it('does not end with a new key, and applies to its report or organization only', async () => {
    await pauses.put(byHand('weekly'));
    keys.set('acme', NEW);
    const now = await activePauses({ pauses, keyOf, log });
    expect(findPause(now, 'acme', 'weekly')).toEqual(byHand('weekly'));
    expect(findPause(now, 'acme', 'daily')).toBeUndefined();
    expect(findPause(now, 'other', 'weekly')).toBeUndefined();
    await pauses.put(byHand());
    expect(findPause(await activePauses({ pauses, keyOf, log }), 'acme', 'daily')).toEqual(byHand());
  });

  it('outlasts Docket’s own pause beside it', async () => {
    await pauses.put(byHand());
    await pauses.put(aPause());
    expect([...(await activePauses({ pauses, keyOf, log })).values()]).toEqual([byHand()]);
    keys.set('acme', NEW);
    await activePauses({ pauses, keyOf, log });
    expect(await pauses.list()).toEqual([byHand()]);
  });
});

describe('Docket’s own pause', () => {
  it('stays while the key is the same or cannot be resolved', async () => {
    await pauses.put(aPause());
    expect([...(await activePauses({ pauses, keyOf, log })).keys()]).toEqual(['acme']);
    keys.clear();
    expect([...(await activePauses({ pauses, keyOf, log })).keys()]).toEqual(['acme']);
    expect(log.lines).toEqual([]);
  });

  it('is lifted when the key changes, with one line in the log', async () => {
    await pauses.put(aPause());
    keys.set('acme', NEW);
    const looks = await Promise.all([1, 2, 3].map(() => activePauses({ pauses, keyOf, log })));
    expect(looks.map(({ size }) => size)).toEqual([0, 0, 0]);
    expect(messages()).toEqual(['Pause of the organization lifted']);
    expect(await pauses.list()).toEqual([]);
  });
});

describe('due slots in a pause', () => {
  const look = (...reports: FrozenDefinition[]) =>
    openDueSlots(reports, {
      cursors: redisScheduleCursors(harness.producer, harness),
      trigger: harness.trigger,
      runs: harness.runs,
      paused: () => activePauses({ pauses, keyOf, log }),
      clock,
      log,
    });
  const opened = async (report: string) =>
    (await harness.runs.list({ org: 'acme', report, limit: 100 }))
      .filter(({ state }) => state !== 'skipped')
      .map(({ slot }) => slot.slice(11, 16))
      .sort();
  const hourly = (catch_up: 'skip' | 'latest' | 'all', org = 'acme') =>
    reportDefinition(catch_up, { cron: '30 * * * *', timezone: 'UTC', catch_up }, org);

  it('wait while those of other organizations are opened; afterwards catch_up decides', async () => {
    const reports = [hourly('skip'), hourly('latest'), hourly('all'), hourly('latest', 'other')];
    await look(...reports);
    await pauses.put(aPause());
    for (let hour = 0; hour < 3; hour += 1) {
      clock.advance(HOUR);
      expect(await look(...reports)).toEqual({ opened: 1, skipped: 0, failed: 0 });
    }
    expect(await harness.producer.exists(`${harness.prefix}:skipped`)).toBe(0);

    await lift();
    // skip opens none of the three slots, latest the last one, all every one. The others are counted and logged.
    expect(await look(...reports)).toEqual({ opened: 0 + 1 + 3, skipped: 3 + 2, failed: 0 });
    expect(await opened('skip')).toEqual([]);
    expect(await opened('latest')).toEqual(['09:30']);
    expect(await opened('all')).toEqual(['07:30', '08:30', '09:30']);
    expect(await harness.producer.hgetall(`${harness.prefix}:skipped`)).toEqual({
      'acme/skip': '3',
      'acme/latest': '2',
    });
    const reported = log.lines.filter(({ message }) => message.startsWith('Slots were skipped'));
    expect(reported.map(({ report, count }) => `${report} ${count}`).sort()).toEqual(['latest 2', 'skip 3']);
  });

  it('of one paused report wait, while the others of its organization are opened', async () => {
    const reports = [hourly('all'), hourly('latest')];
    await look(...reports);
    await pauses.put(byHand('all'));
    for (let hour = 0; hour < 3; hour += 1) {
      clock.advance(HOUR);
      expect(await look(...reports)).toEqual({ opened: 1, skipped: 0, failed: 0 });
    }
    await lift('all');
    expect(await look(...reports)).toEqual({ opened: 3, skipped: 0, failed: 0 });
    expect(await opened('all')).toEqual(['07:30', '08:30', '09:30']);
  });

  it('older than three days are skipped, counted and logged during the pause', async () => {
    const daily = reportDefinition('daily', { cron: '0 6 * * *', timezone: 'UTC', catch_up: 'all' });
    await look(daily);
    await pauses.put(aPause());
    clock.advance(5 * 24 * HOUR);
    expect(await look(daily)).toEqual({ opened: 0, skipped: 2, failed: 0 });
    await lift();
    expect(await look(daily)).toEqual({ opened: 3, skipped: 0, failed: 0 });
    expect(log.lines.filter(({ why }) => why === 'paused')).toMatchObject([{ report: 'daily', count: 2 }]);
  });

  it('are opened by the look that finds a new key', async () => {
    await look(hourly('all'));
    await pauses.put(aPause());
    clock.advance(HOUR);
    expect(await look(hourly('all'))).toMatchObject({ opened: 0 });
    keys.set('acme', NEW);
    expect(await look(hourly('all'))).toMatchObject({ opened: 1 });
  });
});

describe('an attempt', () => {
  const requested = anOrder({ slot: 'trigger:x', trigger: 'on_demand', priority: 'on_demand' });
  const result: RunResult = { state: 'done', folder: '/', files: [], calls: [], incomplete: [], receipts: [] };
  const refusal = (code: ErrorCode = 'api.unauthorized') =>
    fail(
      new DocketError(code, 'The API key has expired.', {
        next: 'Check the secret.',
        got: 'HTTP 401',
        correlationId: 'corr-1',
      }),
    );
  const answer = (saved = false): RunEvent => ({
    type: 'fetched',
    call: 'c1',
    done: 1,
    of: 1,
    saved,
    tokens: saved ? null : 29,
    finish: START,
  });
  const ports = (change: Partial<PauseEnforcementPorts> = {}): PauseEnforcementPorts => ({
    pauses,
    keyOf,
    runs: harness.runs,
    paused: activePauses({ pauses, keyOf, log }),
    frozenOf: async () => reportDefinition(),
    isPublished: async () => false,
    clock,
    log,
    ...change,
  });
  /** Returns the outcome for this order, and how often it was executed. */
  const attempt = async (
    order: RunOrder,
    outcome: Outcome<RunResult>,
    {
      key = OLD,
      events = [],
      ...change
    }: Partial<PauseEnforcementPorts> & { key?: string; events?: readonly RunEvent[] } = {},
  ) => {
    let tries = 0;
    const seen: RunEvent[] = [];
    const context = {
      signal: new AbortController().signal,
      observe: (event: RunEvent) => seen.push(event),
      attempt: 1,
      lastAttempt: false,
    };
    const ended = await executeUnlessPaused(order, context, ports(change), async (_, { observe }) => {
      tries += 1;
      for (const event of events) observe(event);
      return { outcome, key };
    });
    expect(seen).toEqual(tries === 0 ? [] : events);
    return { tries, ...ended };
  };
  const opened = async (order: RunOrder) => {
    await harness.runs.open(order);
    return order;
  };

  it('whose key is refused pauses the organization, and its error says what to do', async () => {
    for (const code of ['api.unauthorized', 'api.forbidden'] as const) {
      const order = await opened(anOrder());
      const ended = await attempt(order, refusal(code));
      expect(ended).toMatchObject({ kind: 'fail', error: { code, got: 'HTTP 401', correlationId: 'corr-1' } });
      if (ended.kind === 'fail') expect(ended.error.next).toMatch(/^Check the secret\. .*docket resume acme/);
      expect(await pauses.list()).toEqual([
        {
          org: 'acme',
          report: null,
          who: 'docket',
          why: `The API key has expired. [${code}]`,
          since: START,
          key: OLD,
          run: order.id,
        },
      ]);
      await lift();
    }
    expect(messages()).toEqual(Array(2).fill('Scheduled runs of the organization paused'));
  });

  it('pauses nothing if it fails otherwise, or is refused with a key that has been replaced', async () => {
    await attempt(anOrder(), refusal('api.refused'));
    await attempt(anOrder(), refusal('api.unavailable'));
    await attempt(anOrder(), cancel('stopped'));
    expect(await attempt(anOrder(), refusal(), { key: NEW })).toMatchObject({ kind: 'fail' });
    expect(await pauses.list()).toEqual([]);
  });

  it('that is refused together with others fails once, and the other scheduled runs snooze', async () => {
    const orders = await Promise.all(Array.from({ length: 8 }, () => opened(anOrder())));
    const ended = await Promise.all(orders.map((order) => attempt(order, refusal())));
    expect(ended.map(({ kind }) => kind).sort()).toEqual(['fail', ...Array(7).fill('snooze')]);
    const [pause] = await pauses.list();
    expect(orders[ended.findIndex(({ kind }) => kind === 'fail')]?.id).toBe(pause?.run);
  });

  it('in a pause snoozes without a call, and the run’s time starts again', async () => {
    await pauses.put(aPause());
    const order = await opened(anOrder());
    await harness.runs.update(order.id, { state: 'running', startedAt: START });
    const ended = await attempt(order, done(result));
    expect(ended).toMatchObject({ tries: 0, kind: 'snooze', until: START + MINUTE });
    expect(await harness.runs.get(order.id)).toMatchObject({ startedAt: null });
    await lift();
    expect(await attempt(order, done(result))).toMatchObject({ tries: 1, kind: 'done' });
  });

  it('is cancelled with the reason when its slot can no longer be caught up', async () => {
    await pauses.put(aPause());
    const slot = new Date(START).toISOString();
    const order = await opened(anOrder({ slot }));
    clock.advance(DEFAULT_CATCH_UP_WINDOW_MS);
    expect(await attempt(order, done(result))).toMatchObject({ tries: 0, kind: 'snooze' });
    clock.advance(1);
    const ended = await attempt(order, done(result));
    expect(ended).toMatchObject({ tries: 0, kind: 'cancel' });
    if (ended.kind === 'cancel') expect(ended.why).toContain('The API key has expired.');
  });

  it('snoozes for as long as its own schedule catches up slots', async () => {
    await pauses.put(aPause());
    const order = await opened(anOrder({ slot: new Date(START).toISOString() }));
    const schedules = [
      { cron: '0 8 * * *', timezone: 'UTC', catch_up_window: '31d' },
      { cron: '0 7 * * *', timezone: 'UTC', catch_up_window: '12h' },
    ];
    const frozenOf = async () => reportDefinition('weekly', schedules);
    clock.advance(12 * HOUR);
    expect(await attempt(order, done(result), { frozenOf })).toMatchObject({ kind: 'snooze' });
    clock.advance(1);
    const ended = await attempt(order, done(result), { frozenOf });
    expect(ended).toMatchObject({ tries: 0, kind: 'cancel' });
    if (ended.kind === 'cancel') expect(ended.why).toContain('12h');

    const later = await opened(anOrder({ slot: new Date(START + HOUR).toISOString() }));
    clock.advance(31 * 24 * HOUR - 11 * HOUR - 1);
    expect(await attempt(later, done(result), { frozenOf })).toMatchObject({ kind: 'snooze' });
    clock.advance(1);
    expect(await attempt(later, done(result), { frozenOf })).toMatchObject({ kind: 'cancel' });
  });

  it('continues in a pause if the run is published or caused the pause, or belongs to another organization', async () => {
    await pauses.put(aPause());
    expect(await attempt(anOrder(), done(result), { isPublished: async () => true })).toMatchObject({ tries: 1 });
    expect(await attempt(anOrder({ org: 'other' }), done(result))).toMatchObject({ tries: 1 });
    expect(await attempt(anOrder({ id: 'a'.repeat(32) }), refusal())).toMatchObject({ tries: 1, kind: 'fail' });
    expect(await pauses.list()).toEqual([aPause()]);
  });

  it('on demand is executed in a pause, and its refusal changes no pause', async () => {
    await pauses.put(aPause());
    expect(await attempt(requested, refusal())).toMatchObject({ tries: 1, kind: 'fail' });
    expect(await pauses.list()).toEqual([aPause()]);
    expect(log.lines).toEqual([]);
  });

  it('on demand lifts the pause if the service responded and the run succeeded', async () => {
    await pauses.put(aPause());
    // Stored responses prove nothing, nor does a response to a run that then failed.
    await attempt(requested, done(result), { events: [answer(true)] });
    await attempt(requested, refusal('api.refused'), { events: [answer()] });
    expect(await pauses.list()).toHaveLength(1);
    await attempt(requested, done(result), { events: [answer(true), answer()] });
    expect(await pauses.list()).toEqual([]);
    expect(messages()).toEqual(['Pause of the organization lifted']);
  });

  it('of a report that a person paused snoozes; one on demand is executed and lifts nothing', async () => {
    await pauses.put(byHand('weekly'));
    const order = await opened(anOrder());
    expect(await attempt(order, done(result))).toMatchObject({
      tries: 0,
      kind: 'snooze',
      why: `the scheduled runs of acme/weekly are paused by ben since ${new Date(START).toISOString()}`,
    });
    expect(await attempt(anOrder({ report: 'daily' }), done(result))).toMatchObject({ tries: 1 });
    expect(await attempt(requested, done(result), { events: [answer()] })).toMatchObject({ tries: 1, kind: 'done' });
    expect(await pauses.list()).toEqual([byHand('weekly')]);
  });

  it('that began before a pause does not lift it', async () => {
    const context = { signal: new AbortController().signal, observe: () => {}, attempt: 1, lastAttempt: false };
    const during = (change: () => Promise<unknown>) =>
      executeUnlessPaused(requested, context, ports(), async (_, { observe }) => {
        observe(answer());
        await change();
        return { outcome: done(result), key: OLD };
      });
    await during(() => pauses.put(aPause()));
    expect(await pauses.list()).toEqual([aPause()]);

    const later = aPause({ run: 'b'.repeat(32) });
    await during(async () => {
      await lift();
      await pauses.put(later);
    });
    expect(await pauses.list()).toEqual([later]);
  });
});
