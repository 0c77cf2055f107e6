import { isReportDelivery } from '../../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { RunTimeline } from '../../access/runs.ts';
import { AnswerList, MAX_ANSWERS } from '../components/deliveries/answer-list.tsx';
import { EarlierDeliveryNote } from '../components/deliveries/earlier-delivery.tsx';
import { ErrorDetails } from '../components/error-details.tsx';
import { FileNames, type RunFilesView } from '../components/file-list.tsx';
import { formatCounted } from '../components/format-numbers.ts';
import { Csrf, canAct, type LayoutData } from '../components/layout.tsx';
import { ReasonInput, type RejectedForm } from './reason-form.tsx';
import { ResolutionChoices } from './resolve-form.tsx';

interface DecideProps {
  readonly layout: LayoutData;
  readonly run: string;
  readonly zone: string;
  /** All deliveries of the run. */
  readonly deliveries: readonly DeliveryRow[];
  readonly files: RunFilesView;
  readonly earlier: RunTimeline['earlier'];
  readonly refused: RejectedForm | undefined;
}

/** The deliveries of a run that may have arrived: what is known about them, and one form to decide one, some or all. */
export const DecideDeliveries = ({ layout, run, zone, deliveries, files, earlier, refused }: DecideProps) => {
  const own = deliveries.filter(isReportDelivery);
  const undecided = own.filter(({ state }) => state === 'unknown');
  if (undecided.length === 0) return null;
  const one = undecided.length === 1;
  return (
    <section class="review" id="decide" aria-labelledby="decide-heading">
      <h2 id="decide-heading">
        {one
          ? '1 delivery may have arrived'
          : `${formatCounted(undecided.length, 'delivery', 'deliveries')} may have arrived`}
      </h2>
      <p class="lead">
        Docket sends nothing again until you decide. Ask the recipient{one ? '' : 's'}, or search the log of the mail
        server for the address and the time.
      </p>
      <div class="two-columns">
        <div>
          <h3>What was sent</h3>
          <FileNames run={run} view={files} />
        </div>
        <div>
          <h3>Other deliveries of this run</h3>
          <OtherDeliveries rows={own} />
          <h3>Delivered before for this period</h3>
          <EarlierDeliveryNote earlier={earlier} zone={zone} />
        </div>
      </div>
      {canAct(layout) ? (
        <DecideForm layout={layout} run={run} zone={zone} rows={undecided} refused={refused} />
      ) : (
        <AnswerList rows={undecided} zone={zone} />
      )}
    </section>
  );
};

interface FormProps extends Pick<DecideProps, 'layout' | 'run' | 'zone' | 'refused'> {
  readonly rows: readonly DeliveryRow[];
}

const DecideForm = ({ layout, run, zone, rows, refused }: FormProps) => {
  const action = `/runs/${run}/deliveries/resolve`;
  const rejected = refused?.action === action ? refused : undefined;
  const several = rows.length > 1;
  return (
    <form class="resolve" method="post" action={action}>
      <Csrf layout={layout} />
      <input type="hidden" name="shown" value={String(rows.length)} />
      {rejected === undefined ? null : (
        <ErrorDetails error={rejected.error} id="decide-error" heading="Action rejected" />
      )}
      {several ? (
        <fieldset>
          <legend>{rows.length > MAX_ANSWERS ? `The first ${MAX_ANSWERS} recipients` : 'Recipients'}</legend>
          <AnswerList rows={rows} zone={zone} selected={rejected?.values.delivery?.split(',') ?? []} />
        </fieldset>
      ) : (
        <AnswerList rows={rows} zone={zone} />
      )}
      <fieldset>
        <legend>{several ? 'Did they arrive?' : 'Did it arrive?'}</legend>
        <ResolutionChoices id="decide" choices={['sent', 'resend']} chosen={rejected?.values.as} />
        {several ? <p class="hint">Select one to send it again: each needs a reason of its own.</p> : null}
      </fieldset>
      <ReasonInput id="decide-reason" question="How do you know?" value={rejected?.values.reason} />
      <p class="hint">Recorded under your name, {layout.principal.name}.</p>
      <p class="buttons">
        {several ? (
          <>
            <button type="submit" name="which" value="selected" class="primary">
              Decide about the selected
            </button>{' '}
            <button type="submit" name="which" value="all">
              Decide about all {rows.length}
            </button>
          </>
        ) : (
          <button type="submit" name="which" value="all" class="primary">
            Decide
          </button>
        )}
      </p>
    </form>
  );
};

const OTHER_STATES = [
  ['sent', 'sent'],
  ['refused', 'refused'],
  ['pending', 'not sent yet'],
  ['sending', 'being sent'],
] as const;

const OtherDeliveries = ({ rows }: { readonly rows: readonly DeliveryRow[] }) => {
  const counts = OTHER_STATES.flatMap(([state, label]) => {
    const count = rows.filter((row) => row.state === state).length;
    return count === 0 ? [] : [`${count} ${label}`];
  });
  return <p>{counts.length === 0 ? 'None: no delivery is confirmed.' : `${counts.join(', ')}.`}</p>;
};
