import type { DeliveryRow } from '../../../../services/deliveries/decisions.ts';
import { Table } from '../layout.tsx';
import { ReportLink, RunLink } from '../run-table.tsx';
import { DeliveryBadge } from '../status-badge.tsx';
import { When } from '../time.tsx';

interface TableProps {
  readonly rows: readonly DeliveryRow[];
  /** The time zone of an organization. */
  readonly zone: (org: string) => string;
  /** Whether each row names its run. */
  readonly showRun: boolean;
  /** The id of the rows, which the script updates. */
  readonly live?: string;
}

/** Deliveries as a table: state, recipient, time of the last change and the server's response. */
export const DeliveryTable = ({ rows, zone, showRun, live = 'delivery-rows' }: TableProps) => (
  <Table
    caption="Deliveries"
    live={live}
    columns={['State', 'Recipient', ...(showRun ? ['Report and run'] : []), 'Changed', 'Reply']}
  >
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
          <When at={row.at} zone={zone(row.org)} />
        </td>
        <td data-name="Reply" class="muted wrap">
          {row.detail ?? '–'}
        </td>
      </tr>
    ))}
  </Table>
);
