import type { ErrorJson } from '../../base/error.ts';
import type { RunRecord } from '../../run/run-record.ts';

/** Runs that failed, or wait, for the same cause. */
export interface FailureGroup {
  readonly error: Pick<ErrorJson, 'code' | 'message' | 'next'>;
  /** Newest first. */
  readonly runs: readonly RunRecord[];
  /** `org/report`, sorted. */
  readonly reports: readonly string[];
  /** When the first and the last of them ended or, if they still wait, were opened; epoch ms. */
  readonly first: number;
  readonly last: number;
}

/**
 * Groups runs by their cause, most frequent first. One server that is down, or one metric that was dropped, makes one
 * group.
 */
export function groupFailures(runs: readonly RunRecord[]): readonly FailureGroup[] {
  const groups = new Map<string, RunRecord[]>();
  for (const run of runs) {
    const cause = causeOf(run);
    groups.set(cause, [...(groups.get(cause) ?? []), run]);
  }
  return [...groups.values()]
    .flatMap((members): FailureGroup[] => {
      const [newest] = members;
      if (newest === undefined) return [];
      const times = members.map(({ finishedAt, createdAt }) => finishedAt ?? createdAt);
      return [
        {
          error: newest.error ?? NO_ERROR,
          runs: members,
          reports: [...new Set(members.map(({ org, report }) => `${org}/${report}`))].sort(),
          first: Math.min(...times),
          last: Math.max(...times),
        },
      ];
    })
    .sort((one, other) => other.runs.length - one.runs.length || other.last - one.last);
}

/** Used for a run that an older version delivered partly, which has no error. */
const NO_ERROR = { code: 'deliver.target_refused', message: 'Some deliveries failed.' } as const;

/** The cause: the error's code, with the targets' replies for deliveries, otherwise with the message. */
function causeOf({ state, org, report, error, deliveries }: RunRecord): string {
  const failed = deliveries.filter(({ state }) => state !== 'sent');
  if (error?.code.startsWith('deliver.') !== false && failed.length > 0) {
    const causes = new Set(failed.map(({ target, state, detail }) => `${target} ${state} ${withoutIds(detail ?? '')}`));
    return [state, error?.code, ...[...causes].sort()].join('\n');
  }
  const text = (error?.message ?? '').replaceAll(new RegExp(`\\S*\\b${org}/${report}\\b[^\\s:]*`, 'g'), '#');
  return `${state} ${error?.code} ${withoutIds(text)}`;
}

/** Addresses, ids and numbers, which differ from run to run. Names of metrics and sections stay. */
const VARIABLE = /[^\s<>()]+@[^\s<>(),;:]+|\b[0-9a-f]{8}(?:[0-9a-f-]{4,})?\b|\b\d[\d.,:TZ+-]*\b/gi;

const withoutIds = (text: string): string => text.replaceAll(VARIABLE, '#');
