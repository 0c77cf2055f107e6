import { DateTime } from 'luxon';
import { describeLateSlot } from '../../../services/forecast/describe-late-slot.ts';
import type { ForecastDocument } from '../../../services/forecast/forecast-document.ts';
import type { OrganizationEntry } from '../../access/reports.ts';
import { formatCounted } from '../components/format-numbers.ts';
import { EmptyState, OrganizationSelect, PageLayout, Table, type ViewProps } from '../components/layout.tsx';
import { MinuteChart } from '../components/minute-chart.tsx';
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
        <ForecastTable runs={runs} zone={zone} />
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
  const sorted = runs.toSorted((a, b) => Number(b.late) - Number(a.late));
  return (
    <>
      <Table
        caption="Forecast of each run, late ones first"
        columns={['Report', 'Slot', 'Forecast', 'Actual', 'Calls', 'State']}
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
              <td data-name="Actual">
                {run.actual === null ? (
                  <span class="muted">–</span>
                ) : (
                  <a href={`/runs/${run.run}`}>
                    <TimeAfter at={run.actual} slot={run.slot} zone={zone} />
                  </a>
                )}
              </td>
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
