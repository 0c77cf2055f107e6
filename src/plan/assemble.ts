import type { Catalog } from '../contract/catalog.ts';
import type { OrgRef } from '../contract/organization.ts';
import type { ReportRequest } from '../contract/report.ts';
import type { Section } from '../define/definition.ts';
import { bucketsOf, previousPeriod } from './buckets.ts';
import { reportCall } from './call.ts';
import type { CallLimits } from './call-limits.ts';
import { type Cut, cutRequest } from './cut.ts';
import type { Join, Piece, ReportCall } from './plan.ts';
import { shareRequests } from './share.ts';

/** A section with the body that would ask for it alone, whatever the limits. */
export interface Question {
  readonly section: Section;
  readonly request: ReportRequest;
}

/** The calls of one section, and how its table is put together when there are several. */
export interface Assembled {
  readonly calls: readonly [ReportCall, ...ReportCall[]];
  readonly join?: Join;
}

/**
 * A question of more metrics than a call takes, as several. Which rows come first, and how many, is then said of the
 * joined table: no part knows the metric of another.
 */
export function spreadMetrics(request: ReportRequest, most: number): ReportRequest[] {
  const { metrics } = request;
  if (metrics.length <= most) return [request];
  const { order: _order, limit: _limit, ...body } = request;
  return Array.from({ length: Math.ceil(metrics.length / most) }, (_, index) => ({
    ...body,
    metrics: metrics.slice(index * most, (index + 1) * most),
  }));
}

/**
 * The calls of every section, by its id. Questions are shared before they are cut, so that sections of one long period
 * share its pieces as well. Every question can be asked: what cannot was refused before (`checkCuts`).
 */
export function assemble(
  questions: readonly Question[],
  org: OrgRef,
  catalog: Catalog,
  limits: CallLimits,
): ReadonlyMap<string, Assembled> {
  const parted = questions.map((question) => ({
    ...question,
    parts: spreadMetrics(question.request, limits.max_metrics).map((request, index) => ({
      key: `${index} of ${question.section.id}`,
      request,
    })),
  }));
  const shared = shareRequests(
    parted.flatMap(({ parts }) => parts),
    limits.max_metrics,
  );
  return new Map(
    parted.map(({ section, request, parts }) => {
      const cuts = parts.map((part) => ({ part: part.request, cut: cutOf(shared.get(part.key), catalog, limits) }));
      return [section.id, assembled(section, request, cuts, org)];
    }),
  );
}

function cutOf(request: ReportRequest | undefined, catalog: Catalog, limits: CallLimits): Cut {
  const cut = request === undefined ? undefined : cutRequest(request, catalog, limits);
  if (cut === undefined || 'refused' in cut) throw new Error('a question was planned that cannot be asked');
  return cut;
}

function assembled(
  section: Section,
  request: ReportRequest,
  cuts: readonly { readonly part: ReportRequest; readonly cut: Cut }[],
  org: OrgRef,
): Assembled {
  const pieces = cuts.flatMap(({ part, cut }) =>
    cut.pieces.flatMap((piece) => {
      // Another section's metrics in a shared call are not this one's to read.
      const own = (ids: readonly string[]) => ids.filter((id) => part.metrics.includes(id));
      const totals = section.totals ? own(piece.totals) : [];
      return piece.rows || totals.length > 0 ? [{ piece, metrics: piece.rows ? own(part.metrics) : [], totals }] : [];
    }),
  );
  const [first, ...more] = pieces.map(({ piece }) => reportCall(org, piece.request));
  if (first === undefined) throw new Error(`nothing was planned for the section ${section.id}`);
  if (more.length === 0) return { calls: [first] };
  const { from, to, granularity, compare } = request.time ?? {};
  const range = from === undefined || to === undefined ? undefined : { from, to };
  const previous = range !== undefined && compare !== undefined ? previousPeriod(range) : undefined;
  const undefinedTotals = section.totals ? cuts.flatMap(({ cut }) => cut.undefinedTotals ?? []) : [];
  const [why] = undefinedTotals;
  const lacking = request.metrics.filter((id) => undefinedTotals.some(({ metrics }) => metrics.includes(id)));
  const join: Join = {
    request,
    buckets: range === undefined ? [{ label: '', from: '', to: '' }] : bucketsOf(range, granularity),
    ...(previous === undefined ? {} : { previous: { ...previous, buckets: bucketsOf(previous, granularity) } }),
    pieces: pieces.map(
      ({ piece, metrics, totals }): Piece => ({
        call: reportCall(org, piece.request).id,
        of: piece.of,
        first: piece.first,
        buckets: piece.buckets,
        metrics,
        totals,
      }),
    ),
    sums: cuts.some(({ cut }) => cut.sums),
    ...(why === undefined || lacking.length === 0 ? {} : { undefinedTotals: { metrics: lacking, why: why.why } }),
  };
  return { calls: [first, ...more], join };
}
