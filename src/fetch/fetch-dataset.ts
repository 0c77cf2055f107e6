import { asOutcome, done, type Outcome } from '../base/outcome.ts';
import type { Catalog } from '../contract/catalog.ts';
import { PATHS } from '../contract/organization.ts';
import { type ReportResponse, reportResponseSchema } from '../contract/report.ts';
import { type Call, callsOf, type Plan, type ReportCall, type SectionPlan } from '../plan/plan.ts';
import { withoutExcluded } from './answer-checks/row-checks.ts';
import { assertValueTypes } from './answer-checks/value-types.ts';
import { requestCoalescer } from './cache/request-coalescer.ts';
import type { CachedResponse } from './cache/response-cache.ts';
import { type StoreUntilFull, storeUntilFull } from './cache/response-store.ts';
import type { CallRecord, Dataset, Sums, Table } from './dataset.ts';
import { type FetchContext, rateLimitContext } from './fetch-context.ts';
import { type FetchedList, fetchList, resolveOrgId } from './fetch-list.ts';
import { createFinishEstimator } from './finish-estimate.ts';
import { mapWithConcurrency } from './map-with-concurrency.ts';
import { type RateLimitContext, type RateLimitedCall, rateLimitedCall } from './rate-limit/rate-limited-call.ts';
import { type CurrentCountsWindow, isCurrentSection, undefinedCountsTable } from './tables/current-counts.ts';
import { joinAnswers } from './tables/join-answers.ts';
import { summedFigures } from './tables/join-totals.ts';
import { listTable } from './tables/list-table.ts';
import { reportTable } from './tables/report-table.ts';

export type { FetchContext, FetchPorts } from './fetch-context.ts';

export interface FetchInput extends FetchContext {
  readonly plan: Plan;
  /** The organization's name for readers. */
  readonly organization: string;
  /** The catalog the plan was compiled with. */
  readonly catalog: Catalog;
  /** Until when current counts are shown; always when absent. The plan may lack the calls for them. */
  readonly counts?: CurrentCountsWindow | undefined;
}

/** Calls of one run that are under way or in line at once. */
const MAX_CONCURRENT_CALLS = 4;

type CallResult =
  | {
      readonly kind: 'report';
      readonly call: ReportCall;
      readonly response: ReportResponse;
      readonly at: number;
      readonly record: CallRecord;
    }
  | { readonly kind: 'list'; readonly answer: FetchedList; readonly record: CallRecord };

/**
 * Plan → Dataset. Each call is answered from the response store or pays a token, is made, checked and kept; then every
 * section reads its table. Snoozes when the line for the key is longer than the patience; run again, it asks only for
 * what it lacks. Fails with the first error that trying again does not mend. Rejects with the signal's reason when aborted.
 */
export function fetchDataset(input: FetchInput): Promise<Outcome<Dataset>> {
  return asOutcome(input.signal, () => fetchPlan(input));
}

async function fetchPlan(input: FetchInput): Promise<Outcome<Dataset>> {
  const { plan, organization } = input;
  const answers = await mapWithConcurrency(plan.calls, MAX_CONCURRENT_CALLS, createCallRunner(input));
  if (answers.kind !== 'done') return answers;
  const byCall = new Map(answers.value.map((answer) => [answer.record.id, answer]));
  const tables: Table[] = [];
  for (const section of plan.sections) {
    tables.push(tableOf(section, byCall, input));
  }
  const sums = plan.sections.flatMap(({ section, join }): [string, Sums][] => {
    const added = join === undefined ? undefined : summedFigures(join);
    return added === undefined ? [] : [[section.id, added]];
  });
  const { definition } = plan;
  return done({
    org: plan.org,
    organization,
    report: plan.report,
    title: definition.title,
    ...(definition.description === undefined ? {} : { description: definition.description }),
    owner: definition.owner,
    period: plan.period,
    tables,
    ...(sums.length === 0 ? {} : { sums: Object.fromEntries(sums) }),
    calls: answers.value.map(({ record }) => record),
    registryVersion: plan.registryVersion,
  });
}

function missingCall(call: string, { section }: SectionPlan): never {
  throw new Error(`the plan has no call ${call} for ${section.id}`);
}

function tableOf(of: SectionPlan, byCall: ReadonlyMap<string, CallResult>, input: FetchInput): Table {
  const { section, join, replaced } = of;
  const { plan, catalog, counts } = input;
  if (counts !== undefined && isCurrentSection(section, catalog)) {
    const late = callsOf(of).some((call) => {
      const answer = byCall.get(call);
      return answer?.kind !== 'report' || answer.at > counts.until;
    });
    if (late) return undefinedCountsTable({ section, catalog, period: plan.period, replaced }, counts);
  }
  const answers = callsOf(of).map((call) => byCall.get(call) ?? missingCall(call, of));
  const [first] = answers;
  if (first?.kind === 'list') return listTable(section, first.answer);
  const parts = answers.flatMap((one) => (one.kind === 'list' ? [] : { ...one, request: one.call.request }));
  const [only] = parts;
  if (only === undefined) throw new Error(`nothing was planned for the section ${section.id}`);
  const table = { section, catalog, period: plan.period, at: only.at, ...(replaced === undefined ? {} : { replaced }) };
  if (join === undefined) return reportTable({ ...table, request: only.request, response: only.response });
  const { request, undefinedTotals } = join;
  const passing = parts.map((piece) => {
    return [piece.call.id, { response: withoutExcluded(piece.request, piece.response) }] as const;
  });
  const response = joinAnswers(join, new Map(passing), catalog);
  return reportTable({ ...table, request, response, parts, ...(undefinedTotals && { undefinedTotals }) });
}

