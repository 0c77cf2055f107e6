import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import { silentLog } from '../../../src/base/log.ts';
import { done } from '../../../src/base/outcome.ts';
import type { ReportResponse } from '../../../src/contract/report.ts';
import { readingWindow } from '../../../src/definitions/schedules/reading-window.ts';
import { type ReadingArchive, readingArchive } from '../../../src/deliver/archive/readings/reading-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { CLAIM_TTL_MS, type ReadingRequester, takeReading } from '../../../src/services/readings/take-reading.ts';
import { folderFor } from '../../support/delivery-case.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';
import { CATALOG } from '../../support/reports.ts';

const [DAY, ZONE, MINUTE] = ['2026-10-31', 'Europe/Zurich', 60_000];
const WINDOW = readingWindow(DAY, '22:30', ZONE)!;
const QUESTION = { id: 'whole', metrics: ['alerts.open', 'rfis.open'], dimension: null };
const OF = {
  org: 'acme',
  serviceOrg: 'current',
  timezone: ZONE,
  window: WINDOW,
  question: QUESTION,
  catalog: CATALOG,
} as const;
const REF = { org: 'acme', day: DAY, question: 'whole' };

let archive: ReadingArchive;
let clock: ManualClock;
let requests: number;
beforeEach(async () => {
  archive = readingArchive(directoryStorage(await folderFor(onTestFinished)));
  clock = manualClock(WINDOW.at + MINUTE);
  requests = 0;
});

const body = (asOf: string | null, row: Record<string, unknown> = { 'alerts.open': 4, 'rfis.open': 0 }) =>
  ({
    meta: { as_of: asOf, cached: false, timezone: ZONE, row_count: 1, truncated: false, registry_version: 7 },
    columns: [],
    rows: [row],
  }) as ReportResponse;

/** A service with this response. */
const answers =
  (make: () => ReportResponse | Promise<ReportResponse>): ReadingRequester =>
  async (_question, record) => {
    try {
      return await record(async () => {
        requests += 1;
        return done({ body: await make(), correlationId: 'c-1', receivedAt: clock.now() });
      });
    } catch (thrown) {
      if (thrown instanceof DocketError) return { kind: 'fail', error: thrown };
      throw thrown;
    }
  };
const now = () => new Date(clock.now()).toISOString();
const take = (requestReading: ReadingRequester = answers(() => body(now()))) =>
  takeReading(OF, { archive, ask: requestReading, clock, log: silentLog, signal: new AbortController().signal });

describe('a reading is taken', () => {
  test('once, with everything that came with it', async () => {
    expect(await take()).toBe('stored');
    expect(await archive.get(REF)).toEqual({
      version: 1,
      org: 'acme',
      service_org: 'current',
      day: DAY,
      timezone: ZONE,
      question: 'whole',
      metrics: QUESTION.metrics,
      dimension: null,
      as_of: now(),
      received_at: now(),
      registry_version: 7,
      correlation_id: 'c-1',
      rows: [{ group: null, values: { 'alerts.open': 4, 'rfis.open': 0 } }],
    });
    expect([await take(), requests]).toEqual(['stored', 1]);
  });

  test('by one of several processes that start at the same time', async () => {
    const results = await Promise.all([take(), take(), take()]);
    expect(results).toContain('stored');
    expect(requests).toBe(1);
  });

  test('by another process, once the claim of a killed one has expired', async () => {
    void take(() => new Promise(() => {}));
    void take(answers(() => new Promise<ReportResponse>(() => {})));
    await expect.poll(() => requests).toBe(1);
    expect([await take(), requests]).toEqual(['waiting', 1]);
    clock.advance(CLAIM_TTL_MS);
    expect([await take(), requests]).toEqual(['stored', 2]);
  });

  test('again after a lost reply, but not immediately', async () => {
    const lost = new DocketError('api.timeout', 'none');
    const ask = answers(() => Promise.reject(lost));
    expect([await take(ask), await take(ask), requests]).toEqual(['waiting', 'waiting', 1]);
    expect((await archive.lastCall(REF))?.end).toMatchObject({ code: 'api.timeout' });
    clock.advance(MINUTE);
    expect([await take(ask), requests]).toEqual(['waiting', 2]);
    clock.advance(MINUTE);
    expect([await take(), requests]).toEqual(['waiting', 2]);
    clock.advance(MINUTE);
    expect([await take(), requests]).toEqual(['stored', 3]);
  });

  test('from a cached response that is up to an hour older', async () => {
    const cached = (): ReportResponse => {
      const answer = body(new Date(WINDOW.notBefore).toISOString());
      return { ...answer, meta: { ...answer.meta, cached: true } };
    };
    expect(await take(answers(cached))).toBe('stored');
  });
});

