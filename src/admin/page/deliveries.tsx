import type { ErrorJson } from '../../base/error.ts';
import type { DeliveryRow } from '../../queue/decisions.ts';
import type { OrganizationEntry } from '../access.ts';
import { Fault } from './fault.tsx';
import { counted } from './figures.ts';
import { Csrf, Empty, type Frame, mayAct, Page } from './frame.tsx';
import type { Refused } from './reason-form.tsx';
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

interface ResolveProps {
  readonly frame: Frame;
  readonly row: DeliveryRow;
  readonly from: string;
  readonly refused: Refused | undefined;
}

/** Which decisions a state leaves open. */
const CHOICES: Partial<Record<DeliveryRow['state'], readonly ('sent' | 'resend')[]>> = {
  unknown: ['sent', 'resend'],
  refused: ['resend'],
};

const MEANS = {
  sent: {
    word: 'It has arrived',
    text: 'The delivery is recorded as sent. Nothing leaves. Choose this when the recipient has it.',
  },
  resend: {
    word: 'Send it again',
    text: 'The very same files leave once more, an e-mail with the same Message-ID. Whoever has got it already may get it twice.',
  },
} as const;

/** Decides of a delivery: what each choice does stands beside it. */
export const ResolveForm = ({ frame, row, from, refused }: ResolveProps) => {
  const action = `/deliveries/${row.id}/resolve`;
  const own = refused?.action === action ? refused : undefined;
  const id = `resolve-${row.id}`;
  const choices = CHOICES[row.state] ?? [];
  if (choices.length === 0) return null;
  return (
    <form class="resolve" method="post" action={action}>
      <Csrf frame={frame} />
      <input type="hidden" name="from" value={from} />
      {own === undefined ? null : (
        <Fault error={own.error satisfies ErrorJson} id={`${id}-fault`} heading="This was not done" />
      )}
      <fieldset>
        <legend>What became of the delivery to {row.recipient}?</legend>
        {choices.map((as) => (
          <div class="choice">
            <input
              type="radio"
              name="as"
              value={as}
              id={`${id}-${as}`}
              required
              checked={own?.values.as === as}
              aria-describedby={`${id}-${as}-means`}
            />
            <label for={`${id}-${as}`}>{MEANS[as].word}</label>
            <p class="hint" id={`${id}-${as}-means`}>
              {MEANS[as].text}
            </p>
          </div>
        ))}
      </fieldset>
      <label for={`${id}-reason`}>How do you know?</label>
      <input
        id={`${id}-reason`}
        name="reason"
        required
        maxlength={500}
        autocomplete="off"
        value={own?.values.reason ?? ''}
      />
      <button type="submit" class="primary">
        Decide
      </button>
    </form>
  );
};

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
                  <strong>{to === 'sent' ? 'Declared sent' : 'Sent again'}</strong> by {by}, <At at={at} zone={zone} />
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
