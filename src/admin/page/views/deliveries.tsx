import { DELIVERY_STATES } from '../../../services/deliveries/decisions.ts';
import type { OrganizationEntry } from '../../access/access.ts';
import { DeliveryTable } from '../components/delivery-table.tsx';
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
import { ReceivedTable } from '../components/received-table.tsx';
import { ReportLink, RunLink } from '../components/run-table.tsx';
import { DELIVERY_STATE_LABELS, DeliveryBadge } from '../components/status-badge.tsx';
import { RelativeTime, Timestamp, zonesOf } from '../components/time.tsx';
import { ResolveForm } from '../forms/resolve-form.tsx';
import type { DeliveriesQuery, Loaded, loadDeliveries, loadReceived } from '../routes/loaders.ts';

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

/** Who got what: the deliveries that match the filters. */
export const ReceivedDeliveries = ({ layout, data }: ViewProps<Awaited<ReturnType<typeof loadReceived>>>) => {
  const { organizations, query, deliveries, next, rejected } = data;
  return (
    <PageLayout layout={layout} title="Deliveries" current="/deliveries">
      <h1>Deliveries</h1>
      <DeliveriesFilter organizations={organizations} query={query} />
      {rejected === null ? null : <RejectedFilter error={rejected} />}
      {deliveries.length > 0 ? (
        <ReceivedTable
          deliveries={deliveries}
          caption="Matching deliveries, newest run first"
          now={layout.now}
          showRecipient
        />
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