describe('after a bad response the service gets a second request', () => {
  const bad = (retryAfter?: unknown) =>
    answers(() => {
      const answer = body(now(), { 'alerts.open': null, 'rfis.open': 5 });
      Object.assign(answer.meta, retryAfter === undefined ? {} : { refresh_retry_after: retryAfter });
      return answer;
    });
  const requestsAt = async (at: number, requestReading: ReadingRequester = bad()) => {
    const before = requests;
    clock.set(at);
    const result = await take(requestReading);
    return [result, requests - before];
  };

  test('once, five minutes before the hour ends', async () => {
    const last = WINDOW.until - 5 * MINUTE;
    expect(await requestsAt(WINDOW.at)).toEqual(['waiting', 1]);
    expect(await requestsAt(last - 1)).toEqual(['waiting', 0]);
    expect(
      await requestsAt(
        last,
        answers(() => body(now())),
      ),
    ).toEqual(['stored', 1]);
  });

  test('but no third one: the day is a gap with its reason', async () => {
    await requestsAt(WINDOW.at);
    expect(await requestsAt(WINDOW.until - 5 * MINUTE)).toEqual(['waiting', 1]);
    expect(await requestsAt(WINDOW.until - 1)).toEqual(['waiting', 0]);
    expect(await archive.get(REF)).toBeUndefined();
    expect((await archive.lastCall(REF))?.end?.code).toBe('reading.incomplete');
  });

  test.each([
    ['seconds', 20 * 60],
    ['seconds as a text', '1200'],
    ['an instant', new Date(WINDOW.at + 20 * MINUTE).toISOString()],
  ])('not before the service has a new response: %s', async (_, retryAfter) => {
    expect(await requestsAt(WINDOW.at, bad(retryAfter))).toEqual(['waiting', 1]);
    expect(await requestsAt(WINDOW.at + 20 * MINUTE - 1)).toEqual(['waiting', 0]);
    expect(
      await requestsAt(
        WINDOW.at + 20 * MINUTE,
        answers(() => body(now())),
      ),
    ).toEqual(['stored', 1]);
  });

  test('not if the service has no new response within the hour', async () => {
    expect(await requestsAt(WINDOW.at, bad(3600))).toEqual(['waiting', 1]);
    expect(await requestsAt(WINDOW.until - 1)).toEqual(['waiting', 0]);
  });
});

test('a failure that an earlier version recorded is followed by a request after a minute', async () => {
  await archive.claim(REF, { number: 1, askedAt: clock.now(), until: clock.now() + CLAIM_TTL_MS });
  await archive.fail(REF, 1, { at: clock.now(), code: 'reading.incomplete', message: 'x' });
  clock.advance(MINUTE);
  expect(await take()).toBe('stored');
});

