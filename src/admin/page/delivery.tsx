import type { DeliveryRow } from '../../queue/decisions.ts';
import { Empty, type Frame, mayAct, Page } from './frame.tsx';
import type { Refused } from './reason-form.tsx';
import { ResolveForm } from './resolve-form.tsx';
import { ReportLink, RunLink } from './run-parts.tsx';
import { DeliveryBadge } from './state.tsx';
import { At } from './time.tsx';

export interface DeliveryData {
  readonly row: DeliveryRow;
  readonly zone: string;
  readonly refused?: Refused | undefined;
}

/** One delivery, what was decided of it, and what may be. */
export const Delivery = ({
  frame,
  data,
  notice,
}: {
  readonly frame: Frame;
  readonly data: DeliveryData;
  readonly notice?: string | undefined;
}) => {
  const { row, zone } = data;
  return (
    <Page frame={frame} title={`Delivery to ${row.recipient}`} place="/deliveries" notice={notice}>
      <p class="crumbs">
        <ReportLink {...row} /> <RunLink run={{ id: row.run }} />
      </p>
      <div class="headline">
        <h1 class="wrap">{row.recipient}</h1>
        <DeliveryBadge state={row.state} /> <span class="soft">{row.target}</span>
      </div>
      <p>
        Changed <At at={row.at} zone={zone} seconds />, attempt {row.epoch}
      </p>
      {row.detail === null ? null : <p class="quote">{row.detail}</p>}
      {mayAct(frame) ? (
        <ResolveForm frame={frame} row={row} from={`/deliveries/${row.id}`} refused={data.refused} />
      ) : null}
      <section aria-labelledby="decided">
        <h2 id="decided">What was decided</h2>
        {row.decisions.length === 0 ? (
          <Empty>Nobody had to decide anything.</Empty>
        ) : (
          <ol class="entries">
            {row.decisions.map(({ to, by, reason, at }) => (
              <li>
                <p>
                  <strong>{to === 'sent' ? 'Declared sent' : 'To be sent again'}</strong> by {by},{' '}
                  <At at={at} zone={zone} />
                </p>
                <p class="quote">{reason}</p>
              </li>
            ))}
          </ol>
        )}
      </section>
    </Page>
  );
};
