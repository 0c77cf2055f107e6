import type { PropsWithChildren } from 'hono/jsx';
import { lacksPermission, type Pause } from '../../../queue/schedules/pauses.ts';
import type { ReadingSummary } from '../../../queue/schedules/reading-index.ts';
import type { RunPage } from '../../../run/run-page.ts';
import type { RunRecord } from '../../../run/run-record.ts';
import type { CorrectionSummary } from '../../../services/corrections/watch-index.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { DeploymentProblem } from '../../../services/deployment/probe.ts';
import { DeploymentProblems, FailureGroups } from './deployment-problems.tsx';
import { formatInteger } from './format-numbers.ts';
import { usePageSettings } from './header/settings.tsx';
import type { LayoutData } from './layout.tsx';
import { ReportLink, RunLink } from './run-table.tsx';

export interface AttentionData {
  readonly problems: readonly DeploymentProblem[];
  /** Deliveries in state `unknown`. */
  readonly undecided: readonly DeliveryRow[];
  /** Corrections of delivered figures, by organization. */
  readonly corrections: readonly CorrectionSummary[];
  /** Runs that wait for approval, of any age. */
  readonly approvals: RunPage;
  /** Held runs of any age, which miss figures or comments. */
  readonly held: RunPage;
  /** Waiting runs. Only those whose last attempt failed are shown. */
  readonly waiting: RunPage;
  /** Runs of the last day that failed or were partly delivered. */
  readonly failed: RunPage;
  readonly pauses: readonly Pause[];
  /** Recent readings of current counts. */
  readonly readings: readonly ReadingSummary[];
}

const MAX_NAMED_RUNS = 3;

/** Everything that needs a decision, or a sentence that nothing does. */
export const AttentionList = ({
  data: { problems, undecided, corrections, approvals, held, waiting, failed, pauses, readings },
  layout,
  zone,
}: {
  readonly data: AttentionData;
  readonly layout: LayoutData;
  readonly zone: string;
}) => {
  // Pauses that Docket set after the service refused an API key.
  const refused = pauses.filter(({ key }) => key !== null);
  const blocked = waiting.runs.filter(({ error }) => error !== null);
  const missed = readings.filter((summary) => summary.missed.length > 0);
  const uncorrected = corrections.reduce((sum, { open }) => sum + open, 0);
  const lists = [problems, undecided, approvals.runs, held.runs, blocked, failed.runs, refused, missed];
  if (uncorrected === 0 && lists.every(({ length }) => length === 0)) {
    return (
      <p class="all-clear">
        <span class="state good">Nothing needs attention</span>{' '}
        <span class="muted">
          No delivery to decide, no run to approve, comment or release, no refused key, and no failed run in the last 24
          hours.
        </span>
      </p>
    );
  }
  return (
    <div class="attention">
      <DeploymentProblems problems={problems} zone={zone} now={layout.now} />
      {undecided.length === 0 ? null : (
        <p>
          <strong>{countPhrase(undecided.length, false, 'delivery', 'deliveries')}</strong> with unknown result: Docket
          sends nothing again until you decide. <a href={decidePath(undecided)}>Decide</a>
        </p>
      )}
      {uncorrected === 0 ? null : (
        <p>
          <strong>{countPhrase(uncorrected, false, 'delivered report has', 'delivered reports have')}</strong> figures
          that the service has changed since. <a href="/corrections">Decide</a>
        </p>
      )}
      {approvals.runs.length === 0 ? null : (
        <p>
          <strong>{countPhrase(approvals.runs.length, approvals.next !== null, 'run waits', 'runs wait')}</strong> for
          approval. <NamedRuns page={approvals} fragment="#review" />{' '}
          <a href="/runs?state=awaiting_approval">All that wait for approval</a>
        </p>
      )}
      <HeldRuns page={{ ...held, runs: held.runs.filter(isUncommented) }} fragment="#review">
        held because comments are missing.
      </HeldRuns>
      <HeldRuns page={{ ...held, runs: held.runs.filter((run) => !isUncommented(run)) }}>
        held because figures are missing.
      </HeldRuns>
      <FailureGroups
        {...{ layout, zone }}
        runs={blocked}
        more={waiting.next !== null}
        verb={(runs) => (runs.length === 1 ? 'waits and will continue' : 'wait and will continue')}
        action="Continue now"
      />
      <FailureGroups
        {...{ layout, zone }}
        runs={failed.runs}
        more={failed.next !== null}
        verb={(runs) =>
          `in the last 24 hours ${runs.every(({ state }) => state === 'failed') ? 'failed' : 'partly delivered'}`
        }
        action="Retry"
      />
      {refused.map(({ org, report, key, run, why }) => (
        <p>
          <strong>{report === null ? `All of ${org}` : <ReportLink org={org} report={report} />}</strong> is paused
          because the API key <code>{key}</code>{' '}
          {lacksPermission({ why })
            ? 'lacks a permission. Grant it in the service, then'
            : 'was refused. Replace the key, then'}{' '}
          {run === null ? null : (
            <>
              retry the run that failed, <RunLink run={{ id: run }} />, or{' '}
            </>
          )}
          <a href="/pauses">resume it</a>. A retry that succeeds ends the pause.
        </p>
      ))}
      {missed.map(({ org, missed: gaps }) => (
        <p>
          <strong>{countPhrase(gaps.length, false, 'missed reading', 'missed readings')}</strong> of current counts of{' '}
          {org} in the last 7 days: {[...new Set(gaps.map(({ day }) => day))].join(', ')}. These days stay gaps.
        </p>
      ))}
    </div>
  );
};

const isUncommented = ({ error }: RunRecord): boolean => error?.code === 'run.comments_missing';

const HeldRuns = ({ page, fragment, children }: PropsWithChildren<NamedRunsProps>) =>
  page.runs.length === 0 ? null : (
    <p>
      <strong>{countPhrase(page.runs.length, page.next !== null, 'run', 'runs')}</strong> {children}{' '}
      <NamedRuns page={page} fragment={fragment} /> <a href="/runs?state=held">All held runs</a>
    </p>
  );

/** The path of the form for all deliveries of a run, or of the list of all runs. */
function decidePath(undecided: readonly DeliveryRow[]): string {
  const [run, ...others] = new Set(undecided.map((row) => row.run));
  return run === undefined || others.length > 0 ? '/deliveries' : `/runs/${run}#decide`;
}

/** E.g. `1 run`, `20+ runs`. */
const countPhrase = (length: number, more: boolean, one: string, several: string): string =>
  `${formatInteger(length)}${more ? '+' : ''} ${length === 1 && !more ? one : several}`;

/** The report's title and period with the first digits of the run's id: `Weekly compliance KPIs, 2026-W46`. */
const RunName = ({ run: { id, org, report, period } }: { readonly run: RunRecord }) => (
  <>
    {usePageSettings()?.titleOf(org, report) ?? `${org}/${report}`}, {period.label} <small>{id.slice(0, 8)}</small>
  </>
);

interface NamedRunsProps {
  readonly page: RunPage;
  /** The part of a run's page to link to. */
  readonly fragment?: string | undefined;
}

const NamedRuns = ({ page: { runs, next }, fragment = '' }: NamedRunsProps) => (
  <>
    {runs.slice(0, MAX_NAMED_RUNS).map((run, index) => (
      <>
        {index === 0 ? '' : '; '}
        <a href={`/runs/${run.id}${fragment}`}>
          <RunName run={run} />
        </a>
      </>
    ))}
    {runs.length > MAX_NAMED_RUNS || next !== null ? ', …' : '.'}
  </>
);
