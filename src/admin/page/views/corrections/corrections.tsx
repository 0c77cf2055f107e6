import type { Correction, CorrectionState } from '../../../../services/corrections/correction.ts';
import { formatCounted } from '../../components/format-numbers.ts';
import { EmptyState, PageLayout, Section, Table, type ViewProps } from '../../components/layout.tsx';
import { ReportLink, RunLink } from '../../components/run-table.tsx';
import { CorrectionBadge } from '../../components/status-badge.tsx';
import type { Zones } from '../../components/time.tsx';
import { When } from '../../components/time.tsx';

export interface CorrectionsData {
  /** Newest first. */
  readonly corrections: readonly Correction[];
  readonly zones: Zones;
}

/** Maximum decided corrections on the page, newest first. */
const MAX_DECIDED = 50;

export const correctionPath = (id: string): string => `/corrections/${id}`;

/** Figures that the service changed after delivery. Those that wait for a decision come first. */
export const Corrections = ({ layout, data: { corrections, zones }, notice }: ViewProps<CorrectionsData>) => {
  const isOpen = ({ state }: Correction): boolean => state === 'open';
  const open = corrections.filter(isOpen);
  const decided = corrections.filter((correction) => !isOpen(correction));
  return (
    <PageLayout layout={layout} title="Corrections" current="/corrections" notice={notice}>
      <h1>Corrections</h1>
      <p class="lead">
        Figures that the service has changed since they were delivered, and corrections that people started on the page
        of a run. Docket watches reports with <code>corrections</code> in their definition.
      </p>
      <Section
        id="open"
        heading={open.length === 0 ? 'Nothing to decide' : `${formatCounted(open.length, 'correction')} to decide`}
      >
        {open.length === 0 ? (
          <EmptyState>No delivered figure has changed by more than its report&rsquo;s materiality.</EmptyState>
        ) : (
          <CorrectionTable corrections={open} zones={zones} caption="Corrections to decide" live="open-corrections" />
        )}
      </Section>
      {decided.length === 0 ? null : (
        <Section id="decided" heading="Decided, or changed again since">
          <CorrectionTable
            corrections={decided.slice(0, MAX_DECIDED)}
            zones={zones}
            caption="Earlier corrections"
            live="decided-corrections"
          />
        </Section>
      )}
    </PageLayout>
  );
};

interface TableProps extends Pick<CorrectionsData, 'corrections' | 'zones'> {
  readonly caption: string;
  readonly live: string;
}

const CorrectionTable = ({ corrections, zones, caption, live }: TableProps) => (
  <Table caption={caption} columns={['State', 'Report', 'Changes', 'Found', 'Decision', 'Edition']} live={live}>
    {corrections.map(({ id, state, run, byHand, material, total, foundAt, decision }) => (
      <tr>
        <td>
          <CorrectionBadge state={state} href={correctionPath(id)} />
        </td>
        <td class="col-report">
          <ReportLink {...run} />
        </td>
        <td data-name="Changes">
          <a href={correctionPath(id)}>{byHand === undefined ? formatCounted(material, 'figure') : 'by\u00a0hand'}</a>
          {total === material ? null : <small> {formatCounted(total - material, 'smaller change')}</small>}
        </td>
        <td data-name="Found">
          <When at={foundAt} zone={zones.of(run.org)} />
        </td>
        <td data-name="Decision" class="wrap">
          {decision === null ? (
            <span class="muted">{NO_DECISION[state]}</span>
          ) : (
            <>
              {decision.by}: {decision.reason}
            </>
          )}
        </td>
        <td data-name="Edition">
          <RunLink run={run} />
        </td>
      </tr>
    ))}
  </Table>
);

const NO_DECISION: Readonly<Record<CorrectionState, string>> = {
  open: 'none yet',
  dismissed: '',
  sent: '',
  withdrawn: 'the figures equal the delivered ones again',
  replaced: 'the figures have changed again',
};
