import { mapWithConcurrency } from '../base/concurrency.ts';
import { asOutcome, done, type Outcome } from '../base/outcome.ts';
import type { Catalog } from '../contract/catalog.ts';
import type { FiscalCalendar } from '../definitions/periods/fiscal-calendar.ts';
import { isCurrentSection, withoutAnswered } from '../plan/answered-sections.ts';
import { collectCalls, type Plan, type SectionPlan } from '../plan/plan.ts';
import { readingGap } from '../plan/reading.ts';
import { followedMetrics } from '../plan/replacements.ts';
import { wantedComparisons, wantedToDate } from '../plan/requests/section-requests.ts';
import { type AnsweredTable, contradictions } from './answer-checks/across-answers.ts';
import { type CallResult, createCallRunner, discardRefused, MAX_CONCURRENT_CALLS } from './call-runner.ts';
import { type CurrentCountsWindow, undefinedCountsTable } from './current-counts.ts';
import type { Dataset, Sums, Table, TableTrend } from './dataset.ts';
import type { FetchContext } from './fetch-context.ts';
import {
  byMetric,
  renamedBucket,
  renamedCatalog,
  renamedResponse,
  withDisplayUnits,
} from './internal/tables/columns/display-units.ts';
import {
  type IdentifiedAnswer,
  type PartnerAnswer,
  tableResponse,
} from './internal/tables/comparisons/partner-answers.ts';
import { collectSums } from './internal/tables/join-totals.ts';
import { laidOut, textTable } from './internal/tables/layout.ts';
import { listTable } from './internal/tables/list-table.ts';
import { type ReadingsSource, readingsTable } from './internal/tables/readings/readings-table.ts';
import { reportTable } from './internal/tables/report-table.ts';
import { readTrend } from './internal/tables/table-trend.ts';
import { withWrongFigures } from './internal/tables/wrong-figures.ts';
import type { TableNote } from './notes.ts';

export interface FetchInput extends FetchContext {
  readonly plan: Plan;
  /** The organization's display name. */
  readonly organization: string;
  /** The catalog that the plan was compiled with. */
  readonly catalog: Catalog;
  /** When current counts are defined; absent: always. The plan may lack calls for them. */
  readonly counts?: CurrentCountsWindow | undefined;
  /** Stored readings of current counts; absent without `readings` in org.yaml. */
  readonly readings?: ReadingsSource | undefined;
  /** The organization's fiscal calendar: its months count as whole months. */
  readonly calendar?: FiscalCalendar | undefined;
}

/** What the tables of a plan are built from, in addition to the responses to its calls. */
export interface PreparedFetch {
  /** Its catalog has the names from the report's `labels`. */
  readonly input: FetchInput;
  /** The catalog with the service's own names. */
  readonly published: Catalog;
  /** Tables and trends that readings answer, by section id. */
  readonly read: ReadonlyMap<string, Table>;
  readonly trends: ReadonlyMap<string, TableTrend>;
}

/**
 * Fetches the dataset of a plan. Each call is answered from the response store, or made under the rate limit, checked
 * and stored. Then the table of each section is built. Snoozes if a token is expected later than `maxWaitMs`; when run
 * again, it makes only the missing calls. Fails with the first error that is not retryable. Rejects with the signal's
 * reason when aborted.
 */
export function fetchDataset(input: FetchInput): Promise<Outcome<Dataset>> {
  return asOutcome(input.signal, () => fetchPlan(input));
}

async function fetchPlan(requested: FetchInput): Promise<Outcome<Dataset>> {
  const prepared = await prepareFetch(requested);
  const plan = withoutAnswered(requested.plan, new Set(prepared.read.keys()));
  const results = await fetchCalls(prepared, plan);
  if (results.kind !== 'done') return results;
  const dataset = buildDataset(prepared, plan, results.value);
  await discardRefused(requested, results.value, dataset);
  return done(dataset);
}

export async function prepareFetch(requested: FetchInput): Promise<PreparedFetch> {
  const names = byMetric(requested.plan.definition.labels, requested.plan.sections);
  const input = { ...requested, catalog: renamedCatalog(requested.catalog, names) };
  return { input, published: requested.catalog, read: await readingsTables(input), trends: await readTrends(input) };
}

/** Fetches the responses to the calls of a plan, in their order and unchanged. */
export const fetchCalls = ({ input, published }: PreparedFetch, plan: Plan): Promise<Outcome<readonly CallResult[]>> =>
  mapOutcomes(plan.calls, MAX_CONCURRENT_CALLS, createCallRunner({ ...input, published, plan }));

