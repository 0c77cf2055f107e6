import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import { done, fail, type Outcome } from '../base/outcome.ts';
import type { Catalog } from '../contract/catalog.ts';
import { PATHS } from '../contract/organization.ts';
import type { ReportResponse } from '../contract/report.ts';
import { type Call, collectAllCalls, type Plan, type ReportCall, type SectionPlan } from '../plan/plan.ts';
import { otherLabels } from './answer-checks/column-checks.ts';
import { cacheKeyOf } from './cache/response-cache.ts';
import { storeUntilFull } from './cache/response-store.ts';
import type { CallRecord, Dataset } from './dataset.ts';
import type { FetchContext } from './fetch-context.ts';
import type { FetchEvent } from './fetch-events.ts';
import { type FetchedList, fetchList, resolveOrgId } from './fetch-list.ts';
import { fetchReport } from './fetch-report.ts';
import { withoutBaseRows } from './internal/tables/cases.ts';
import { incompleteNotes } from './notes.ts';
import type { Budget, BudgetLimits } from './rate-limit/budget.ts';
import { type RateLimitContext, type RateLimitedCall, rateLimitContext } from './rate-limit/rate-limited-call.ts';

/** How many calls of one run may be in flight or queued at once. */
export const MAX_CONCURRENT_CALLS = 4;

export interface CallRunnerInput extends FetchContext {
  readonly plan: Plan;
  /** With the names from the report's `labels`. */
  readonly catalog: Catalog;
  /** With the service's own names. */
  readonly published: Catalog;
}

/** A call with its response. */
export type CallResult =
  | {
      readonly kind: 'report';
      readonly call: ReportCall;
      readonly response: ReportResponse;
      readonly at: number;
      readonly record: CallRecord;
    }
  | { readonly kind: 'list'; readonly list: FetchedList; readonly record: CallRecord };

/** Creates the function that answers a call from the response store, or makes it under the rate limit. */
export function createCallRunner(
  input: CallRunnerInput,
): (call: Call, stop: AbortSignal) => Promise<Outcome<CallResult>> {
  const { plan, catalog, published, signal, observe, client, budget, reads, clock, run, folder } = input;
  const store = storeUntilFull(input);
  const { responses } = store;
  const progress = createFinishEstimator({
    calls: plan.calls.length,
    limits: budget.limits,
    clock,
    concurrency: MAX_CONCURRENT_CALLS,
  });
  const sectionsFor = (call: Call): readonly Section[] =>
    plan.sections.filter((section) => collectAllCalls(section).includes(call.id)).map(({ section }) => section);
  const collectSectionIds = (call: Call): string[] => sectionsFor(call).map(({ id }) => id);
  let organization: Promise<Outcome<number>> | undefined;

  const callbacks = ({ id: call }: Call): Pick<RateLimitedCall<unknown>, 'onWait' | 'onGrant'> => ({
    onWait: ({ at, ahead, tokens }) => {
      progress.recordWait(at);
      observe({ type: 'waiting', call, until: at, ahead, tokens });
    },
    onGrant: () => observe({ type: 'granted', call }),
  });
  const reportFetched = (
    call: Call,
    result: Pick<
      Extract<FetchEvent, { type: 'fetched' }>,
      'saved' | 'tokens' | 'correlationId' | 'preparedAt' | 'pages'
    >,
    ms: number | null,
  ): void => {
    const { done, finish } = progress.recordAnswer(result.tokens, ms);
    observe({ type: 'fetched', call: call.id, ...result, of: plan.calls.length, done, finish });
  };
  /** `maxWaitMs` is read at each wait, because it changes when the store is full. */
  const buildContext = (limits: Budget): RateLimitContext => ({
    ...rateLimitContext(plan.org, input, limits),
    get maxWaitMs() {
      return store.maxWaitMs;
    },
  });

  return async (call, stop) => {
    const options = { ...callbacks(call), signal, stop };
    if (call.kind === 'report') {
      const fetched = await fetchReport({ ...input, responses, rateLimit: buildContext(budget) }, call, options);
      if (fetched.kind === 'fail') return fail(refusedError(fetched.error, call, sectionsFor(call)));
      if (fetched.kind !== 'done') return fetched;
      const { body, at, correlationId, askedBy, tokens, ms, preparedAt } = fetched.value;
      const response = withoutBaseRows(call, body);
      const early = preparedAt === undefined ? {} : { preparedAt };
      reportFetched(call, { saved: tokens === null, tokens, correlationId, ...early }, ms);
      const labels = otherLabels(response, published);
      const record: CallRecord = {
        id: call.id,
        method: 'POST',
        path: PATHS.report(call.org),
        sections: collectSectionIds(call),
        asOf: response.meta.as_of,
        cached: response.meta.cached,
        correlationId,
        rows: response.rows.length,
        saved: tokens === null,
        ...(labels === undefined ? {} : { labels }),
        ...(askedBy === run ? {} : { shared: { run: askedBy, at: new Date(at).toISOString() } }),
      };
      return done({ kind: 'report', call, response, at, record });
    }
    const names = { catalog, labels: plan.definition.labels };
    const context = { client, responses, run, folder, names, rateLimit: buildContext(reads) };
    organization ??= resolveOrgId(context, call.org, options);
    const org = await organization;
    if (org.kind !== 'done') return org;
    const fetched = await fetchList(context, call, org.value, options);
    if (fetched.kind !== 'done') return fetched;
    const { saved, rows, pages } = fetched.value;
    reportFetched(call, { saved, tokens: null, pages }, null);
    const record: CallRecord = {
      id: call.id,
      method: 'GET',
      path: PATHS.list(org.value, call.list),
      sections: collectSectionIds(call),
      asOf: null,
      cached: null,
      correlationId: null,
      rows: rows.length,
      saved,
    };
    return done({ kind: 'list', list: fetched.value, record });
  };
}

