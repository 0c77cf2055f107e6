import type { DeliveryRow } from '../../queue/decisions.ts';
import type { OrganizationEntry } from '../access.ts';
import { counted } from './figures.ts';
import { Empty, type Frame, mayAct, Page } from './frame.tsx';
import type { Refused } from './reason-form.tsx';
import { ResolveForm } from './resolve-form.tsx';
import { ReportLink, RunLink } from './run-parts.tsx';
import { DeliveryBadge } from './state.tsx';
import { At, Distance } from './time.tsx';
import { zonesOf } from './zones.ts';

export interface DeliveriesData {
  readonly organizations: readonly OrganizationEntry[];
  readonly undecided: readonly DeliveryRow[];
  /** Of recent runs, in whatever state. */
  readonly recent: readonly DeliveryRow[];
  readonly refused?: Refused | undefined;
}

/** What waits for a decision first, then what became of the rest. */
export const Deliveries = ({
  frame,
  data,
  notice,
}: {
  readonly frame: Frame;
  readonly data: DeliveriesData;
  readonly notice?: string | undefined;
}) => {
  const zones = zonesOf(data.organizations);
  const decided = data.recent.filter(({ state }) => state !== 'unknown');
  return (
    <Page frame={frame} title="Deliveries" place="/deliveries" notice={notice}>
      <h1>Deliveries</h1>
      <section aria-labelledby="open">
        <h2 id="open">
          {data.undecided.length === 0
            ? 'Nothing to decide'
            : `${counted(data.undecided.length, 'delivery', 'deliveries')} to decide`}
        </h2>
        {data.undecided.length === 0 ? (
          <Empty>Of every delivery it is known whether it arrived.</Empty>
        ) : (
          <>
            <p class="lead">
              The connection broke after the message was handed over, so that it may have arrived and may not have.
              Docket sends nothing twice by itself. Ask the recipient, then decide.
            </p>
            <ul class="entries">
              {data.undecided.map((row) => (
                <li>
                  <p class="head">
                    <DeliveryBadge state={row.state} /> <strong>{row.recipient}</strong>{' '}
                    <span class="soft">{row.target}</span>
                  </p>
                  <p>
                    <ReportLink {...row} /> · run <RunLink run={{ id: row.run }} /> · since{' '}
                    <At at={row.at} zone={zones.of(row.org)} />{' '}
                    <span class="soft">({<Distance at={row.at} now={frame.now} />})</span>
                  </p>
                  {row.detail === null ? null : <p class="quote">{row.detail}</p>}
                  {mayAct(frame) ? (
                    <ResolveForm frame={frame} row={row} from="/deliveries" refused={data.refused} />
                  ) : null}
                </li>
              ))}
            </ul>
          </>
        )}
      </section>
      <section aria-labelledby="recent">
        <h2 id="recent">Of recent runs</h2>
        {decided.length === 0 ? (
          <Empty>Nothing was delivered yet. Deliveries appear here as soon as a run has made its files.</Empty>
        ) : (
          <DeliveryTable rows={decided} zone={zones.of} of="all" />
        )}
      </section>
    </Page>
  );
};

interface TableProps {
  readonly rows: readonly DeliveryRow[];
  /** Zone of an organization. */
  readonly zone: (org: string) => string;
  /** Of one run, or of all: then each row names its own. */
  readonly of: 'run' | 'all';
}

export const DeliveryTable = ({ rows, zone, of }: TableProps) => (
  <table class="rows">
    <caption class="unseen">Deliveries</caption>
    <thead>
      <tr>
        <th scope="col">State</th>
        <th scope="col">Recipient</th>
        {of === 'all' ? <th scope="col">Report and run</th> : null}
        <th scope="col">Changed</th>
        <th scope="col">Answer</th>
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
            <span class="soft target">{row.target}</span>
          </td>
          {of === 'all' ? (
            <td data-name="Run">
              <ReportLink {...row} /> <RunLink run={{ id: row.run }} />
            </td>
          ) : null}
          <td data-name="Changed">
            <At at={row.at} zone={zone(row.org)} />
          </td>
          <td data-name="Answer" class="soft wrap">
            {row.detail ?? '–'}
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
