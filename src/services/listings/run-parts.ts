import type { RunFilter } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { matchReports, type Titles, wordsOf } from './match-reports.ts';
import { parseDays } from './period-words.ts';
import { findNames } from './received.ts';

/** Filters for a listing of runs that match in parts, as a user wrote them. */
export interface RunParts {
  /** Words in the report's id or title, or in its organization's id or name, in any case. */
  readonly match?: string | undefined;
  /** An address in any case, or part of an address or a file location. */
  readonly to?: string | undefined;
  /** Part of the code of the run's error. */
  readonly error?: string | undefined;
  /** Only runs whose period begins within this period. */
  readonly period?: string | undefined;
}

/** Throws `usage.invalid` for a text that is not a period, or that matches too many recipients. */
export async function runPartsFilter(
  { match, to, error, period }: RunParts,
  orgs: readonly string[] | '*',
  { searchIndex, clock }: Deployment,
  jobs: Titles,
): Promise<Pick<RunFilter, 'reports' | 'recipients' | 'error' | 'begins'>> {
  const begins = period === undefined ? undefined : parseDays(period, clock.now());
  if (match !== undefined || to !== undefined || period !== undefined) await searchIndex.refresh();
  const [recorded, recipients] = await Promise.all([
    match === undefined ? [] : searchIndex.reports(),
    to === undefined ? undefined : findNames(to, orgs, searchIndex),
  ]);
  const reports =
    match === undefined
      ? undefined
      : matchReports(wordsOf(match), jobs, recorded)
          .filter(({ org }) => orgs === '*' || orgs.includes(org))
          .map(({ org, report }) => `${org}/${report}`);
  return { reports, recipients, error, begins };
}
