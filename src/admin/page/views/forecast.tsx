import { DateTime } from 'luxon';
import { HOUR_MS, MINUTE_MS } from '../../../base/time.ts';
import { describeLateSlot, type ForecastDocument } from '../../../services/forecast/forecast-document.ts';
import type { OrganizationEntry } from '../../access/reports.ts';
import { formatCounted } from '../components/format-numbers.ts';
import { EmptyState, OrganizationSelect, PageLayout, Table, type ViewProps } from '../components/layout.tsx';
import { ReportLink } from '../components/run-table.tsx';
import { Timestamp } from '../components/time.tsx';

/** The selectable windows, by their name in the address. `before` and `after` are hours from now. */
export const FORECAST_WINDOWS = {
  day: { label: 'Next 24 hours', before: 0, after: 24 },
  week: { label: 'Next 7 days', before: 0, after: 168 },
  past: { label: 'Last 24 hours', before: 24, after: 0 },
} as const;
export type ForecastWindowName = keyof typeof FORECAST_WINDOWS;

export interface ForecastData {
  readonly forecast: ForecastDocument;
  readonly organizations: readonly OrganizationEntry[];
  readonly org: string | undefined;
  readonly window: ForecastWindowName;
}

/** Maximum runs in the table. */
const MAX_RUNS = 100;
/** The page is computed anew this often. */
const RENEWAL_S = 60;

