import type { CorrectionView } from '../../../../services/corrections/correction-service.ts';
import { ErrorDetails } from '../../components/error-details.tsx';
import { formatCounted, formatFigures } from '../../components/format-numbers.ts';
import {
  canAct,
  EmptyState,
  Fact,
  type LayoutData,
  PageLayout,
  Section,
  Table,
  type ViewProps,
} from '../../components/layout.tsx';
import { ReportLink, RunLink } from '../../components/run-table.tsx';
import { CORRECTION_STATE_LABELS, CorrectionBadge, FigureStatusBadge } from '../../components/status-badge.tsx';
import { Timestamp } from '../../components/time.tsx';
import { ReasonForm, type RejectedForm } from '../../forms/reason-form.tsx';
import { correctionPath } from './corrections.tsx';

export interface CorrectionData {
  readonly view: CorrectionView;
  readonly refused?: RejectedForm | undefined;
}

/**
 * A correction: what changed, who received the delivered edition, and the forms to send a corrected one or to dismiss
 * it.
 */
export const CorrectionPage = ({ layout, data: { view, refused }, notice }: ViewProps<CorrectionData>) => {
  const zone = view.period.timezone;
  const { decision } = view;
  return (
    <PageLayout
      layout={layout}
      title={`Correction of ${view.title} ${view.period.label}`}
      current="/corrections"
      notice={notice}
    >
      <p class="breadcrumbs">
        <a href="/corrections">Corrections</a> · <ReportLink {...view.run} />
      </p>
      <div class="headline" id="headline" data-live>
        <h1>
          {view.title}, {view.period.label}
        </h1>
        <CorrectionBadge state={view.state} />{' '}
        <span class="muted">{CORRECTION_STATE_LABELS[view.state].description}</span>
      </div>
      <p class="lead">
        {view.byHand === undefined ? (
          <>The service now has other values for {formatCounted(view.material, 'figure')} of the delivered edition.</>
        ) : (
          <>
            {decision?.by} sends a corrected edition: {decision?.reason}
          </>
        )}
      </p>
      <Decide layout={layout} view={view} refused={refused} />
      <div class="split">
        <div>
          <Section id="changed" heading="What has changed">
            {view.byHand === undefined ? (
              <FigureChanges view={view} />
            ) : (
              <p>The first page of the corrected edition says it.</p>
            )}
          </Section>
        </div>
        <div>
          <Section id="facts" heading="Edition" live="edition">
            <dl class="facts">
              <Fact name="Run">
                <RunLink run={view.run} />
              </Fact>
              {view.deliveredAt === null ? null : (
                <Fact name="Delivered">
                  <Timestamp at={view.deliveredAt} zone={zone} />
                </Fact>
              )}
              <Fact name={view.byHand === undefined ? 'Change found' : 'Opened'}>
                <Timestamp at={view.foundAt} zone={zone} />
              </Fact>
              {decision === null ? null : (
                <>
                  <Fact name="Decided">
                    {decision.by}, <Timestamp at={decision.at} zone={zone} />
                    <span class="line muted wrap">{decision.reason}</span>
                  </Fact>
                  {decision.run === null ? null : (
                    <Fact name="Corrected by">
                      <RunLink run={{ id: decision.run }} />
                      {view.ended ? <span class="line muted">It has ended, and nobody received it.</span> : null}
                    </Fact>
                  )}
                </>
              )}
            </dl>
          </Section>
          <Section id="recipients" heading="Who received it" live="received-by">
            <Recipients recipients={view.recipients} />
          </Section>
        </div>
      </div>
    </PageLayout>
  );
};

interface DecideProps {
  readonly layout: LayoutData;
  readonly view: CorrectionView;
  readonly refused: RejectedForm | undefined;
}

