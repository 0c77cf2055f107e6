import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import type { Catalog } from '../../../src/contract/catalog.ts';
import type { ReportRequest, ReportResponse } from '../../../src/contract/report.ts';
import { readingWindow } from '../../../src/definitions/schedules/reading-window.ts';
import type { OrgSettings } from '../../../src/definitions/schema/org-settings.ts';
import { readingArchive } from '../../../src/deliver/archive/readings/reading-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { memoryCatalogCache } from '../../../src/fetch/cache/catalog-cache.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import type { AskPorts } from '../../../src/services/readings/ask-service.ts';
import { createReadingRounds } from '../../../src/services/readings/reading-rounds.ts';
import { folderFor } from '../../support/delivery-case.ts';
import { manualClock } from '../../support/manual-clock.ts';

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
    metrics: ids.map((id) => ({ id, time_field: 'now', dimensions: [] })),
    dimensions: [],
  }) as unknown as Catalog;

test('a metric that was added since the catalog was cached is read on its first day', async () => {
  const clock = manualClock(WINDOW.at - 30 * MINUTE);
  const archive = readingArchive(directoryStorage(await folderFor(onTestFinished)));
  let catalog = catalogOf('alerts.open');
  let catalogs = 0;
  const report = async (_: unknown, { metrics }: ReportRequest) => ({
    correlationId: null,
    body: {
      meta: { as_of: new Date(clock.now()).toISOString(), row_count: 1, truncated: false, registry_version: 2 },
      columns: [],
      rows: [Object.fromEntries(metrics.map((id) => [id, 3]))],
    } as unknown as ReportResponse,
  });
  const ports = {
    client: {
      requestTimeoutMs: 30_000,
      report,
      catalog: async () => {
        catalogs += 1;
        return catalog;
      },
    },
    key: 'fingerprint',
    budget: memoryBudget({ calls: 30, windowMs: MINUTE, clock }),
    catalogs: memoryCatalogCache(clock),
    clock,
  } as unknown as AskPorts;
  const { signal } = new AbortController();
  const request = { ...ports, org: 1, tenant: 'acme', priority: 'scheduled', run: 'r', maxWaitMs: MINUTE } as const;
  await ports.catalogs.get(request, signal, () => {});
  catalog = catalogOf('alerts.open', 'rfis.open');
  clock.set(WINDOW.at + MINUTE);
  const orgs = () => new Map([['acme', SETTINGS]]);
  await createReadingRounds({ archive, orgs, askPortsOf: async () => ports, clock, log: silentLog, signal })();
  const reading = await archive.get({ org: 'acme', day: DAY, question: 'whole' });
  expect(reading?.rows).toEqual([{ group: null, values: { 'alerts.open': 3, 'rfis.open': 3 } }]);
  expect(catalogs).toBe(2);
});
