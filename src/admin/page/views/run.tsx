import { formatPeriod } from '../../../definitions/periods/period.ts';
import { isLate, lateAt } from '../../../run/lateness.ts';
import { type RunRecord, type RunStatus, runStatus, TERMINAL_STATES } from '../../../run/run-record.ts';
import { heldSentence, isReportDelivery, nothingSent } from '../../../services/deliveries/decision-rules.ts';
import { type DeliveryRow, isClosed } from '../../../services/deliveries/decisions.ts';
import type { WaitReason } from '../../../services/runs/timeline/wait-reason.ts';
import { DeliveryTable } from '../components/deliveries/delivery-table.tsx';
import { ErrorDetails } from '../components/error-details.tsx';
import { FileList, type RunFilesView } from '../components/file-list.tsx';
import { formatCounted, formatElapsed, formatInteger } from '../components/format-numbers.ts';
import { EmptyState, Fact, PageLayout, Section, type ViewProps } from '../components/layout.tsx';
import { ReviewPanel } from '../components/review/review-panel.tsx';
import { elapsedText, RunLink, RunProgressBar, reportPath, runZone, triggerText } from '../components/run-table.tsx';
import { RunTimeline } from '../components/run-timeline.tsx';
import { LateBadge, RUN_STATE_LABELS, StatusBadge, StatusCountBadges } from '../components/status-badge.tsx';
import { RelativeTime, Timestamp } from '../components/time.tsx';
import { CorrectionForm } from '../forms/correction-form.tsx';
import { Recipients } from '../forms/recipient-forms.tsx';
import { RunActions } from '../forms/run-actions.tsx';
import type { Loaded, loadRun, RunReview } from '../routes/loaders.ts';
import { correctionPath } from './corrections/corrections.tsx';

interface RunViewQuery {
  /** The section whose draft somebody wants to start a comment from. */
  readonly draft?: string | undefined;
  /** A part of the names of the packs to list. */
  readonly pack?: string | undefined;
}

/** One run: what needs a decision, its steps, files, deliveries and record. */
export const Run = ({ layout, data, notice }: ViewProps<Loaded<typeof loadRun> & RunViewQuery>) => {
  const { record } = data.snapshot;
  const zone = runZone(record);
  const title = layout.titleOf(record.org, record.report) ?? `${record.org}/${record.report}`;
  const open = !TERMINAL_STATES.has(record.state);
  const { waits, entries, earlier } = data.timeline;
  // While a worker reports progress, the progress bar says what the run waits for.
  const isIdle = waits !== null && (record.state !== 'running' || waits.for === 'no_worker');
  const reports = data.deliveries.filter(isReportDelivery);
  const status = runStatus(record, reports.length === 0 ? undefined : reports);
  return (
    <PageLayout layout={layout} title={`${title}, ${record.period.label}`} current="/runs" notice={notice}>
      <div class="headline" id="headline" data-live>
        <h1>
          <a href={reportPath(record.org, record.report)}>{title}</a>, {record.period.label}{' '}
          <small class="id">{record.id.slice(0, 8)}</small>
        </h1>
        <StatusBadge status={status} /> {isLate(record, layout.now, waits?.for === 'pause') ? <LateBadge /> : null}{' '}
        <StatusCountBadges {...record} />{' '}
        <span class="muted">{isIdle ? '' : statusDescription(status, record, reports, data.files)}</span>
      </div>
      <p class="lead">
        {formatPeriod(record.period)} <small>{`${record.org}/${record.report}`}</small>
      </p>
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
            {isIdle ? <Waits waits={waits} zone={zone} now={layout.now} /> : null}
            {isIdle && record.calls.planned === 0 ? null : <RunProgressBar snapshot={data.snapshot} now={layout.now} />}
            <noscript>
              <p class="more">
                <a href={`/runs/${record.id}`}>Refresh</a>
              </p>
            </noscript>
          </>
        ) : null}
      </div>
      <div id="error" data-live>
        {record.error === null || waits?.for === 'retry' || isSaidByReview(record, data.review) ? null : (
          <ErrorDetails error={record.error} heading={open ? 'Last error' : 'Reason'} />
        )}
      </div>
      <div id="corrections" data-live>
        {data.corrections.map(({ id, material }) => (
          <p class="attention">
            <strong>The service has changed {formatCounted(material, 'figure')} since it was delivered.</strong>{' '}
            <a href={correctionPath(id)}>Decide</a>
          </p>
        ))}
      </div>
      {data.review === null ? null : 'error' in data.review ? (
        <div id="review-part" data-live>
          <ErrorDetails error={data.review.error} heading="The review is not available" />
        </div>
      ) : (
        <ReviewPanel
          layout={layout}
          view={data.review.view}
          reviewed={data.reviewed}
          zone={zone}
          draft={data.draft}
          refused={data.refused}
        />
      )}
      <RunActions
        layout={layout}
        record={record}
        deliveries={data.deliveries}
        files={data.files}
        held={data.held}
        review={data.review}
        earlier={earlier}
        refused={data.refused}
      />
      <Recipients
        layout={layout}
        record={record}
        deliveries={data.deliveries}
        added={data.added}
        refused={data.refused}
      />
      <CorrectionForm layout={layout} record={record} deliveries={data.deliveries} refused={data.refused} />
      <div class="split">
        <div>
          <Section id="timeline" heading="Timeline" live="steps">
            <RunTimeline entries={entries} zone={zone} now={layout.now} />
          </Section>
          <Section id="files" heading="Files" live="files-list">
            <FileList record={record} view={data.files} deliveries={data.deliveries} pack={data.pack} />
          </Section>
          <div id="workbooks" data-live>
            {layout.panels?.map((panel) => ('files' in data.files ? panel.files(data.files.files) : null))}
          </div>
          <Section id="sent" heading="Deliveries" live="deliveries">
            {data.deliveries.length === 0 ? (
              <EmptyState>{noDeliveries(record)}</EmptyState>
            ) : (
              <RunDeliveries record={record} rows={data.deliveries} zone={zone} />
            )}
          </Section>
        </div>
        <div>
          <Section id="facts" heading="Record" live="record">
            <Facts record={record} now={layout.now} zone={zone} />
          </Section>
        </div>
      </div>
    </PageLayout>
  );
};

