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

/** What each API key has left. The script samples the numbers while the page is open and draws them into the `<svg>`. */
export const BudgetList = ({ budgets: { budgets, unknown }, zone, now }: BudgetProps) => (
  <>
    {budgets.length === 0 && unknown.length === 0 ? (
      <EmptyState>No key has been used yet: the first run shows it here.</EmptyState>
    ) : null}
    <ul class="budgets">
      {busiestFirst(budgets).map((entry) => (
        <BudgetItem entry={entry} zone={zone} now={now} />
      ))}
    </ul>
    {budgets.length <= MAX_BUDGETS ? null : (
      <p class="soft">
        {formatCounted(budgets.length - MAX_BUDGETS, 'line has', 'lines have')} more left than these:{' '}
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

/** Lines on the overview: more than these nobody reads at a glance. */
const MAX_BUDGETS = 8;

const busiestFirst = (lines: readonly BudgetEntry[]): readonly BudgetEntry[] =>
  lines.length <= MAX_BUDGETS
    ? lines
    : [...lines].sort((a, b) => a.state.tokens / a.calls - b.state.tokens / b.calls).slice(0, MAX_BUDGETS);

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
        {organizations.join(', ')} <span class="soft">{KINDS[of]}</span>
      </h3>
      <div class="level">
        <svg class="spark" width="100%" height="36" aria-hidden="true" data-spark={id} data-most={calls} />
        <div id={id} data-live data-tokens={state.tokens}>
          <p class="free">
            <strong>{formatInteger(state.tokens)}</strong> of {formatInteger(state.limit)} tokens free
          </p>
          <p class="soft">
            {formatInteger(state.inFlight)} in flight, {formatInteger(state.waiting)} waiting
            {state.throttled === 0 ? '' : `, ${formatInteger(state.throttled)} refused with 429`}
          </p>
          {(state.tokens > 0 && state.waiting === 0) || expected <= now ? null : (
            <p class="soft">
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
      <p class="soft small">
        {formatCounted(calls, 'call')} in {formatInteger(windowMs / 1000)} s · key <code>{state.key}</code>
      </p>
    </li>
  );
};
