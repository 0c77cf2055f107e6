import type { Pause } from '../../queue/pauses.ts';
import type { RunRecord } from '../../run/record.ts';
import type { BudgetLines as Budgets, OrganizationEntry, RunNews, SlotEntry } from '../access.ts';
import { BudgetLines } from './budget-lines.tsx';
import { DayStrip } from './day-strip.tsx';
import { Empty, type Frame, Page } from './frame.tsx';
import { Needs, type NeedsData } from './needs.tsx';
import { PauseLine } from './pauses.tsx';
import { Progress, ReportLink, RunLink, RunTable, triggered } from './run-parts.tsx';
import { SlotList } from './slots.tsx';
import { RunBadge } from './state.tsx';
import { type Zones, zonesOf } from './zones.ts';

export interface OverviewData extends NeedsData {
  readonly organizations: readonly OrganizationEntry[];
  /** Soonest first. */
  readonly slots: readonly SlotEntry[];
  /** Runs that have not ended. */
  readonly active: readonly RunNews[];
  /** Whether there are more of them than these. */
  readonly more: boolean;
  /** Newest first. */
  readonly recent: readonly RunRecord[];
  readonly budgets: Budgets;
}

/** What goes on and what needs somebody. The script renews each `data-live` part while the page is open. */
export const Overview = ({
  frame,
  data,
  notice,
}: {
  readonly frame: Frame;
  readonly data: OverviewData;
  readonly notice?: string | undefined;
}) => {
  const zones = zonesOf(data.organizations);
  return (
    <Page frame={frame} title="" place="/" notice={notice}>
      <h1 class="unseen">Overview</h1>
      <div id="needs" data-live>
        <Needs data={data} />
      </div>
      <DayStrip runs={data.recent} slots={data.slots} now={frame.now} zone={zones.shared} />
      <div class="split" data-renew="3">
        <div>
          <section aria-labelledby="now">
            <h2 id="now">Runs now</h2>
            <div id="active" data-live aria-live="polite" aria-atomic="false">
              <Active active={data.active} now={frame.now} />
              {data.more ? (
                <p class="more">
                  And more: <a href="/runs?state=running">running</a>, <a href="/runs?state=queued">queued</a>,{' '}
                  <a href="/runs?state=waiting">waiting</a>
                </p>
              ) : null}
            </div>
          </section>
          <section aria-labelledby="recent">
            <h2 id="recent">Recent runs</h2>
            <div id="recent-runs" data-live>
              <Recent runs={data.recent.slice(0, 10)} now={frame.now} />
            </div>
            <p class="more">
              <a href="/runs">All runs</a>
            </p>
          </section>
        </div>
        <div>
          <section aria-labelledby="next">
            <h2 id="next">Next slots</h2>
            <div id="next-slots" data-live>
              <SlotList slots={data.slots.slice(0, 8)} now={frame.now} />
            </div>
            <p class="more">
              <a href="/slots">All slots</a>
            </p>
          </section>
          <section aria-labelledby="budget">
            <h2 id="budget">Budget of each key</h2>
            <BudgetLines budgets={data.budgets} zone={zones.shared} now={frame.now} />
          </section>
          <section aria-labelledby="paused">
            <h2 id="paused">Paused</h2>
            <div id="pauses" data-live>
              <Paused pauses={data.pauses} zones={zones} now={frame.now} />
            </div>
          </section>
        </div>
      </div>
    </Page>
  );
};

const Active = ({ active, now }: { readonly active: readonly RunNews[]; readonly now: number }) =>
  active.length === 0 ? (
    <Empty>
      Nothing runs. Open a <a href="/reports">report</a> to run it now.
    </Empty>
  ) : (
    <ul class="active">
      {active.map((news) => (
        <li>
          <p class="head">
            <RunBadge state={news.record.state} /> <ReportLink {...news.record} />{' '}
            <span>{news.record.period.label}</span> <RunLink run={news.record} />{' '}
            <span class="soft">{triggered(news.record)}</span>
          </p>
          <Progress news={news} now={now} />
        </li>
      ))}
    </ul>
  );

const Recent = ({ runs, now }: { readonly runs: readonly RunRecord[]; readonly now: number }) =>
  runs.length === 0 ? (
    <Empty>
      No run is on record yet. The first comes with the next slot, or when you run a <a href="/reports">report</a> now.
    </Empty>
  ) : (
    <RunTable runs={runs} now={now} caption="The newest runs" by={false} />
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
    <Empty>Nothing is paused: every schedule is in force.</Empty>
  ) : (
    <ul class="plainlist">
      {pauses.map((pause) => (
        <li>
          <PauseLine pause={pause} zone={zones.of(pause.org)} now={now} />
        </li>
      ))}
    </ul>
  );