/**
 * Builds the dataset of a plan.
 * @param plan without the calls of sections that readings answer
 * @param results the responses to its calls
 */
export function buildDataset(
  { input: prepared, published, read, trends }: PreparedFetch,
  plan: Plan,
  results: readonly CallResult[],
): Dataset {
  const { units, labels } = plan.definition;
  const names = byMetric(labels, plan.sections);
  const input = { ...prepared, plan };
  const { organization } = input;
  const byCall = new Map(
    results.map((result): [string, CallResult] => [
      result.record.id,
      result.kind === 'list' ? result : { ...result, response: renamedResponse(result.response, names) },
    ]),
  );
  const answered = plan.sections.map((section): AnsweredTable => {
    const { id, metrics = [] } = section.section;
    const table = read.get(id);
    const { catalog } = input;
    const known = catalog.metrics.filter((metric) => metrics.includes(metric.id));
    if (table !== undefined) return { table, answers: [], metrics: known };
    return { ...buildTable(section, byCall, { ...input, published }), metrics: known };
  });
  const said = contradictions(answered);
  const tables = withDisplayUnits(
    plan.sections.map(({ section }, index) => {
      const { table } = answered[index] ?? missingTable(section.id);
      const { notes, wrong } = said[index] ?? missingTable(section.id);
      const marked = withWrongFigures(withFindings(table, notes), wrong, input.catalog);
      return laidOut(marked, section, trends.get(section.id));
    }),
    byMetric(units, plan.sections),
  );
  const sums = plan.sections.flatMap((section): [string, Sums][] => {
    const summed = collectSums(section);
    return summed === undefined ? [] : [[section.section.id, summed]];
  });
  const { definition } = plan;
  const { headline } = definition;
  const bases = [...new Map(plan.sections.flatMap((one) => one.bases ?? []).map((one) => [one.metric, one])).values()];
  return {
    org: plan.org,
    organization,
    report: plan.report,
    title: definition.title,
    ...(definition.description === undefined ? {} : { description: definition.description }),
    owner: definition.owner,
    ...(definition.desk === undefined ? {} : { desk: definition.desk }),
    period: plan.period,
    tables,
    ...(sums.length === 0 ? {} : { sums: Object.fromEntries(sums) }),
    calls: results.map(({ record }) => record),
    registryVersion: plan.registryVersion,
    ...(bases.length === 0 ? {} : { bases }),
    ...(headline === undefined ? {} : { headlineMetrics: followedMetrics(headline, definition, published) }),
  };
}

/** The tables that readings answer, by section id. */
async function readingsTables({
  plan,
  catalog,
  readings,
  calendar,
  clock,
}: FetchInput): Promise<ReadonlyMap<string, Table>> {
  const tables = new Map<string, Table>();
  if (readings === undefined) return tables;
  const names = new Map(Object.entries(plan.definition.labels ?? {}));
  const now = clock.now();
  for (const { section, period, replaced } of plan.sections) {
    const comparisons = wantedComparisons(section, plan.definition);
    const input = { org: plan.org, section, catalog, period, comparisons, calendar, replaced, readings, now };
    const table = await readingsTable(input);
    if (table !== undefined) tables.set(section.id, renamedBucket(table, names));
  }
  return tables;
}

/** The trends of current counts, from readings, by section id. */
async function readTrends({ plan, catalog, readings, clock }: FetchInput): Promise<ReadonlyMap<string, TableTrend>> {
  const trends = new Map<string, TableTrend>();
  if (readings === undefined) return trends;
  for (const { section, period } of plan.sections) {
    const { metrics = [], trend } = section;
    if (trend === undefined || !isCurrentSection(section, catalog)) continue;
    if (readingGap(section, readings.settings) !== undefined) continue;
    const input = { org: plan.org, metrics, period, trend, readings, now: clock.now() };
    trends.set(section.id, await readTrend(input));
  }
  return trends;
}

/** Findings are the most severe notes, so they come first. */
const withFindings = (table: Table, notes: readonly TableNote[]): Table => {
  if (notes.length === 0) return table;
  const all = [...table.notes, ...notes];
  return { ...table, notes: [...all.filter((note) => note.incomplete), ...all.filter((note) => !note.incomplete)] };
};

function missingTable(id: string): never {
  throw new Error(`no table for ${id}`);
}

function missingCall(call: string, { section }: SectionPlan): never {
  throw new Error(`the plan has no call ${call} for ${section.id}`);
}

