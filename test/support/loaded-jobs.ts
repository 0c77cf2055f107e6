import { NO_LAST_KNOWN_GOOD } from '../../src/definitions/load/last-known-good.ts';
import type { Definitions } from '../../src/definitions/load/load-definitions.ts';
import type { FrozenDefinition } from '../../src/queue/definitions/definition-store.ts';
import { reportName } from '../../src/queue/schedules/report-schedules.ts';

/** The result of loading a folder with these reports. */
export const loadedJobs = (...reports: FrozenDefinition[]): Definitions => ({
  folder: 'jobs',
  orgs: new Map(reports.map(({ settings }) => [settings.id, settings])),
  reports: new Map(reports.map((report) => [reportName(report), report.definition])),
  sources: new Map(),
  targetSources: new Map(),
  diagnostics: [],
  warnings: [],
  usingLastKnownGood: new Set(),
  lastKnownGood: NO_LAST_KNOWN_GOOD,
});
