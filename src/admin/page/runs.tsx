import { RUN_STATES, type RunRecord, type RunState } from '../../run/record.ts';
import type { OrganizationEntry } from '../access.ts';
import { Empty, type Frame, Page } from './frame.tsx';
import { RunTable } from './run-parts.tsx';
import { RUN_LOOK } from './state.tsx';

/** What the list is narrowed to, as the form says it. */
export interface RunsQuery {
  readonly org?: string | undefined;
  readonly report?: string | undefined;
  readonly state?: RunState | undefined;
  /** YYYY-MM-DD, days of UTC, both included. */
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

export const Runs = ({
  frame,
  data: { organizations, runs, next, query },
}: {
  readonly frame: Frame;
  readonly data: RunsData;
}) => (
  <Page frame={frame} title="Runs" place="/runs">
    <h1>Runs</h1>
    <form class="filter" method="get" action="/runs">
      <label>
        Organization
        <select name="org">
          <option value="">all</option>
          {organizations.map(({ org }) => (
            <option value={org} selected={org === query.org}>
              {org}
            </option>
          ))}
        </select>
      </label>
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
              {RUN_LOOK[state].word}
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
        <input name="run" placeholder="its id, or 8 digits" autocomplete="off" spellcheck={false} maxlength={32} />
      </label>
      <button type="submit">Show</button>
      {isNarrowed(query) ? <a href="/runs">Show all</a> : null}
    </form>
    {runs.length === 0 ? (
      <Empty>
        {isNarrowed(query) ? (
          <>
            No run on record is like this. <a href="/runs">Show all</a>
          </>
        ) : (
          <>
            No run is on record yet. The first comes with the next <a href="/slots">slot</a>, or when you run a{' '}
            <a href="/reports">report</a> now.
          </>
        )}
      </Empty>
    ) : (
      <RunTable runs={runs} now={frame.now} caption="Runs, the newest first" />
    )}
    <p class="more">
      {query.after === undefined ? null : <a href={runsPath({ ...query, after: undefined })}>Newest</a>}{' '}
      {next === null ? null : (
        <a href={runsPath({ ...query, after: next })} rel="next">
          Older runs
        </a>
      )}
    </p>
  </Page>
);

const isNarrowed = ({ after, ...query }: RunsQuery): boolean =>
  Object.values(query).some((value) => value !== undefined);

/** The list with these filters. */
export function runsPath(query: RunsQuery): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '/runs' : `/runs?${parameters}`;
}
