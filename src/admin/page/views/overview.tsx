import { PRIORITIES } from '../../../fetch/rate-limit/budget.ts';
import type { Pause } from '../../../queue/schedules/pauses.ts';
import type { RunSnapshot } from '../../../run/live-progress.ts';
import type { RunRecord } from '../../../run/run-record.ts';
import { AttentionList } from '../components/attention.tsx';
import { BudgetList } from '../components/budgets.tsx';
import { DayTimeline } from '../components/day-timeline.tsx';
import { ErrorDetails } from '../components/error-details.tsx';
import { formatInteger } from '../components/format-numbers.ts';
import { EmptyState, PageLayout, Section, type ViewProps } from '../components/layout.tsx';
import { ReportLink, RunLink, RunProgressBar, RunTable, triggerText } from '../components/run-table.tsx';
import { RunBadge } from '../components/status-badge.tsx';
import { collectZones, type Zones } from '../components/time.tsx';
import type { Loaded, loadOverview } from '../routes/loaders.ts';
import { PauseLine } from './pauses.tsx';
import { SlotList } from './slots.tsx';

/** Active runs and everything that needs a decision. While the page is open, the script updates each `data-live` part. */
export const Overview = ({ layout, data, notice }: ViewProps<Loaded<typeof loadOverview>>) => {
  const zones = collectZones(data.organizations);
  return (
    <PageLayout layout={layout} title="" current="/" notice={notice}>
      <h1 class="visually-hidden">Overview</h1>
      <div id="attention" data-live>
        {data.refused === undefined ? null : (
          <ErrorDetails error={data.refused.error} id="rejected" heading="Action rejected" />
        )}
        <AttentionList data={data} layout={layout} zone={zones.shared} />
      </div>
      <DayTimeline runs={data.recent} slots={data.slots} now={layout.now} zone={zones.shared} />
      <div class="split" data-renew="3">
        <div>
          <Section id="now" heading="Runs now">
            <div id="active" data-live aria-live="polite" aria-atomic="false">
              <Totals counts={data.counts} inLine={data.inLine} />
              <Active active={data.active} counts={data.counts} now={layout.now} />
            </div>
          </Section>
          <Section id="recent" heading="Recent runs">
            <div id="recent-runs" data-live>
              <Recent runs={data.recent.slice(0, 10)} now={layout.now} />
            </div>
            <p class="more">
              <a href="/runs">All runs</a>
            </p>
          </Section>
        </div>
        <div>
          <Section id="next" heading="Next slots">
            <div id="next-slots" data-live>
              <SlotList slots={data.slots.slice(0, 8)} now={layout.now} />
            </div>
            <p class="more">
              <a href="/slots">All slots</a>
            </p>
          </Section>
          <Section id="budget" heading="Budget per API key">
            <BudgetList budgets={data.budgets} zone={zones.shared} now={layout.now} />
          </Section>
          <Section id="paused" heading="Paused" live="pauses">
            <Paused pauses={data.pauses} zones={zones} now={layout.now} />
          </Section>
        </div>
      </div>
    </PageLayout>
  );
};

const ACTIVE_STATES = ['running', 'queued', 'waiting'] as const;
const PRIORITY_LABELS = { on_demand: 'on demand', scheduled: 'scheduled', backfill: 'backfill' } as const;

type TotalsProps = Pick<Awaited<ReturnType<typeof loadOverview>>, 'counts' | 'inLine'>;

/** The numbers of active runs, and of runs that wait for a worker by priority. */
const Totals = ({ counts, inLine }: TotalsProps) => {
  const states = ACTIVE_STATES.filter((state) => counts !== null && counts[state] > 0);
  const lines = PRIORITIES.filter((priority) => inLine !== null && inLine[priority] > 0);
  if (states.length === 0) return null;
  return (
    <div id="totals">
      <p class="item-head">
        {states.map((state) => (
          <a href={`/runs?state=${state}`}>
            <strong>{formatInteger(counts?.[state] ?? 0)}</strong> {state}
          </a>
        ))}
      </p>
      {lines.length === 0 ? null : (
        <p class="muted">
          Queued for a worker:{' '}
          {lines.map((priority) => `${formatInteger(inLine?.[priority] ?? 0)} ${PRIORITY_LABELS[priority]}`).join(', ')}
          .
        </p>
      )}
    </div>
  );
};

interface ActiveProps extends Pick<TotalsProps, 'counts'> {
  readonly active: readonly RunSnapshot[];
  readonly now: number;
}

const Active = ({ active, counts, now }: ActiveProps) =>
  active.length === 0 ? (
    ACTIVE_STATES.some((state) => (counts?.[state] ?? 0) > 0) ? null : (
      <EmptyState>
        No active runs. Open a <a href="/reports">report</a> to run it now.
      </EmptyState>
    )
  ) : (
    <ul class="active">
      {active.map((snapshot) => (
        <li>
          <p class="item-head">
            <RunBadge {...snapshot.record} /> <ReportLink {...snapshot.record} />{' '}
            <span>{snapshot.record.period.label}</span> <RunLink run={snapshot.record} />{' '}
            <span class="muted">{triggerText(snapshot.record)}</span>
          </p>
          {snapshot.record.state === 'queued' ? null : <RunProgressBar snapshot={snapshot} now={now} />}
        </li>
      ))}
    </ul>
  );

const Recent = ({ runs, now }: { readonly runs: readonly RunRecord[]; readonly now: number }) =>
  runs.length === 0 ? (
    <EmptyState>
      No runs yet. The first starts at the next slot, or when you run a <a href="/reports">report</a> now.
    </EmptyState>
  ) : (
    <RunTable runs={runs} now={now} caption="Recent runs" by={false} />
  );

const Paused = ({
  pauses,
  zones,
  now,
}: {
  readonly pauses: readonly Pause[];
  readonly zones: Zones;
  readonly now: number;
}) =>
  pauses.length === 0 ? (
    <EmptyState>Nothing is paused: all schedules are active.</EmptyState>
  ) : (
    <ul class="plain-list">
      {pauses.map((pause) => (
        <li>
          <PauseLine pause={pause} zone={zones.of(pause.org)} now={now} />
        </li>
      ))}
    </ul>
  );
