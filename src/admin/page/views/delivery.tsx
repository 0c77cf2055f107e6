import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import { canAct, DecisionList, EmptyState, PageLayout, Section, type ViewProps } from '../components/layout.tsx';
import { ReportLink, RunLink } from '../components/run-table.tsx';
import { DeliveryBadge } from '../components/status-badge.tsx';
import { Timestamp } from '../components/time.tsx';
import type { RejectedForm } from '../forms/reason-form.tsx';
import { ResolveForm } from '../forms/resolve-form.tsx';

/** One delivery with the decisions made about it. */
export const Delivery = ({
  layout,
  data: { row, zone, refused },
  notice,
}: ViewProps<{ row: DeliveryRow; zone: string; refused: RejectedForm | undefined }>) => {
  return (
    <PageLayout layout={layout} title={`Delivery to ${row.recipient}`} current="/deliveries" notice={notice}>
      <p class="breadcrumbs">
        <ReportLink {...row} /> <RunLink run={{ id: row.run }} />
      </p>
      <div class="headline">
        <h1 class="wrap">{row.recipient}</h1>
        <DeliveryBadge state={row.state} /> <span class="muted">{row.target}</span>
      </div>
      <p>
        Changed <Timestamp at={row.at} zone={zone} seconds />, attempt {row.epoch}
      </p>
      {row.detail === null ? null : <p class="quote">{row.detail}</p>}
      {canAct(layout) ? (
        <ResolveForm layout={layout} row={row} from={`/deliveries/${row.id}`} refused={refused} />
      ) : null}
      <Section id="decided" heading="Decisions">
        {row.decisions.length === 0 ? (
          <EmptyState>No decisions.</EmptyState>
        ) : (
          <DecisionList
            decisions={row.decisions}
            label={({ to }) => (to === 'sent' ? 'Marked as sent' : 'Resent')}
            zone={zone}
          />
        )}
      </Section>
    </PageLayout>
  );
};
