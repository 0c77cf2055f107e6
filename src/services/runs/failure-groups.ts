import type { ErrorJson } from '../../base/error.ts';
import type { RunRecord } from '../../run/run-record.ts';

/** Runs that failed, or wait, for the same cause. */
export interface FailureGroup {
  readonly error: Pick<ErrorJson, 'code' | 'message' | 'next'>;
  /** Newest first. */
  readonly runs: readonly RunRecord[];
  /** `org/report`, sorted. */
  readonly reports: readonly string[];
  /** When the first and the last of them ended or, while they wait, were opened; epoch ms. */
  readonly first: number;
  readonly last: number;
}

/** Groups runs by their cause, the most frequent first: one server that is down, or one metric that was dropped, is one group. */
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

/** A run that was partly delivered by an older version has none. */
const NO_ERROR = { code: 'deliver.target_refused', message: 'Some deliveries failed.' } as const;

/** The code, and what failed: of deliveries the targets with their answers, of anything else the message. */
function causeOf({ state, org, report, error, deliveries }: RunRecord): string {
  const failed = deliveries.filter(({ state }) => state !== 'sent');
  if (error?.code.startsWith('deliver.') !== false && failed.length > 0) {
    const causes = new Set(failed.map(({ target, state, detail }) => `${target} ${state} ${withoutIds(detail ?? '')}`));
    return [state, error?.code, ...[...causes].sort()].join('\n');
  }
  const text = (error?.message ?? '').replaceAll(new RegExp(`\\S*\\b${org}/${report}\\b[^\\s:]*`, 'g'), '#');
  return `${state} ${error?.code} ${withoutIds(text)}`;
}

/** Addresses, ids and numbers, which differ from run to run. A metric or a section keeps its name. */
const VARIABLE = /[^\s<>()]+@[^\s<>(),;:]+|\b[0-9a-f]{8}(?:[0-9a-f-]{4,})?\b|\b\d[\d.,:TZ+-]*\b/gi;

const withoutIds = (text: string): string => text.replaceAll(VARIABLE, '#');