function createCallRunner(input: FetchInput): (call: Call, stop: AbortSignal) => Promise<Outcome<CallResult>> {
  const { plan, signal, observe, client, budget, reads, clock } = input;
  const keeping = storeUntilFull(input);
  const progress = createFinishEstimator({
    of: plan.calls.length,
    limits: budget.limits,
    clock,
    width: MAX_CONCURRENT_CALLS,
  });
  const sectionsOf = (call: Call) =>
    plan.sections.filter((at) => callsOf(at).includes(call.id)).map((at) => at.section.id);
  let organization: Promise<Outcome<number>> | undefined;

  const watched = ({ id: call }: Call): Pick<RateLimitedCall<unknown>, 'onWait' | 'onGrant'> => ({
    onWait: ({ at, ahead, tokens }) => {
      progress.recordWait(at);
      observe({ type: 'waiting', call, until: at, ahead, tokens });
    },
    onGrant: () => observe({ type: 'granted', call }),
  });
  const fetched = (
    call: Call,
    how: { readonly saved: boolean; readonly tokens: number | null; readonly correlationId?: string | null },
    ms: number | null,
  ): void => {
    observe({
      type: 'fetched',
      call: call.id,
      ...how,
      of: plan.calls.length,
      ...progress.recordAnswer(how.tokens, ms),
    });
  };

  return async (call, stop) => {
    if (call.kind === 'report') {
      const answer = await fetchReport(input, keeping, call, { ...watched(call), signal, stop });
      if (answer.kind !== 'done') return answer;
      const { body: response, at, correlationId, askedBy, tokens, ms } = answer.value;
      fetched(call, { saved: tokens === null, tokens, correlationId }, ms);
      const record: CallRecord = {
        id: call.id,
        method: 'POST',
        path: PATHS.report(call.org),
        sections: sectionsOf(call),
        asOf: response.meta.as_of,
        cached: response.meta.cached,
        correlationId,
        rows: response.rows.length,
        saved: tokens === null,
        ...(askedBy === input.run ? {} : { shared: { run: askedBy, at: new Date(at).toISOString() } }),
      };
      return done({ kind: 'report', call, response, at, record });
    }
    const how = { ...watched(call), signal, stop };
    const { run, folder } = input;
    const { responses } = keeping;
    const walk = {
      client,
      responses,
      run,
      folder,
      rateLimit: withCurrentMaxWait(rateLimitContext(plan.org, input, reads), keeping),
    };
    organization ??= resolveOrgId(walk, call.org, how);
    const org = await organization;
    if (org.kind !== 'done') return org;
    const answer = await fetchList(walk, call, org.value, how);
    if (answer.kind !== 'done') return answer;
    fetched(call, { saved: answer.value.saved, tokens: null }, null);
    const record: CallRecord = {
      id: call.id,
      method: 'GET',
      path: PATHS.list(org.value, call.list),
      sections: sectionsOf(call),
      asOf: null,
      cached: null,
      correlationId: null,
      rows: answer.value.rows.length,
      saved: answer.value.saved,
    };
    return done({ kind: 'list', answer: answer.value, record });
  };
}

/** The line, with the patience of the try as it is at each moment. */
const withCurrentMaxWait = (line: RateLimitContext, keeping: StoreUntilFull): RateLimitContext => ({
  ...line,
  get maxWaitMs() {
    return keeping.maxWaitMs;
  },
});

interface ReportResult extends CachedResponse {
  /** Null: it was kept, or another run has asked, and no token was spent. */
  readonly tokens: number | null;
  /** From dispatch to answer; null where nothing was asked. */
  readonly ms: number | null;
}

async function fetchReport(
  input: FetchInput,
  keeping: StoreUntilFull,
  call: ReportCall,
  how: Omit<RateLimitedCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<ReportResult>> {
  const { client, clock, catalogs, key, run, plan } = input;
  const { responses } = keeping;
  const kept = await responses.get(run, call.id);
  const body = reportResponseSchema.safeParse(kept?.body);
  if (kept !== undefined && body.success) {
    return done({ ...kept, body: body.data, askedBy: kept.askedBy ?? run, tokens: null, ms: null });
  }
  let dispatched = 0;
  const asking: RateLimitedCall<CachedResponse> = {
    ...how,
    id: `${run}:${call.id}`,
    attempt: async () => {
      dispatched = clock.now();
      const answer = await client.report(call.org, call.request, how.signal);
      assertValueTypes(call.request, answer.body, `POST ${PATHS.report(call.org)}`);
      return { ...answer, at: clock.now(), askedBy: run };
    },
    save: (answer) => responses.put(run, call.id, answer),
  };
  const paid = await rateLimitedCall(
    withCurrentMaxWait(rateLimitContext(plan.org, input, input.budget), keeping),
    asking,
    requestCoalescer(call, input),
  );
  if (paid.kind === 'fail' && paid.error.code === 'api.refused') await catalogs.invalidate(key, call.org);
  if (paid.kind !== 'done') return paid;
  const { value: answer, tokens } = paid.value;
  if (tokens === null) await responses.put(run, call.id, answer);
  const { registry_version } = answer.body.meta;
  if (registry_version !== plan.registryVersion) await catalogs.invalidateStale(key, call.org, registry_version);
  return done({ ...answer, tokens, ms: tokens === null ? null : answer.at - dispatched });
}