/** Removes the responses of incomplete tables from those that other runs may use. */
export async function discardRefused(
  {
    client,
    key,
    responseCache,
    plan,
  }: Pick<FetchContext, 'client' | 'key' | 'responseCache'> & { readonly plan: Plan },
  results: Iterable<CallResult>,
  dataset: Dataset,
): Promise<void> {
  const refused = new Set(incompleteNotes(dataset).map(({ section }) => section));
  const by = { tenant: plan.org, service: client.service, key, registryVersion: plan.registryVersion };
  for (const result of results) {
    if (result.kind !== 'report' || !result.record.sections.some((id) => refused.has(id))) continue;
    await responseCache.discard(cacheKeyOf(result.call, by));
  }
}

type Section = SectionPlan['section'];

/** Adds the sections and metrics of a refused request to its error: the path alone does not show what to correct. */
function refusedError(error: DocketError, { request }: ReportCall, sections: readonly Section[]): DocketError {
  if (error.code !== 'api.refused') return error;
  const { message, where, got, next, correlationId, cause } = error;
  // The service names a metric, or its position in the request.
  const named = request.metrics.filter(
    (metric, index) => message.includes(metric) || new RegExp(`/metrics/${index}\\b`).test(message),
  );
  const isNamed = ({ metrics = [] }: Section) => metrics.some((metric) => named.includes(metric));
  const refused = sections.some(isNamed) ? sections.filter(isNamed) : sections;
  const metrics = (named.length === 0 ? request.metrics : named).join(', ');
  const of = `section ${refused.map(({ id }) => id).join(', ')} (${metrics})`;
  return new DocketError('api.refused', message.replace(/^The service refuses the request\b/, `$& of ${of}`), {
    where: where === undefined ? of : `${of}, ${where}`,
    ...(got === undefined ? {} : { got }),
    ...(next === undefined ? {} : { next }),
    ...(correlationId === undefined ? {} : { correlationId }),
    cause,
  });
}

/** Counts the progress of a run's calls and estimates when the last response arrives. */
interface FinishEstimator {
  /** A call waits for its token until then (epoch ms). */
  recordWait(until: number): void;
  /**
   * Records that a response was received.
   * @param tokens left on the key; null if none was taken
   * @param ms from dispatch to response; null if no request was made
   */
  recordAnswer(tokens: number | null, ms: number | null): { readonly done: number; readonly finish: number };
}

/**
 * Estimates the finish: calls that have a token take the average duration so far, `concurrency` at once. The others
 * wait one window per `limits.calls` of them, counted from the latest expected grant.
 */
export function createFinishEstimator(options: {
  readonly calls: number;
  readonly limits: BudgetLimits;
  readonly clock: Clock;
  readonly concurrency: number;
}): FinishEstimator {
  const { calls, limits, clock, concurrency } = options;
  const durations: number[] = [];
  let answered = 0;
  let latestGrantAt = 0;
  let freeTokens = limits.calls;
  return {
    recordWait: (until) => {
      latestGrantAt = Math.max(latestGrantAt, until);
      freeTokens = 0;
    },
    recordAnswer: (tokens, ms) => {
      answered += 1;
      freeTokens = tokens ?? freeTokens;
      if (ms !== null) durations.push(ms);
      const now = clock.now();
      const left = calls - answered;
      const averageMs = durations.reduce((sum, one) => sum + one, 0) / Math.max(1, durations.length);
      const waiting = Math.max(0, left - freeTokens);
      if (waiting === 0) return { done: answered, finish: Math.round(now + Math.ceil(left / concurrency) * averageMs) };
      const windowsMs = Math.ceil(waiting / limits.calls) * limits.windowMs;
      // An expected grant already includes the first of those windows.
      const last = latestGrantAt > now ? latestGrantAt + windowsMs - limits.windowMs : now + windowsMs;
      return { done: answered, finish: Math.round(last + averageMs) };
    },
  };
}
