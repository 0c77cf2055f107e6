import { RUN_STATES, type RunRecord, type RunState } from '../../../run/run-record.ts';
import type { OrganizationEntry } from '../../access/access.ts';
import { EmptyState, OrganizationSelect, PageLayout, Pager, type ViewProps } from '../components/layout.tsx';
import { RunTable } from '../components/run-table.tsx';
import { RUN_STATE_LABELS } from '../components/status-badge.tsx';

/** The filters of the list. */
export interface RunsQuery {
  readonly org?: string | undefined;
  readonly report?: string | undefined;
  readonly state?: RunState | undefined;
  /** Days in UTC, YYYY-MM-DD, both included. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly after?: string | undefined;
}

export interface RunsData {
  readonly organizations: readonly OrganizationEntry[];
  readonly runs: readonly RunRecord[];
  readonly next: string | null;
  readonly query: RunsQuery;
}

export const Runs = ({ layout, data: { organizations, runs, next, query } }: ViewProps<RunsData>) => (
  <PageLayout layout={layout} title="Runs" current="/runs">
    <h1>Runs</h1>
    <form class="filter" method="get" action="/runs">
      <OrganizationSelect organizations={organizations} selected={query.org} />
      <label>
        Report
        <input name="report" value={query.report ?? ''} placeholder="all" autocomplete="off" spellcheck={false} />
      </label>
      <label>
        State
        <select name="state">
          <option value="">any</option>
          {RUN_STATES.map((state) => (
            <option value={state} selected={state === query.state}>
              {RUN_STATE_LABELS[state].label}
            </option>
          ))}
        </select>
      </label>
      <label>
        From (UTC)
        <input type="date" name="since" value={query.since ?? ''} />
      </label>
      <label>
        To (UTC)
        <input type="date" name="until" value={query.until ?? ''} />
      </label>
      <label>
        Run
        <input name="run" placeholder="id or its first 8 digits" autocomplete="off" spellcheck={false} maxlength={32} />
      </label>
      <button type="submit">Show</button>
      {isFiltered(query) ? <a href="/runs">Show all</a> : null}
    </form>
    {runs.length === 0 ? (
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
      <RunTable runs={runs} now={layout.now} caption="Runs, newest first" />
    )}
    <Pager
      newest={query.after === undefined ? undefined : runsPath({ ...query, after: undefined })}
      older={next === null ? undefined : runsPath({ ...query, after: next })}
      label="Older runs"
    />
  </PageLayout>
);

const isFiltered = ({ after, ...query }: RunsQuery): boolean =>
  Object.values(query).some((value) => value !== undefined);

/** The path of the list with these filters. */
function runsPath(query: RunsQuery): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '/runs' : `/runs?${parameters}`;
}