function buildTable(
  sectionPlan: SectionPlan,
  byCall: ReadonlyMap<string, CallResult>,
  input: FetchInput & { readonly published: Catalog },
): Pick<AnsweredTable, 'table' | 'answers'> {
  const without = (table: Table) => ({ table, answers: [] });
  const { section, period, comparisons, join, replaced } = sectionPlan;
  const { plan, catalog, counts, calendar } = input;
  if (sectionPlan.call === undefined) return without(textTable(section, period));
  if (counts !== undefined && isCurrentSection(section, catalog)) {
    const isLate = collectCalls(sectionPlan).some((call) => {
      const result = byCall.get(call);
      return result?.kind !== 'report' || result.at > counts.until;
    });
    if (isLate) return without(undefinedCountsTable({ section, catalog, period, replaced }, counts));
  }
  const collectResults = (one: Pick<SectionPlan, 'call' | 'join'>) =>
    collectCalls(one).map((call) => byCall.get(call) ?? missingCall(call, sectionPlan));
  const collectAnswers = (one: Pick<SectionPlan, 'call' | 'join'>): [IdentifiedAnswer, ...IdentifiedAnswer[]] => {
    const [first, ...more] = collectResults(one).flatMap((result) =>
      result.kind === 'list'
        ? []
        : [{ call: result.call.id, request: result.call.request, response: result.response, at: result.at }],
    );
    if (first === undefined) throw new Error(`the plan has no call for ${section.id}`);
    return [first, ...more];
  };
  const [result] = collectResults(sectionPlan);
  if (result?.kind === 'list') return without(listTable(section, result.list, period));
  const parts = collectAnswers(sectionPlan);
  const partners = sectionPlan.partners.map((partner): PartnerAnswer => {
    const { kind, of, range, request } = partner;
    const answers = collectAnswers(partner);
    const undefinedTotals = partner.join?.undefinedTotals?.metrics;
    const response = tableResponse(partner, answers, catalog);
    return { kind, of, range, request, answers, undefinedTotals, response };
  });
  const [first] = parts;
  const request = join?.request ?? first.request;
  const response = tableResponse(sectionPlan, parts, catalog);
  const asOfs = (answers: readonly IdentifiedAnswer[] | PartnerAnswer['answers']) =>
    answers.map((answer) => answer.response.meta.as_of);
  const table = reportTable({
    section,
    catalog,
    published: input.published,
    period,
    at: first.at,
    comparisons,
    partners,
    toDate: wantedToDate(section, plan.definition),
    calendar,
    request,
    response,
    parts,
    ...(join?.undefinedTotals === undefined ? {} : { undefinedTotals: join.undefinedTotals }),
    ...(replaced === undefined ? {} : { replaced }),
    ...(sectionPlan.bases === undefined ? {} : { bases: sectionPlan.bases }),
  });
  const answers = [
    {
      kind: 'own' as const,
      request,
      response,
      asOf: asOfs(parts),
      undefinedTotals: join?.undefinedTotals?.metrics,
    },
    ...partners.map((partner) => ({ ...partner, asOf: asOfs(partner.answers) })),
  ];
  return { table, answers };
}

/**
 * Runs `work` for every item, at most `concurrency` at once, and returns the results in the items' order.
 *
 * The first failure or cancellation aborts `stop`, and nothing new starts; running work is awaited. After a snooze
 * nothing new starts either, but the others may finish, because their responses are stored. Of several snoozes the
 * earliest counts.
 */
export async function mapOutcomes<Item, Value>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item, stop: AbortSignal) => Promise<Outcome<Value>>,
): Promise<Outcome<Value[]>> {
  const stop = new AbortController();
  const ended: Exclude<Outcome<Value>, { kind: 'done' }>[] = [];
  const values = await mapWithConcurrency(items, concurrency, async (item): Promise<Value[]> => {
    if (ended.length > 0) return [];
    try {
      const outcome = await work(item, stop.signal);
      if (outcome.kind === 'done') return [outcome.value];
      ended.push(outcome);
      if (outcome.kind === 'fail' || outcome.kind === 'cancel') stop.abort();
      return [];
    } catch (error) {
      stop.abort();
      throw error;
    }
  });
  const failure = ended.find(({ kind }) => kind === 'fail');
  if (failure !== undefined) return failure;
  const snoozes = ended.flatMap((outcome) => (outcome.kind === 'snooze' ? [outcome] : []));
  const earliest = snoozes.sort((a, b) => a.until - b.until)[0] ?? ended[0];
  return earliest ?? done(values.flat());
}
