import { formatPeriod } from '../../../../definitions/periods/period.ts';
import type { DeliveredContent } from '../../../../services/listings/delivered-content.ts';
import type { ReceivedDelivery } from '../../../../services/listings/received.ts';
import { formatCounted } from '../format-numbers.ts';
import { Table } from '../layout.tsx';
import { ReportLink, RunLink } from '../run-table.tsx';
import { DeliveryBadge } from '../status-badge.tsx';
import { When } from '../time.tsx';

interface ReceivedTableProps {
  readonly deliveries: readonly ReceivedDelivery[];
  readonly caption: string;
  readonly now: number;
  /** Whether each row names its recipient. */
  readonly showRecipient: boolean;
  /** Whether deliveries that need a decision have a box, for a form around the table. */
  readonly pick?: boolean;
}

/** Who got what: deliveries with their report, period, files, time and the server's response. */
export const ReceivedTable = ({ deliveries, caption, now, showRecipient, pick = false }: ReceivedTableProps) => (
  <Table
    caption={caption}
    class="received"
    columns={[
      ...(pick ? ['Select'] : []),
      'State',
      ...(showRecipient ? ['Recipient'] : []),
      'Report',
      'Period',
      'Contents',
      'When',
      'Reply',
    ]}
  >
    {deliveries.map(({ row, period, title, content, archived }) => (
      <tr>
        {pick ? (
          <td class="col-pick">
            {!archived && (row.state === 'refused' || row.state === 'unknown') ? (
              <input
                type="checkbox"
                name="delivery"
                value={row.id}
                aria-label={`Select the delivery to ${row.recipient}`}
              />
            ) : null}
          </td>
        ) : null}
        <td>
          <DeliveryBadge state={row.state} />
        </td>
        {showRecipient ? (
          <td data-name="Recipient">
            <span class="wrap">{row.recipient}</span>
          </td>
        ) : null}
        <td data-name="Report">
          {archived ? (
            <>
              {title} <small>{`${row.org}/${row.report}`}</small> <code>{row.run.slice(0, 8)}</code>
            </>
          ) : (
            <>
              <ReportLink {...row} /> <RunLink run={{ id: row.run }} />
            </>
          )}
        </td>
        <td data-name="Period">
          <span title={formatPeriod(period)}>{period.label}</span>
        </td>
        <td data-name="Contents">
          {archived ? 'In the archive' : <a href={`/deliveries/${row.id}`}>{contentText(content)}</a>}
          {row.epoch > 1 ? <span class="muted"> {formatCounted(row.epoch, 'attempt')}</span> : null}
        </td>
        <td data-name="When">
          <When at={row.at} zone={period.timezone} now={now} />
        </td>
        <td data-name="Reply" class="muted wrap">
          {row.detail ?? '–'}
        </td>
      </tr>
    ))}
  </Table>
);

/** `E-mail with xlsx, pdf`. */
function contentText(content: DeliveredContent | null): string {
  if (content === null) return 'Delivery';
  if (content.kind === 'notice') return 'Notice';
  const formats = content.formats.join(', ');
  if (content.kind === 'files') return formats === '' ? 'Files' : `Files: ${formats}`;
  return formats === '' ? 'E-mail without files' : `E-mail with ${formats}`;
}
