import type { ErrorJson } from '../../../base/error.ts';
import type { StateCounts } from '../../../queue/runs/run-counts.ts';
import { RUN_STATES, type RunRecord, type RunState } from '../../../run/run-record.ts';
import type { OrganizationEntry } from '../../access/reports.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import { filteredPath, isFiltered, PartFilters, RejectedFilter, TextFilter } from '../components/filter-fields.tsx';
import { formatInteger } from '../components/format-numbers.ts';
import { canAct, EmptyState, OrganizationSelect, PageLayout, Pager, type ViewProps } from '../components/layout.tsx';
import { RunTable } from '../components/run-table.tsx';
import { RUN_STATE_LABELS } from '../components/status-badge.tsx';
import type { RejectedForm } from '../forms/reason-form.tsx';
import { SelectForm } from '../forms/select-form.tsx';

/** The filters of the list. */
export interface RunsQuery {
  readonly org?: string | undefined;
  /** The exact id of the report. */
  readonly report?: string | undefined;
  readonly match?: string | undefined;
  readonly to?: string | undefined;
  readonly period?: string | undefined;
  /** A part of the error code. */
  readonly error?: string | undefined;
  readonly state?: RunState | undefined;
  /** Days in the zone of the page, YYYY-MM-DD, both inclusive. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly after?: string | undefined;
}

export interface RunsData {
  readonly organizations: readonly OrganizationEntry[];
  /** Null if they cannot be counted. */
  readonly counts: StateCounts | null;
  readonly runs: readonly RunRecord[];
  readonly next: string | null;
  readonly query: RunsQuery;
  /** `since` and `until` of the query as epoch ms. */
  readonly created: { readonly since?: number | undefined; readonly until?: number | undefined };
  /** Why the filters could not be used. */
  readonly rejected: ErrorJson | null;
  readonly refused?: RejectedForm | undefined;
}

/** The states of the runs that match the other filters, each with its number of runs. */
const StateTabs = ({ counts, query }: Pick<RunsData, 'counts' | 'query'>) => {
  const tab = (state: RunState | undefined, label: string, count: number | undefined) => (
    <a
      href={filteredPath('/runs', { ...query, state, after: undefined })}
      {...(state === query.state ? { 'aria-current': 'page' } : {})}
    >
      {label} {count === undefined ? null : <small>{formatInteger(count)}</small>}
    </a>
  );
  const total = counts === null ? undefined : Object.values(counts).reduce((sum, count) => sum + count, 0);
  return (
    <nav class="tabs" id="state-tabs" aria-label="Runs by state" data-live>
      {tab(undefined, 'All', total)}
      {RUN_STATES.filter((state) => counts === null || counts[state] > 0 || state === query.state).map((state) =>
        tab(state, RUN_STATE_LABELS[state].label, counts?.[state]),
      )}
    </nav>
  );
};

export const Runs = ({
  layout,
  data: { organizations, counts, runs, next, query, created, rejected, refused },
}: ViewProps<RunsData>) => (
  <PageLayout layout={layout} title="Runs" current="/runs">
    <h1>Runs</h1>
    {refused === undefined ? null : <ErrorDetails error={refused.error} id="rejected" heading="Action rejected" />}
    <form class="filter" method="get" action="/runs">
      <OrganizationSelect organizations={organizations} selected={query.org} />
      <PartFilters query={{ ...query, match: query.match ?? query.report }} />
      {query.state === undefined ? null : <input type="hidden" name="state" value={query.state} />}
      <details class="more-filters" open={[query.error, query.since, query.until].some((value) => value !== undefined)}>
        <summary>More filters</summary>
        <div>
          <TextFilter name="error" label="Error code" value={query.error} placeholder="part, e.g. smtp" />
          <label>
            From
            <input type="date" name="since" value={query.since ?? ''} />
          </label>
          <label>
            To
            <input type="date" name="until" value={query.until ?? ''} />
          </label>
          <TextFilter name="run" label="Run" value={undefined} placeholder="id or its first 8 digits" />
        </div>
      </details>
      <button type="submit">Show</button>
      {isFiltered(query) ? <a href="/runs">Show all</a> : null}
    </form>
    <StateTabs counts={counts} query={query} />
    {rejected !== null ? (
      <RejectedFilter error={rejected} />
    ) : runs.length === 0 ? (
      <EmptyState>
        {isFiltered(query) ? (
          <>
            No runs match these filters. <a href="/runs">Show all</a>
          </>
        ) : (
          <>
            No runs yet. The first starts at the next <a href="/slots">slot</a>, or when you run a{' '}
            <a href="/reports">report</a> now.
          </>
        )}
      </EmptyState>
    ) : (
      <SelectForm
        layout={layout}
        actions={['cancel', 'retry', 'release']}
        what="runs"
        filter={{ ...query, ...created, after: undefined }}
      >
        <RunTable runs={runs} now={layout.now} caption="Runs, newest first" pick={canAct(layout)} />
      </SelectForm>
    )}
    <Pager
      newest={query.after === undefined ? undefined : filteredPath('/runs', { ...query, after: undefined })}
      older={next === null ? undefined : filteredPath('/runs', { ...query, after: next })}
      label="Older runs"
    />
  </PageLayout>
);
