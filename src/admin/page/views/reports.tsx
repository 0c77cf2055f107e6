import type { ReportEntry } from '../../access/reports.ts';
import { filteredPath, isFiltered, TextFilter } from '../components/filter-fields.tsx';
import { formatCounted } from '../components/format-numbers.ts';
import { EmptyState, OrganizationSelect, PageLayout, Pager, Table, type ViewProps } from '../components/layout.tsx';
import { reportPath, runZone } from '../components/run-table.tsx';
import { RunBadge, StatusCountBadges } from '../components/status-badge.tsx';
import { When } from '../components/time.tsx';
import type { loadReports } from '../routes/loaders.ts';

export const REPORT_FILTERS = ['paused', 'errors'] as const;
const FILTER_LABELS = { paused: 'paused', errors: 'with errors' } as const;

type ReportsProps = ViewProps<Awaited<ReturnType<typeof loadReports>>>;

export const Reports = ({ layout, data: { organizations, shown, query, reports, next } }: ReportsProps) => (
  <PageLayout layout={layout} title="Reports" current="/reports">
    <h1>Reports</h1>
    <form class="filter" method="get" action="/reports">
      <OrganizationSelect organizations={organizations} selected={query.org} />
      <TextFilter name="match" label="Report" value={query.match} placeholder="part of title or id" />
      <label>
        State
        <select name="state">
          <option value="">any</option>
          {REPORT_FILTERS.map((state) => (
            <option value={state} selected={state === query.state}>
              {FILTER_LABELS[state]}
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Show</button>
      {isFiltered(query) ? <a href="/reports">Show all</a> : null}
    </form>
    {reports.length === 0 && isFiltered(query) ? (
      <EmptyState>
        No reports match these filters. <a href="/reports">Show all</a>
      </EmptyState>
    ) : null}
    {organizations.length === 0 ? (
      <EmptyState>
        No organizations yet. <code>docket init</code> creates the first one with a report.
      </EmptyState>
    ) : null}
    {shown.map(({ org, name, timezone, pause }) => (
      <section aria-labelledby={`org-${org}`}>
        <h2 id={`org-${org}`}>
          {name} {name === org ? null : <small>{org}</small>} <small>{timezone}</small>{' '}
          {timezone === null ? (
            <span class="state bad">
              <code>org.yaml</code> has errors
            </span>
          ) : null}{' '}
          {pause === null ? null : (
            <a class="state warn" href="/pauses">
              Paused
            </a>
          )}
        </h2>
        <ReportTable org={org} now={layout.now} reports={reports.filter((report) => report.org === org)} />
      </section>
    ))}
    <Pager
      older={next === null ? undefined : filteredPath('/reports', { ...query, after: next })}
      label="More reports"
    />
  </PageLayout>
);

interface ReportTableProps {
  readonly org: string;
  readonly reports: readonly ReportEntry[];
  /** Epoch ms. */
  readonly now: number;
}

const ReportTable = ({ org: ofTable, reports, now }: ReportTableProps) =>
  reports.length === 0 ? (
    <EmptyState>
      No reports yet. Add a definition beside <code>org.yaml</code>; it is read within seconds.
    </EmptyState>
  ) : (
    <Table
      caption="Reports"
      columns={['Report', 'Schedule', 'Last run', 'State']}
      classes={{ Schedule: 'col-schedule', 'Last run': 'col-last', State: 'col-state' }}
      class="reports"
      live={`reports-of-${ofTable}`}
    >
      {reports.map(({ org, report, title, scheduleWords, pause, faults, last }) => (
        <tr>
          <td>
            <a href={reportPath(org, report)}>{title}</a> <small>{report}</small>
          </td>
          <td data-name="Schedule">
            {scheduleWords.length === 0 ? (
              <span class="muted">on demand</span>
            ) : (
              scheduleWords.map((words) => <span class="line">{words}</span>)
            )}
          </td>
          <td data-name="Last run">
            {last === null ? (
              <span class="muted">none yet</span>
            ) : (
              <>
                <RunBadge {...last} href={`/runs/${last.id}`} />{' '}
                <When at={last.createdAt} zone={runZone(last)} now={now} /> <StatusCountBadges {...last} />
              </>
            )}
          </td>
          <td data-name="State">
            {pause === null ? null : <span class="state warn">Paused</span>}{' '}
            {faults.length === 0 ? null : <span class="state bad">{formatCounted(faults.length, 'error')}</span>}
            {pause === null && faults.length === 0 ? 'active' : null}
          </td>
        </tr>
      ))}
    </Table>
  );
