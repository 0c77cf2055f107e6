import type { OrganizationEntry, ReportEntry } from '../access.ts';
import { counted } from './figures.ts';
import { Empty, type Frame, Page } from './frame.tsx';
import { RunLink, reportPath, zoneOf } from './run-parts.tsx';
import { RunBadge } from './state.tsx';
import { At } from './time.tsx';

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
  readonly frame: Frame;
  readonly data: ReportsData;
}) => (
  <Page frame={frame} title="Reports" place="/reports">
    <h1>Reports</h1>
    {organizations.length === 0 ? (
      <Empty>
        There is no organization here yet. <code>docket init</code> writes the first one and its report.
      </Empty>
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
  </Page>
);

const ReportTable = ({ reports }: { readonly reports: readonly ReportEntry[] }) =>
  reports.length === 0 ? (
    <Empty>
      No report yet: put a definition beside <code>org.yaml</code>. It is read within seconds.
    </Empty>
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
                  <RunBadge state={last.state} /> <At at={last.createdAt} zone={zoneOf(last)} /> <RunLink run={last} />
                </>
              )}
            </td>
            <td data-name="State">
              {pause === null ? null : <span class="state warn">Paused</span>}{' '}
              {faults.length === 0 ? null : <span class="state bad">{counted(faults.length, 'fault')}</span>}
              {pause === null && faults.length === 0 ? <span class="soft">in force</span> : null}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
