import { formatPeriod } from '../../../definitions/periods/period.ts';
import type { RunSnapshot } from '../../../run/live-progress.ts';
import { type RunDecision, type RunRecord, STAGES, type Stage, TERMINAL_STATES } from '../../../run/run-record.ts';
import { DeliveryTable } from '../components/delivery-table.tsx';
import { ErrorDetails } from '../components/error-details.tsx';
import { FileList, type RunFilesView } from '../components/file-list.tsx';
import { formatElapsed, formatInteger } from '../components/format-numbers.ts';
import { DecisionList, EmptyState, Fact, PageLayout, Section, type ViewProps } from '../components/layout.tsx';
import { elapsedText, ReportLink, RunProgressBar, runZone, triggerText } from '../components/run-table.tsx';
import { RUN_STATE_LABELS, RunBadge, StatusCountBadges } from '../components/status-badge.tsx';
import { Timestamp } from '../components/time.tsx';
import { RunActions } from '../forms/run-actions.tsx';
import type { Loaded, loadRun } from '../routes/loaders.ts';

/** One run: its progress, files, deliveries and record, and the actions that its state allows. */
export const Run = ({ layout, data, notice }: ViewProps<Loaded<typeof loadRun>>) => {
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
          <Section id="files" heading="Files" live="files-list">
            <FileList record={record} view={data.files} />
          </Section>
          <Section id="sent" heading="Deliveries" live="deliveries">
            {data.deliveries.length === 0 ? (
              <EmptyState>{record.deliver ? 'No deliveries yet.' : 'This run does not deliver.'}</EmptyState>
            ) : (
              <DeliveryTable rows={data.deliveries} zone={() => zone} showRun={false} />
            )}
          </Section>
          {record.reopened.length === 0 ? null : (
            <Section id="history" heading="Decisions">
              <DecisionList decisions={record.reopened} label={({ what }) => DECISION_LABELS[what]} zone={zone} />
            </Section>
          )}
        </div>
        <div>
          <Section id="stages" heading="Stages" live="timings">
            <StageTimings snapshot={data.snapshot} />
          </Section>
          <Section id="facts" heading="Record" live="record">
            <Facts record={record} now={layout.now} zone={zone} />
          </Section>
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
    <TimeFact name="Created" at={record.createdAt} zone={zone} />
    <TimeFact name="Started" at={record.startedAt} zone={zone} />
    <TimeFact name="Finished" at={record.finishedAt} zone={zone} />
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

const TimeFact = ({ name, at, zone }: { readonly name: string; readonly at: number | null; readonly zone: string }) =>
  at === null ? null : (
    <Fact name={name}>
      <Timestamp at={at} zone={zone} seconds />
    </Fact>
  );

const DECISION_LABELS: Readonly<Record<RunDecision['what'], string>> = {
  release: 'Released',
  retry: 'Retried',
  resend: 'One delivery resent',
  settle: 'Last delivery marked as sent',
  cancel: 'Cancellation requested',
};

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
