import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import { done, fail, type Outcome } from '../base/outcome.ts';
import type { Catalog } from '../contract/catalog.ts';
import { type ReportResponse, reportResponseSchema } from '../contract/report.ts';
import type { Call, Plan, ReportCall, SectionPlan } from '../plan/plan.ts';
import type { Budget, Priority } from './budget.ts';
import type { Catalogs } from './catalogs.ts';
import type { ComplianceClient } from './client.ts';
import type { CallRecord, Dataset, Table } from './dataset.ts';
import type { ObserveFetch } from './event.ts';
import { listTable } from './list-table.ts';
import { type ListAnswer, numericOrg, walkList } from './pages.ts';
import { type Line, type PaidCall, paidCall } from './paid-call.ts';
import { createProgress } from './progress.ts';
import type { ResponseStore } from './response-store.ts';
import { reportTable } from './tables.ts';
import { inTurns } from './turns.ts';

export interface FetchInput {
  readonly plan: Plan;
  /** Id of the run: answers are kept under it, and its places in line are named by it. */
  readonly run: string;
  /** The organization's name for readers. */
  readonly organization: string;
  readonly client: ComplianceClient;
  /** Metrics calls (30 a minute a key). */
  readonly budget: Budget;
  /** List pages (600 reads a minute): a budget of its own. */
  readonly reads: Budget;
  readonly responses: ResponseStore;
  /** The catalog the plan was compiled with. */
  readonly catalog: Catalog;
  /** Told when a report comes from another registry version. */
  readonly catalogs?: Catalogs;
  readonly clock: Clock;
  readonly priority: Priority;
  /** Fingerprint of the API key. */
  readonly key: string;
  readonly signal: AbortSignal;
  readonly observe: ObserveFetch;
  /** A call that would wait longer (ms) for its token snoozes the run, which keeps its place in line. */
  readonly patienceMs: number;
}

/** Calls of one run that are under way or in line at once. */
const WIDTH = 4;

type Answered =
  | {
      readonly kind: 'report';
      readonly call: ReportCall;
      readonly response: ReportResponse;
      readonly at: number;
      readonly record: CallRecord;
    }
  | { readonly kind: 'list'; readonly answer: ListAnswer; readonly record: CallRecord };

/**
 * Plan → Dataset. Each call is answered from the response store or pays a token, is made, checked and kept; then every
 * section reads its table. Snoozes when the line for the key is longer than the patience; run again, it asks only for
 * what it lacks. Fails with the first error that trying again does not mend. Rejects with the signal's reason when aborted.
 */
export async function fetchDataset(input: FetchInput): Promise<Outcome<Dataset>> {
  const { plan } = input;
  const answers = await inTurns(plan.calls, WIDTH, callAnswerer(input));
  if (answers.kind !== 'done') return answers;
  const byCall = new Map(answers.value.map((answer) => [answer.record.id, answer]));
  const tables: Table[] = [];
  for (const section of plan.sections) {
    const answer = byCall.get(section.call);
    if (answer === undefined) throw new Error(`the plan has no call ${section.call} for ${section.section.id}`);
    try {
      tables.push(tableOf(section, answer, input));
    } catch (error) {
      if (error instanceof DocketError) return fail(error);
      throw error;
    }
  }
  const { definition } = plan;
  return done({
    org: plan.org,
    organization: input.organization,
    report: plan.report,
    title: definition.title,
    ...(definition.description === undefined ? {} : { description: definition.description }),
    owner: definition.owner,
    period: plan.period,
    tables,
    calls: answers.value.map(({ record }) => record),
    registryVersion: plan.registryVersion,
  });
}

function tableOf({ section }: SectionPlan, answer: Answered, { plan, catalog }: FetchInput): Table {
  if (answer.kind === 'list') return listTable(section, answer.answer);
  const { call, response, at } = answer;
  return reportTable({ section, request: call.request, response, catalog, period: plan.period, at });
}

