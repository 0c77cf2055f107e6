import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import type { Catalog } from '../../../src/contract/catalog.ts';
import type { ReportRequest, ReportResponse } from '../../../src/contract/report.ts';
import { readingWindow } from '../../../src/definitions/schedules/reading-window.ts';
import type { OrgSettings } from '../../../src/definitions/schema/org-settings.ts';
import { type ReadingArchive, readingArchive } from '../../../src/deliver/archive/readings/reading-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { memoryCatalogCache } from '../../../src/fetch/cache/catalog-cache.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import type { RequestPorts } from '../../../src/services/readings/ask-service.ts';
import { createReadingRounds } from '../../../src/services/readings/reading-rounds.ts';
import { folderFor } from '../../support/delivery-case.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';

const [DAY, ZONE, MINUTE] = ['2026-10-31', 'Europe/Zurich', 60_000];
const WINDOW = readingWindow(DAY, '22:30', ZONE)!;
const SETTINGS = {
  id: 'acme',
  org: 1,
  timezone: ZONE,
  readings: { at: '22:30', metrics: ['alerts.open', 'rfis.open'], by: [] },
} as unknown as OrgSettings;

const catalogOf = (...ids: readonly string[]) =>
  ({
    registry_version: ids.length,
    metrics: ids.map((id) => ({
      id,
      label: id,
      unit: 'count',
      aggregation: 'count',
      time_field: 'now',
      dimensions: [],
    })),
    dimensions: [],
    limits: { max_rows: 5000 },
  }) as unknown as Catalog;

/** A service with this catalog, and what its callers need. Each call takes until `answered`. */
function service(clock: ManualClock, catalog: () => Catalog, answered: Promise<void> = Promise.resolve()) {
  const calls = { catalogs: 0, reports: 0 };
  const ports = {
    client: {
      requestTimeoutMs: 30_000,
      catalog: async () => {
        calls.catalogs += 1;
        return catalog();
      },
      report: async (_: unknown, { metrics }: ReportRequest) => {
        calls.reports += 1;
        await answered;
        const body = {
          meta: {
            as_of: new Date(clock.now()).toISOString(),
            cached: false,
            timezone: ZONE,
            row_count: 1,
            truncated: false,
            registry_version: 2,
          },
          columns: [],
          rows: [Object.fromEntries(metrics.map((id) => [id, 3]))],
        } as unknown as ReportResponse;
        return { correlationId: null, body };
      },
    },
    key: 'fingerprint',
    budget: memoryBudget({ calls: 30, windowMs: MINUTE, clock }),
    catalogs: memoryCatalogCache(clock),
    clock,
  } as unknown as RequestPorts;
  const { signal } = new AbortController();
  const request = { ...ports, org: 1, tenant: 'acme', priority: 'scheduled', run: 'r', maxWaitMs: MINUTE } as const;
  const cacheCatalog = () => ports.catalogs.get(request, signal, () => {});
  const roundsOn = (archive: ReadingArchive) =>
    createReadingRounds({
      archive,
      orgs: () => new Map([['acme', SETTINGS]]),
      buildRequestPorts: async () => ports,
      clock,
      log: silentLog,
      signal,
    });
  return { calls, ports, cacheCatalog, roundsOn };
}

test('a metric added after the catalog was cached is read on its first day', async () => {
  const clock = manualClock(WINDOW.at - 30 * MINUTE);
  const archive = readingArchive(directoryStorage(await folderFor(onTestFinished)));
  let catalog = catalogOf('alerts.open');
  const { calls, cacheCatalog, roundsOn } = service(clock, () => catalog);
  await cacheCatalog();
  catalog = catalogOf('alerts.open', 'rfis.open');
  clock.set(WINDOW.at + MINUTE);
  await roundsOn(archive)();
  const reading = await archive.get({ org: 'acme', day: DAY, question: 'whole' });
  expect(reading?.rows).toEqual([{ group: null, values: { 'alerts.open': 3, 'rfis.open': 3 } }]);
  expect(calls).toEqual({ catalogs: 2, reports: 1 });
});

test('a process that loses the claim returns its token', async () => {
  const clock = manualClock(WINDOW.at + MINUTE);
  const archive = readingArchive(directoryStorage(await folderFor(onTestFinished)));
  // Both processes look before either one claims.
  let looks = 0;
  let bothLooked = () => {};
  const looked = new Promise<void>((resolve) => (bothLooked = resolve));
  const meeting: ReadingArchive = {
    ...archive,
    lastCall: async (ref) => {
      const last = await archive.lastCall(ref);
      looks += 1;
      if (looks === 2) bothLooked();
      if (looks <= 2) await looked;
      return last;
    },
  };
  const { calls, ports, cacheCatalog, roundsOn } = service(clock, () => catalogOf('alerts.open', 'rfis.open'));
  await cacheCatalog();
  clock.advance(2 * MINUTE);
  const before = await ports.budget.inspect(ports.key);
  await Promise.all([roundsOn(meeting)(), roundsOn(meeting)()]);
  expect(calls.reports).toBe(1);
  const after = await ports.budget.inspect(ports.key);
  expect(before.tokens - after.tokens).toBe(1);
});

test('a question that waits for a token keeps its position in later rounds', async () => {
  const clock = manualClock(WINDOW.at + MINUTE);
  const archive = readingArchive(directoryStorage(await folderFor(onTestFinished)));
  const { calls, ports, cacheCatalog, roundsOn } = service(clock, () => catalogOf('alerts.open', 'rfis.open'));
  await cacheCatalog();
  const waiters: string[] = [];
  // The next token is free only after the longest wait of a round.
  ports.budget.acquire = async ({ id }) => {
    waiters.push(id);
    return { granted: false, at: clock.now() + 5 * MINUTE, ahead: 100, tokens: 0 };
  };
  const round = roundsOn(archive);
  await round();
  await round();
  expect(waiters).toHaveLength(2);
  expect(new Set(waiters).size).toBe(1);
  expect(calls.reports).toBe(0);
});
