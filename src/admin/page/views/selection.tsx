import type { SelectedItem, SelectionOutcome } from '../../../queue/runs/selections.ts';
import type { SelectionView } from '../../../services/selections/selection-service.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import { formatCounted } from '../components/format-numbers.ts';
import { EmptyState, PageLayout, Section, Table, type ViewProps } from '../components/layout.tsx';
import { ReportLink, RunLink } from '../components/run-table.tsx';
import { OpenReasonForm, type RejectedForm } from '../forms/reason-form.tsx';
import { ACTION_LABELS } from '../forms/select-form.tsx';

export interface SelectionData {
  readonly selection: SelectionView;
  readonly refused: RejectedForm | undefined;
}

const EFFECTS: Readonly<Record<SelectionView['action'], string>> = {
  cancel: 'Each stops before its next step. Completed deliveries are not affected.',
  retry:
    'Repeats failed deliveries with the same files, restarts runs that failed before their files were created, and ends the wait of waiting runs. Deliveries that may have arrived are not changed.',
  release: 'Delivers the files as they are, with their notes on missing figures. Runs with a review are not included.',
  resend:
    'Sends the same message again to recipients who refused it. What has arrived or may have arrived is not sent again.',
  sent: 'Marks them as arrived. Nothing is sent.',
};

/** A decision about many items: the preview with its form, and afterwards the results. */
export const SelectionPage = ({ layout, data: { selection, refused } }: ViewProps<SelectionData>) => {
  const { action, digest, items, skipped, decision, outcomes } = selection;
  const noun = action === 'resend' || action === 'sent' ? ['delivery', 'deliveries'] : ['run', 'runs'];
  const counted = formatCounted(items.length, noun[0] ?? '', noun[1]);
  const open = items.filter(({ id }) => !outcomes.has(id));
  const title = `${ACTION_LABELS[action]}: ${counted}`;
  const path = `/selections/${digest}`;
  return (
    <PageLayout
      layout={layout}
      title={title}
      {...(noun[0] === 'run' ? { current: '/runs' } : { current: '/deliveries' })}
    >
      <h1>{title}</h1>
      {decision === null ? (
        <p class="lead">
          {EFFECTS[action]} Nothing was changed yet. Items that change before you decide are left out and listed.
        </p>
      ) : (
        <p class="lead">
          Decided by {decision.by}: {decision.reason}. {resultText(outcomes)}
        </p>
      )}
      {items.length > 0 && open.length > 0 ? (
        <OpenReasonForm
          class="resolve"
          layout={layout}
          action={`${path}/decide`}
          from={path}
          label={
            decision === null ? `${ACTION_LABELS[action]} (${items.length})` : `Continue with the other ${open.length}`
          }
          question="Why?"
          refused={refused}
          danger={action === 'cancel'}
        />
      ) : refused === undefined ? null : (
        <ErrorDetails error={refused.error} id="rejected" heading="Action rejected" />
      )}
      <Section id="items" heading={counted}>
        {items.length === 0 ? (
          <EmptyState>This decision fits none of them. The list below says why.</EmptyState>
        ) : (
          <ItemTable items={items} outcomes={outcomes} decided={decision !== null} recipient={noun[0] === 'delivery'} />
        )}
      </Section>
      {skipped.length === 0 ? null : (
        <Section id="skipped" heading={`Left out: ${skipped.length}`}>
          <ul class="entries">
            {skipped.map(({ id, why }) => (
              <li>
                <a class="id" href={`/${noun[1]}/${id}`}>
                  {id.slice(0, 8)}
                </a>{' '}
                {why}
              </li>
            ))}
          </ul>
        </Section>
      )}
    </PageLayout>
  );
};

function resultText(outcomes: SelectionView['outcomes']): string {
  const count = (result: SelectionOutcome['result']): number =>
    [...outcomes.values()].filter((one) => one.result === result).length;
  const [changed, refused] = [count('changed'), count('refused')];
  return [
    `${count('decided')} carried out`,
    ...(changed === 0 ? [] : [`${changed} had changed and were left out`]),
    ...(refused === 0 ? [] : [`${refused} could not be carried out`]),
  ]
    .join(', ')
    .concat('.');
}

interface ItemsProps {
  readonly items: readonly SelectedItem[];
  readonly outcomes: SelectionView['outcomes'];
  readonly decided: boolean;
  readonly recipient: boolean;
}

const ItemTable = ({ items, outcomes, decided, recipient }: ItemsProps) => (
  <Table
    caption="What is decided about"
    columns={['Run', 'Report', 'Period', ...(recipient ? ['Recipient'] : []), 'State', ...(decided ? ['Result'] : [])]}
  >
    {items.map(({ id, run, org, report, period, state, recipient: to }) => (
      <tr>
        <td data-name="Run">
          <RunLink run={{ id: run }} />
        </td>
        <td data-name="Report">
          <ReportLink org={org} report={report} />
        </td>
        <td data-name="Period">{period ?? '–'}</td>
        {recipient ? (
          <td data-name="Recipient" class="wrap">
            {to}
          </td>
        ) : null}
        <td data-name="State">{state}</td>
        {decided ? <td data-name="Result">{outcomeText(outcomes.get(id))}</td> : null}
      </tr>
    ))}
  </Table>
);

const outcomeText = (outcome: SelectionOutcome | undefined): string =>
  outcome === undefined ? 'Not decided yet' : (outcome.why ?? 'Done');
