import { inWords } from '../../define/period.ts';
import { ENDED, type RunRecord } from '../../run/record.ts';
import type { RunLive, RunNews } from '../access.ts';
import { count, duration } from './figures.ts';
import { RunBadge } from './state.tsx';
import { At, Distance } from './time.tsx';

/** The first digits are enough for a person, and are not taken apart by a screen reader. */
export const RunLink = ({ run }: { readonly run: Pick<RunRecord, 'id'> }) => (
  <a class="id" href={`/runs/${run.id}`} aria-label={`Run ${run.id.slice(0, 8)}`}>
    {run.id.slice(0, 8)}
  </a>
);

export const ReportLink = ({ org, report }: Pick<RunRecord, 'org' | 'report'>) => (
  <a href={reportPath(org, report)}>
    {org}/{report}
  </a>
);

export const reportPath = (org: string, report: string): string =>
  `/reports/${encodeURIComponent(org)}/${encodeURIComponent(report)}`;

/** The zone in which a run's instants are shown: that of its report. */
export const zoneOf = (run: Pick<RunRecord, 'period'>): string => run.period.timezone;

const TRIGGERED = { schedule: 'schedule', on_demand: 'on demand', cli: 'command line', backfill: 'backfill' } as const;

/** `schedule`, `on demand, by anna`. */
export const triggered = ({ trigger, by }: Pick<RunRecord, 'trigger' | 'by'>): string =>
  by === undefined ? TRIGGERED[trigger] : `${TRIGGERED[trigger]}, by ${by}`;

const STAGE_WORDS = { plan: 'Planning', fetch: 'Fetching', render: 'Rendering', deliver: 'Delivering' } as const;

/** What a run does now, in one sentence. */
export function doing({ record, live }: RunNews): string {
  if (live !== null) {
    const ahead = live.ahead === null ? '' : `, ${count(live.ahead)} ahead in the line of its key`;
    return `${STAGE_WORDS[live.stage]}${ahead}`;
  }
  if (record.cancel !== null && !ENDED.has(record.state)) return 'Told to stop';
  if (record.state === 'queued') return 'In line for a worker';
  if (record.state === 'waiting') return 'Asleep until it can go on';
  return record.state === 'running' ? 'Started' : '';
}

/** Calls of the plan that are answered and all; null before there is a plan. */
export function progressOf({ record, live }: RunNews): { readonly done: number; readonly of: number } | null {
  if (live !== null && live.of > 0) return { done: live.done, of: live.of };
  const { planned, made, saved } = record.calls;
  return planned === 0 ? null : { done: Math.min(planned, made + saved), of: planned };
}

/** How a run goes on. The script rewrites the parts that have a `data-` name while it is told of them. */
export const Progress = ({ news, now }: { readonly news: RunNews; readonly now: number }) => {
  const zone = zoneOf(news.record);
  const progress = progressOf(news);
  const { live, record } = news;
  return (
    <div class="progress">
      <progress
        aria-label={`Calls of run ${record.id.slice(0, 8)}`}
        data-part="bar"
        {...(progress === null ? {} : { value: progress.done, max: progress.of })}
      />
      <p>
        <span data-part="doing">{doing(news)}</span>
        <span data-part="calls">
          {progress === null ? '' : `${count(progress.done)} of ${count(progress.of)} calls`}
        </span>
        <span data-part="tokens">{tokens(live)}</span>
        {live?.finish == null ? null : (
          <span>
            calls expected to end <At at={live.finish} zone={zone} short seconds /> (
            <Distance at={live.finish} now={now} />)
          </span>
        )}
        {record.state === 'waiting' && record.until !== null ? (
          <span>
            wakes <At at={record.until} zone={zone} short seconds /> (<Distance at={record.until} now={now} />)
          </span>
        ) : null}
      </p>
    </div>
  );
};

export const tokens = (live: RunLive | null): string =>
  live === null || live.tokens === null ? '' : `${count(live.tokens)} tokens left on the key`;

/** Runs as a table; on a narrow screen each becomes a block. */
export const RunTable = ({
  runs,
  now,
  caption,
  report = true,
  by = true,
}: {
  readonly runs: readonly RunRecord[];
  readonly now: number;
  readonly caption: string;
  /** Whether the column of the report is shown. */
  readonly report?: boolean;
  /** Whether the column of who asked is shown. */
  readonly by?: boolean;
}) => (
  <table class={report ? 'rows brief' : 'rows brief alone'}>
    <caption class="unseen">{caption}</caption>
    <thead>
      <tr>
        <th scope="col">State</th>
        {report ? <th scope="col">Report</th> : null}
        <th scope="col">Period</th>
        <th scope="col">Created</th>
        <th scope="col" class="number">
          Took
        </th>
        {by ? <th scope="col">By</th> : null}
        <th scope="col">Run</th>
      </tr>
    </thead>
    <tbody>
      {runs.map((run) => (
        <tr>
          <td class="of-state">
            <RunBadge state={run.state} />
          </td>
          {report ? (
            <td class="of-report">
              <ReportLink {...run} />
            </td>
          ) : null}
          <td class="of-period">
            <span title={inWords(run.period)}>{run.period.label}</span>
          </td>
          <td class="of-created">
            <At at={run.createdAt} zone={zoneOf(run)} />
          </td>
          <td class="of-took number">{took(run, now)}</td>
          {by ? <td class="of-by soft">{triggered(run)}</td> : null}
          <td class="of-run">
            <RunLink run={run} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

/** From the first start to the end, or until now. */
export const took = ({ startedAt, finishedAt, state }: RunRecord, now: number): string =>
  startedAt === null
    ? '–'
    : finishedAt === null && ENDED.has(state)
      ? '–'
      : duration(Math.max(0, (finishedAt ?? now) - startedAt));