describe('no reading is stored', () => {
  const refused = async (requestReading: ReadingRequester) => {
    const result = await take(requestReading);
    expect(await archive.get(REF)).toBeUndefined();
    return [result, (await archive.lastCall(REF))?.end?.code];
  };

  test.each([
    ['of another day', '2026-10-30T21:31:00Z', 'reading.wrong_day'],
    ['of the next local day', '2026-10-31T23:00:00Z', 'reading.wrong_day'],
    ['of more than an hour earlier', '2026-10-31T20:29:59.999Z', 'reading.too_old'],
    ['dated after its arrival', '2026-10-31T21:50:00Z', 'reading.incomplete'],
    ['without a time', null, 'reading.incomplete'],
  ])('from a response %s', async (_, asOf, code) => {
    expect(await refused(answers(() => body(asOf)))).toEqual(['waiting', code]);
  });

  test.each([
    ['lacks a metric', { 'alerts.open': 4 }],
    ['has a text for a count', { 'alerts.open': 4, 'rfis.open': '5' }],
    ['has a negative count', { 'alerts.open': -1, 'rfis.open': 5 }],
    ['has a count of null', { 'alerts.open': null, 'rfis.open': 5 }],
    ['has half a count', { 'alerts.open': 12.5, 'rfis.open': 5 }],
  ])('from a response that %s', async (_, row) => {
    expect(await refused(answers(() => body(now(), row)))).toEqual(['waiting', 'reading.incomplete']);
  });

  test('from a response in another unit or time zone', async () => {
    const other = (change: (answer: ReportResponse) => void) =>
      answers(() => {
        const answer = body(now());
        change(answer);
        return answer;
      });
    expect(await refused(other(({ meta }) => void Object.assign(meta, { timezone: 'UTC' })))).toEqual([
      'waiting',
      'reading.incomplete',
    ]);
    clock.set(WINDOW.until - MINUTE);
    const column = { name: 'alerts.open', label: 'x', kind: 'metric', type: 'integer', unit: 'seconds' };
    expect(await refused(other(({ columns }) => void columns.push(column)))).toEqual(['waiting', 'reading.incomplete']);
  });

  test('from a response without some of its rows', async () => {
    const cut = (): ReportResponse => {
      const answer = body(now());
      return { ...answer, meta: { ...answer.meta, row_count: 2 } };
    };
    const by = { ...OF, question: { id: 'by-profile.type', metrics: ['alerts.open'], dimension: 'profile.type' } };
    const grouped = (rows: readonly string[]) => () => ({
      ...cut(),
      rows: rows.map((type) => ({ 'profile.type': type, 'alerts.open': 1 })),
    });
    const ports = { archive, clock, log: silentLog, signal: new AbortController().signal };
    expect(await takeReading(by, { ...ports, ask: answers(grouped(['entity'])) })).toBe('waiting');
    expect((await archive.lastCall({ ...REF, question: 'by-profile.type' }))?.end?.code).toBe('reading.incomplete');
    clock.set(WINDOW.until - 5 * MINUTE);
    expect(await takeReading(by, { ...ports, ask: answers(grouped(['entity', 'individual'])) })).toBe('stored');
  });

  test('from a response that arrives after the hour', async () => {
    const asOf = now();
    const late = answers(() => {
      clock.set(WINDOW.until);
      return body(asOf);
    });
    expect(await refused(late)).toEqual(['closed', 'reading.late']);
    expect([await take(), requests]).toEqual(['closed', 1]);
  });

  test('before its time or after its hour, and no request is made', async () => {
    clock.set(WINDOW.at - 1);
    expect(await take()).toBe('closed');
    clock.set(WINDOW.until);
    expect([await take(), requests]).toEqual(['closed', 0]);
  });

  test('by a process whose clock is a day ahead, and others can read the next day', async () => {
    const real = clock;
    clock = manualClock(WINDOW.at + MINUTE);
    const dayBefore = new Date(clock.now() - 86_400_000).toISOString();
    for (let tries = 0; tries < 5; tries += 1) {
      expect(await take(answers(() => body(dayBefore)))).toBe('waiting');
      clock.advance(10 * MINUTE);
    }
    expect((await archive.lastCall(REF))?.end?.code).toBe('reading.wrong_day');
    clock = real;
    clock.set(WINDOW.at);
    expect(await take()).toBe('stored');
    expect((await archive.get(REF))?.as_of).toBe(now());
  });
});
