import { DELIVERY_STATES } from '../../../services/deliveries/decisions.ts';
import type { OrganizationEntry } from '../../access/reports.ts';
import { DeliveryTable } from '../components/deliveries/delivery-table.tsx';
import { ReceivedTable } from '../components/deliveries/received-table.tsx';
import { ErrorDetails } from '../components/error-details.tsx';
import { filteredPath, isFiltered, PartFilters, RejectedFilter } from '../components/filter-fields.tsx';
import { formatCounted } from '../components/format-numbers.ts';
import {
  canAct,
  EmptyState,
  OrganizationSelect,
  PageLayout,
  Pager,
  Section,
  type ViewProps,
} from '../components/layout.tsx';
import { DELIVERY_STATE_LABELS } from '../components/status-badge.tsx';
import { zonesOf } from '../components/time.tsx';
import { SelectForm } from '../forms/select-form.tsx';
import { UndecidedList } from '../forms/undecided-list.tsx';
import type { DeliveriesQuery, Loaded, loadDeliveries, loadReceived } from '../routes/loaders.ts';

/** Maximum deliveries of recent runs on the page: each run may have hundreds. */
const MAX_ROWS = 50;

/** Deliveries that need a decision first, then the others. */
export const Deliveries = ({ layout, data, notice }: ViewProps<Loaded<typeof loadDeliveries>>) => {
  const zones = zonesOf(data.organizations);
  const decided = data.recent.filter(({ state }) => state !== 'unknown');
  return (
    <PageLayout layout={layout} title="Deliveries" current="/deliveries" notice={notice}>
      <h1>Deliveries</h1>
      <DeliveriesFilter organizations={data.organizations} query={data.query} />
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

interface FilterProps {
  readonly organizations: readonly OrganizationEntry[];
  readonly query: DeliveriesQuery;
}

const DeliveriesFilter = ({ organizations, query }: FilterProps) => (
  <form class="filter" method="get" action="/deliveries">
    <OrganizationSelect organizations={organizations} selected={query.org} />
    <PartFilters query={query} />
    <label>
      State
      <select name="state">
        <option value="">any</option>
        {DELIVERY_STATES.map((state) => (
          <option value={state} selected={state === query.state}>
            {DELIVERY_STATE_LABELS[state].label}
          </option>
        ))}
      </select>
    </label>
    <button type="submit">Show</button>
    {isFiltered(query) ? <a href="/deliveries">Show all</a> : null}
  </form>
);

/** The deliveries that match the filters: who got what. */
export const ReceivedDeliveries = ({ layout, data }: ViewProps<Awaited<ReturnType<typeof loadReceived>>>) => {
  const { organizations, query, deliveries, next, error, rejected } = data;
  return (
    <PageLayout layout={layout} title="Deliveries" current="/deliveries">
      <h1>Deliveries</h1>
      <DeliveriesFilter organizations={organizations} query={query} />
      {rejected === null ? null : <RejectedFilter error={rejected} />}
      {error === undefined ? null : (
        <ErrorDetails error={error} id="archive-error" heading="Older deliveries in the archive are missing" />
      )}
      {deliveries.length > 0 ? (
        <SelectForm
          layout={layout}
          actions={['sent', 'resend']}
          what="deliveries"
          filter={{ ...query, state: undefined, after: undefined }}
        >
          <ReceivedTable
            deliveries={deliveries}
            caption="Matching deliveries, newest run first"
            now={layout.now}
            showRecipient
            pick={canAct(layout)}
          />
        </SelectForm>
      ) : rejected === null ? (
        <EmptyState>
          {next === null ? 'No deliveries match these filters. ' : 'None of these runs has a matching delivery. '}
          <a href="/deliveries">Show all</a>
        </EmptyState>
      ) : null}
      <Pager
        newest={query.after === undefined ? undefined : filteredPath('/deliveries', { ...query, after: undefined })}
        older={next === null ? undefined : filteredPath('/deliveries', { ...query, after: next })}
        label="Older deliveries"
      />
    </PageLayout>
  );
};
