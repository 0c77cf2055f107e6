import type { OrganizationEntry, ReportEntry } from '../../access/access.ts';
import { formatCounted } from '../components/format-numbers.ts';
import { EmptyState, type LayoutData, PageLayout } from '../components/layout.tsx';
import { RunLink, reportPath, runZone } from '../components/run-table.tsx';
import { RunBadge } from '../components/status-badge.tsx';
import { Timestamp } from '../components/time.tsx';

export interface ReportsData {
  readonly organizations: readonly OrganizationEntry[];
  readonly reports: readonly ReportEntry[];
  /** `after` of the next page. */
  readonly next: string | null;
}

export const Reports = ({
  frame,
  data: { organizations, reports, next },
}: {
  readonly frame: LayoutData;
  readonly data: ReportsData;
}) => (
  <PageLayout frame={frame} title="Reports" place="/reports">
    <h1>Reports</h1>
    {organizations.length === 0 ? (
      <EmptyState>
        There is no organization here yet. <code>docket init</code> writes the first one and its report.
      </EmptyState>
    ) : null}
    {organizations.map(({ org, name, timezone, pause }) => (
      <section aria-labelledby={`org-${org}`}>
        <h2 id={`org-${org}`}>
          {org}{' '}
          <span class="soft">
            {name === org ? '' : `${name} · `}
            {timezone}
          </span>{' '}
          {timezone === null ? (
            <span class="state bad">
              <code>org.yaml</code> has a fault
            </span>
          ) : null}{' '}
          {pause === null ? null : (
            <a class="state warn" href="/pauses">
              Paused
            </a>
          )}
        </h2>
        <ReportTable reports={reports.filter((report) => report.org === org)} />
      </section>
    ))}
    {next === null ? null : (
      <p class="more">
        <a href={`/reports?${new URLSearchParams({ after: next })}`} rel="next">
          More reports
        </a>
      </p>
    )}
  </PageLayout>
);

const ReportTable = ({ reports }: { readonly reports: readonly ReportEntry[] }) =>
  reports.length === 0 ? (
    <EmptyState>
      No report yet: put a definition beside <code>org.yaml</code>. It is read within seconds.
    </EmptyState>
  ) : (
    <table class="rows reports">
      <caption class="unseen">Reports</caption>
      <thead>
        <tr>
          <th scope="col">Report</th>
          <th scope="col" class="of-schedule">
            Schedule
          </th>
          <th scope="col" class="of-last">
            Last run
          </th>
          <th scope="col" class="of-force">
            State
          </th>
        </tr>
      </thead>
      <tbody>
        {reports.map(({ org, report, title, schedules, pause, faults, last }) => (
          <tr>
            <td>
              <a href={reportPath(org, report)}>{title}</a> <span class="soft">{report}</span>
            </td>
            <td data-name="Schedule">
              {schedules.length === 0 ? (
                <span class="soft">on demand</span>
              ) : (
                schedules.map((line) => <code class="line">{line}</code>)
              )}
            </td>
            <td data-name="Last run">
              {last === null ? (
                <span class="soft">none yet</span>
              ) : (
                <>
                  <RunBadge state={last.state} /> <Timestamp at={last.createdAt} zone={runZone(last)} />{' '}
                  <RunLink run={last} />
                </>
              )}
            </td>
            <td data-name="State">
              {pause === null ? null : <span class="state warn">Paused</span>}{' '}
              {faults.length === 0 ? null : <span class="state bad">{formatCounted(faults.length, 'fault')}</span>}
              {pause === null && faults.length === 0 ? <span class="soft">in force</span> : null}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
