import type { OrganizationEntry } from '../access.ts';
import type { AuditEvent, AuditPage, KeptEntry } from '../auth/audit.ts';
import { Empty, type Frame, Page } from './frame.tsx';
import { ReportLink, RunLink } from './run-parts.tsx';
import { At } from './time.tsx';
import { zonesOf } from './zones.ts';

const DID: Readonly<Record<AuditEvent, string>> = {
  'run.triggered': 'ran',
  'run.cancelled': 'cancelled',
  'run.retried': 'retried',
  'run.released': 'released',
  'delivery.resolved': 'decided of a delivery',
  'schedule.paused': 'paused',
  'schedule.resumed': 'resumed',
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

/** Who did what, the newest first. */
export const AuditList = ({
  frame,
  data: { page, organizations, after },
}: {
  readonly frame: Frame;
  readonly data: AuditData;
}) => {
  const zones = zonesOf(organizations);
  return (
    <Page frame={frame} title="Audit" place="/audit">
      <h1>Audit</h1>
      <p class="lead">Who ran, stopped, paused and decided what. The log has the same lines.</p>
      {page.entries.length === 0 ? (
        <Empty>Nothing here yet: what you do on this page and through the API is noted here.</Empty>
      ) : (
        <table class="rows">
          <caption class="unseen">What was done, the newest first</caption>
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Who</th>
              <th scope="col">Did</th>
              <th scope="col">Why</th>
              <th scope="col">From</th>
            </tr>
          </thead>
          <tbody>
            {page.entries.map((entry) => (
              <tr>
                <td>
                  <At at={entry.at} zone={entry.org === undefined ? zones.shared : zones.of(entry.org)} seconds />
                </td>
                <td data-name="Who">{entry.who}</td>
                <td data-name="Did">
                  <What entry={entry} />
                </td>
                <td data-name="Why" class="wrap">
                  {entry.why ?? '–'}
                </td>
                <td data-name="From" class="soft">
                  {entry.from ?? 'command line'}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="more">
        {after === undefined ? null : <a href="/audit">Newest</a>}{' '}
        {page.next === null ? null : (
          <a href={`/audit?after=${encodeURIComponent(page.next)}`} rel="next">
            Older
          </a>
        )}
      </p>
    </Page>
  );
};

const What = ({ entry: { event, org, report, run, delivery } }: { readonly entry: KeptEntry }) => (
  <>
    {DID[event]}{' '}
    {org === undefined ? null : report === undefined ? `all of ${org}` : <ReportLink org={org} report={report} />}{' '}
    {run === undefined ? null : <RunLink run={{ id: run }} />}{' '}
    {delivery === undefined ? null : (
      <a class="id" href={`/deliveries/${delivery}`} aria-label={`Delivery ${delivery.slice(-8)}`}>
        {delivery.slice(-8)}
      </a>
    )}
  </>
);
