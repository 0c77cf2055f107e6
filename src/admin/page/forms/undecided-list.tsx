import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import { formatCounted } from '../components/format-numbers.ts';
import { canAct, EmptyState, type LayoutData } from '../components/layout.tsx';
import { ReportLink, RunLink } from '../components/run-table.tsx';
import { DeliveryBadge } from '../components/status-badge.tsx';
import { When } from '../components/time.tsx';
import type { RejectedForm } from './reason-form.tsx';
import { ResolveForm, resolvePath } from './resolve-form.tsx';

interface UndecidedProps {
  readonly layout: LayoutData;
  readonly rows: readonly DeliveryRow[];
  /** The time zone of an organization. */
  readonly zone: (org: string) => string;
  readonly refused: RejectedForm | undefined;
}

/** Maximum forms on the page. Further deliveries have their forms on the pages of their runs. */
const MAX_FORMS = 10;
/** Maximum runs on the page, longest waiting first. Others appear once these are decided. */
const MAX_RUNS = 25;
/** Maximum recipients that are named per run. */
const MAX_NAMED = 3;

/**
 * Deliveries to decide, by run. A run with one delivery has its form here; a run with several has a link to the form
 * for all of them.
 */
export const UndecidedList = ({ layout, rows, zone, refused }: UndecidedProps) => {
  const groups = byRun(rows);
  const withForm = new Set(groups.filter(({ length }) => length === 1).slice(0, MAX_FORMS));
  const actions = [...withForm].flatMap((group) => group.map(resolvePath));
  return (
    <>
      {/* The delivery may have been decided meanwhile. */}
      {refused === undefined || actions.includes(refused.action) ? null : (
        <ErrorDetails error={refused.error} id="rejected" heading="Action rejected" />
      )}
      {rows.length === 0 ? <EmptyState>The result of every delivery is known.</EmptyState> : <Explanation />}
      <ul class="entries">
        {groups.slice(0, MAX_RUNS).map((group) => {
          const [first, ...others] = group;
          return first === undefined ? null : (
            <li>
              <p class="item-head">
                <DeliveryBadge state={first.state} /> <strong>{recipientsText([first, ...others])}</strong>{' '}
                <span class="muted">{first.target}</span>
              </p>
              <p>
                <ReportLink {...first} /> · run <RunLink run={{ id: first.run }} /> · since{' '}
                <When at={first.at} zone={zone(first.org)} />
              </p>
              {first.detail === null ? null : <p class="quote">{first.detail}</p>}
              {!canAct(layout) ? null : withForm.has(group) ? (
                <ResolveForm layout={layout} row={first} from="/deliveries" refused={refused} />
              ) : (
                <p class="more">
                  <a class="button" href={`/runs/${first.run}#decide`}>
                    Decide about{' '}
                    {others.length === 0 ? 'it' : formatCounted(others.length + 1, 'delivery', 'deliveries')}…
                  </a>
                </p>
              )}
            </li>
          );
        })}
      </ul>
      {groups.length <= MAX_RUNS ? null : (
        <p class="more muted">{formatCounted(groups.length - MAX_RUNS, 'more run')}, shown when these are decided.</p>
      )}
    </>
  );
};

const Explanation = () => (
  <p class="lead">
    The connection broke after the message was sent, so it is unknown whether it arrived. Docket never sends twice
    automatically. Ask the recipient, then decide.
  </p>
);

function byRun(rows: readonly DeliveryRow[]): readonly (readonly DeliveryRow[])[] {
  const runs = new Map<string, DeliveryRow[]>();
  for (const row of rows) runs.set(row.run, [...(runs.get(row.run) ?? []), row]);
  return [...runs.values()];
}

/** `a@acme.example, b@acme.example and 38 more`. */
function recipientsText(rows: readonly DeliveryRow[]): string {
  const named = rows.slice(0, MAX_NAMED).map(({ recipient }) => recipient);
  const more = rows.length - named.length;
  return more === 0 ? named.join(', ') : `${named.join(', ')} and ${more} more`;
}
