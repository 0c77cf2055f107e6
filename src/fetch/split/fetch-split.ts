import { asOutcome, done, type Outcome } from '../../base/outcome.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { ReportResponse } from '../../contract/report.ts';
import { withoutAnswered } from '../../plan/answered-sections.ts';
import { collectAllCalls, type Plan } from '../../plan/plan.ts';
import type { RequestCalls } from '../../plan/requests/build-calls.ts';
import { groupedRequests, isSliced, requestKey, type SplitPlan, splitPlan } from '../../plan/split/split-plan.ts';
import { otherLabels } from '../answer-checks/column-checks.ts';
import type { CallResult } from '../call-runner.ts';
import type { CallRecord, Dataset } from '../dataset.ts';
import { buildDataset, type FetchInput, fetchCalls, type PreparedFetch, prepareFetch } from '../fetch-dataset.ts';
import { withoutBaseRows } from '../internal/tables/cases.ts';
import { tableResponse } from '../internal/tables/comparisons/partner-answers.ts';
import { sliceResponse } from './slice-response.ts';

/** The responses for all values of a dimension. Each value gets a dataset of its own. */
export interface SplitAnswers {
  readonly prepared: PreparedFetch;
  readonly plan: SplitPlan;
  /** The calls that were made, for the manifest. */
  readonly calls: readonly CallRecord[];
  readonly results: ReadonlyMap<string, CallResult>;
  /** Responses to grouped requests, by `requestKey`. */
  readonly grouped: ReadonlyMap<string, GroupedResult>;
}

interface GroupedResult {
  readonly response: ReportResponse;
  /** When its oldest part was received, epoch ms. */
  readonly at: number;
  readonly record: CallRecord;
}

export interface SplitFetchInput extends Omit<FetchInput, 'plan'> {
  /** The plan of any one of the values. */
  readonly plan: Plan;
  readonly by: string;
  /** Make only the calls that these sections need. Absent: all. */
  readonly only?: ReadonlySet<string>;
}

/**
 * Makes the calls for all values at once. It can be repeated like `fetchDataset`: stored responses are not requested
 * again.
 */
export const fetchSplit = (input: SplitFetchInput): Promise<Outcome<SplitAnswers>> =>
  asOutcome(input.signal, () => fetchAll(input));

async function fetchAll(input: SplitFetchInput): Promise<Outcome<SplitAnswers>> {
  const prepared = await prepareFetch(input);
  const one = withoutAnswered(input.plan, new Set(prepared.read.keys()));
  const [first] = one.calls;
  if (first === undefined)
    return done({ prepared, plan: emptyPlan(input.by), calls: [], results: new Map(), grouped: new Map() });
  const whole = splitPlan(one, input.by, { org: first.org, catalog: input.catalog });
  const plan = input.only === undefined ? whole : onlyFor(input.only, whole);
  const fetched = await fetchCalls(prepared, { ...one, calls: plan.calls });
  if (fetched.kind !== 'done') return fetched;
  const results = new Map(
    fetched.value.map((result): [string, CallResult] => {
      const { record } = result;
      return [record.id, { ...result, record: { ...record, sections: plan.sections.get(record.id) ?? [] } }];
    }),
  );
  const grouped = new Map(
    [...plan.requests].map(([key, calls]) => [key, groupedResult(calls, results, input)] as const),
  );
  return done({ prepared, plan, calls: [...results.values()].map(({ record }) => record), results, grouped });
}

/** The calls that some sections need, unchanged from the plan of all sections. */
function onlyFor(chosen: ReadonlySet<string>, plan: SplitPlan): SplitPlan {
  const calls = plan.calls.filter(({ id }) => plan.sections.get(id)?.some((section) => chosen.has(section)));
  const ids = new Set(calls.map(({ id }) => id));
  const requests = [...plan.requests].filter(([, request]) => request.calls.every(({ id }) => ids.has(id)));
  return { ...plan, calls, requests: new Map(requests) };
}

const emptyPlan = (by: string): SplitPlan => ({ by, calls: [], sections: new Map(), requests: new Map() });

function groupedResult(
  { calls, join }: RequestCalls,
  results: SplitAnswers['results'],
  { catalog }: Pick<FetchInput, 'catalog'>,
): GroupedResult {
  const answered = calls.map(({ id }) => {
    const result = results.get(id);
    if (result?.kind !== 'report') throw new Error(`no response to the call ${id}`);
    return { call: id, request: result.call.request, response: result.response, at: result.at, record: result.record };
  });
  const [first, ...more] = answered;
  if (first === undefined) throw new Error('a grouped request has no calls');
  const response = join === undefined ? first.response : tableResponse({ join }, [first, ...more], catalog);
  return { response, at: Math.min(...answered.map(({ at }) => at)), record: first.record };
}

/**
 * The dataset of one value: the same that a run would have if its sections had the filter `<by> eq <value>`. Pure.
 * @param one the plan of that value
 */
export function sliceDataset(answers: SplitAnswers, one: Plan, value: string): Dataset {
  const plan = withoutAnswered(one, new Set(answers.prepared.read.keys()));
  const { input, published, ...read } = answers.prepared;
  const { by } = answers.plan;
  // Columns list the values of their dimension. A dataset may name only its own value.
  const own = {
    ...read,
    input: { ...input, catalog: withOneValue(input.catalog, by, value) },
    published: withOneValue(published, by, value),
  };
  return buildDataset(
    own,
    plan,
    plan.calls.map((call) => buildResult(call, answers, plan, value)),
  );
}

function buildResult(call: Plan['calls'][number], answers: SplitAnswers, plan: Plan, value: string): CallResult {
  const { by } = answers.plan;
  if (!isSliced(call, by)) return answers.results.get(call.id) ?? missing(call.id);
  const requests = groupedRequests(call.request, by);
  const rows = answers.grouped.get(requestKey(requests.rows)) ?? missing(call.id);
  const totals =
    requests.totals === undefined ? undefined : (answers.grouped.get(requestKey(requests.totals)) ?? missing(call.id));
  const { published } = answers.prepared;
  const sliced = sliceResponse(
    call.request,
    { by, value, catalog: published },
    { rows: rows.response, ...(totals === undefined ? {} : { totals: totals.response }) },
  );
  const response = withoutBaseRows(call, sliced);
  const labels = otherLabels(response, published);
  const { shared: _shared, labels: _labels, ...record } = rows.record;
  return {
    kind: 'report',
    call,
    response,
    at: Math.min(rows.at, totals?.at ?? rows.at),
    record: {
      ...record,
      id: call.id,
      sections: plan.sections.flatMap((one) => (collectAllCalls(one).includes(call.id) ? [one.section.id] : [])),
      asOf: response.meta.as_of,
      rows: response.rows.length,
      ...(labels === undefined ? {} : { labels }),
    },
  };
}

function missing(call: string): never {
  throw new Error(`no response for all values to the call ${call}`);
}

/** Removes the other values of a dimension from the catalog. */
export const withOneValue = (catalog: Catalog, by: string, value: string): Catalog => ({
  ...catalog,
  dimensions: catalog.dimensions.map((dimension) =>
    dimension.id === by ? { ...dimension, values: dimension.values.filter((each) => each.value === value) } : dimension,
  ),
});

/** The values of the dimension that have rows; null: rows without a value. */
export function valuesWithRows({ plan, grouped }: SplitAnswers): ReadonlySet<string | null> {
  const found = new Set<string | null>();
  for (const { response } of grouped.values()) {
    for (const { [plan.by]: value } of response.rows) {
      if (typeof value === 'string' || value === null) found.add(value);
    }
  }
  return found;
}
