import { DeliveryTable } from '../components/delivery-table.tsx';
import { formatCounted } from '../components/format-numbers.ts';
import { EmptyState, PageLayout, Section, type ViewProps } from '../components/layout.tsx';
import { zonesOf } from '../components/time.tsx';
import { UndecidedList } from '../forms/undecided-list.tsx';
import type { Loaded, loadDeliveries } from '../routes/loaders.ts';

/** Deliveries of recent runs on the page: each run may have hundreds. */
const MAX_ROWS = 50;

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
        <UndecidedList layout={layout} rows={data.undecided} zone={zones.of} refused={data.refused} />
      </Section>
      <Section id="recent" heading="Recent runs">
        {decided.length === 0 ? (
          <EmptyState>No deliveries yet. They appear here when a run has created its files.</EmptyState>
        ) : (
          <>
            <DeliveryTable rows={decided.slice(0, MAX_ROWS)} zone={zones.of} showRun />
            {decided.length <= MAX_ROWS ? null : (
              <p class="more muted">These are the newest {MAX_ROWS}. The page of a run has all of its deliveries.</p>
            )}
          </>
        )}
      </Section>
    </PageLayout>
  );
};