function callAnswerer(input: FetchInput): (call: Call, stop: AbortSignal) => Promise<Outcome<Answered>> {
  const { plan, run, client, budget, reads, clock, key, priority, patienceMs, signal, observe } = input;
  const progress = createProgress({ of: plan.calls.length, limits: budget.limits, clock, width: WIDTH });
  const line: Line = { budget, clock, key, org: plan.org, priority, patienceMs, deadlineMs: client.deadlineMs };
  const sectionsOf = (call: Call) => plan.sections.filter(({ call: id }) => id === call.id).map((at) => at.section.id);
  let organization: Promise<number> | undefined;

  const waitingFor = (call: Call): PaidCall<unknown>['waiting'] => {
    return ({ at, ahead, tokens }) => {
      progress.waits(at);
      observe({ type: 'waiting', call: call.id, until: at, ahead, tokens });
    };
  };
  const fetched = (call: Call, saved: boolean, tokens: number | null): void => {
    observe({ type: 'fetched', call: call.id, saved, tokens, of: plan.calls.length, ...progress.came(tokens) });
  };

  return async (call, stop) => {
    if (call.kind === 'report') {
      const answer = await answerReport(input, line, call, { waiting: waitingFor(call), signal, stop });
      if (answer.kind !== 'done') return answer;
      const { response, at, correlationId, tokens } = answer.value;
      fetched(call, tokens === null, tokens);
      const record: CallRecord = {
        id: call.id,
        method: 'POST',
        path: `/api/orgs/${call.org}/analytics/report/`,
        sections: sectionsOf(call),
        asOf: response.meta.as_of,
        cached: response.meta.cached,
        correlationId,
        rows: response.rows.length,
        saved: tokens === null,
      };
      return done({ kind: 'report', call, response, at, record });
    }
    organization ??= numericOrg(client, call.org, signal);
    const org = await outcomeOf(organization);
    if (org.kind !== 'done') return org;
    const answer = await walkList(
      { client, responses: input.responses, run, line: { ...line, budget: reads } },
      call,
      org.value,
      {
        waiting: waitingFor(call),
        signal,
        stop,
      },
    );
    if (answer.kind !== 'done') return answer;
    fetched(call, answer.value.saved, null);
    const record: CallRecord = {
      id: call.id,
      method: 'GET',
      path: `/api/orgs/${org.value}/${call.list}/`,
      sections: sectionsOf(call),
      asOf: null,
      cached: null,
      correlationId: null,
      rows: answer.value.records.length,
      saved: answer.value.saved,
    };
    return done({ kind: 'list', answer: answer.value, record });
  };
}

interface ReportAnswer {
  readonly response: ReportResponse;
  readonly at: number;
  readonly correlationId: string | null;
  /** Null: it was kept, and no token was spent. */
  readonly tokens: number | null;
}

async function answerReport(
  { client, responses, run, clock, catalogs, key, plan }: FetchInput,
  line: Line,
  call: ReportCall,
  how: Omit<PaidCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<ReportAnswer>> {
  const kept = await responses.get(run, call.id);
  const body = reportResponseSchema.safeParse(kept?.body);
  if (kept !== undefined && body.success) {
    return done({ response: body.data, at: kept.at, correlationId: kept.correlationId, tokens: null });
  }
  const paid = await paidCall(line, {
    ...how,
    id: `${run}:${call.id}`,
    attempt: () => client.report(call.org, call.request, how.signal),
  });
  if (paid.kind !== 'done') return paid;
  const { value: answer, tokens } = paid.value;
  const at = clock.now();
  await responses.put(run, call.id, { body: answer.body, correlationId: answer.correlationId, at });
  const { registry_version } = answer.body.meta;
  if (registry_version !== plan.registryVersion) await catalogs?.saw(key, call.org, registry_version);
  return done({ response: answer.body, at, correlationId: answer.correlationId, tokens });
}

/** A failure that is ours to tell becomes an outcome; anything else stays thrown. */
async function outcomeOf<Value>(value: Promise<Value>): Promise<Outcome<Value>> {
  try {
    return done(await value);
  } catch (error) {
    if (error instanceof DocketError) return fail(error);
    throw error;
  }
}