/** Missing comments are not shown as an error: the review names the sections. */
const isSaidByReview = ({ error }: RunRecord, review: RunReview): boolean =>
  error?.code === 'run.comments_missing' && review !== null && 'view' in review;

/** Longer tables fold sent deliveries, and leave out those that the decision form shows. */
const MAX_FULL_TABLE = 10;
/** Further deliveries are only counted, to keep the page small. */
const MAX_DELIVERIES = 50;
const TABLE_ORDER = ['refused', 'pending', 'sending', 'sent', 'unknown', 'replaced', 'withdrawn', 'skipped'] as const;

/** The deliveries and notices. If many need a decision, they are above, with the form. */
const RunDeliveries = ({
  record: { id, state },
  rows,
  zone,
}: {
  readonly record: RunRecord;
  readonly rows: readonly DeliveryRow[];
  readonly zone: string;
}) => {
  const sorted = rows.toSorted((one, other) => TABLE_ORDER.indexOf(one.state) - TABLE_ORDER.indexOf(other.state));
  const isAbove = (row: DeliveryRow): boolean =>
    rows.length > MAX_FULL_TABLE && state !== 'running' && row.state === 'unknown' && isReportDelivery(row);
  const shown = sorted.filter((row) => !isAbove(row));
  const undecided = sorted.length - shown.length;
  const isFolded = (row: DeliveryRow): boolean =>
    rows.length > MAX_FULL_TABLE && row.state === 'sent' && isReportDelivery(row);
  const arrived = shown.filter(isFolded);
  const others = shown.filter((row) => !isFolded(row));
  const table = (some: readonly DeliveryRow[], live: string) => (
    <>
      <DeliveryTable rows={some.slice(0, MAX_DELIVERIES)} zone={() => zone} showRun={false} live={live} />
      {some.length <= MAX_DELIVERIES ? null : (
        <p class="more">
          {formatCounted(some.length - MAX_DELIVERIES, 'more delivery', 'more deliveries')}:{' '}
          <code>docket deliveries --run {id.slice(0, 8)}</code> lists all.
        </p>
      )}
    </>
  );
  return (
    <>
      {undecided === 0 ? null : (
        <p>
          {formatCounted(undecided, 'delivery', 'deliveries')} with unknown result: see <a href="#decide">above</a>.
        </p>
      )}
      {others.length === 0 ? null : table(others, 'delivery-rows')}
      {arrived.length === 0 ? null : (
        <details class="fold">
          <summary>{formatCounted(arrived.length, 'delivery', 'deliveries')} arrived</summary>
          {table(arrived, 'arrived-rows')}
        </details>
      )}
    </>
  );
};

interface WaitsProps {
  readonly waits: WaitReason;
  readonly zone: string;
  readonly now: number;
}

