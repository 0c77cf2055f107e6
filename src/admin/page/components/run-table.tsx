import { formatPeriod } from '../../../definitions/periods/period.ts';
import type { LiveProgress, RunSnapshot } from '../../../run/live-progress.ts';
import { type RunRecord, TERMINAL_STATES } from '../../../run/run-record.ts';
import { isLateNow } from '../../../services/runs/late-runs.ts';
import { formatElapsed, formatInteger } from './format-numbers.ts';
import { usePageSettings } from './header/settings.tsx';
import { Table } from './layout.tsx';
import { LateBadge, RunBadge } from './status-badge.tsx';
import { RelativeTime, Timestamp, When } from './time.tsx';

/** A link with the first digits of the id. Its label keeps screen readers from reading digit by digit. */
export const RunLink = ({ run }: { readonly run: Pick<RunRecord, 'id'> }) => (
  <a class="id" href={`/runs/${run.id}`} aria-label={`Run ${run.id.slice(0, 8)}`}>
    {run.id.slice(0, 8)}
  </a>
);

/** A link with the report's title and its id. A report that is no longer defined has only its id. */
export const ReportLink = ({ org, report }: Pick<RunRecord, 'org' | 'report'>) => {
  const title = usePageSettings()?.titleOf(org, report);
  const id = `${org}/${report}`;
  return title === undefined ? (
    <a href={reportPath(org, report)}>{id}</a>
  ) : (
    <>
      <a href={reportPath(org, report)}>{title}</a> <small>{id}</small>
    </>
  );
};

export const reportPath = (org: string, report: string): string =>
  `/reports/${encodeURIComponent(org)}/${encodeURIComponent(report)}`;

/** The zone for a run's times: the zone of its report. */
export const runZone = (run: Pick<RunRecord, 'period'>): string => run.period.timezone;

const TRIGGER_LABELS = {
  schedule: 'schedule',
  on_demand: 'on demand',
  cli: 'command line',
  backfill: 'backfill',
} as const;

/** `schedule`, `on demand, by anna`. */
export const triggerText = ({ trigger, by }: Pick<RunRecord, 'trigger' | 'by'>): string =>
  by === undefined ? TRIGGER_LABELS[trigger] : `${TRIGGER_LABELS[trigger]}, by ${by}`;

const STAGE_ACTIVITIES = { plan: 'Planning', fetch: 'Fetching', render: 'Rendering', deliver: 'Delivering' } as const;

/** The current activity of a run. */
function activityText({ record, live }: RunSnapshot): string {
  if (live !== null) {
    const ahead = live.ahead === null ? '' : `, ${formatInteger(live.ahead)} ahead in the API key's queue`;
    return `${STAGE_ACTIVITIES[live.stage]}${ahead}`;
  }
  if (record.cancel !== null && !TERMINAL_STATES.has(record.state)) return 'Cancellation requested';
  if (record.state === 'queued') return 'Queued for a worker';
  if (record.state === 'waiting') return 'Waiting to continue';
  return record.state === 'running' ? 'Started' : '';
}

/** Completed and planned calls. Null before there is a plan. */
function toProgress({ record, live }: RunSnapshot): { readonly done: number; readonly of: number } | null {
  if (live !== null && live.of > 0) return { done: live.done, of: live.of };
  const { planned, made, saved } = record.calls;
  return planned === 0 ? null : { done: Math.min(planned, made + saved), of: planned };
}

/** The progress of a run. The script updates the parts that have `data-part`. */
export const RunProgressBar = ({ snapshot, now }: { readonly snapshot: RunSnapshot; readonly now: number }) => {
  const zone = runZone(snapshot.record);
  const progress = toProgress(snapshot);
  const { live, record } = snapshot;
  return (
    <div class="progress">
      <progress
        aria-label={`Calls of run ${record.id.slice(0, 8)}`}
        data-part="bar"
        {...(progress === null ? {} : { value: progress.done, max: progress.of })}
      />
      <p>
        <span data-part="activity">{activityText(snapshot)}</span>
        <span data-part="calls">
          {progress === null ? '' : `${formatInteger(progress.done)} of ${formatInteger(progress.of)} calls`}
        </span>
        <span data-part="tokens">{tokensText(live)}</span>
        {live?.finish == null ? null : (
          <span>
            calls expected to finish <Timestamp at={live.finish} zone={zone} short seconds /> (
            <RelativeTime at={live.finish} now={now} />)
          </span>
        )}
        {record.state === 'waiting' && record.until !== null ? (
          <span>
            waiting until <Timestamp at={record.until} zone={zone} short seconds /> (
            <RelativeTime at={record.until} now={now} />)
          </span>
        ) : null}
      </p>
    </div>
  );
};

const tokensText = (live: LiveProgress | null): string =>
  live === null || live.tokens === null ? '' : `${formatInteger(live.tokens)} tokens left for the API key`;

/** Runs as a table. On a narrow screen each row becomes a block. */
export const RunTable = ({
  runs,
  now,
  caption,
  report = true,
  by = true,
  pick = false,
}: {
  readonly runs: readonly RunRecord[];
  readonly now: number;
  readonly caption: string;
  /** Whether to show the column of the report. */
  readonly report?: boolean;
  /** Whether to show the column of the trigger. */
  readonly by?: boolean;
  /** Whether each row has a box, for a form around the table. */
  readonly pick?: boolean;
}) => (
  <Table
    caption={caption}
    columns={[
      ...(pick ? ['Select'] : []),
      'State',
      ...(report ? ['Report'] : []),
      'Period',
      'Created',
      'Duration',
      ...(by ? ['By'] : []),
      'Run',
    ]}
    classes={{ Duration: 'number' }}
    class={report ? 'run-table' : 'run-table one-report'}
    live="run-rows"
  >
    {runs.map((run) => (
      <tr>
        {pick ? (
          <td class="col-pick">
            <input type="checkbox" name="run" value={run.id} aria-label={`Select run ${run.id.slice(0, 8)}`} />
          </td>
        ) : null}
        <td class="col-state">
          <RunBadge {...run} /> <LateMark run={run} now={now} />
        </td>
        {report ? (
          <td class="col-report">
            <ReportLink {...run} />
          </td>
        ) : null}
        <td class="col-period">
          <span title={formatPeriod(run.period)}>{run.period.label}</span>
        </td>
        <td class="col-created">
          <When at={run.createdAt} zone={runZone(run)} now={now} />
        </td>
        <td class="col-duration number">{elapsedText(run, now)}</td>
        {by ? <td class="col-by muted">{triggerText(run)}</td> : null}
        <td class="col-run">
          <RunLink run={run} />
        </td>
      </tr>
    ))}
  </Table>
);

const LateMark = ({ run, now }: { readonly run: RunRecord; readonly now: number }) => {
  const pauses = usePageSettings()?.pauses;
  return pauses !== undefined && isLateNow(run, pauses, now) ? <LateBadge /> : null;
};

/** The time from the first start to the end, or until now. */
export const elapsedText = ({ startedAt, finishedAt, state }: RunRecord, now: number): string =>
  startedAt === null
    ? '–'
    : finishedAt === null && TERMINAL_STATES.has(state)
      ? '–'
      : formatElapsed(Math.max(0, (finishedAt ?? now) - startedAt));
