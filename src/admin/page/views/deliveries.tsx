import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { OrganizationEntry } from '../../access/access.ts';
import { formatCounted } from '../components/format-numbers.ts';
import { canAct, EmptyState, PageLayout, type ViewProps } from '../components/layout.tsx';
import { ReportLink, RunLink } from '../components/run-table.tsx';
import { DeliveryBadge } from '../components/status-badge.tsx';
import { RelativeTime, Timestamp, zonesOf } from '../components/time.tsx';
import type { RejectedForm } from '../forms/reason-form.tsx';
import { ResolveForm } from '../forms/resolve-form.tsx';

export interface DeliveriesData {
  readonly organizations: readonly OrganizationEntry[];
  readonly undecided: readonly DeliveryRow[];
  /** Those of recent runs, in any state. */
  readonly recent: readonly DeliveryRow[];
  readonly refused?: RejectedForm | undefined;
}

/** Deliveries that need a decision first, then the others. */
export const Deliveries = ({ layout, data, notice }: ViewProps<DeliveriesData>) => {
  const zones = zonesOf(data.organizations);
  const decided = data.recent.filter(({ state }) => state !== 'unknown');
  return (
    <PageLayout layout={layout} title="Deliveries" current="/deliveries" notice={notice}>
      <h1>Deliveries</h1>
      <section aria-labelledby="open">
        <h2 id="open">
          {data.undecided.length === 0
            ? 'Nothing to decide'
            : `${formatCounted(data.undecided.length, 'delivery', 'deliveries')} to decide`}
        </h2>
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
      </section>
      <section aria-labelledby="recent">
        <h2 id="recent">Recent runs</h2>
        {decided.length === 0 ? (
          <EmptyState>No deliveries yet. They appear here when a run has created its files.</EmptyState>
        ) : (
          <DeliveryTable rows={decided} zone={zones.of} showRun />
        )}
      </section>
    </PageLayout>
  );
};

interface TableProps {
  readonly rows: readonly DeliveryRow[];
  /** The time zone of an organization. */
  readonly zone: (org: string) => string;
  /** Whether each row names its run. */
  readonly showRun: boolean;
}

export const DeliveryTable = ({ rows, zone, showRun }: TableProps) => (
  <table class="rows">
    <caption class="visually-hidden">Deliveries</caption>
    <thead>
      <tr>
        <th scope="col">State</th>
        <th scope="col">Recipient</th>
        {showRun ? <th scope="col">Report and run</th> : null}
        <th scope="col">Changed</th>
        <th scope="col">Reply</th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr>
          <td>
            <DeliveryBadge state={row.state} />
          </td>
          <td data-name="Recipient">
            <a class="wrap" href={`/deliveries/${row.id}`}>
              {row.recipient}
            </a>{' '}
            <span class="muted target">{row.target}</span>
          </td>
          {showRun ? (
            <td data-name="Run">
              <ReportLink {...row} /> <RunLink run={{ id: row.run }} />
            </td>
          ) : null}
          <td data-name="Changed">
            <Timestamp at={row.at} zone={zone(row.org)} />
          </td>
          <td data-name="Reply" class="muted wrap">
            {row.detail ?? '–'}
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
