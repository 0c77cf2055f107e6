import { formatPeriod } from '../../../definitions/periods/period.ts';
import type { RunSnapshot } from '../../../run/live-progress.ts';
import { type RunDecision, type RunRecord, STAGES, type Stage, TERMINAL_STATES } from '../../../run/run-record.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { HeldRun } from '../../access/access.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import { FileList } from '../components/file-list.tsx';
import { formatElapsed, formatInteger } from '../components/format-numbers.ts';
import { EmptyState, Fact, type LayoutData, PageLayout } from '../components/layout.tsx';
import { elapsedText, ReportLink, RunProgressBar, runZone, triggerText } from '../components/run-table.tsx';
import { RUN_STATE_LABELS, RunBadge } from '../components/status-badge.tsx';
import { Timestamp } from '../components/time.tsx';
import type { RejectedForm } from '../forms/reason-form.tsx';
import { RunActions } from '../forms/run-actions.tsx';
import type { RunFilesView } from '../routes/loaders.ts';
import { DeliveryTable } from './deliveries.tsx';

export interface RunData {
  readonly news: RunSnapshot;
  readonly deliveries: readonly DeliveryRow[];
  readonly files: RunFilesView;
  /** Of a run that is held. */
  readonly held: HeldRun | null;
  readonly refused?: RejectedForm | undefined;
}

/** One run: what was asked for, how it goes on, what came of it, and what may be decided. */
export const Run = ({
  frame,
  data,
  notice,
}: {
  readonly frame: LayoutData;
  readonly data: RunData;
  readonly notice?: string | undefined;
}) => {
  const { record } = data.news;
  const zone = runZone(record);
  const open = !TERMINAL_STATES.has(record.state);
  return (
    <PageLayout frame={frame} title={`Run ${record.id.slice(0, 8)}`} place="/runs" notice={notice}>
      <p class="crumbs">
        <ReportLink {...record} />
      </p>
      <div class="headline" id="headline" data-live>
        <h1>
          Run <span class="id">{record.id.slice(0, 8)}</span>
        </h1>
        <RunBadge state={record.state} /> <span class="soft">{stateMeaning(record, data.files)}</span>
      </div>
      <p class="lead">{formatPeriod(record.period)}</p>
      <div
        id="progress"
        data-live
        data-self={`/runs/${record.id}`}
        aria-live="polite"
        {...(open
          ? { 'data-events': `/api/runs/${record.id}/events`, 'data-renew': '3', 'data-state': record.state }
          : {})}
      >
        {open ? (
          <>
            <RunProgressBar news={data.news} now={frame.now} />
            <noscript>
              <p class="more">
                <a href={`/runs/${record.id}`}>Look again</a>
              </p>
            </noscript>
          </>
        ) : null}
      </div>
      <div id="error" data-live>
        {record.error === null ? null : <ErrorDetails error={record.error} heading="Why it ended so" />}
      </div>
      <RunActions
        frame={frame}
        record={record}
        deliveries={data.deliveries}
        files={data.files}
        held={data.held}
        refused={data.refused}
      />
      <div class="split">
        <div>
          <section aria-labelledby="files">
            <h2 id="files">Files</h2>
            <div id="files-list" data-live>
              <FileList record={record} pack={data.files} />
            </div>
          </section>
          <section aria-labelledby="sent">
            <h2 id="sent">Deliveries</h2>
            <div id="deliveries" data-live>
              {data.deliveries.length === 0 ? (
                <EmptyState>
                  {record.deliver ? 'Nothing has been delivered yet.' : 'It was asked not to deliver anything.'}
                </EmptyState>
              ) : (
                <DeliveryTable rows={data.deliveries} zone={() => zone} of="run" />
              )}
            </div>
          </section>
          {record.reopened.length === 0 ? null : (
            <section aria-labelledby="history">
              <h2 id="history">What was decided</h2>
              <DecisionHistory reopened={record.reopened} zone={zone} />
            </section>
          )}
        </div>
        <div>
          <section aria-labelledby="stages">
            <h2 id="stages">Stages</h2>
            <div id="timings" data-live>
              <StageTimings news={data.news} />
            </div>
          </section>
          <section aria-labelledby="facts">
            <h2 id="facts">Record</h2>
            <div id="record" data-live>
              <Facts record={record} now={frame.now} zone={zone} />
            </div>
          </section>
        </div>
      </div>
    </PageLayout>
  );
};

