import { formatPeriod } from '../../../definitions/periods/period.ts';
import type { RunSnapshot } from '../../../run/live-progress.ts';
import { type RunDecision, type RunRecord, STAGES, type Stage, TERMINAL_STATES } from '../../../run/run-record.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { HeldRun } from '../../access/access.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import { FileList, type RunFilesView } from '../components/file-list.tsx';
import { formatElapsed, formatInteger } from '../components/format-numbers.ts';
import { EmptyState, Fact, PageLayout, type ViewProps } from '../components/layout.tsx';
import { elapsedText, ReportLink, RunProgressBar, runZone, triggerText } from '../components/run-table.tsx';
import { RUN_STATE_LABELS, RunBadge, StatusCountBadges } from '../components/status-badge.tsx';
import { Timestamp } from '../components/time.tsx';
import type { RejectedForm } from '../forms/reason-form.tsx';
import { RunActions } from '../forms/run-actions.tsx';

import { DeliveryTable } from './deliveries.tsx';

export interface RunData {
  readonly snapshot: RunSnapshot;
  readonly deliveries: readonly DeliveryRow[];
  readonly files: RunFilesView;
  /** Null unless the run is held. */
  readonly held: HeldRun | null;
  readonly refused?: RejectedForm | undefined;
}

/** One run: its progress, files, deliveries and record, and the actions that its state allows. */
export const Run = ({ layout, data, notice }: ViewProps<RunData>) => {
  const { record } = data.snapshot;
  const zone = runZone(record);
  const open = !TERMINAL_STATES.has(record.state);
  return (
    <PageLayout layout={layout} title={`Run ${record.id.slice(0, 8)}`} current="/runs" notice={notice}>
      <p class="breadcrumbs">
        <ReportLink {...record} />
      </p>
      <div class="headline" id="headline" data-live>
        <h1>
          Run <span class="id">{record.id.slice(0, 8)}</span>
        </h1>
        <RunBadge state={record.state} /> <StatusCountBadges statuses={record.statuses} />{' '}
        <span class="muted">{stateDescription(record, data.files)}</span>
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
            <RunProgressBar snapshot={data.snapshot} now={layout.now} />
            <noscript>
              <p class="more">
                <a href={`/runs/${record.id}`}>Refresh</a>
              </p>
            </noscript>
          </>
        ) : null}
      </div>
      <div id="error" data-live>
        {record.error === null ? null : <ErrorDetails error={record.error} heading="Reason" />}
      </div>
      <RunActions
        layout={layout}
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
              <FileList record={record} view={data.files} />
            </div>
          </section>
          <section aria-labelledby="sent">
            <h2 id="sent">Deliveries</h2>
            <div id="deliveries" data-live>
              {data.deliveries.length === 0 ? (
                <EmptyState>{record.deliver ? 'No deliveries yet.' : 'This run does not deliver.'}</EmptyState>
              ) : (
                <DeliveryTable rows={data.deliveries} zone={() => zone} showRun={false} />
              )}
            </div>
          </section>
          {record.reopened.length === 0 ? null : (
            <section aria-labelledby="history">
              <h2 id="history">Decisions</h2>
              <DecisionHistory reopened={record.reopened} zone={zone} />
            </section>
          )}
        </div>
        <div>
          <section aria-labelledby="stages">
            <h2 id="stages">Stages</h2>
            <div id="timings" data-live>
              <StageTimings snapshot={data.snapshot} />
            </div>
          </section>
          <section aria-labelledby="facts">
            <h2 id="facts">Record</h2>
            <div id="record" data-live>
              <Facts record={record} now={layout.now} zone={zone} />
            </div>
          </section>
        </div>
      </div>
    </PageLayout>
  );
};

const stateDescription = ({ state }: RunRecord, view: RunFilesView): string =>
  state === 'failed' && 'files' in view && view.files.length > 0
    ? 'Its files were created, but not delivered to all recipients.'
    : RUN_STATE_LABELS[state].description;

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
    <Fact name="Duration">{elapsedText(record, now)}</Fact>
    <Fact name="Calls planned">{formatInteger(record.calls.planned)}</Fact>
    <Fact name="Calls made">{formatInteger(record.calls.made)}</Fact>
    <Fact name="Calls saved">{formatInteger(record.calls.saved)}</Fact>
    <Fact name="Token wait">{formatElapsed(record.tokenWaitMs)}</Fact>
    <Fact name="Attempts">
      {formatInteger(record.attempts)}
      {record.starts > record.attempts ? `, started ${formatInteger(record.starts)} times` : ''}
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
  retry: 'Retried',
  resend: 'One delivery resent',
  settle: 'Last delivery marked as sent',
  cancel: 'Cancellation requested',
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

/** The duration of each stage in order, and the current stage. */
export const StageTimings = ({ snapshot: { record, live } }: { readonly snapshot: RunSnapshot }) => {
  const spent = STAGES.map((stage) => record.timings[stage] ?? 0);
  const all = spent.reduce((sum, ms) => sum + ms, 0);
  if (all === 0 && live === null) return <EmptyState>No stage has finished yet.</EmptyState>;
  const percent = (ms: number): string => `${((ms / Math.max(1, all)) * 100).toFixed(2)}%`;
  return (
    <table class="stages">
      <caption class="visually-hidden">Duration of each stage over all attempts</caption>
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
                  <span class="muted">not reached</span>
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