const Decide = ({ layout, view, refused }: DecideProps) => {
  const path = correctionPath(view.id);
  const form = { layout, from: path, refused };
  const receiving = view.recipients.filter(({ receives }) => receives).length;
  const offers = view.state === 'open' && canAct(layout);
  return (
    <div id="decide" data-live>
      {refused === undefined || offers ? null : (
        <ErrorDetails error={refused.error} id="rejected" heading="Action rejected" />
      )}
      {offers ? (
        <div class="actions">
          <ReasonForm {...form} action={`${path}/send`} label="Send a corrected edition" question="Why is it sent?">
            <p>
              A corrected edition is created and sent to {formatCounted(receiving, 'recipient')} of the first one. Its
              file names and first page say what it replaces and what has changed. If the report has an approval, the
              edition waits for it.
            </p>
          </ReasonForm>
          <ReasonForm {...form} action={`${path}/dismiss`} label="Dismiss" question="Why is it not sent?">
            <p>The delivered edition remains valid. The same changes are not reported again.</p>
          </ReasonForm>
        </div>
      ) : null}
    </div>
  );
};

const Recipients = ({ recipients }: Pick<CorrectionView, 'recipients'>) =>
  recipients.length === 0 ? (
    <p>No delivery is confirmed.</p>
  ) : (
    <ul class="plain-list compact">
      {recipients.map(({ recipient, target, receives, why, marked }) => (
        <li>
          <span class="wrap">{recipient}</span> <span class="muted target">{target}</span>
          {receives ? null : <p>Would not receive a corrected edition. {why}</p>}
          {receives && !marked ? <p>Gets it without the mark: its first delivery was withdrawn.</p> : null}
        </li>
      ))}
    </ul>
  );

/** Maximum changes on a page. Further ones are only counted. */
const MAX_CHANGES = 100;

type Change = CorrectionView['changes'][number];

/** Each changed figure: the delivered value and the service's current one. Material changes come first. */
const FigureChanges = ({ view }: { readonly view: CorrectionView }) => {
  const { changes, material, total } = view;
  if (changes.length === 0) return <EmptyState>No change is stored.</EmptyState>;
  const section = (id: string) => view.sections.find((each) => each.id === id);
  const judged = changes.some(
    ({ statusBefore, statusAfter }) => statusBefore !== undefined || statusAfter !== undefined,
  );
  const shown = changes.slice(0, MAX_CHANGES);
  return (
    <>
      <Table
        caption="Changed figures"
        columns={['Section', 'Figure', 'Of', 'Delivered', 'Now', ...(judged ? ['Status'] : [])]}
        classes={{ Delivered: 'number', Now: 'number' }}
        live="changes"
      >
        {shown.map((change, index) => {
          const unit = section(change.section)?.units[change.metric];
          const [before, after] = formatFigures(change.before, change.after, unit);
          return (
            <tr>
              <td>
                {section(change.section)?.title ?? change.section}
                {index < material ? null : <small> below the materiality</small>}
              </td>
              <td class="wrap">
                <code>{change.metric}</code>
              </td>
              <td data-name="Of">{rowText(change)}</td>
              <td data-name="Delivered" class="number">
                {before}
              </td>
              <td data-name="Now" class="number">
                <strong>{after}</strong>
              </td>
              {judged ? (
                <td data-name="Status">
                  <ChangedStatus change={change} />
                </td>
              ) : null}
            </tr>
          );
        })}
      </Table>
      {total <= shown.length ? null : (
        <p class="more muted">{formatCounted(total - shown.length, 'further change')}, not shown.</p>
      )}
    </>
  );
};

/** The name of a table row: its pack, bucket and groups; `total` for totals. */
const rowText = ({ value, bucket, group, within }: Change): string => {
  const parts = [
    ...(value === undefined ? [] : [`pack ${value}`]),
    ...(bucket === null ? [] : [bucket]),
    ...[group, within].flatMap((one) => (one == null ? [] : [`${one.dimension} ${one.value}`])),
  ];
  return parts.length === 0 ? 'total' : parts.join(', ');
};

const ChangedStatus = ({ change: { statusBefore, statusAfter } }: { readonly change: Change }) => {
  if (statusAfter === undefined) return <>–</>;
  return (
    <>
      {statusBefore === undefined || statusBefore === statusAfter ? null : (
        <>
          <FigureStatusBadge status={statusBefore} /> <span aria-hidden="true">→</span>{' '}
          <span class="visually-hidden">then</span>{' '}
        </>
      )}
      <FigureStatusBadge status={statusAfter} />
    </>
  );
};
