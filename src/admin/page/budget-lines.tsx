import type { BudgetEntry, BudgetLines as Budgets } from '../access.ts';
import { count, counted } from './figures.ts';
import { Empty } from './frame.tsx';
import { At } from './time.tsx';

interface BudgetProps {
  readonly budgets: Budgets;
  readonly zone: string;
  readonly now: number;
}

const KINDS = { metrics: 'metrics calls', reads: 'list reads' } as const;

/** What each API key has left. The script samples the numbers while the page is open and draws them into the `<svg>`. */
export const BudgetLines = ({ budgets: { lines, unknown }, zone, now }: BudgetProps) => (
  <>
    {lines.length === 0 && unknown.length === 0 ? (
      <Empty>No key has been used yet: the first run shows it here.</Empty>
    ) : null}
    <ul class="budgets">
      {busiest(lines).map((entry) => (
        <BudgetLine entry={entry} zone={zone} now={now} />
      ))}
    </ul>
    {lines.length <= MOST_LINES ? null : (
      <p class="soft">
        {counted(lines.length - MOST_LINES, 'line has', 'lines have')} more left than these: <code>docket budget</code>{' '}
        lists all.
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
const MOST_LINES = 8;

const busiest = (lines: readonly BudgetEntry[]): readonly BudgetEntry[] =>
  lines.length <= MOST_LINES
    ? lines
    : [...lines].sort((a, b) => a.state.tokens / a.calls - b.state.tokens / b.calls).slice(0, MOST_LINES);

const BudgetLine = ({
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
            <strong>{count(state.tokens)}</strong> of {count(state.limit)} tokens free
          </p>
          <p class="soft">
            {count(state.inFlight)} in flight, {count(state.waiting)} waiting
            {state.throttled === 0 ? '' : `, ${count(state.throttled)} refused with 429`}
          </p>
          {(state.tokens > 0 && state.waiting === 0) || expected <= now ? null : (
            <p class="soft">
              Next token <At at={expected} zone={zone} short seconds />
            </p>
          )}
          {state.blockedUntil === null ? null : (
            <p class="warning">
              Blocked until <At at={state.blockedUntil} zone={zone} short seconds />: the service answered 429.
            </p>
          )}
          {state.slowedUntil === null ? null : (
            <p class="warning">
              Slowed from {count(calls)} to {count(state.limit)} tokens until{' '}
              <At at={state.slowedUntil} zone={zone} short />.
            </p>
          )}
        </div>
      </div>
      <p class="soft small">
        {counted(calls, 'call')} in {count(windowMs / 1000)} s · key <code>{state.key}</code>
      </p>
    </li>
  );
};
