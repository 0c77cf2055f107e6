import { done, type Outcome } from '../base/outcome.ts';
import type { Catalog } from '../contract/catalog.ts';
import { PATHS } from '../contract/organization.ts';
import { type ReportResponse, reportResponseSchema } from '../contract/report.ts';
import { type Call, callsOf, type Plan, type ReportCall, type SectionPlan } from '../plan/plan.ts';
import { withoutExcluded } from './answer-checks/filtered-rows.ts';
import { asOutcome } from './as-outcome.ts';
import { checkValues } from './check-values.ts';
import { type CountsWindow, isCurrentSection, undefinedCounts } from './current-counts.ts';
import type { CallRecord, Dataset, Sums, Table } from './dataset.ts';
import { joinAnswers } from './join.ts';
import { type Keeping, keepAnswers } from './keeping.ts';
import { listTable } from './list-table.ts';
import { type ListAnswer, numericOrg, walkList } from './pages.ts';
import { type Line, type PaidCall, paidCall } from './paid-call.ts';
import { type FetchContext, lineOf } from './ports.ts';
import { createProgress } from './progress.ts';
import type { SharedAnswer } from './shared-answers.ts';
import { sharingOf } from './sharing.ts';
import { sumsOf } from './sums.ts';
import { reportTable } from './tables.ts';
import { inTurns } from './turns.ts';

export type { FetchContext, FetchPorts } from './ports.ts';

