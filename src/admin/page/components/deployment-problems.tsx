import type { RunRecord } from '../../../run/run-record.ts';
import type { DeploymentProblem } from '../../../services/deployment/deployment-problems.ts';
import { ReportLink, RunLink } from './run-table.tsx';

/** Problems of the whole deployment, each with what to do. */
export const DeploymentProblems = ({ problems }: { readonly problems: readonly DeploymentProblem[] }) => (
  <>
    {problems.map(({ code, message, next }) => (
      <p data-deployment-problem={code}>
        <strong>{message}</strong> {next}
      </p>
    ))}
  </>
);

const MAX_RUNS = 3;

/** Runs that wait because their last attempt failed, grouped by the error: one full disk stops all of them. */
export const WaitingRuns = ({ runs }: { readonly runs: readonly RunRecord[] }) => {
  const codes = [...new Set(runs.map(({ error }) => error?.code))];
  return (
    <>
      {codes.map((code) => {
        const alike = runs.filter(({ error }) => error?.code === code);
        const error = alike[0]?.error;
        if (error == null) return null;
        return (
          <p data-waiting={code}>
            <strong>{alike.length === 1 ? '1 run waits' : `${alike.length} runs wait`}</strong> and will continue:{' '}
            {error.message} <code>{error.code}</code> {error.next}{' '}
            {alike.slice(0, MAX_RUNS).map((run, index) => (
              <>
                {index === 0 ? '' : ', '}
                <ReportLink {...run} /> <RunLink run={run} />
              </>
            ))}
            {alike.length > MAX_RUNS ? (
              <>
                {', '}
                <a href="/runs?state=waiting">all waiting runs</a>
              </>
            ) : (
              '.'
            )}
          </p>
        );
      })}
    </>
  );
};
