import { readingArchive } from '../../deliver/archive/readings/reading-archive.ts';
import type { ReadingSummary } from '../../queue/schedules/reading-index.ts';
import { type CheckResult, ok, warn } from '../../services/deployment/probe.ts';
import { RECENT_DAYS, summarizeReadings } from '../../services/readings/summarize-readings.ts';
import { withArchive } from '../archive.ts';
import type { Examination } from './probe-context.ts';

export function evaluateReadings(summaries: readonly Pick<ReadingSummary, 'org' | 'missed'>[]): CheckResult {
  const gaps = summaries.flatMap(({ org, missed }) => missed.map(({ day, question }) => `${org} ${day} ${question}`));
  if (gaps.length === 0) return ok(`none missed in the last ${RECENT_DAYS} days, of ${summaries.length} organizations`);
  const named = gaps.slice(0, 3).join(', ');
  return warn(
    `${gaps.length} missed in the last ${RECENT_DAYS} days: ${named}${gaps.length > 3 ? ', …' : ''}`,
    'A missed day stays a gap. `docket readings` says why; keep a worker running at the time of the reading.',
  );
}

/** Missed readings of the organizations with `readings`. Undefined if there are none. */
export async function checkReadings({ jobs, context, now }: Examination): Promise<CheckResult | undefined> {
  const orgs = [...jobs.orgs.values()].filter(({ readings }) => readings !== undefined);
  if (orgs.length === 0) return undefined;
  return withArchive(context, async ({ storage }) => {
    const archive = readingArchive(storage);
    return evaluateReadings(await Promise.all(orgs.map((settings) => summarizeReadings(archive, settings, now))));
  });
}
