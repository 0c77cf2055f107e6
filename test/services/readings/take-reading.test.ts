import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import { silentLog } from '../../../src/base/log.ts';
import { done } from '../../../src/base/outcome.ts';
import type { ReportResponse } from '../../../src/contract/report.ts';
import { readingWindow } from '../../../src/definitions/schedules/reading-window.ts';
import { type ReadingArchive, readingArchive } from '../../../src/deliver/archive/readings/reading-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { type AskService, CLAIM_TTL_MS, takeReading } from '../../../src/services/readings/take-reading.ts';
import { folderFor } from '../../support/delivery-case.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';

const [DAY, ZONE, MINUTE] = ['2026-10-31', 'Europe/Zurich', 60_000];
const WINDOW = readingWindow(DAY, '22:30', ZONE)!;
const QUESTION = { id: 'whole', metrics: ['alerts.open', 'rfis.open'], dimension: null };
const OF = { org: 'acme', serviceOrg: 'current', timezone: ZONE, window: WINDOW, question: QUESTION } as const;
const REF = { org: 'acme', day: DAY, question: 'whole' };

let archive: ReadingArchive;
let clock: ManualClock;
let requests: number;
beforeEach(async () => {
  archive = readingArchive(directoryStorage(await folderFor(onTestFinished)));
  clock = manualClock(WINDOW.at + MINUTE);
  requests = 0;
});

const body = (asOf: string | null, row: Record<string, unknown> = { 'alerts.open': 4, 'rfis.open': null }) =>
  ({
    meta: { as_of: asOf, cached: false, timezone: ZONE, row_count: 1, truncated: false, registry_version: 7 },
    columns: [],
    rows: [row],
  }) as ReportResponse;

/** A service that answers so. */
const answers =
  (make: () => ReportResponse | Promise<ReportResponse>): AskService =>
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
const take = (ask: AskService = answers(() => body(now()))) =>
  takeReading(OF, { archive, ask, clock, log: silentLog, signal: new AbortController().signal });

describe('a reading is taken', () => {
  test('once, with all that came with it', async () => {
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
      rows: [{ group: null, values: { 'alerts.open': 4, 'rfis.open': null } }],
    });
    expect([await take(), requests]).toEqual(['stored', 1]);
  });

  test('by one of two processes that begin at once', async () => {
    const results = await Promise.all([take(), take(), take()]);
    expect(results).toContain('stored');
    expect(requests).toBe(1);
  });

  test('by another process, once the claim of a killed one has ended', async () => {
    void take(() => new Promise(() => {}));
    void take(answers(() => new Promise<ReportResponse>(() => {})));
    await expect.poll(() => requests).toBe(1);
    expect([await take(), requests]).toEqual(['waiting', 1]);
    clock.advance(CLAIM_TTL_MS);
    expect([await take(), requests]).toEqual(['stored', 2]);
  });

  test('again after a lost reply, but not at once', async () => {
    const lost = new DocketError('api.timeout', 'none');
    const ask = answers(() => Promise.reject(lost));
    expect([await take(ask), await take(ask), requests]).toEqual(['waiting', 'waiting', 1]);
    expect((await archive.lastAsked(REF))?.end).toMatchObject({ code: 'api.timeout' });
    clock.advance(MINUTE);
    expect([await take(ask), requests]).toEqual(['waiting', 2]);
    clock.advance(MINUTE);
    expect([await take(), requests]).toEqual(['waiting', 2]);
    clock.advance(MINUTE);
    expect([await take(), requests]).toEqual(['stored', 3]);
  });

  test('with a cached answer of up to an hour before', async () => {
    expect(await take(answers(() => body(new Date(WINDOW.notBefore).toISOString())))).toBe('stored');
  });
});

describe('nothing is stored', () => {
  const refused = async (ask: AskService) => {
    const result = await take(ask);
    expect(await archive.get(REF)).toBeUndefined();
    return [result, (await archive.lastAsked(REF))?.end?.code];
  };

  test.each([
    ['of another day', '2026-10-30T21:31:00Z', 'reading.wrong_day'],
    ['of the next local day', '2026-10-31T23:00:00Z', 'reading.wrong_day'],
    ['of more than an hour before', '2026-10-31T20:29:59.999Z', 'reading.too_old'],
    ['without a time', null, 'reading.incomplete'],
  ])('of an answer %s', async (_, asOf, code) => {
    expect(await refused(answers(() => body(asOf)))).toEqual(['waiting', code]);
  });

  test.each([
    ['lacks a metric', { 'alerts.open': 4 }],
    ['has a text for a count', { 'alerts.open': 4, 'rfis.open': '5' }],
    ['has a negative count', { 'alerts.open': -1, 'rfis.open': 5 }],
  ])('of an answer that %s', async (_, row) => {
    expect(await refused(answers(() => body(now(), row)))).toEqual(['waiting', 'reading.incomplete']);
  });

  test('of an answer that lacks some of its rows', async () => {
    const cut = (): ReportResponse => {
      const answer = body(now());
      return { ...answer, meta: { ...answer.meta, row_count: 2 } };
    };
    const by = { ...OF, question: { id: 'by-alert.type', metrics: ['alerts.open'], dimension: 'alert.type' } };
    const grouped = (rows: readonly string[]) => () => ({
      ...cut(),
      rows: rows.map((type) => ({ 'alert.type': type, 'alerts.open': 1 })),
    });
    const ports = { archive, clock, log: silentLog, signal: new AbortController().signal };
    expect(await takeReading(by, { ...ports, ask: answers(grouped(['sanctions'])) })).toBe('waiting');
    expect((await archive.lastAsked({ ...REF, question: 'by-alert.type' }))?.end?.code).toBe('reading.incomplete');
    clock.advance(2 * MINUTE);
    expect(await takeReading(by, { ...ports, ask: answers(grouped(['sanctions', 'pep'])) })).toBe('stored');
  });

  test('of an answer that arrives after the hour', async () => {
    const asOf = now();
    const late = answers(() => {
      clock.set(WINDOW.until);
      return body(asOf);
    });
    expect(await refused(late)).toEqual(['closed', 'reading.late']);
    expect([await take(), requests]).toEqual(['closed', 1]);
  });

  test('before its time and after its hour, and nothing is asked', async () => {
    clock.set(WINDOW.at - 1);
    expect(await take()).toBe('closed');
    clock.set(WINDOW.until);
    expect([await take(), requests]).toEqual(['closed', 0]);
  });

  test('by a process whose clock is a day ahead, which does not keep the others from reading the next day', async () => {
    const real = clock;
    clock = manualClock(WINDOW.at + MINUTE);
    const dayBefore = new Date(clock.now() - 86_400_000).toISOString();
    for (let tries = 0; tries < 5; tries += 1) {
      expect(await take(answers(() => body(dayBefore)))).toBe('waiting');
      clock.advance(10 * MINUTE);
    }
    expect((await archive.lastAsked(REF))?.end?.code).toBe('reading.wrong_day');
    clock = real;
    clock.set(WINDOW.at);
    expect(await take()).toBe('stored');
    expect((await archive.get(REF))?.as_of).toBe(now());
  });
});