export const ForecastPage = ({ layout, data }: ViewProps<ForecastData>) => {
  const { forecast, organizations, org, window } = data;
  const { runs, keys, late_slots, unplanned, paused } = forecast;
  const zone = layout.zone.name;
  const late = runs.filter((run) => run.late).length;
  return (
    <PageLayout layout={layout} title="Forecast" current="/forecast" renew={RENEWAL_S}>
      <h1>Forecast</h1>
      <p class="lead">
        When reports go out if nothing unplanned runs, and when an API key is fully used. The forecast makes no calls.
      </p>
      <form class="filter" method="get" action="/forecast">
        <OrganizationSelect organizations={organizations} selected={org} />
        <label>
          Window
          <select name="window">
            {Object.entries(FORECAST_WINDOWS).map(([name, { label }]) => (
              <option value={name} selected={name === window}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <button type="submit">Show</button>
      </form>
      <div id="forecast" data-live>
        <p>
          <strong>{formatCounted(runs.length, 'run')}</strong>,{' '}
          {late === 0 ? 'none late' : <span class="state bad">{late} late</span>}
        </p>
        {late_slots.map((slot) => (
          <div class="attention">
            <p>
              <MarkedText text={describeLateSlot(slot, zone)} />
            </p>
            {slot.advice === null ? null : <p class="muted">{slot.advice.reports.join(', ')}</p>}
          </div>
        ))}
        {unplanned.length === 0 ? null : (
          <details class="attention">
            <summary>{formatCounted(unplanned.length, 'report is', 'reports are')} not in the forecast</summary>
            {unplanned.map(({ report, why }) => (
              <p>
                {report}: {why}
              </p>
            ))}
          </details>
        )}
        {paused.length === 0 ? null : <p class="muted">Paused, without runs: {paused.join(', ')}</p>}
        {keys.map((key) => (
          <section>
            <h2>
              {key.organizations.join(', ')} <small>key {key.key.slice(0, 8)}…</small>
            </h2>
            <p>
              {formatCounted(key.tokens, 'call')}
              {key.other_organizations.calls === 0
                ? null
                : `, other organizations: ${formatCounted(key.other_organizations.calls, 'call')}`}
              ;{' '}
              {key.full_at === null ? (
                'no call waits'
              ) : (
                <span class="warning">
                  calls wait from <Timestamp at={Date.parse(key.full_at)} zone={zone} weekday /> on
                </span>
              )}
              . A row is an hour, a bar a minute; a full bar is the limit of {key.limit} in {key.window_seconds} s.
            </p>
            <MinuteChart of={key} zone={zone} />
          </section>
        ))}
        <section>
          <h2>Runs</h2>
          <ForecastTable runs={runs} zone={zone} />
        </section>
        <Assumptions of={forecast.assumptions} />
      </div>
    </PageLayout>
  );
};

/** A sentence with `code` in backticks. */
const MarkedText = ({ text }: { readonly text: string }) => (
  <>{text.split('`').map((part, index) => (index % 2 === 0 ? part : <code>{part}</code>))}</>
);

/** Runs of the forecast, late ones first. */
const ForecastTable = ({ runs, zone }: { readonly runs: ForecastDocument['runs']; readonly zone: string }) => {
  if (runs.length === 0) return <EmptyState>No report has a slot in this window.</EmptyState>;
  // Future slots have no actual delivery: on a phone, the empty column would be a line of each run.
  const hasActual = runs.some(({ actual }) => actual !== null);
  const sorted = runs.toSorted((a, b) => Number(b.late) - Number(a.late));
  return (
    <>
      <Table
        caption="Forecast of each run, late ones first"
        columns={['Report', 'Slot', 'Forecast', ...(hasActual ? ['Actual'] : []), 'Calls', 'State']}
        classes={{ Calls: 'number' }}
      >
        {sorted.slice(0, MAX_RUNS).map((run) => {
          const [org = '', report = ''] = run.report.split('/');
          return (
            <tr>
              <td>
                <ReportLink org={org} report={report} />
              </td>
              <td data-name="Slot">
                <Timestamp at={Date.parse(run.slot)} zone={zone} weekday />
              </td>
              <td data-name="Forecast">
                <TimeAfter at={run.foreseen ?? run.delivered} slot={run.slot} zone={zone} />
              </td>
              {hasActual && (
                <td data-name="Actual">
                  {run.actual === null ? (
                    <span class="muted">–</span>
                  ) : (
                    <a href={`/runs/${run.run}`}>
                      <TimeAfter at={run.actual} slot={run.slot} zone={zone} />
                    </a>
                  )}
                </td>
              )}
              <td data-name="Calls" class="number">
                {run.calls}
                {run.prepared === 0 ? null : <small> {run.prepared} prepared</small>}
              </td>
              <td data-name="State">
                {run.late ? <span class="state bad">Late</span> : run.late_at === null ? 'No limit' : 'On time'}
              </td>
            </tr>
          );
        })}
      </Table>
      {runs.length <= MAX_RUNS ? null : (
        <p class="more muted">
          These are {MAX_RUNS} of {runs.length}. <code>docket forecast</code> shows all.
        </p>
      )}
    </>
  );
};

/** `09:13:05`, with the date if it differs from the slot's. */
const TimeAfter = ({ at, slot, zone }: { readonly at: string; readonly slot: string; readonly zone: string }) => {
  const time = DateTime.fromISO(at, { zone });
  const isSameDay = time.hasSame(DateTime.fromISO(slot, { zone }), 'day');
  return <Timestamp at={time.toMillis()} zone={zone} short={isSameDay} seconds />;
};

const Assumptions = ({ of }: { readonly of: ForecastDocument['assumptions'] }) => (
  <p class="more muted small">
    Assumed: {of.processes} × {of.concurrency} runs at once; a call takes {of.call_seconds} s, rendering{' '}
    {of.render_seconds} s, delivery {of.delivery_seconds} s
    {of.measured_reports === 0 ? null : ` (${formatCounted(of.measured_reports, 'report')}: as in the last ten runs)`}.
    Not counted: runs on demand, backfills, corrected editions and failures.
  </p>
);

const MINUTES = 60;
const HEIGHT = 28;
/** Maximum hours drawn per key: those with the most tokens. */
const MAX_HOURS = 24;

interface MinuteChartProps {
  readonly of: ForecastDocument['keys'][number];
  /** IANA zone in which hours begin. */
  readonly zone: string;
}

/**
 * The tokens of a key by minute, with a row for each hour that has a call. A bar of full height is the limit of a
 * window.
 */
const MinuteChart = ({ of: { minutes, limit, window_seconds }, zone }: MinuteChartProps) => {
  const most = Math.max(1, (limit * MINUTES) / Math.max(1, window_seconds));
  const hours = byHour(minutes, zone);
  const shown = [...hours]
    .map(([hour, bars]) => ({ hour, bars, sum: bars.reduce((all, one) => all + one, 0) }))
    .sort((a, b) => b.sum - a.sum)
    .slice(0, MAX_HOURS)
    .sort((a, b) => a.hour - b.hour);
  return (
    <>
      <ul class="minute-chart">
        {shown.map(({ hour, bars, sum }) => {
          const full = bars.filter((tokens) => tokens >= most).length;
          const time = DateTime.fromMillis(hour, { zone, locale: 'en-GB' });
          return (
            <li>
              <span>{time.toFormat('ccc HH:mm')}</span>
              <svg
                viewBox={`0 0 ${MINUTES} ${HEIGHT}`}
                preserveAspectRatio="none"
                height={HEIGHT}
                width="100%"
                role="img"
                aria-label={`${time.toFormat('ccc HH:mm')}: ${formatCounted(sum, 'call')}, ${full === 0 ? 'never full' : `full in ${formatCounted(full, 'minute')}`}`}
              >
                {bars.map((tokens, minute) => {
                  const height = Math.min(1, tokens / most) * HEIGHT;
                  return tokens === 0 ? null : (
                    <rect
                      class={tokens >= most ? 'full' : ''}
                      x={minute + 0.1}
                      width="0.8"
                      y={(HEIGHT - height).toFixed(1)}
                      height={height.toFixed(1)}
                    />
                  );
                })}
              </svg>
              <span class="number muted">{sum}</span>
            </li>
          );
        })}
      </ul>
      {hours.size <= MAX_HOURS ? null : <p class="muted">These are the {MAX_HOURS} hours with the most calls.</p>}
    </>
  );
};

function byHour(minutes: MinuteChartProps['of']['minutes'], zone: string): ReadonlyMap<number, number[]> {
  const hours = new Map<number, number[]>();
  for (const { at, tokens } of minutes) {
    const time = DateTime.fromISO(at, { zone });
    const hour = time.startOf('hour').toMillis();
    const bars = hours.get(hour) ?? Array.from({ length: MINUTES }, () => 0);
    bars[Math.floor(((time.toMillis() - hour) % HOUR_MS) / MINUTE_MS)] = tokens;
    hours.set(hour, bars);
  }
  return hours;
}
