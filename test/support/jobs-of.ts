import { NOTHING_GOOD } from '../../src/define/last-good.ts';
import type { Jobs } from '../../src/define/load.ts';
import type { FrozenDefinition } from '../../src/queue/definition-store.ts';
import { nameOf } from '../../src/queue/timing.ts';

/** What the loader makes of a folder that holds these reports. */
export const jobsOf = (...reports: FrozenDefinition[]): Jobs => ({
  folder: 'jobs',
  orgs: new Map(reports.map(({ settings }) => [settings.id, settings])),
  reports: new Map(reports.map((report) => [nameOf(report), report.definition])),
  sources: new Map(),
  faults: [],
  kept: new Set(),
  good: NOTHING_GOOD,
});
