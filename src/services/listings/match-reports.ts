import { foldText } from '../../base/text/fold.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import type { RunFilter } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { parseDays } from './period-words.ts';
import { findNames } from './received.ts';

/** The definitions that name reports and organizations. */
export type Titles = Pick<Definitions, 'reports' | 'sources' | 'orgs'>;

/** A report found by a search. */
export interface FoundReport {
  readonly org: string;
  readonly report: string;
  /** Null if the report is no longer defined here, or has no valid version. */
  readonly title: string | null;
}

/**
 * Finds the reports that contain each of the words, in any case, in their id or title, or in the id or name of their
 * organization. Sorted by organization and id.
 *
 * @param recorded further reports, `org/report`, that have runs
 */
export function matchReports(
  words: readonly string[],
  jobs: Titles,
  recorded: Iterable<string>,
): readonly FoundReport[] {
  const { reports, sources, orgs } = jobs;
  const names = new Set([...reports.keys(), ...recorded]);
  // A file with errors counts as a report too.
  for (const name of sources.keys()) if (name.includes('/')) names.add(name);
  const wanted = words.map(anyCase);
  const found: FoundReport[] = [];
  for (const name of [...names].sort()) {
    const [org, report] = [name.slice(0, name.indexOf('/')), name.slice(name.indexOf('/') + 1)];
    const title = reports.get(name)?.title ?? null;
    const text = anyCase(`${name}\n${title ?? ''}\n${orgs.get(org)?.name ?? ''}`);
    if (wanted.every((word) => text.includes(word))) found.push({ org, report, title });
  }
  return found;
}

/** The words in a filter. */
export const splitWords = (text: string): readonly string[] => text.split(/\s+/).filter(Boolean);

/** For titles, which may contain non-ASCII letters: folds the case of all letters. */
const anyCase = (text: string): string => foldText(text).toLowerCase();

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
      : matchReports(splitWords(match), jobs, recorded)
          .filter(({ org }) => orgs === '*' || orgs.includes(org))
          .map(({ org, report }) => `${org}/${report}`);
  return { reports, recipients, error, begins };
}