/** What a run waits for, and until when. */
const Waits = ({ waits: { for: kind, text, detail, until }, zone, now }: WaitsProps) => (
  <div class={kind === 'worker' || kind === 'other' ? 'notice' : 'attention'} id="waits" data-for={kind}>
    <p>
      <strong>{text}</strong>
      {until === null ? null : (
        <>
          {' '}
          until <Timestamp at={until} zone={zone} seconds /> (<RelativeTime at={until} now={now} />)
        </>
      )}
    </p>
    {detail === null ? null : <p>{detail}</p>}
    {kind === 'pause' ? (
      <p>
        <a href="/pauses">Pauses</a>
      </p>
    ) : null}
  </div>
);

/** Describes only what is certain to have happened. @param rows of the ledger, without notices */
function statusDescription(
  status: RunStatus,
  record: RunRecord,
  rows: readonly { readonly state: string; readonly detail: string | null }[],
  view: RunFilesView,
): string {
  const { deliver, deliveries } = record;
  const known = rows.length === 0 ? deliveries : rows;
  const count = (state: string): number => known.filter((row) => row.state === state).length;
  const sent = count('sent');
  const all = known.filter(({ state }) => !isClosed(state)).length;
  const archived = 'files' in view && view.files.some(({ kind }) => kind === 'file');
  const delivered = `${formatInteger(sent)} of ${formatCounted(all, 'delivery', 'deliveries')} arrived`;
  switch (status) {
    case 'done':
      if (!deliver) return 'Its files are in the archive. It was triggered without deliveries.';
      return all === 0 ? `Its files are in the archive. ${nothingSent(known)}` : `${delivered}.`;
    case 'partly_delivered': {
      const others = [...countText(count('refused'), 'refused'), ...countText(count('unknown'), 'unknown')].join(', ');
      return `${[delivered, others].filter(Boolean).join(': ')}. ${heldSentence(record)}`.trim();
    }
    case 'delivery_unknown':
      return all === 1
        ? 'It is unknown whether its delivery arrived.'
        : `It is unknown whether any of its ${formatInteger(all)} deliveries arrived.`;
    case 'failed':
    case 'cancelled':
      if (!archived && sent === 0) return 'No files in the archive, and nothing was delivered.';
      return `${archived ? 'Its files are in the archive. ' : ''}${sent === 0 ? 'Nothing was delivered.' : `${delivered}.`}`;
    case 'held':
      return record.error?.code === 'run.comments_missing'
        ? 'Nothing is sent before its comments are there.'
        : RUN_STATE_LABELS.held.description;
    default:
      return RUN_STATE_LABELS[status].description;
  }
}

const countText = (count: number, label: string): readonly string[] =>
  count === 0 ? [] : [`${formatInteger(count)} ${label}`];

function noDeliveries({ deliver, state, deliveries }: RunRecord): string {
  if (!deliver) return 'This run was triggered without deliveries.';
  if (!TERMINAL_STATES.has(state)) return 'No deliveries yet.';
  if (state === 'done') {
    return deliveries.length === 0
      ? 'Its definition has no deliveries.'
      : 'Nothing was sent: no condition of a delivery was met.';
  }
  return 'Nothing was sent.';
}

const Facts = ({ record, now, zone }: { readonly record: RunRecord; readonly now: number; readonly zone: string }) => (
  <dl class="facts">
    <Fact name="Triggered">{triggerText(record)}</Fact>
    {/^(trigger|correction):/.test(record.slot) ? null : (
      <Fact name="Slot">
        <Timestamp at={Date.parse(record.slot)} zone={zone} />
      </Fact>
    )}
    {record.corrects === undefined ? null : (
      <Fact name="Corrects">
        <RunLink run={{ id: record.corrects }} />
      </Fact>
    )}
    {record.repeats === undefined ? null : (
      <Fact name="Repeats">
        {record.repeats.map(({ run }) => (
          <>
            <RunLink run={{ id: run }} />{' '}
          </>
        ))}
      </Fact>
    )}
    <TimeFact name="Created" at={record.createdAt} zone={zone} />
    <TimeFact name="Started" at={record.startedAt} zone={zone} />
    <TimeFact name="Finished" at={record.finishedAt} zone={zone} />
    <Fact name="Duration">{elapsedText(record, now)}</Fact>
    <Fact name="Calls planned">{formatInteger(record.calls.planned)}</Fact>
    <Fact name="Calls made">{formatInteger(record.calls.made)}</Fact>
    <Fact name="Calls saved">{formatInteger(record.calls.saved)}</Fact>
    {lateAt(record) === undefined ? null : <TimeFact name="Expected by" at={lateAt(record) ?? null} zone={zone} />}
    {record.prepared === undefined ? null : (
      <Fact name="Prepared">
        {`${formatInteger(record.prepared.calls)} of ${formatCounted(record.calls.planned, 'call')}, from `}
        <Timestamp at={record.prepared.from} zone={zone} />
      </Fact>
    )}
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
