import { execPipeline, type RedisClient } from '../../redis/client.ts';
import type { RedisKeys, RunScope } from '../../redis/keys.ts';
import { RUN_STATES, type RunFilter, type RunState } from '../../run/run-record.ts';

/** The indexes that a listing reads, and the conditions that it must still check. */
export interface RunQuery {
  /** Sorted sets of run ids by creation time. The listing is their union. */
  readonly indexes: readonly string[];
  /** Conditions for `match-runs-1.lua`. Undefined: every run in the indexes matches. */
  readonly conditions: RunConditions | undefined;
}

export interface RunConditions {
  readonly reports?: Readonly<Record<string, true>>;
  readonly states?: Readonly<Partial<Record<RunState, true>>>;
  /** Part of an error code, in lower case. */
  readonly error?: string;
  readonly from?: string;
  readonly to?: string;
  /** Names of indexes. At least one must contain the run. */
  readonly in?: readonly string[];
}

/** For more reports, their indexes are not merged. Instead, a wider index is read and filtered. */
const MAX_REPORT_INDEXES = 500;
/** Most indexes in which each run of another index is looked up. */
const MAX_CHECKED_INDEXES = 10;
/** Runs in other states have no error. */
const STATES_WITH_ERRORS: readonly RunState[] = [
  'waiting',
  'partly_delivered',
  'held',
  'awaiting_approval',
  'cancelled',
  'failed',
  'skipped',
];

/** Plans a listing: among the indexes that answer a part of the filter, it reads those with the fewest runs. */
export async function planRunQuery(redis: RedisClient, keys: RedisKeys, filter: RunFilter): Promise<RunQuery> {
  const { org, report, reports, recipients, begins } = filter;
  const error = filter.error?.toLowerCase();
  const states = stateFilter(filter.states, error);
  const scopes =
    reports === undefined ? await reportScopes(redis, keys, org, report) : parseScopes(reports, org, report);
  if (scopes === undefined && recipients === undefined && begins === undefined) {
    const indexes = indexNames(keys, org === undefined ? undefined : { org }, states);
    return { indexes, conditions: error === undefined ? undefined : { error } };
  }
  const conditions = {
    ...(scopes === undefined ? {} : { reports: trueFor(scopes.map(({ org: of, report: name }) => `${of}/${name}`)) }),
    ...(states === undefined ? {} : { states: trueFor(states) }),
    ...(error === undefined ? {} : { error }),
    ...(begins === undefined ? {} : { from: begins.from, to: begins.to }),
  };
  const byDay = async (): Promise<RunQuery[]> => {
    if (begins === undefined) return [];
    const { from: _, to: __, ...rest } = conditions;
    const days = await redis.zrangebyscore(keys.firstDays, dayNumber(begins.from), dayNumber(begins.to));
    return [{ indexes: days.map((day) => keys.beginsOn(day, org)), conditions: rest }];
  };
  if (recipients !== undefined) {
    const names = recipients.filter((name) => org === undefined || name.startsWith(`${org}/`));
    const indexes = names.map(keys.deliveredTo);
    const days = names.length <= MAX_CHECKED_INDEXES ? await byDay() : [];
    const ofDays = days.map((query) => ({ ...query, conditions: { ...query.conditions, in: indexes } }));
    return withoutEmpty(await withFewestRuns(redis, [{ indexes, conditions }, ...ofDays]));
  }
  const candidates: RunQuery[] = await byDay();
  if (scopes !== undefined && scopes.length <= MAX_REPORT_INDEXES) {
    const { reports: _, states: __, ...rest } = conditions;
    candidates.push({ indexes: scopes.flatMap((scope) => indexNames(keys, scope, states)), conditions: rest });
  }
  const { states: _, ...rest } = conditions;
  candidates.push({ indexes: indexNames(keys, org === undefined ? undefined : { org }, states), conditions: rest });
  return withoutEmpty(await withFewestRuns(redis, candidates));
}

const withoutEmpty = (query: RunQuery): RunQuery =>
  query.conditions !== undefined && Object.keys(query.conditions).length > 0
    ? query
    : { ...query, conditions: undefined };

/** The states to look for. Undefined: any state. */
function stateFilter(states: RunFilter['states'], error: string | undefined): readonly RunState[] | undefined {
  const wanted = states === undefined ? undefined : [...new Set(states)];
  if (error !== undefined) return (wanted ?? RUN_STATES).filter((state) => STATES_WITH_ERRORS.includes(state));
  return wanted?.length === RUN_STATES.length ? undefined : wanted;
}

const indexNames = (keys: RedisKeys, of: RunScope | undefined, states: readonly RunState[] | undefined): string[] =>
  states === undefined ? [keys.index(of)] : states.map((state) => keys.statesOf(of, state));

async function reportScopes(
  redis: RedisClient,
  keys: RedisKeys,
  org: string | undefined,
  report: string | undefined,
): Promise<readonly Required<RunScope>[] | undefined> {
  if (report === undefined) return undefined;
  const orgs = org === undefined ? await redis.zrevrange(keys.orgs, 0, -1) : [org];
  return orgs.map((one) => ({ org: one, report }));
}

const parseScopes = (names: readonly string[], org: string | undefined, report: string | undefined) =>
  names
    .map((name) => ({ org: name.slice(0, name.indexOf('/')), report: name.slice(name.indexOf('/') + 1) }))
    .filter((scope) => (org ?? scope.org) === scope.org && (report ?? scope.report) === scope.report);

const trueFor = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, true])) as Record<Name, true>;

const dayNumber = (day: string): string => day.replaceAll('-', '');

async function withFewestRuns(redis: RedisClient, candidates: readonly RunQuery[]): Promise<RunQuery> {
  const pipeline = redis.pipeline();
  for (const { indexes } of candidates) for (const index of indexes) pipeline.zcard(index);
  const sizes = (await execPipeline(pipeline)).map(Number);
  let best: { query: RunQuery; size: number } | undefined;
  for (const query of candidates) {
    const size = sizes.splice(0, query.indexes.length).reduce((sum, each) => sum + each, 0);
    if (best === undefined || size < best.size) best = { query, size };
  }
  return best?.query ?? { indexes: [], conditions: undefined };
}