/** What the state means for this run. */
const stateMeaning = ({ state }: RunRecord, files: RunFilesView): string =>
  state === 'failed' && 'kept' in files && files.kept.length > 0
    ? 'Its files were made; not everybody has received them.'
    : RUN_STATE_LABELS[state].means;

const Facts = ({ record, now, zone }: { readonly record: RunRecord; readonly now: number; readonly zone: string }) => (
  <dl class="facts">
    <Fact name="Triggered">{triggerText(record)}</Fact>
    {record.slot.startsWith('trigger:') ? null : (
      <Fact name="Slot">
        <Timestamp at={Date.parse(record.slot)} zone={zone} />
      </Fact>
    )}
    <Fact name="Created">
      <Timestamp at={record.createdAt} zone={zone} seconds />
    </Fact>
    {record.startedAt === null ? null : (
      <Fact name="Started">
        <Timestamp at={record.startedAt} zone={zone} seconds />
      </Fact>
    )}
    {record.finishedAt === null ? null : (
      <Fact name="Finished">
        <Timestamp at={record.finishedAt} zone={zone} seconds />
      </Fact>
    )}
    <Fact name="Took">{elapsedText(record, now)}</Fact>
    <Fact name="Calls planned">{formatInteger(record.calls.planned)}</Fact>
    <Fact name="Calls made">{formatInteger(record.calls.made)}</Fact>
    <Fact name="Calls saved">{formatInteger(record.calls.saved)}</Fact>
    <Fact name="Token wait">{formatElapsed(record.tokenWaitMs)}</Fact>
    <Fact name="Tries">
      {formatInteger(record.attempts)}
      {record.starts > record.attempts ? `, taken up ${formatInteger(record.starts)} times` : ''}
    </Fact>
    <Fact name="Delivers">{record.deliver ? 'yes' : 'no, files only'}</Fact>
    <Fact name="Definition">
      <code title={record.digest}>{record.digest.slice(0, 12)}</code>
    </Fact>
    <Fact name="Id">
      <code class="long">{record.id}</code>
    </Fact>
  </dl>
);

const DECISION_LABELS: Readonly<Record<RunDecision['what'], string>> = {
  release: 'Released',
  retry: 'Tried again',
  resend: 'One delivery to be sent again',
  settle: 'Last delivery declared sent',
  cancel: 'Told to stop',
};

const DecisionHistory = ({ reopened, zone }: { readonly reopened: readonly RunDecision[]; readonly zone: string }) => (
  <ol class="entries">
    {reopened.map(({ what, by, reason, at }) => (
      <li>
        <p>
          <strong>{DECISION_LABELS[what]}</strong> by {by}, <Timestamp at={at} zone={zone} />
        </p>
        <p class="quote">{reason}</p>
      </li>
    ))}
  </ol>
);

const STAGE_LABELS: Readonly<Record<Stage, string>> = {
  plan: 'Plan',
  fetch: 'Fetch',
  render: 'Render',
  seal: 'Archive',
  deliver: 'Deliver',
};

/** How long each stage of a run took, one after the other as they came, and which one it is at. */
export const StageTimings = ({ news: { record, live } }: { readonly news: RunSnapshot }) => {
  const spent = STAGES.map((stage) => record.timings[stage] ?? 0);
  const all = spent.reduce((sum, ms) => sum + ms, 0);
  if (all === 0 && live === null) return <EmptyState>No stage is over yet.</EmptyState>;
  const percent = (ms: number): string => `${((ms / Math.max(1, all)) * 100).toFixed(2)}%`;
  return (
    <table class="stages">
      <caption class="unseen">Time of each stage, over all tries</caption>
      <tbody>
        {STAGES.map((stage, index) => {
          const ms = record.timings[stage];
          const before = spent.slice(0, index).reduce((sum, each) => sum + each, 0);
          return (
            <tr>
              <th scope="row">{STAGE_LABELS[stage]}</th>
              <td class="bar">
                {ms === undefined ? null : (
                  <svg width="100%" height="10" aria-hidden="true">
                    <rect x={percent(before)} width={percent(ms)} height="10" rx="1" />
                  </svg>
                )}
              </td>
              <td class="number">
                {live?.stage === stage ? (
                  <span class="state busy">now</span>
                ) : ms === undefined ? (
                  <span class="soft">not reached</span>
                ) : (
                  formatElapsed(ms)
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
};
