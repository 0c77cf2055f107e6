import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import { canAct, EmptyState, type LayoutData, PageLayout } from '../components/layout.tsx';
import { ReportLink, RunLink } from '../components/run-table.tsx';
import { DeliveryBadge } from '../components/status-badge.tsx';
import { Timestamp } from '../components/time.tsx';
import type { RejectedForm } from '../forms/reason-form.tsx';
import { ResolveForm } from '../forms/resolve-form.tsx';

export interface DeliveryData {
  readonly row: DeliveryRow;
  readonly zone: string;
  readonly refused?: RejectedForm | undefined;
}

/** One delivery, what was decided of it, and what may be. */
export const Delivery = ({
  frame,
  data,
  notice,
}: {
  readonly frame: LayoutData;
  readonly data: DeliveryData;
  readonly notice?: string | undefined;
}) => {
  const { row, zone } = data;
  return (
    <PageLayout frame={frame} title={`Delivery to ${row.recipient}`} place="/deliveries" notice={notice}>
      <p class="crumbs">
        <ReportLink {...row} /> <RunLink run={{ id: row.run }} />
      </p>
      <div class="headline">
        <h1 class="wrap">{row.recipient}</h1>
        <DeliveryBadge state={row.state} /> <span class="soft">{row.target}</span>
      </div>
      <p>
        Changed <Timestamp at={row.at} zone={zone} seconds />, attempt {row.epoch}
      </p>
      {row.detail === null ? null : <p class="quote">{row.detail}</p>}
      {canAct(frame) ? (
        <ResolveForm frame={frame} row={row} from={`/deliveries/${row.id}`} refused={data.refused} />
      ) : null}
      <section aria-labelledby="decided">
        <h2 id="decided">What was decided</h2>
        {row.decisions.length === 0 ? (
          <EmptyState>Nobody had to decide anything.</EmptyState>
        ) : (
          <ol class="entries">
            {row.decisions.map(({ to, by, reason, at }) => (
              <li>
                <p>
                  <strong>{to === 'sent' ? 'Declared sent' : 'To be sent again'}</strong> by {by},{' '}
                  <Timestamp at={at} zone={zone} />
                </p>
                <p class="quote">{reason}</p>
              </li>
            ))}
          </ol>
        )}
      </section>
    </PageLayout>
  );
};
