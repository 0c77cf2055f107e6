import { DELIVERY_STATES, type DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { OrganizationEntry } from '../../access/reports.ts';
import { DeliveryTable } from '../components/deliveries/delivery-table.tsx';
import { ReceivedTable } from '../components/deliveries/received-table.tsx';
import { ErrorDetails } from '../components/error-details.tsx';
import { filteredPath, isFiltered, PartFilters, RejectedFilter } from '../components/filter-fields.tsx';
import { formatCounted, formatInteger } from '../components/format-numbers.ts';
import {
  Csrf,
  canAct,
  DecisionList,
  EmptyState,
  OrganizationSelect,
  PageLayout,
  Pager,
  Section,
  Table,
  type ViewProps,
} from '../components/layout.tsx';
import { ReportLink, RunLink } from '../components/run-table.tsx';
import { DELIVERY_STATE_LABELS, DeliveryBadge } from '../components/status-badge.tsx';
import { collectZones, Timestamp, When } from '../components/time.tsx';
import { ReasonForm, ReasonInput, type RejectedForm } from '../forms/reason-form.tsx';
import { ResolveForm } from '../forms/resolve-form.tsx';
import { SelectForm } from '../forms/select-form.tsx';
import { UndecidedList } from '../forms/undecided-list.tsx';
import type { DeliveriesQuery, Loaded, loadDeliveries, loadDenied, loadReceived } from '../routes/loaders.ts';

/** Maximum deliveries of recent runs on the page: each run may have hundreds. */
const MAX_ROWS = 50;

/** Deliveries that need a decision first, then the others. */
export const Deliveries = ({ layout, data, notice }: ViewProps<Loaded<typeof loadDeliveries>>) => {
  const zones = collectZones(data.organizations);
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

/** Further entries are only counted, to keep the page small. */
const MAX_SHOWN = 200;

/** The deny list of the deployment. */
export const Denied = ({ layout, data: { denied, refused }, notice }: ViewProps<Loaded<typeof loadDenied>>) => {
  const shown = denied.slice(-MAX_SHOWN).toReversed();
  const rejected = refused?.action === '/denied' ? refused : undefined;
  return (
    <PageLayout layout={layout} title="Deny list" notice={notice}>
      <h1>Deny list</h1>
      <p class="lead">
        These addresses and domains get no report and no notice, wherever they are named. Other recipients still get
        theirs. <code>docket recipients --of</code> shows where an address is named.
      </p>
      {shown.length === 0 ? (
        <EmptyState>Nobody is denied.</EmptyState>
      ) : (
        <Table caption="Denied addresses and domains, newest first" columns={['Denied', 'Since', 'By', 'Reason', '']}>
          {shown.map(({ name, since, by, reason }) => (
            <tr>
              <td>
                <a class="wrap" href={`/deliveries?to=${encodeURIComponent(name)}`}>
                  {name}
                </a>
              </td>
              <td data-name="Since">
                <When at={since} zone={layout.zone.name} now={layout.now} />
              </td>
              <td data-name="By">{by}</td>
              <td data-name="Reason" class="wrap">
                {reason}
              </td>
              <td>
                {canAct(layout) ? (
                  <ReasonForm
                    layout={layout}
                    action={`/denied/${encodeURIComponent(name)}/remove`}
                    from="/denied"
                    label="Remove"
                    question={`Why may ${name} get mail again?`}
                    refused={refused}
                  />
                ) : null}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {denied.length <= MAX_SHOWN ? null : (
        <p class="more">
          {formatInteger(denied.length - MAX_SHOWN)} more: <code>docket deny</code> lists all.
        </p>
      )}
      {canAct(layout) ? (
        <Section id="deny" heading="Deny">
          <form method="post" action="/denied" class="resolve">
            <Csrf layout={layout} />
            {rejected === undefined ? null : (
              <ErrorDetails error={rejected.error} id="deny-error" heading="Nothing was changed" />
            )}
            <label for="deny-text">Addresses and domains, one per line</label>
            <textarea id="deny-text" name="text" rows={4} required spellcheck={false}>
              {rejected?.values.text ?? ''}
            </textarea>
            <p class="hint">
              Or CSV with the columns address and reason. A domain covers no sub-domains.{' '}
              <code>docket deny --file</code> imports longer lists.
            </p>
            <ReasonInput id="deny-reason" question="Why?" value={rejected?.values.reason} />
            <p class="hint">Recorded under your name, {layout.principal.name}.</p>
            <button type="submit" class="danger">
              Deny them
            </button>
          </form>
        </Section>
      ) : null}
    </PageLayout>
  );
};
