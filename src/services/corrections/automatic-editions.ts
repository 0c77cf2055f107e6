import { isSamePeriodDays } from '../../deliver/archive/archived-runs.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { DOCKET, foldCorrections } from './correction.ts';
import type { Edition } from './editions.ts';

/**
 * How many corrected editions of a report and period Docket sends without a person (`on_correction: send`). Otherwise a
 * service with changing responses would cause one every day.
 */
export const MAX_AUTOMATIC_EDITIONS = 2;

/**
 * Counts the corrected editions of the report and period that Docket sent without a person, except those that nobody
 * received. Reads only the archive. Throws `archive.*`.
 */
export async function countAutomaticEditions(
  { run, manifest }: Edition,
  { corrections, archive }: Deployment,
): Promise<number> {
  let count = 0;
  for (const { run: other, lastEvent } of await corrections.list()) {
    if (lastEvent === 0 || other.org !== run.org || other.report !== run.report) continue;
    const sent = foldCorrections(other, await corrections.events(other)).filter(
      ({ state, decision, ended }) => state === 'sent' && decision?.by === DOCKET && !ended,
    );
    if (sent.length === 0) continue;
    const of = other.id === run.id ? manifest : (await archive.peek(other))?.manifest;
    if (of !== undefined && isSamePeriodDays(of.period, manifest.period)) count += sent.length;
  }
  // Earlier runs may have left the archive, but the manifest has their count.
  return Math.max(count, manifest.corrects?.automatic ?? 0);
}
