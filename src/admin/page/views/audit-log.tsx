import type { AuditEvent, AuditPage, StoredAuditEntry } from '../../../services/audit-log.ts';
import type { OrganizationEntry } from '../../access/reports.ts';
import { EmptyState, PageLayout, Pager, Table, type ViewProps } from '../components/layout.tsx';
import { ReportLink, RunLink } from '../components/run-table.tsx';
import { collectZones, Timestamp } from '../components/time.tsx';

const AUDIT_EVENT_LABELS: Readonly<Record<AuditEvent, string>> = {
  'run.triggered': 'ran',
  'run.cancelled': 'cancelled',
  'run.retried': 'retried',
  'run.released': 'released',
  'run.commented': 'commented',
  'run.approved': 'approved',
  'run.rejected': 'rejected',
  'run.delegated': 'named a deputy for',
  'correction.opened': 'opened a correction',
  'correction.sent': 'sent a corrected edition',
  'correction.dismissed': 'dismissed a correction',
  'delivery.resolved': 'decided about a delivery',
  'recipient.added': 'added a recipient',
  'recipient.approved': 'approved a recipient',
  'recipient.rejected': 'rejected a recipient',
  'schedule.paused': 'paused',
  'schedule.resumed': 'resumed',
  'deliveries.stopped': 'stopped deliveries',
  'recipient.denied': 'denied recipients',
  'recipient.allowed': 'allowed recipients again',
  'deliveries.released': 'released deliveries',
  'hold.set': 'set a legal hold',
  'hold.released': 'released a legal hold',
  'session.opened': 'signed in',
  'session.closed': 'signed out',
  'token.created': 'created a token',
  'token.revoked': 'revoked a token',
  'deployment.adopted': 'moved the deployment',
};

export interface AuditData {
  readonly page: AuditPage;
  readonly organizations: readonly OrganizationEntry[];
  readonly after: string | undefined;
}

export const AuditList = ({ layout, data: { page, organizations, after } }: ViewProps<AuditData>) => {
  const zones = collectZones(organizations);
  return (
    <PageLayout layout={layout} title="Audit" current="/audit">
      <h1>Audit</h1>
      <p class="lead">All actions of users. The process log has the same entries.</p>
      {page.entries.length === 0 ? (
        <EmptyState>No entries yet. Actions on this page and through the API are recorded here.</EmptyState>
      ) : (
        <Table caption="Actions, newest first" columns={['Time', 'User', 'Action', 'Reason', 'From']} live="audit-rows">
          {page.entries.map((entry) => (
            <tr>
              <td>
                <Timestamp at={entry.at} zone={entry.org === undefined ? zones.shared : zones.of(entry.org)} seconds />
              </td>
              <td data-name="User">{entry.who}</td>
              <td data-name="Action">
                <AuditedAction entry={entry} />
              </td>
              <td data-name="Reason" class="wrap">
                {entry.why ?? '–'}
              </td>
              <td data-name="From" class="muted">
                {entry.from ?? 'command line'}
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Pager
        newest={after === undefined ? undefined : '/audit'}
        older={page.next === null ? undefined : `/audit?after=${encodeURIComponent(page.next)}`}
        label="Older"
      />
    </PageLayout>
  );
};

const AuditedAction = ({ entry: { event, org, report, run, delivery } }: { readonly entry: StoredAuditEntry }) => (
  <>
    {AUDIT_EVENT_LABELS[event]}{' '}
    {org === undefined ? null : report === undefined ? `all of ${org}` : <ReportLink org={org} report={report} />}{' '}
    {run === undefined ? null : (
      <>
        run <RunLink run={{ id: run }} />
      </>
    )}{' '}
    {delivery === undefined ? null : <a href={`/deliveries/${delivery}`}>delivery</a>}
  </>
);
