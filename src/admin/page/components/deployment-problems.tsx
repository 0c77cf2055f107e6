import type { ErrorJson } from '../../../base/error.ts';
import { MINUTE_MS } from '../../../base/time.ts';
import type { RunRecord, RunState } from '../../../run/run-record.ts';
import { RETRYABLE_STATES } from '../../../services/deliveries/decision-rules.ts';
import type { DeploymentProblem } from '../../../services/deployment/probe.ts';
import { ReasonForm } from '../forms/reason-form.tsx';
import { formatInteger } from './format-numbers.ts';
import { Csrf, canAct, type LayoutData } from './layout.tsx';
import { ReportLink, RunLink } from './run-table.tsx';
import { When } from './time.tsx';

interface ProblemsProps {
  readonly problems: readonly DeploymentProblem[];
  readonly zone: string;
  readonly now: number;
}

/** Problems of the whole deployment, each with its cause, its start, what it affects and what to do. */
export const DeploymentProblems = ({ problems, zone, now }: ProblemsProps) => (
  <>
    {problems.map(({ code, message, since, affects, next }) => (
      <p data-deployment-problem={code}>
        <strong class="wrap">{message}</strong>{' '}
        {since === undefined ? null : (
          <>
            Since <When at={since} zone={zone} now={now} />.{' '}
          </>
        )}
        {affects === undefined ? null : `${affects} `}
        <WithCommands text={next} /> <code>{code}</code>
      </p>
    ))}
  </>
);

/** A sentence with its commands, which are between backticks, as code. */
export const WithCommands = ({ text }: { readonly text: string }) => (
  <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}</>
);

const MAX_NAMED = 3;

interface FailureGroupsProps {
  readonly runs: readonly RunRecord[];
  /** Whether further runs exist. */
  readonly more: boolean;
  /** The words after the number of runs, e.g. `failed`. */
  readonly verb: (runs: readonly RunRecord[]) => string;
  /** The action for all runs of a group. */
  readonly action: string;
  readonly layout: LayoutData;
  readonly zone: string;
}

/** Runs grouped by their cause: a full disk or a dropped metric stops many reports, and needs one decision. */
export const FailureGroups = ({ runs, more, verb, action, layout, zone }: FailureGroupsProps) => (
  <>
    {groupFailures(runs).map(({ error, runs: members, reports, first, last }) => {
      const retryable = NEEDS_NEW_RUN.has(error.code) ? [] : members.filter((run) => RETRYABLE.has(run.state));
      const { code, message, next = '' } = error;
      const path = `/runs?state=${members[0]?.state}&error=${code}`;
      return (
        <div class="failure" data-failure={code}>
          <p>
            <strong>
              {`${formatInteger(members.length)}${more ? '+' : ''} ${members.length === 1 && !more ? 'run' : 'runs'} ${verb(members)}`}
            </strong>
            : <span class="wrap">{brief(message)}</span> <code>{code}</code> <WithCommands text={next} />
          </p>
          <p>
            <When at={first} zone={zone} now={layout.now} />
            {last - first < MINUTE_MS ? null : (
              <>
                {' to '}
                <When at={last} zone={zone} now={layout.now} />
              </>
            )}
            {': '}
            {members.slice(0, MAX_NAMED).map((run, position) => (
              <>
                {position === 0 ? '' : ', '}
                <ReportLink {...run} /> <RunLink run={run} />
              </>
            ))}
            {members.length > MAX_NAMED || more ? (
              <>
                {', '}
                <a href={path}>{more ? 'all' : `all ${members.length}`}</a>
                {reports.length === 1 ? null : ` of ${reports.length} reports`}
              </>
            ) : (
              '.'
            )}
          </p>
          {canAct(layout) && NEEDS_NEW_RUN.has(error.code) ? <RunAgain layout={layout} runs={members} /> : null}
          {canAct(layout) ? <RetryGroup layout={layout} runs={retryable} action={action} /> : null}
        </div>
      );
    })}
  </>
);

interface RetryProps extends Pick<FailureGroupsProps, 'layout' | 'runs' | 'action'> {}

/** A single run is retried with a reason, several after a preview. */
const RetryGroup = ({ layout, runs, action }: RetryProps) => {
  const [first, another] = runs;
  if (first === undefined) return null;
  if (another === undefined) {
    return (
      <ReasonForm
        layout={layout}
        action={`/runs/${first.id}/retry`}
        from="/"
        label={action}
        question="What was the cause, and is it fixed?"
      >
        <p>Deliveries that arrived are not repeated. Unknown deliveries stay for your decision.</p>
      </ReasonForm>
    );
  }
  return (
    <form method="post" action="/selections">
      <Csrf layout={layout} />
      <input type="hidden" name="action" value="retry" />
      <input type="hidden" name="run" value={runs.map(({ id }) => id).join(',')} />
      <button type="submit" class="button">{`${action} all ${runs.length}…`}</button>
    </form>
  );
};

/** Opens a new run for each report and period, with the current definitions. */
const RunAgain = ({ layout, runs }: { readonly layout: LayoutData; readonly runs: readonly RunRecord[] }) => {
  // A report may have failed several times. Runs are listed newest first, so the newest is kept.
  const needed = new Map(runs.toReversed().map((run) => [`${run.org}/${run.report} ${run.period.label}`, run.id]));
  return (
    <details class="action">
      <summary class="button">{needed.size === 1 ? 'Run it again…' : `Run all ${needed.size} again…`}</summary>
      <form method="post" action="/runs/again">
        <Csrf layout={layout} />
        <input type="hidden" name="run" value={[...needed.values()].join(',')} />
        <p>The new runs use the current definitions: correct them first. What was delivered is not repeated.</p>
        <button type="submit" class="primary">
          Run again
        </button>
      </form>
    </details>
  );
};

/** A retry uses the same definition, and would fail again. */
const NEEDS_NEW_RUN: ReadonlySet<string> = new Set(['plan.invalid', 'definition.invalid', 'api.refused']);
const RETRYABLE: ReadonlySet<RunState> = new Set<RunState>(['waiting', ...RETRYABLE_STATES]);

/** The first two lines of the message: a plan or a request can have many errors. */
const brief = (text: string): string => {
  const line = text
    .split('\n')
    .slice(0, 2)
    .map((each) => each.trim())
    .join(' ');
  return line.length > 400 ? `${line.slice(0, 400)}…` : line;
};

/** Runs that failed, or wait, for the same cause. */
interface FailureGroup {
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
