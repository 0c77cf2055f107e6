import type { DeliveryRow } from '../../queue/decisions.ts';
import { isOfReport, retryScope } from '../../queue/retry-scope.ts';
import { ENDED, type RunRecord } from '../../run/record.ts';
import type { HeldPack } from '../access.ts';
import { Fault } from './fault.tsx';
import { count, counted } from './figures.ts';
import { type Frame, mayAct } from './frame.tsx';
import { Held } from './held.tsx';
import type { Pack } from './loads.ts';
import { ReasonForm, type Refused } from './reason-form.tsx';

interface DecisionsProps {
  readonly frame: Frame;
  readonly record: RunRecord;
  readonly deliveries: readonly DeliveryRow[];
  readonly files: Pack;
  readonly held: HeldPack | null;
  readonly refused: Refused | undefined;
}

/** What may be decided of a run in its state, with what whoever decides wants to know. */
export const Decisions = ({ frame, record, deliveries, files, held, refused }: DecisionsProps) => {
  const path = `/runs/${record.id}`;
  const shown = { frame, from: path, refused };
  const scope = retryScope(record.state, deliveries);
  const offered = new Set([
    ...(ENDED.has(record.state) ? [] : ['cancel']),
    ...(scope === 'nothing' ? [] : ['retry']),
    ...(held === null ? [] : ['release']),
  ]);
  const elsewhere = refused !== undefined && ![...offered].some((what) => refused.action === `${path}/${what}`);
  const acts = mayAct(frame);
  return (
    <div id="acts" data-live>
      {held === null ? null : (
        <Held held={held} files={files}>
          {acts ? (
            <ReasonForm
              {...shown}
              action={`${path}/release`}
              label="Release the pack"
              ask="Why may it go out as it is?"
            >
              <p>The files go to these recipients as they are, with their marks of what is missing.</p>
            </ReasonForm>
          ) : null}
        </Held>
      )}
      <div class="acts">
        {elsewhere ? <Fault error={refused.error} id="refused" heading="This was not done" /> : null}
        {acts && offered.has('cancel') ? (
          <ReasonForm {...shown} action={`${path}/cancel`} label="Cancel this run" ask="Why is it stopped?" danger>
            <p>It stops before its next step. What has been sent stays sent.</p>
          </ReasonForm>
        ) : null}
        <OpenDecisions rows={deliveries.filter(({ state }) => state === 'unknown')} acts={acts} />
        {acts && offered.has('retry') ? (
          <ReasonForm {...shown} action={`${path}/retry`} {...RETRY[scope]} ask="Why is it tried again?">
            <p>{scope === 'deliveries' ? whatIsRetried(deliveries) : RETRY.run.text}</p>
          </ReasonForm>
        ) : null}
      </div>
    </div>
  );
};

const RETRY = {
  deliveries: { label: 'Retry the rest' },
  run: {
    label: 'Retry the run',
    text: 'It goes on where it stopped, with the definition and the period that it was triggered with. Files that are archived are used as they are.',
  },
  nothing: { label: '' },
} as const;

/** Which deliveries a retry sends, and which it does not. */
function whatIsRetried(rows: readonly DeliveryRow[]): string {
  const own = rows.filter(isOfReport);
  const of = (...states: DeliveryRow['state'][]) => own.filter(({ state }) => states.includes(state)).length;
  const parts = [
    ...(of('refused') === 0 ? [] : [`${count(of('refused'))} refused`]),
    ...(of('pending', 'sending') === 0 ? [] : [`${count(of('pending', 'sending'))} pending`]),
  ];
  const one = of('refused', 'pending', 'sending') === 1;
  const sent = `${parts.join(' and ')} ${one ? 'delivery is' : 'deliveries are'} sent again with the same files.`;
  if (of('unknown') === 0) return sent;
  return `${sent} ${counted(of('unknown'), 'unknown delivery stays as it is', 'unknown deliveries stay as they are')}.`;
}

/** Deliveries that only somebody's decision moves on. */
const OpenDecisions = ({ rows, acts }: { readonly rows: readonly DeliveryRow[]; readonly acts: boolean }) =>
  rows.length === 0 ? null : (
    <div class="needs">
      <p>
        <strong>{counted(rows.length, 'delivery', 'deliveries')}</strong> may have arrived, and may not have: nothing is
        sent again until somebody decides.
      </p>
      <ul class="plainlist close">
        {rows.map(({ id, recipient, target }) => (
          <li>
            <a class="wrap" href={`/deliveries/${id}`}>
              {acts ? `Decide about ${recipient}` : recipient}
            </a>{' '}
            <span class="soft target">{target}</span>
          </li>
        ))}
      </ul>
    </div>
  );
