import { intlNumberFormat } from '../../../base/text/intl.ts';
import { SECOND_MS } from '../../../base/time.ts';
import type { CorrectionView } from '../../../services/corrections/correction-service.ts';
import { formatCounted, formatElapsed } from './format-numbers.ts';
import { EmptyState, Table } from './layout.tsx';
import { FigureStatusBadge } from './status-badge.tsx';

/** Changes on a page; the others are counted. */
const MAX_CHANGES = 100;
const LOCALE = 'en-GB';

type Change = CorrectionView['changes'][number];

/** A figure as people read it: a count, a percentage or a duration. @param unit `count`, `ratio` or `seconds` */
export function formatFigure(value: number | null, unit: string | null | undefined): string {
  if (value === null) return 'undefined';
  if (unit === 'ratio') return `${intlNumberFormat(LOCALE, { maximumFractionDigits: 2 }).format(value * 100)}%`;
  if (unit === 'seconds') return formatElapsed(value * SECOND_MS);
  return intlNumberFormat(LOCALE, { maximumFractionDigits: 2 }).format(value);
}

/** Each changed figure as it was delivered and as the service has it now, the material changes first. */
export const FigureChanges = ({ view }: { readonly view: CorrectionView }) => {
  const { changes, material, total } = view;
  if (changes.length === 0) return <EmptyState>No change is stored.</EmptyState>;
  const section = (id: string) => view.sections.find((each) => each.id === id);
  const judged = changes.some(
    ({ statusBefore, statusAfter }) => statusBefore !== undefined || statusAfter !== undefined,
  );
  const shown = changes.slice(0, MAX_CHANGES);
  return (
    <>
      <Table
        caption="Changed figures"
        columns={['Section', 'Figure', 'Of', 'Delivered', 'Now', ...(judged ? ['Status'] : [])]}
        classes={{ Delivered: 'number', Now: 'number' }}
        live="changes"
      >
        {shown.map((change, index) => {
          const unit = section(change.section)?.units[change.metric];
          return (
            <tr>
              <td>
                {section(change.section)?.title ?? change.section}
                {index < material ? null : <small> below the materiality</small>}
              </td>
              <td class="wrap">
                <code>{change.metric}</code>
              </td>
              <td data-name="Of">{rowText(change)}</td>
              <td data-name="Delivered" class="number">
                {formatFigure(change.before, unit)}
              </td>
              <td data-name="Now" class="number">
                <strong>{formatFigure(change.after, unit)}</strong>
              </td>
              {judged ? (
                <td data-name="Status">
                  <ChangedStatus change={change} />
                </td>
              ) : null}
            </tr>
          );
        })}
      </Table>
      {total <= shown.length ? null : (
        <p class="more muted">{formatCounted(total - shown.length, 'further change')}, not shown.</p>
      )}
    </>
  );
};

/** The row of a table: its bucket and groups; `total` for totals. */
const rowText = ({ bucket, group, within }: Change): string => {
  const parts = [
    ...(bucket === null ? [] : [bucket]),
    ...[group, within].flatMap((one) => (one == null ? [] : [`${one.dimension} ${one.value}`])),
  ];
  return parts.length === 0 ? 'total' : parts.join(', ');
};

const ChangedStatus = ({ change: { statusBefore, statusAfter } }: { readonly change: Change }) => {
  if (statusAfter === undefined) return <>–</>;
  return (
    <>
      {statusBefore === undefined || statusBefore === statusAfter ? null : (
        <>
          <FigureStatusBadge status={statusBefore} /> <span aria-hidden="true">→</span>{' '}
          <span class="visually-hidden">then</span>{' '}
        </>
      )}
      <FigureStatusBadge status={statusAfter} />
    </>
  );
};
