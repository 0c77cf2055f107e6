import type { CorrectionView } from '../../../services/corrections/correction-service.ts';
import { formatCounted, formatFigures } from './format-numbers.ts';
import { EmptyState, Table } from './layout.tsx';
import { FigureStatusBadge } from './status-badge.tsx';

/** Maximum changes on a page. Further ones are only counted. */
const MAX_CHANGES = 100;

type Change = CorrectionView['changes'][number];

/** Each changed figure: the delivered value and the service's current one. Material changes come first. */
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
          const [before, after] = formatFigures(change.before, change.after, unit);
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
                {before}
              </td>
              <td data-name="Now" class="number">
                <strong>{after}</strong>
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

/** The name of a table row: its pack, bucket and groups; `total` for totals. */
const rowText = ({ value, bucket, group, within }: Change): string => {
  const parts = [
    ...(value === undefined ? [] : [`pack ${value}`]),
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
