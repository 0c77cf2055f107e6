import type { BudgetEntry, BudgetOverview } from '../../../services/budgets/inspect-budgets.ts';
import { formatCounted, formatInteger } from './format-numbers.ts';
import { EmptyState } from './layout.tsx';
import { Timestamp } from './time.tsx';

interface BudgetProps {
  readonly budgets: BudgetOverview;
  readonly zone: string;
  readonly now: number;
}

const KINDS = { metrics: 'metrics calls', reads: 'list reads' } as const;

/** The budget of each API key. While the page is open, the script samples the tokens and draws them in the `<svg>`. */
export const BudgetList = ({ budgets: { budgets, unknown }, zone, now }: BudgetProps) => (
  <>
    {budgets.length === 0 && unknown.length === 0 ? <EmptyState>No API key has been used yet.</EmptyState> : null}
    <ul class="budgets">
      {busiestFirst(budgets).map((entry) => (
        <BudgetItem entry={entry} zone={zone} now={now} />
      ))}
    </ul>
    {budgets.length <= MAX_BUDGETS ? null : (
      <p class="muted">
        {formatCounted(budgets.length - MAX_BUDGETS, 'budget has', 'budgets have')} more tokens left than these:{' '}
        <code>docket budget</code> lists all.
      </p>
    )}
    {unknown.map(({ org, why }) => (
      <p class="warning">
        {org}: {why}
      </p>
    ))}
  </>
);

/** Maximum budgets on the overview. */
const MAX_BUDGETS = 8;

const busiestFirst = (entries: readonly BudgetEntry[]): readonly BudgetEntry[] =>
  entries.length <= MAX_BUDGETS
    ? entries
    : [...entries].sort((a, b) => a.state.tokens / a.calls - b.state.tokens / b.calls).slice(0, MAX_BUDGETS);

const BudgetItem = ({
  entry,
  zone,
  now,
}: {
  readonly entry: BudgetEntry;
  readonly zone: string;
  readonly now: number;
}) => {
  const { of, calls, windowMs, state, organizations, expected } = entry;
  const id = `budget-${state.key}-${of}`;
  return (
    <li>
      <h3 id={`${id}-name`}>
        {organizations.join(', ')} <span class="muted">{KINDS[of]}</span>
      </h3>
      <div class="budget-level">
        <svg class="sparkline" width="100%" height="36" aria-hidden="true" data-spark={id} data-max={calls} />
        <div id={id} data-live data-tokens={state.tokens}>
          <p class="available">
            <strong>{formatInteger(state.tokens)}</strong> of {formatInteger(state.limit)} tokens free
          </p>
          <p class="muted">
            {formatInteger(state.inFlight)} in flight, {formatInteger(state.waiting)} waiting
            {state.throttled === 0 ? '' : `, ${formatInteger(state.throttled)} refused with 429`}
          </p>
          {(state.tokens > 0 && state.waiting === 0) || expected <= now ? null : (
            <p class="muted">
              Next token <Timestamp at={expected} zone={zone} short seconds />
            </p>
          )}
          {state.blockedUntil === null ? null : (
            <p class="warning">
              Blocked until <Timestamp at={state.blockedUntil} zone={zone} short seconds />: the service answered 429.
            </p>
          )}
          {state.slowedUntil === null ? null : (
            <p class="warning">
              Slowed from {formatInteger(calls)} to {formatInteger(state.limit)} tokens until{' '}
              <Timestamp at={state.slowedUntil} zone={zone} short />.
            </p>
          )}
        </div>
      </div>
      <p class="muted small">
        {formatCounted(calls, 'call')} in {formatInteger(windowMs / 1000)} s · key <code>{state.key}</code>
      </p>
    </li>
  );
};