export interface FetchInput extends FetchContext {
  readonly plan: Plan;
  /** The organization's name for readers. */
  readonly organization: string;
  /** The catalog the plan was compiled with. */
  readonly catalog: Catalog;
  /** Until when current counts are shown; always when absent. The plan may lack the calls for them. */
  readonly counts?: CountsWindow | undefined;
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
export function fetchDataset(input: FetchInput): Promise<Outcome<Dataset>> {
  return asOutcome(input.signal, () => readPlan(input));
}

async function readPlan(input: FetchInput): Promise<Outcome<Dataset>> {
  const { plan, organization } = input;
  const answers = await inTurns(plan.calls, WIDTH, callAnswerer(input));
  if (answers.kind !== 'done') return answers;
  const byCall = new Map(answers.value.map((answer) => [answer.record.id, answer]));
  const tables: Table[] = [];
  for (const section of plan.sections) {
    tables.push(tableOf(section, byCall, input));
  }
  const sums = plan.sections.flatMap(({ section, join }): [string, Sums][] => {
    const added = join === undefined ? undefined : sumsOf(join);
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

function unplanned(call: string, { section }: SectionPlan): never {
  throw new Error(`the plan has no call ${call} for ${section.id}`);
}

function tableOf(of: SectionPlan, byCall: ReadonlyMap<string, Answered>, input: FetchInput): Table {
  const { section, join, replaced } = of;
  const { plan, catalog, counts } = input;
  if (counts !== undefined && isCurrentSection(section, catalog)) {
    const late = callsOf(of).some((call) => {
      const answer = byCall.get(call);
      return answer?.kind !== 'report' || answer.at > counts.until;
    });
    if (late) return undefinedCounts({ section, catalog, period: plan.period, replaced }, counts);
  }
  const answers = callsOf(of).map((call) => byCall.get(call) ?? unplanned(call, of));
  const [first] = answers;
  if (first?.kind === 'list') return listTable(section, first.answer);
  const pieces = answers.flatMap((one) => (one.kind === 'list' ? [] : { ...one, request: one.call.request }));
  const [only] = pieces;
  if (only === undefined) throw new Error(`nothing was planned for the section ${section.id}`);
  const table = { section, catalog, period: plan.period, at: only.at, ...(replaced === undefined ? {} : { replaced }) };
  if (join === undefined) return reportTable({ ...table, request: only.request, response: only.response });
  const { request, undefinedTotals } = join;
  const passing = pieces.map((piece) => {
    return [piece.call.id, { response: withoutExcluded(piece.request, piece.response) }] as const;
  });
  const response = joinAnswers(join, new Map(passing), catalog);
  return reportTable({ ...table, request, response, pieces, ...(undefinedTotals && { undefinedTotals }) });
}

function callAnswerer(input: FetchInput): (call: Call, stop: AbortSignal) => Promise<Outcome<Answered>> {
  const { plan, signal, observe, client, budget, reads, clock } = input;
  const keeping = keepAnswers(input);
  const progress = createProgress({ of: plan.calls.length, limits: budget.limits, clock, width: WIDTH });
  const sectionsOf = (call: Call) =>
    plan.sections.filter((at) => callsOf(at).includes(call.id)).map((at) => at.section.id);
  let organization: Promise<Outcome<number>> | undefined;

  const watched = ({ id: call }: Call): Pick<PaidCall<unknown>, 'waiting' | 'granted'> => ({
    waiting: ({ at, ahead, tokens }) => {
      progress.waits(at);
      observe({ type: 'waiting', call, until: at, ahead, tokens });
    },
    granted: () => observe({ type: 'granted', call }),
  });
  const fetched = (
    call: Call,
    how: { readonly saved: boolean; readonly tokens: number | null; readonly correlationId?: string | null },
    ms: number | null,
  ): void => {
    observe({ type: 'fetched', call: call.id, ...how, of: plan.calls.length, ...progress.came(how.tokens, ms) });
  };

  return async (call, stop) => {
    if (call.kind === 'report') {
      const answer = await answerReport(input, keeping, call, { ...watched(call), signal, stop });
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
    const walk = { client, responses, run, folder, line: patientLine(lineOf(plan.org, input, reads), keeping) };
    organization ??= numericOrg(walk, call.org, how);
    const org = await organization;
    if (org.kind !== 'done') return org;
    const answer = await walkList(walk, call, org.value, how);
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
const patientLine = (line: Line, keeping: Keeping): Line => ({
  ...line,
  get patienceMs() {
    return keeping.patienceMs;
  },
});

interface ReportAnswer extends SharedAnswer {
  /** Null: it was kept, or another run has asked, and no token was spent. */
  readonly tokens: number | null;
  /** From dispatch to answer; null where nothing was asked. */
  readonly ms: number | null;
}

async function answerReport(
  input: FetchInput,
  keeping: Keeping,
  call: ReportCall,
  how: Omit<PaidCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<ReportAnswer>> {
  const { client, clock, catalogs, key, run, plan } = input;
  const { responses } = keeping;
  const kept = await responses.get(run, call.id);
  const body = reportResponseSchema.safeParse(kept?.body);
  if (kept !== undefined && body.success) {
    return done({ ...kept, body: body.data, askedBy: kept.askedBy ?? run, tokens: null, ms: null });
  }
  let dispatched = 0;
  const asking: PaidCall<SharedAnswer> = {
    ...how,
    id: `${run}:${call.id}`,
    attempt: async () => {
      dispatched = clock.now();
      const answer = await client.report(call.org, call.request, how.signal);
      checkValues(call.request, answer.body, `POST ${PATHS.report(call.org)}`);
      return { ...answer, at: clock.now(), askedBy: run };
    },
    keep: (answer) => responses.put(run, call.id, answer),
  };
  const paid = await paidCall(
    patientLine(lineOf(plan.org, input, input.budget), keeping),
    asking,
    sharingOf(call, input),
  );
  if (paid.kind === 'fail' && paid.error.code === 'api.refused') await catalogs.forget(key, call.org);
  if (paid.kind !== 'done') return paid;
  const { value: answer, tokens } = paid.value;
  if (tokens === null) await responses.put(run, call.id, answer);
  const { registry_version } = answer.body.meta;
  if (registry_version !== plan.registryVersion) await catalogs.saw(key, call.org, registry_version);
  return done({ ...answer, tokens, ms: tokens === null ? null : answer.at - dispatched });
}
