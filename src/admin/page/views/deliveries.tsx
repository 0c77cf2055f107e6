import { DeliveryTable } from '../components/delivery-table.tsx';
import { formatCounted } from '../components/format-numbers.ts';
import { canAct, EmptyState, PageLayout, Section, type ViewProps } from '../components/layout.tsx';
import { ReportLink, RunLink } from '../components/run-table.tsx';
import { DeliveryBadge } from '../components/status-badge.tsx';
import { RelativeTime, Timestamp, zonesOf } from '../components/time.tsx';
import { ResolveForm } from '../forms/resolve-form.tsx';
import type { Loaded, loadDeliveries } from '../routes/loaders.ts';

/** Deliveries that need a decision first, then the others. */
export const Deliveries = ({ layout, data, notice }: ViewProps<Loaded<typeof loadDeliveries>>) => {
  const zones = zonesOf(data.organizations);
  const decided = data.recent.filter(({ state }) => state !== 'unknown');
  return (
    <PageLayout layout={layout} title="Deliveries" current="/deliveries" notice={notice}>
      <h1>Deliveries</h1>
      <Section
        id="open"
        heading={
          data.undecided.length === 0
            ? 'Nothing to decide'
            : `${formatCounted(data.undecided.length, 'delivery', 'deliveries')} to decide`
        }
      >
        {data.undecided.length === 0 ? (
          <EmptyState>The result of every delivery is known.</EmptyState>
        ) : (
          <>
            <p class="lead">
              The connection broke after the message was sent, so it is unknown whether it arrived. Docket never sends
              twice automatically. Ask the recipient, then decide.
            </p>
            <ul class="entries">
              {data.undecided.map((row) => (
                <li>
                  <p class="item-head">
                    <DeliveryBadge state={row.state} /> <strong>{row.recipient}</strong>{' '}
                    <span class="muted">{row.target}</span>
                  </p>
                  <p>
                    <ReportLink {...row} /> · run <RunLink run={{ id: row.run }} /> · since{' '}
                    <Timestamp at={row.at} zone={zones.of(row.org)} />{' '}
                    <span class="muted">({<RelativeTime at={row.at} now={layout.now} />})</span>
                  </p>
                  {row.detail === null ? null : <p class="quote">{row.detail}</p>}
                  {canAct(layout) ? (
                    <ResolveForm layout={layout} row={row} from="/deliveries" refused={data.refused} />
                  ) : null}
                </li>
              ))}
            </ul>
          </>
        )}
      </Section>
      <Section id="recent" heading="Recent runs">
        {decided.length === 0 ? (
          <EmptyState>No deliveries yet. They appear here when a run has created its files.</EmptyState>
        ) : (
          <DeliveryTable rows={decided} zone={zones.of} showRun />
        )}
      </Section>
    </PageLayout>
  );
};
