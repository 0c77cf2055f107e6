import type { ProcessReport } from '../../../queue/process-reports.ts';
import type { Processes as ProcessList } from '../../access/access.ts';
import { formatCounted } from '../components/format-numbers.ts';
import { EmptyState, PageLayout, Table, type ViewProps } from '../components/layout.tsx';
import { Timestamp, When } from '../components/time.tsx';

const ZONE = 'UTC';

/** The processes of the deployment: their roles, versions and definitions, and whether their checks pass. */
export const Processes = ({ layout, data: { reports, silent } }: ViewProps<ProcessList>) => {
  const usual = mostCommon(reports.map(({ definitions }) => definitions.digest));
  const version = mostCommon(reports.map((report) => report.version));
  return (
    <PageLayout layout={layout} title="Processes" current="/processes">
      <h1>Processes</h1>
      <p class="lead">
        Processes that have not reported for 100 seconds are not listed. All should have the same version and
        definitions.
      </p>
      {reports.length + silent.length === 0 ? (
        <EmptyState>
          No process is running. <code>docket start</code> starts one.
        </EmptyState>
      ) : (
        <Table
          caption="Running processes"
          columns={['Process', 'Roles', 'Version', 'Definitions', 'Started', 'Last seen', 'Checks']}
          live="process-rows"
        >
          {reports.map((report) => (
            <tr>
              <td>
                <span class="wrap">{report.host}</span> <small>{processNumber(report.self)}</small>
              </td>
              <td data-name="Roles">{report.roles.join(', ')}</td>
              <td data-name="Version">
                <Differing text={report.version} usual={version} />
              </td>
              <td data-name="Definitions">
                <Definitions report={report} usual={usual} />
              </td>
              <td data-name="Started">
                <Timestamp at={report.started} zone={ZONE} />
              </td>
              <td data-name="Last seen">
                <When at={report.at} zone={ZONE} />
              </td>
              <td data-name="Checks">
                <Checks failing={report.failing} />
              </td>
            </tr>
          ))}
          {silent.map(({ self, roles }) => (
            <tr>
              <td>
                <span class="wrap">{self.split(':', 1)}</span> <small>{processNumber(self)}</small>
              </td>
              <td data-name="Roles">{roles.join(', ')}</td>
              <td data-name="Version" class="muted">
                0.2.0 or older, or just started
              </td>
              <td data-name="Definitions">–</td>
              <td data-name="Started">–</td>
              <td data-name="Last seen">less than 90 s ago</td>
              <td data-name="Checks">–</td>
            </tr>
          ))}
        </Table>
      )}
    </PageLayout>
  );
};

/** The process id in an identifier of the form `host:pid:random`. */
const processNumber = (self: string): string => `process ${self.split(':').at(-2) ?? ''}`;

/** The most common value. Others are highlighted. */
function mostCommon(values: readonly string[]): string | undefined {
  const count = (value: string): number => values.filter((other) => other === value).length;
  return values.toSorted((one, other) => count(other) - count(one))[0];
}

const Differing = ({
  text,
  usual,
  full = text,
}: {
  readonly text: string;
  readonly usual?: string | undefined;
  readonly full?: string;
}) => <span class={full === usual ? '' : 'state warn'}>{text}</span>;

const Definitions = ({
  report: { definitions },
  usual,
}: {
  readonly report: ProcessReport;
  readonly usual: string | undefined;
}) => (
  <>
    <code title={definitions.digest}>
      <Differing text={definitions.digest.slice(0, 8)} full={definitions.digest} usual={usual} />
    </code>{' '}
    <small>{formatCounted(definitions.reports, 'report')}</small>
    {definitions.unreadable === null ? null : <p class="warning">{definitions.unreadable.why}</p>}
  </>
);

const Checks = ({ failing }: Pick<ProcessReport, 'failing'>) =>
  failing.length === 0 ? (
    <span class="state good">pass</span>
  ) : (
    <ul class="plain-list compact">
      {failing.map(({ name, detail, since }) => (
        <li class="wrap">
          <span class="state bad">{name}</span> {detail}{' '}
          <small>
            since <Timestamp at={since} zone={ZONE} />
          </small>
        </li>
      ))}
    </ul>
  );
