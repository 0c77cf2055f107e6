import { expect, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { TARGETS } from '../../../src/deliver/targets/registry.ts';
import { freezeReports, lastGoodVersion } from '../../../src/queue/definitions/active-reports.ts';
import type { FrozenDefinition } from '../../../src/queue/definitions/definition-store.ts';
import { errorSchema } from '../../../src/queue/runs/stored-record.ts';
import { catchUpWindowMs } from '../../../src/queue/schedules/report-schedules.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { recordingLog, reportDefinition } from '../../support/queue-harness.ts';

const HOUR_MS = 3_600_000;

/** Requests the active version of a report whose file now has a fault. `get` is the store of versions. */
async function requestDefinition(get: (frozen: FrozenDefinition) => Promise<FrozenDefinition | undefined>) {
  const good = await loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT }));
  const [frozen] = freezeReports(good);
  if (frozen === undefined) throw new Error('no report');
  const broken = REPORT.replace('previous_week', 'last_weak');
  const jobs = await loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': broken }));
  const log = recordingLog();
  const definitions = { get: () => get(frozen), put: async () => {}, putAll: async () => {}, touch: async () => {} };
  const found = lastGoodVersion(
    'acme/weekly',
    { digest: frozen.definition.digest },
    {
      jobs,
      definitions,
      targets: TARGETS,
      log,
    },
  );
  return { frozen, found, log };
}

test('a report whose file has a fault continues with its active version, if that is still stored', async () => {
  const kept = await requestDefinition(async (frozen) => frozen);
  expect(await kept.found).toBe(kept.frozen);
  const gone = await requestDefinition(async () => undefined);
  expect(await gone.found).toBeUndefined();
  expect(gone.log.lines).toMatchObject([{ level: 'error', path: 'acme/weekly' }]);
});

test('a version that only a newer Docket can read is ignored and logged; without Redis the request fails', async () => {
  const newer = await requestDefinition(async () => {
    throw new DocketError('definition.invalid', 'It has a field of tomorrow.');
  });
  expect(await newer.found).toBeUndefined();
  expect(newer.log.lines).toHaveLength(1);
  const away = await requestDefinition(async () => {
    throw new DocketError('redis.unreachable', 'Redis is away.');
  });
  await expect(away.found).rejects.toMatchObject({ code: 'redis.unreachable' });
});

test('a report without its organization is not frozen', async () => {
  const { reports } = await loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT }));
  expect(reports.size).toBe(1);
  expect(freezeReports({ reports, orgs: new Map() })).toEqual([]);
});

test('a slot that no schedule of the report has gets the default catch-up window', () => {
  const report = reportDefinition();
  const usual = catchUpWindowMs(report, undefined);
  expect(usual).toBeGreaterThan(HOUR_MS);
  expect(catchUpWindowMs(report, Date.parse('2026-11-21T11:11:11Z'))).toBe(usual);
});

test('an error with a code that only a newer Docket knows keeps its message', () => {
  const message = 'The moon is full.';
  expect(errorSchema.parse({ code: 'moon.full', message })).toEqual({ code: 'internal.defect', message });
  expect(errorSchema.parse({ code: 'redis.unreachable', message })).toMatchObject({ code: 'redis.unreachable' });
});
