import type { PropsWithChildren } from 'hono/jsx';
import { ReceivedTable } from '../../admin/page/components/deliveries/received-table.tsx';
import { filteredPath } from '../../admin/page/components/filter-fields.tsx';
import { formatCounted, formatInteger } from '../../admin/page/components/format-numbers.ts';
import { EmptyState, PageLayout, Section, type ViewProps } from '../../admin/page/components/layout.tsx';
import { ReportLink, RunTable } from '../../admin/page/components/run-table.tsx';
import type { FoundRecipient, SearchGroup, SearchResult } from './find-matches.ts';

export interface SearchData {
  /** The search text; empty before a search. */
  readonly text: string;
  readonly result: SearchResult;
}

/** The results of a search: reports, runs, and recipients with their deliveries. */
export const Search = ({ layout, data: { text, result } }: ViewProps<SearchData>) => {
  const { period, reports, runs, recipients, mentions } = result;
  const total = reports.total + runs.total + recipients.total + mentions.length;
  return (
    <PageLayout layout={layout} title={text === '' ? 'Search' : `Search for ${text}`}>
      <h1>{text === '' ? 'Search' : <>Results for “{text}”</>}</h1>
      {period === null ? null : (
        <p class="lead">
          Period {period.label}: runs whose period begins from {period.from} to {period.to}.
        </p>
      )}
      {text === '' || total === 0 ? (
        <EmptyState>
          {text === '' ? null : 'Nothing matches. '}
          <SearchHelp />
        </EmptyState>
      ) : null}
      {reports.total === 0 ? null : (
        <Section id="reports" heading={formatHeading(reports, 'report')}>
          <ul class="entries">
            {reports.matches.map((report) => (
              <li>
                <ReportLink {...report} />
              </li>
            ))}
          </ul>
          <p class="more">
            <a href={filteredPath('/runs', { match: result.words.join(' ') || undefined })}>Show their runs</a>
          </p>
          <More group={reports}>Add words to find the others.</More>
        </Section>
      )}
      {runs.total === 0 ? null : (
        <Section id="runs" heading={formatHeading(runs, 'run')}>
          <RunTable runs={runs.matches} now={layout.now} caption="Matching runs" />
          <More group={runs}>
            {period === null ? 'Add digits of the id.' : <a href={runsPath(period.label, result)}>Show all runs</a>}
          </More>
        </Section>
      )}
      {mentions.length === 0 ? null : (
        <Section id="mentions" heading={`Named in ${formatCounted(mentions.length, 'place')}`}>
          <ul class="entries">
            {mentions.map(({ org, report, file, line, field }) => (
              <li>
                {report === null ? <strong>{org}</strong> : <ReportLink org={org} report={report} />}{' '}
                <code class="wrap">{field}</code>{' '}
                <small class="muted wrap">
                  {file}:{line}
                </small>
              </li>
            ))}
          </ul>
        </Section>
      )}
      {recipients.total === 0 ? null : (
        <Section id="recipients" heading={formatHeading(recipients, 'recipient')}>
          {recipients.matches.map((recipient) => (
            <Recipient recipient={recipient} period={period?.label} now={layout.now} />
          ))}
          <More group={recipients}>Add letters to find the others.</More>
        </Section>
      )}
    </PageLayout>
  );
};

const SearchHelp = () => (
  <>
    You can search for a part of a report’s title or id, the first 4 digits or more of a run’s id, or a part of a
    recipient’s address. Add a period to see who got what: <code>board@ october</code>, <code>board@ 2026-10</code>,{' '}
    <code>kpi w46</code>. The key <kbd>/</kbd> goes to the search field, <kbd>j</kbd> and <kbd>k</kbd> to the next and
    the last row of a list, <kbd>?</kbd> to a list of commands.
  </>
);

interface RecipientProps {
  readonly recipient: FoundRecipient;
  readonly period: string | undefined;
  readonly now: number;
}

const Recipient = ({ recipient: found, period, now }: RecipientProps) => {
  const { org, recipient, matches, total } = found;
  return (
    <>
      <h3 class="wrap found-recipient">
        {recipient} <small class="muted">{org}</small>
      </h3>
      {total === 0 ? (
        <EmptyState>
          No delivery{period === undefined ? '' : ` for ${period}`}.{' '}
          {period === undefined ? null : <a href={deliveriesPath(org, recipient, undefined)}>Show all deliveries</a>}
        </EmptyState>
      ) : (
        <>
          <ReceivedTable deliveries={matches} caption={`Deliveries to ${recipient}`} now={now} showRecipient={false} />
          <p class="more">
            {countText(found, 'run')}
            {period === undefined ? '' : ` for ${period}`}.{' '}
            <a href={deliveriesPath(org, recipient, period)}>Show all deliveries to {recipient}</a>
          </p>
        </>
      )}
    </>
  );
};

/** `3 runs`, `200 runs or more`. */
const countText = ({ total, isMinimum }: SearchGroup<unknown>, one: string): string =>
  `${formatCounted(total, one)}${isMinimum ? ' or more' : ''}`;

const formatHeading = (group: SearchGroup<unknown>, one: string): string => countText(group, one);

/** Says how many matches are shown, if that is not all of them. */
const More = ({ group, children }: PropsWithChildren<{ readonly group: SearchGroup<unknown> }>) =>
  group.matches.length >= group.total && !group.isMinimum ? null : (
    <p class="more">
      The first {formatInteger(group.matches.length)} are shown. {children}
    </p>
  );

const deliveriesPath = (org: string, recipient: string, period: string | undefined): string =>
  filteredPath('/deliveries', { org, to: recipient, period });

/** The path of the list of the found runs. Words restrict it to the matching reports. */
const runsPath = (period: string, { words }: SearchResult): string =>
  filteredPath('/runs', { period, match: words.length === 0 ? undefined : words.join(' ') });
